# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one model at once: a leading batch dimension, one thread per world."""
from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import Error, Model, Outcome, Parameters, State, StepSettings, WarmStart

Floats = NDArray[np.float64]
#: One set for all worlds, one per world, all numbers (B, n), or some by name (each a number or (B,)).
ParameterBatch = Union[Parameters, Sequence[Parameters], Mapping[str, ArrayLike], NDArray[Any]]


@dataclass(eq=False)
class BatchTrajectory:
    """B worlds, F frames (the first is the start)."""

    t: Floats = field(repr=False)  #: (F,) [s]
    q: Floats = field(repr=False)  #: (B, F, q_size)
    v: Floats = field(repr=False)  #: (B, F, v_size)
    outcome: NDArray[np.int64]  #: (B,) worst value of Outcome, 0 = Converged
    failed_steps: NDArray[np.int64]  #: (B,)
    residual: Floats = field(repr=False)  #: (B,) worst
    deepest: Floats = field(repr=False)  #: (B,) worst [m]
    errors: list[str]  #: (B,) why a world stopped, empty: it did not

    @property
    def ok(self) -> NDArray[np.bool_]:
        """(B,) every step converged and nothing was refused."""
        return np.equal(self.outcome, Outcome.Converged.value)

    def __len__(self) -> int:
        return len(self.q)


def parameter_rows(model: Model,
                   parameters: ParameterBatch | None) -> tuple[Parameters, Floats]:
    """The names, and the numbers as (1 or B, n)."""
    base = model.default_parameters()
    if parameters is None:
        return base, base.values[None, :]
    if isinstance(parameters, Parameters):
        return parameters, parameters.values[None, :]
    if isinstance(parameters, Mapping):
        columns = {base.index(name): np.asarray(x, dtype=float) for name, x in parameters.items()}
        sizes = {x.shape[0] for x in columns.values() if x.ndim == 1}
        wrong = [name for name, x in parameters.items() if np.ndim(x) > 1]
        if wrong or len(sizes) > 1:
            raise Error(f"parameters: expected numbers or arrays (B,) of one length, got shapes "
                        f"{[np.shape(x) for x in parameters.values()]}")
        rows = np.repeat(base.values[None, :], sizes.pop() if sizes else 1, axis=0)
        for place, x in columns.items():
            rows[:, place] = x
        return base, rows
    if isinstance(parameters, np.ndarray):
        return base, np.atleast_2d(parameters)
    return base, np.stack([p.values for p in parameters])


def state_rows(states: State | Sequence[State] | tuple[ArrayLike, ArrayLike],
               worlds: int) -> tuple[Floats, Floats, float]:
    """q (B, q_size), v (B, v_size), t. A single state serves all worlds."""
    if isinstance(states, State):
        return (np.repeat(states.q[None, :], worlds, axis=0),
                np.repeat(states.v[None, :], worlds, axis=0), states.t)
    if isinstance(states, tuple) and len(states) == 2 and not isinstance(states[0], State):
        return np.asarray(states[0]), np.asarray(states[1]), 0.0
    many: list[State] = list(states)
    if not many:
        raise Error("states: expected at least one")
    if any(x.t != many[0].t for x in many):
        raise Error("states: expected the same time in all worlds")
    return np.stack([x.q for x in many]), np.stack([x.v for x in many]), many[0].t


def batch_arrays(model: Model, states: State | Sequence[State] | tuple[ArrayLike, ArrayLike],
                 steps: int, parameters: ParameterBatch | None, u: ArrayLike | None
                 ) -> tuple[Parameters, Floats, Floats, Floats, Floats | None, float]:
    """Names, parameters (1 or B, n), q, v, controls (1 or B, steps * count), t."""
    controls = None if u is None else np.asarray(u, dtype=float)
    shape = (steps, model.control_count)
    if controls is not None and (controls.ndim not in (2, 3) or controls.shape[-2:] != shape):
        raise Error(f"u: expected shape {shape} or (B, {steps}, {model.control_count}), "
                    f"got {controls.shape}")
    names, rows = parameter_rows(model, parameters)
    worlds = max(len(rows), 1 if controls is None or controls.ndim == 2 else len(controls))
    q, v, t = state_rows(states, worlds)
    flat = None if controls is None else controls.reshape(-1, steps * model.control_count)
    return names, rows, q, v, flat, t


def _roll(model: Model, names: Parameters, settings: StepSettings, rows: Floats, q: Floats,
          v: Floats, controls: Floats | None, t: float, steps: int, every: int,
          threads: int, warm: list[WarmStart] | None = None) -> dict[str, Any]:
    """Some of the worlds; a function of the module, so that other processes find it."""
    return dict(_core.rollout_batch(model, names, settings, rows, q, v, controls, t, steps, every,
                                    threads, warm))


def _parts(worlds: int, executor: Executor) -> list[slice]:
    """A few for each worker: worlds are not equally long."""
    workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    count = min(worlds, 4 * workers)
    ends = [worlds * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in zip(ends, ends[1:])]


def rollout_batch(model: Model, settings: StepSettings,
                  states: State | Sequence[State] | tuple[ArrayLike, ArrayLike], steps: int, *,
                  parameters: ParameterBatch | None = None, u: ArrayLike | None = None,
                  every: int = 1, threads: int | None = None, executor: Executor | None = None,
                  warm: list[WarmStart] | None = None) -> BatchTrajectory:
    """`steps` steps in B worlds that differ in state, parameters or controls.

    states: a State (for all), a list, or (q, v) with a leading dimension B; parameters: see
    ParameterBatch; u: (steps, control_count) for all or (B, steps, control_count); threads: None as
    set by set_thread_count, 0 all cores. executor: any of concurrent.futures, or one with its
    submit() (ProcessPoolExecutor, mpi4py.futures.MPIPoolExecutor, a Dask client's): the worlds are
    shared out over its workers, each with one thread unless `threads` says more. The numbers depend
    neither on threads nor on the executor. warm: one WarmStart per world, updated in place (without an
    executor). A world that fails says so in `outcome` and `errors` (its
    last good state is repeated); the others go on.
    """
    names, rows, q, v, flat, t = batch_arrays(model, states, steps, parameters, u)
    d: dict[str, Any]
    if executor is None:
        d = _roll(model, names, settings, rows, q, v, flat, t, steps, every,
                  -1 if threads is None else threads, warm)
    elif warm is not None:
        raise Error("warm: the workers of an executor would change copies of it")
    else:
        def cut(x: Floats, part: slice) -> Floats:
            return x if len(x) == 1 else x[part]

        worlds = max(len(q), len(rows), 1 if flat is None else len(flat))
        futures = [executor.submit(_roll, model, names, settings, cut(rows, part), cut(q, part),
                                   cut(v, part), None if flat is None else cut(flat, part), t,
                                   steps, every, 1 if threads is None else threads)
                   for part in _parts(worlds, executor)]
        done = [future.result() for future in futures]
        d = {name: [e for one in done for e in one[name]] if name == "errors"
             else np.concatenate([one[name] for one in done])
             for name in ("q", "v", "outcome", "failed_steps", "residual", "deepest", "errors")}
    frames = np.minimum(np.arange(d["q"].shape[1]) * every, steps)
    return BatchTrajectory(t=t + settings.h * frames, q=d["q"], v=d["v"],
                           outcome=d["outcome"].astype(np.int64),
                           failed_steps=d["failed_steps"].astype(np.int64), residual=d["residual"],
                           deepest=d["deepest"], errors=d["errors"])
