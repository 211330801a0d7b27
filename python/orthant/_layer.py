# SPDX-License-Identifier: Apache-2.0
"""What the torch and JAX layers share: batches of NumPy arrays in and out, forward and back.

All arrays are double and have exactly one leading batch dimension here; the layers broadcast.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import (Error, Model, Outcome, Parameters, SolutionGradientSettings, SolveSettings,
                    StepGradientSettings, StepSettings)

Floats = NDArray[np.float64]

_LCP_SETTINGS = SolveSettings(tolerance=1e-12)


@dataclass(eq=False)
class RolloutLayer:
    """The constants of a differentiable rollout."""

    model: Model
    settings: StepSettings
    steps: int
    names: Sequence[str] = ()  #: parameters that come in as arrays
    base: Parameters | None = None  #: the others
    gradient: StepGradientSettings = field(default_factory=StepGradientSettings)
    store_records: bool = True
    threads: int = -1
    nan_where_failed: bool = False

    def __post_init__(self) -> None:
        if self.base is None:
            self.base = self.model.default_parameters()
        self._base = self.base
        self.places = [self._base.index(name) for name in self.names]
        # A quaternion is used normalised; its derivative is that of the normalised one.
        self._quaternions = [slice(b.q_begin + 3, b.q_begin + 7) for b in self.model.bodies
                             if not b.planar]

    def normalised(self, q: Floats) -> tuple[Floats, list[Floats]]:
        q = np.array(q, dtype=float)
        norms = []
        for part in self._quaternions:
            norm = np.linalg.norm(q[:, part], axis=-1, keepdims=True)
            if not (norm > 0).all():
                raise Error("q: a quaternion is zero or not a number")
            q[:, part] /= norm
            norms.append(norm)
        return q, norms

    def record(self, q: Floats, v: Floats, u: Floats | None,
               values: Floats) -> tuple[_core.TapeBatch, Floats, Floats]:
        """(B, q_size), (B, v_size), (B, steps, control_count), (B, names) => tape, q, v of all frames."""
        self._check(q, "q", self.model.q_size)
        self._check(v, "v", self.model.v_size)
        if u is not None and u.shape[1:] != (self.steps, self.model.control_count):
            raise Error(f"u: expected (…, {self.steps}, {self.model.control_count}), got {u.shape}")
        rows = np.repeat(self._base.values[None, :], len(q), axis=0)
        rows[:, self.places] = values
        flat = None if u is None else np.asarray(u, dtype=float).reshape(len(u), -1)
        tape = _core.TapeBatch(self.model, self._base, self.settings, rows, self.normalised(q)[0],
                               np.asarray(v, dtype=float), flat, 0.0, self.steps,
                               self.store_records, self.threads)
        d = tape.states()
        self._judge(d["errors"])
        return tape, d["q"], d["v"]

    def pull_back(self, tape: _core.TapeBatch, q: Floats, by_q: Floats,
                  by_v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """By the frames in; by q, v, u, named parameters out."""
        d = tape.pull_back(np.asarray(by_q, dtype=float).reshape(len(by_q), -1),
                           np.asarray(by_v, dtype=float).reshape(len(by_v), -1), self.gradient,
                           self.threads)
        self._judge(d["errors"])
        for part, norm in zip(self._quaternions, self.normalised(q)[1]):
            d["q"][:, part] /= norm
        return d["q"], d["v"], d["u"], d["parameters"][:, self.places]

    def _judge(self, errors: list[str]) -> None:
        bad = [f"world {i}: {e}" for i, e in enumerate(errors) if e]
        if bad and not self.nan_where_failed:
            raise Error("; ".join(bad[:3]))

    @staticmethod
    def _check(x: Floats, where: str, size: int) -> None:
        if x.ndim != 2 or x.shape[1] != size:
            raise Error(f"{where}: expected (…, {size}), got {x.shape}")


@dataclass(eq=False)
class LcpLayer:
    """The constants of a differentiable LCP; the first `equations` rows are equations."""

    equations: int = 0
    settings: SolveSettings = field(default_factory=_LCP_SETTINGS.replace)
    gradient: SolutionGradientSettings = field(default_factory=SolutionGradientSettings)
    threads: int = -1
    nan_where_failed: bool = False

    def solve(self, M: Floats, q: Floats) -> tuple[Floats, Floats]:
        """(B, n, n), (B, n) => z, w."""
        if M.ndim != 3 or q.ndim != 2 or M.shape[1:] != (q.shape[1], q.shape[1]):
            raise Error(f"lcp: expected M (…, n, n) and q (…, n), got {M.shape} and {q.shape}")
        z, w, outcome, residual = _core.solve_lcp_batch(self._flat(M), q, self.equations,
                                                        self.settings, self.threads)
        bad = np.flatnonzero(outcome != Outcome.Converged.value)
        if bad.size and not self.nan_where_failed:
            name = Outcome(int(outcome[bad[0]])).name
            raise Error(f"lcp: problem {bad[0]} was not solved: {name}, residual "
                        f"{residual[bad[0]]:.2g} ({bad.size} of {len(outcome)})")
        z[bad], w[bad] = np.nan, np.nan
        return z, w

    def pull_back(self, M: Floats, q: Floats, z: Floats, w: Floats,
                  by_z: Floats) -> tuple[Floats, Floats]:
        """By z in, by M and q out."""
        good = np.isfinite(z).all(axis=1)
        by_M, by_q = np.full(M.shape, np.nan), np.full(q.shape, np.nan)
        if good.any():
            flat, by_q[good], *_ = _core.pull_back_lcp_batch(
                self._flat(M[good]), q[good], z[good], w[good], by_z[good], np.zeros_like(z[good]),
                self.equations, self.gradient, self.threads)
            by_M[good] = flat.reshape(by_M[good].shape)
        return by_M, by_q

    @staticmethod
    def _flat(M: Floats) -> Floats:
        return np.ascontiguousarray(M, dtype=float).reshape(len(M), -1)
