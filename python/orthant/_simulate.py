# SPDX-License-Identifier: Apache-2.0
"""Many steps: rollout() as a function, Simulator as a thing one talks to."""
from __future__ import annotations

import time
from os import PathLike, fspath
from typing import Any, Callable, Sequence

from numpy.typing import ArrayLike

from . import _core
from ._core import LoadedScene, Model, Parameters, State, StepReport, StepSettings, WarmStart
from ._trajectory import Trajectory

Callback = Callable[[int, State, StepReport], Any]

_PATIENCE = 2.0  # [s] before a bar is worth its place


class _Progress:
    """A tqdm bar that appears once a rollout has taken two seconds; nothing where tqdm is missing."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._begin = time.monotonic()
        self._bar: Any = None
        self._missing = False

    def __call__(self, done: int) -> None:
        if self._missing or time.monotonic() - self._begin < _PATIENCE:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._missing = True
                return
            self._bar = tqdm(total=self._steps, unit="step")
        self._bar.update(done - self._bar.n)

    def close(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            self._bar.close()


def rollout(model: Model, parameters: Parameters, settings: StepSettings, state: State, steps: int,
            *, u: ArrayLike | None = None, warm: WarmStart | None = None,
            callback: Callback | None = None, every: int = 1,
            progress: bool = True) -> Trajectory:
    """`steps` steps from `state`, which stays as it is; the end is `trajectory.final_state`.

    u: controls (steps, control_count); callback(step, state, report) after each step, False ends the
    run; every: keep each n-th state; warm: empty where not given, updated in place; progress: a bar
    once it has taken two seconds. ctrl-C stops it.
    """
    bar = _Progress(steps) if progress else None
    try:
        data = _core.rollout(model, parameters, settings, state, steps, u, warm, callback, every, bar)
    finally:
        if bar is not None:
            bar.close(steps)
    return Trajectory(model=model, parameters=parameters.copy(), settings=settings, **data)


class Simulator:
    """A world that runs: model, parameters, settings, state and warm start in one place."""

    def __init__(self, model: Model, *, parameters: Parameters | None = None,
                 settings: StepSettings | None = None, state: State | None = None,
                 **changes: Any) -> None:
        self.model = model
        self.parameters = model.default_parameters() if parameters is None else parameters
        self.settings = (StepSettings() if settings is None else settings).replace(**changes)
        self.state = model.rest_state() if state is None else state
        self.warm = WarmStart()

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.state.t

    def step(self, u: ArrayLike | None = None) -> StepReport:
        """One step of settings.h with controls u."""
        return _core.step(self.model, self.parameters, self.settings, self.state, self.warm, u)

    def rollout(self, steps: int, *, u: ArrayLike | None = None, callback: Callback | None = None,
                every: int = 1, progress: bool = True) -> Trajectory:
        """Goes on for `steps` steps; the simulator then stands at the end."""
        trajectory = rollout(self.model, self.parameters, self.settings, self.state, steps, u=u,
                             warm=self.warm, callback=callback, every=every, progress=progress)
        self.state = trajectory.final_state.copy()
        return trajectory

    def reset(self, state: State | None = None) -> None:
        """Back to the beginning, or to `state`; forgets the impulses."""
        self.state = self.model.rest_state() if state is None else state.copy()
        self.warm = WarmStart()

    def __repr__(self) -> str:
        return f"Simulator({self.model!r}, t={self.t:g} s, h={self.settings.h:g} s)"


def load(path: str | PathLike[str], *, set: Sequence[str] = ()) -> LoadedScene:
    """A scene file (YAML or URDF): model, parameters, state, settings, controls.

    set: "key=value" changes, a parameter or a setting ("step.h=0.005"). To run it:
    `scene = ot.load(path)`, then `ot.Simulator(scene.model, parameters=scene.parameters,
    settings=scene.settings, state=scene.state).rollout(scene.steps, u=scene.controls(scene.steps))`.
    """
    return _core.load_scene(fspath(path), list(set))
