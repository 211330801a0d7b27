# SPDX-License-Identifier: Apache-2.0
"""Thousands of worlds of one model, stepped and differentiated together: on all cores or a CUDA device."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._batch import ParameterBatch, parameter_rows
from ._core import Error, Model, StepSettings
from ._cuda import CudaBatch, DeviceArray, DeviceError

Floats = NDArray[np.float64]
_REPORT = ("outcome", "contacts", "sweeps", "newton", "rounds", "residual", "deepest", "joint_error")
_CERTIFICATE = ("floating", "start_kinks", "margin", "solve_error", "redundant")


@dataclass(eq=False)
class BatchTape:
    """A rollout of a Batch, kept for the way back."""

    q: Floats = field(repr=False)  #: (steps + 1, n, q_size)
    v: Floats = field(repr=False)  #: (steps + 1, n, v_size)
    warm: Floats = field(repr=False)  #: (steps, n, warm_size) impulses each step ended with
    u: Floats | None = field(repr=False)  #: (steps, n, control_count)
    outcome: NDArray[np.int64]  #: (n,) worst: 0 converged, 1 iteration limit, 2 not finite
    residual: Floats = field(repr=False)  #: (n,) worst


@dataclass(eq=False)
class BatchGradient:
    """Derivative of a loss by everything a rollout of a Batch read; q in tangent coordinates."""

    q: Floats = field(repr=False)  #: (n, v_size) by the initial configuration
    v: Floats = field(repr=False)  #: (n, v_size)
    u: Floats = field(repr=False)  #: (steps, n, control_count)
    parameters: Floats = field(repr=False)  #: (n, parameters)
    floating: NDArray[np.int64]  #: (n,) contacts and limits on a border, all steps
    kinks: NDArray[np.int64]  #: (n,) closed to rounding where the first step begins
    margin: Floats = field(repr=False)  #: (n,) smallest distance to a border
    solve_error: Floats = field(repr=False)  #: (n,) worst of the adjoint systems
    redundant: NDArray[np.int64]  #: (n,) rows that other rows already hold, all steps

    @property
    def certified(self) -> NDArray[np.bool_]:
        """(n,) the numbers are two-sided derivatives."""
        return np.asarray((self.floating == 0) & (self.kinks == 0) & (self.redundant == 0)
                          & (self.solve_error < 1e-8), dtype=np.bool_)


class Batch:
    """n worlds of one model: same formulation as step(), same bits on every device and in any company.

    device: "cpu" (threads as set by set_thread_count) or "cuda". parameters: see ParameterBatch. What a
    batch does not take is refused by name (docs/gpu.md). q, v, warm, report are rows per world; on a
    device they are DeviceArray with get() and set(), and torch or CuPy arrays may be put in their place.
    """

    def __init__(self, model: Model, n: int, settings: StepSettings | None = None, *, device: str = "cpu",
                 parameters: ParameterBatch | None = None, gradient: bool = True, max_sweeps: int = 512,
                 max_rounds: int = 12) -> None:
        if n < 1:
            raise Error(f"n: must be >= 1, got {n}")
        if device not in ("cpu", "cuda"):
            raise Error(f'device: must be "cpu" or "cuda", got "{device}"')
        self.model, self.n, self.device = model, n, device
        self.settings = settings if settings is not None else StepSettings()
        self.program = _core.BatchProgram(model, self.settings, max_sweeps, max_rounds)
        _, rows = parameter_rows(model, parameters)
        if rows.shape[0] not in (1, n):
            raise Error(f"parameters: expected 1 or {n} rows, got {rows.shape[0]}")
        self._rows = rows.shape[0]
        start = model.rest_state()
        arrays: list[Any] = [np.tile(start.q, (n, 1)), np.tile(start.v, (n, 1)), np.zeros((n, self.program.warm_size)),
                  np.zeros((n, len(_REPORT))), np.ascontiguousarray(rows)]
        self._cuda: CudaBatch | None = None
        if device == "cuda":
            try:
                self._cuda = CudaBatch(self.program.bytes, n, gradient)
                arrays = [DeviceArray(self._cuda, x) for x in arrays]
            except DeviceError as e:
                raise Error(str(e)) from None
        self.q: Any
        self.v: Any
        self.q, self.v, self.warm, self.report, self.parameters = arrays

    @property
    def bytes_per_world(self) -> int:
        """Memory a world takes on a device, its workspace for gradients included."""
        return self.program.workspace_bytes(True)

    def _get(self, x: Any) -> Floats:
        return np.asarray(x.get()) if isinstance(x, DeviceArray) else np.array(x, dtype=float)

    def set_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """All worlds: (n, q_size) and (n, v_size); impulses of the last step are forgotten."""
        for mine, x, name, size in ((self.q, q, "q", self.program.q_size), (self.v, v, "v", self.program.v_size)):
            x = np.ascontiguousarray(x, dtype=float)
            if x.shape != (self.n, size):
                raise Error(f"{name}: expected shape {(self.n, size)}, got {x.shape}")
            if isinstance(mine, DeviceArray):
                mine.set(x)
            else:
                mine[:] = x
        zero = np.zeros((self.n, self.program.warm_size))
        if isinstance(self.warm, DeviceArray):
            self.warm.set(zero)
        else:
            self.warm[:] = zero

    def state(self) -> tuple[Floats, Floats]:
        """Copies of q and v."""
        return self._get(self.q), self._get(self.v)

    def reports(self) -> dict[str, Floats]:
        """What every world says about its last step, by name."""
        return dict(zip(_REPORT, self._get(self.report).T))

    def step(self, u: Any = None) -> None:
        """One step of every world. u: (n, control_count), NumPy or on the device; None: zero."""
        if u is not None and tuple(u.shape) != (self.n, self.program.control_count):
            raise Error(f"u: expected shape {(self.n, self.program.control_count)}, got {tuple(u.shape)}")
        if self._cuda is not None:
            try:
                self._cuda.step(self.q, self.v, self.warm, u, self.parameters, self._rows, self.report)
            except DeviceError as e:
                raise Error(str(e)) from None
            return
        given = np.empty(0) if u is None else np.ascontiguousarray(u, dtype=float)
        self.program.step(self.q, self.v, self.warm, given, self.parameters, self.report)

    def rollout(self, steps: int, u: ArrayLike | None = None) -> BatchTape:
        """`steps` steps from where the batch is, kept for the way back. u: (steps, n, control_count)."""
        controls = None if u is None else np.ascontiguousarray(u, dtype=float)
        expected = (steps, self.n, self.program.control_count)
        if controls is not None and controls.shape != expected:
            raise Error(f"u: expected shape {expected}, got {controls.shape}")
        q, v, warm = [self._get(self.q)], [self._get(self.v)], []
        outcome: Floats = np.zeros(self.n)
        residual: Floats = np.zeros(self.n)
        for t in range(steps):
            self.step(None if controls is None else controls[t])
            q.append(self._get(self.q))
            v.append(self._get(self.v))
            warm.append(self._get(self.warm))
            said = self.reports()
            outcome, residual = np.maximum(outcome, said["outcome"]), np.maximum(residual, said["residual"])
        return BatchTape(np.array(q), np.array(v), np.array(warm).reshape(steps, self.n, -1), controls,
                         outcome.astype(np.int64), residual)

    def pull_back(self, tape: BatchTape, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None, *,
                  parameters: bool = True) -> BatchGradient:
        """Reverse mode. by_q, by_v: derivative of the loss by the final state (n, v_size), or by all states
        (steps + 1, n, v_size), q in tangent coordinates. parameters: False is cheaper."""
        steps, nv = len(tape.warm), self.program.v_size
        loss = []
        for name, x in (("by_q", by_q), ("by_v", by_v)):
            full = np.zeros((steps + 1, self.n, nv))
            if x is not None:
                x = np.asarray(x, dtype=float)
                if x.shape == full.shape:
                    full[:] = x
                elif x.shape == full.shape[1:]:
                    full[-1] = x
                else:
                    raise Error(f"{name}: expected shape {full.shape[1:]} or {full.shape}, got {x.shape}")
            if not np.isfinite(full).all():
                raise Error(f"{name}: must be finite")
            loss.append(full)
        at_q, at_v = loss[0][-1].copy(), loss[1][-1].copy()
        out_u = np.zeros((steps, self.n, self.program.control_count))
        out_p = np.zeros((self.n, self.program.parameter_count if parameters else 0))
        floating: Floats = np.zeros(self.n)
        kinks: Floats = np.zeros(self.n)
        margin: Floats = np.ones(self.n)
        error: Floats = np.zeros(self.n)
        redundant: Floats = np.zeros(self.n)
        for t in reversed(range(steps)):
            none: Floats = np.empty(0)
            back: list[Floats] = [np.zeros((self.n, nv)), np.zeros((self.n, nv)), out_u[t] if tape.u is not None else none,
                                  out_p if parameters else none, np.zeros((self.n, len(_CERTIFICATE)))]
            controls = tape.u[t] if tape.u is not None else none
            if self._cuda is None:
                self.program.pull_back(tape.q[t], tape.v[t], tape.warm[t], controls, self.parameters, at_q, at_v, back[0],
                                       back[1], back[2], back[3], np.empty(0, np.uint8), back[4])
            else:
                arrays = [DeviceArray(self._cuda, x) if x.size else None for x in back]
                self._cuda.pull_back(tape.q[t], tape.v[t], tape.warm[t], controls if controls.size else None,
                                     self.parameters, self._rows, at_q, at_v, arrays[0], arrays[1], arrays[2],
                                     arrays[3], None, arrays[4])
                for x, y in zip(back, arrays):
                    if y is not None:
                        x[...] = y.get()
            at_q, at_v = back[0] + loss[0][t], back[1] + loss[1][t]
            said = back[4].T
            floating += said[0]
            kinks = said[1]
            margin, error = np.minimum(margin, said[2]), np.maximum(error, said[3])
            redundant += said[4]
        return BatchGradient(at_q, at_v, out_u, out_p, floating.astype(np.int64), kinks.astype(np.int64), margin, error,
                             redundant.astype(np.int64))
