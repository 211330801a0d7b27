# SPDX-License-Identifier: Apache-2.0
"""Many steps: rollout() as a function, Simulator as a thing one talks to."""
from __future__ import annotations

import time
from os import PathLike, fspath
from typing import Any, Callable, Mapping, Sequence

from numpy.typing import ArrayLike

from . import _core
from ._core import (Accuracy, Contact, ContactForce, Error, LoadedScene, Model, Parameters, State,
                    StepRecord, StepReport, StepSettings, WarmStart)
from ._trajectory import Trajectory, number_of

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
        self.scene: LoadedScene | None = None  #: where it came from, if from a file
        self._record: StepRecord | None = None

    @classmethod
    def load(cls, path: str | PathLike[str], *, set: Sequence[str] | Mapping[str, object] = (),
             **changes: Any) -> Simulator:
        """The world of a scene file (YAML or URDF), ready to run: `Simulator.load(path).run()`.

        set: changes as in load(); `changes` are fields of StepSettings.
        """
        scene = load(path, set=set)
        made = cls(scene.model, parameters=scene.parameters, settings=scene.settings,
                   state=scene.state, **changes)
        made.scene = scene
        return made

    def run(self, *, every: int = 1, progress: bool = True) -> Trajectory:
        """The run its scene file asks for: its number of steps, with its controls."""
        if self.scene is None:
            raise Error("run: only a simulator of a scene file knows how long; use rollout(steps)")
        steps = self.scene.steps
        u = self.scene.controls(steps) if self.model.control_count else None
        return self.rollout(steps, u=u, every=every, progress=progress)

    def of(self, body: str, what: str | None = None) -> Any:
        """A body's numbers now: `sim.of("ball", "z")`, or all of its configuration."""
        if what is None:
            return self.state.q[self.model.q_slice(body)].copy()
        kind, place = number_of(self.model, body, what)
        return float((self.state.q if kind == "q" else self.state.v)[place])

    def contacts(self) -> list[Contact]:
        """The contacts of the last step() at accuracy `Exact`: points, normals, impulses, states.

        Steps at `Fast` and `Standard` keep no record, which would make them exact:
        `contact_forces()` tells what pressed in them.
        """
        if self._record is None:
            raise Error("contacts: are those of the last step() at accuracy Exact; take one first, "
                        "or ask for contact_forces()")
        return _core.contacts(self.model, self.parameters, self._record)

    def contact_forces(self) -> list[ContactForce]:
        """Where bodies pressed on each other in the last step, at any accuracy, also of a rollout."""
        return _core.contact_forces(self.model, self.warm, self.settings.h)

    @property
    def t(self) -> float:
        """Time [s]."""
        return self.state.t

    def step(self, u: ArrayLike | None = None) -> StepReport:
        """One step of settings.h with controls u."""
        if self.settings.accuracy != Accuracy.Exact:
            self._record = None
        elif self._record is None:
            self._record = StepRecord()
        return _core.step(self.model, self.parameters, self.settings, self.state, self.warm, u,
                          self._record)

    def rollout(self, steps: int, *, u: ArrayLike | None = None, callback: Callback | None = None,
                every: int = 1, progress: bool = True) -> Trajectory:
        """Goes on for `steps` steps; the simulator then stands at the end."""
        trajectory = rollout(self.model, self.parameters, self.settings, self.state, steps, u=u,
                             warm=self.warm, callback=callback, every=every, progress=progress)
        self.state = trajectory.final_state.copy()
        self._record = None
        return trajectory

    def reset(self, state: State | None = None) -> None:
        """Back to the beginning, or to `state`; forgets the impulses."""
        self.state = self.model.rest_state() if state is None else state.copy()
        self.warm = WarmStart()
        self._record = None

    def __repr__(self) -> str:
        return f"Simulator({self.model!r}, t={self.t:g} s, h={self.settings.h:g} s)"


def load(path: str | PathLike[str], *,
         set: Sequence[str] | Mapping[str, object] = ()) -> LoadedScene:
    """A scene file (YAML or URDF): model, parameters, state, settings, controls.

    set: changes of a parameter or a setting, {"step.h": 0.005} or ["step.h=0.005"]. To run it:
    `ot.Simulator.load(path).run()`.
    """
    texts = [f"{k}={v}" for k, v in set.items()] if isinstance(set, Mapping) else list(set)
    return _core.load_scene(fspath(path), texts)
