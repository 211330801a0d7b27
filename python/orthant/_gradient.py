# SPDX-License-Identifier: Apache-2.0
"""Rollouts that can be differentiated: record forward, pull a loss back."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._batch import ParameterBatch, batch_arrays
from ._core import Error, Model, Parameters, RolloutCertificate, State, StepGradientSettings
from ._core import StepSettings

Floats = NDArray[np.float64]


@dataclass(eq=False)
class RolloutGradient:
    """Derivative of a scalar by all that a rollout reads; with a leading B for a batch.

    q is by the numbers of State.q (a quaternion counts as normalised); a fixed body's pose is not
    differentiated: its entries pass the loss through. A world without a gradient has NaN and a reason.
    """

    q: Floats = field(repr=False)  #: (q_size,)
    v: Floats = field(repr=False)  #: (v_size,)
    u: Floats = field(repr=False)  #: (steps, control_count)
    parameters: Floats = field(repr=False)  #: aligned with Parameters.values
    names: Parameters = field(repr=False)
    certificates: list[RolloutCertificate]  #: one per world: read it before trusting the numbers
    errors: list[str]  #: one per world, empty: fine

    def __getitem__(self, name: str) -> Floats:
        """By a parameter, by name."""
        return np.asarray(self.parameters[..., self.names.index(name)])

    @property
    def certificate(self) -> RolloutCertificate:
        """Of the first world."""
        return self.certificates[0]


class RolloutTape:
    """A recorded rollout: its states, and all that the way back needs.

    Without records (`store_records=False`) only about 2 sqrt(steps) states are kept and the rest is
    made again on the way back: the same bits, less memory, one more forward.
    """

    def __init__(self, model: Model, settings: StepSettings, names: Parameters, arrays: tuple[
            Floats, Floats, Floats, Floats | None, float], steps: int, single: bool,
            store_records: bool, threads: int) -> None:
        rows, q, v, u, t = arrays
        self._core = _core.TapeBatch(model, names, settings, rows, q, v, u, t, steps, store_records,
                                     threads)
        self._names = names
        self._single = single
        self._threads = threads
        d = self._core.states()
        lead = 0 if single else slice(None)
        self.t: Floats = np.asarray(t + settings.h * np.arange(steps + 1), dtype=np.float64)  #: (steps + 1,) [s]
        self.q: Floats = d["q"][lead]  #: ([B,] steps + 1, q_size)
        self.v: Floats = d["v"][lead]  #: ([B,] steps + 1, v_size)
        self.outcome: NDArray[np.int64] = d["outcome"].astype(np.int64)  #: (B,) 0 = Converged
        self.failed_steps: NDArray[np.int64] = d["failed_steps"].astype(np.int64)  #: (B,)
        self.errors: list[str] = d["errors"]  #: (B,) why a world did not run
        if single and self.errors[0]:
            raise Error(self.errors[0])

    def pull_back(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None,
                  settings: StepGradientSettings | None = None) -> RolloutGradient:
        """The derivative of a loss by everything, from its derivative by the states.

        by_q, by_v: shaped like tape.q, tape.v, or without the time axis: by the last state only.
        Raises Error where a single rollout has no gradient (a step that did not converge).
        """
        d = self._core.pull_back(self._all_frames(by_q, self.q, "by_q"),
                                 self._all_frames(by_v, self.v, "by_v"),
                                 StepGradientSettings() if settings is None else settings,
                                 self._threads)
        if self._single and d["errors"][0]:
            raise Error(d["errors"][0])
        lead = 0 if self._single else slice(None)
        return RolloutGradient(q=d["q"][lead], v=d["v"][lead], u=d["u"][lead],
                               parameters=d["parameters"][lead], names=self._names,
                               certificates=d["certificates"], errors=d["errors"])

    def push_forward(self, *, parameters: Mapping[str, float] | None = None,
                     q: ArrayLike | None = None, v: ArrayLike | None = None,
                     u: ArrayLike | None = None, settings: StepGradientSettings | None = None
                     ) -> tuple[Floats, Floats]:
        """How all states move with one change of the data: dq and dv, shaped like tape.q and tape.v.

        For few directions and many outputs. q, (q_size,), and dq are changes of the numbers of
        State.q, as in pull_back(): the two are transposes of each other. A quaternion counts as
        normalised. v: (v_size,); parameters: name => change; u: (steps, control_count).
        """
        dp = None
        if parameters is not None:
            dp = np.zeros(len(self._names))
            for name, change in parameters.items():
                dp[self._names.index(name)] = change
        dq, dv, errors = self._core.push_forward(
            q, v, u, dp, StepGradientSettings() if settings is None else settings, self._threads)
        if self._single and errors[0]:
            raise Error(errors[0])
        lead = 0 if self._single else slice(None)
        return dq[lead], dv[lead]

    def _all_frames(self, given: ArrayLike | None, like: Floats, where: str) -> Floats:
        out = np.zeros(like.shape)
        if given is not None:
            g = np.asarray(given, dtype=float)
            if g.shape == like.shape:
                out[...] = g
            elif g.shape == like.shape[:-2] + like.shape[-1:]:
                out[..., -1, :] = g
            else:
                raise Error(f"{where}: expected shape {like.shape} or, for the last state, "
                            f"{like.shape[:-2] + like.shape[-1:]}, got {g.shape}")
        return out.reshape(1 if self._single else like.shape[0], -1)


def record_rollout(model: Model, parameters: Parameters, settings: StepSettings, state: State,
                   steps: int, *, u: ArrayLike | None = None,
                   store_records: bool = True) -> RolloutTape:
    """`steps` steps from `state`, bit for bit those of rollout(), kept for the way back.

    u: controls (steps, control_count).
    """
    controls = None
    if u is not None:
        controls = np.asarray(u, dtype=float)
        if controls.shape != (steps, model.control_count):
            raise Error(f"u: expected shape {(steps, model.control_count)}, got {controls.shape}")
        controls = controls.reshape(1, -1)
    arrays = (parameters.values[None, :].copy(), state.q[None, :], state.v[None, :], controls, state.t)
    return RolloutTape(model, settings, parameters.copy(), arrays, steps, True, store_records, -1)


def record_rollout_batch(model: Model, settings: StepSettings,
                         states: State | Sequence[State] | tuple[ArrayLike, ArrayLike], steps: int,
                         *, parameters: ParameterBatch | None = None, u: ArrayLike | None = None,
                         store_records: bool = True, threads: int | None = None) -> RolloutTape:
    """As rollout_batch(), kept for the way back; a world without a gradient has NaN and a reason."""
    names, rows, q, v, flat, t = batch_arrays(model, states, steps, parameters, u)
    return RolloutTape(model, settings, names, (rows, q, v, flat, t), steps, False, store_records,
                       -1 if threads is None else threads)
