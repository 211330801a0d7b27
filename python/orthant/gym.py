# SPDX-License-Identifier: Apache-2.0
"""ot.gym: environments for Gymnasium. `import orthant.gym` registers orthant/CartPole-v0,
orthant/PlanarPush-v0, orthant/Ant-v0 and orthant/Stand-v0, single and vector.

    env = gymnasium.make("orthant/Ant-v0")
    many = gymnasium.make_vec("orthant/Ant-v0", num_envs=64, vectorization_mode="vector_entry_point")

`task(name)` is what an environment is made of: model, settings, observe() and reward() for tensors, so
that a gradient goes through `ot.torch.step` where reinforcement learning only samples.
"""
from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from . import _core
from ._core import Error, WarmStart
from ._batch import rollout_batch
from ._tasks import TASKS, Task
from ._trajectory import Trajectory

__all__ = ["Environment", "VectorEnvironment", "task"]

Floats = NDArray[np.float64]


def task(name: str) -> Task:
    """The task of an environment by name: "CartPole", "PlanarPush", "Ant", "Stand"."""
    if name not in TASKS:
        raise Error(f"task: expected one of {', '.join(TASKS)}, got '{name}'")
    return TASKS[name]()


def _spaces(made: Task) -> tuple[spaces.Box, spaces.Box]:
    x = made.model.rest_state()
    size = made.observe(x.q, x.v).shape[-1]
    return (spaces.Box(-np.inf, np.inf, (size,), np.float64),
            spaces.Box(-1.0, 1.0, made.strength.shape, np.float32))


class Environment(gymnasium.Env[Any, Any]):
    """One world. `state` and `task` are open: gradients go beside it, not through it."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, name: str, **changes: Any) -> None:
        self.task = task(name)
        self.settings = self.task.settings.replace(**changes)
        self.observation_space, self.action_space = _spaces(self.task)
        self._parameters = self.task.model.default_parameters()
        self.state = self.task.model.rest_state()
        self._warm, self._done = WarmStart(), 0

    def reset(self, *, seed: int | None = None,
              options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """A new episode; the same seed gives the same one."""
        super().reset(seed=seed)
        self.state = self.task.start(self.np_random)
        self._warm, self._done = WarmStart(), 0
        return self.task.observe(self.state.q, self.state.v), {}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """One action, `task.frame_skip` steps."""
        a = np.clip(np.asarray(action, dtype=float), -1.0, 1.0)
        failed = 0
        for _ in range(self.task.frame_skip):
            report = _core.step(self.task.model, self._parameters, self.settings, self.state, self._warm,
                                a * self.task.strength)
            failed += report.outcome != _core.Outcome.Converged
        self._done += 1
        q, v = self.state.q, self.state.v
        return (self.task.observe(q, v), float(self.task.reward(q, v, a)), bool(self.task.fallen(q, v)),
                self._done >= self.task.horizon, {"failed_steps": failed})


class VectorEnvironment(VectorEnv[Any, Any, Any]):
    """Many worlds in threads; a world that is over starts anew with its next action."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, name: str, num_envs: int = 1, *, threads: int | None = None,
                 **changes: Any) -> None:
        if num_envs < 1:
            raise Error(f"num_envs: must be >= 1, got {num_envs}")
        self.task = task(name)
        self.settings = self.task.settings.replace(**changes)
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._threads = threads
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]
        rest = self.task.model.rest_state()
        self.q: Floats = np.tile(rest.q, (num_envs, 1))  #: (num_envs, q_size)
        self.v: Floats = np.tile(rest.v, (num_envs, 1))  #: (num_envs, v_size)
        self._warm = [WarmStart() for _ in range(num_envs)]
        self._done = np.zeros(num_envs, dtype=int)
        self._over = np.zeros(num_envs, dtype=bool)

    def _begin(self, worlds: Any) -> None:
        for i in np.flatnonzero(worlds):
            x = self.task.start(self._rngs[i])
            self.q[i], self.v[i], self._done[i] = x.q, x.v, 0
            self._warm[i] = WarmStart()

    def reset(self, *, seed: int | list[int | None] | None = None,
              options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """New episodes in all worlds; world i of seed s is that of seed s + i."""
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._rngs = [np.random.default_rng(s) for s in seeds]
        self._over[:] = False
        self._begin(np.ones(self.num_envs, dtype=bool))
        return self.task.observe(self.q, self.v), {}

    def step(self, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_],
                                          dict[str, Any]]:
        """One action per world; worlds that were over begin anew and do not move."""
        a = np.clip(np.asarray(actions, dtype=float), -1.0, 1.0)
        again = self._over.copy()
        self._begin(again)
        u = np.repeat((a * self.task.strength)[:, None, :], self.task.frame_skip, axis=1)
        runs = rollout_batch(self.task.model, self.settings, (self.q, self.v), self.task.frame_skip, u=u,
                             every=self.task.frame_skip, threads=self._threads, warm=self._warm)
        for i in np.flatnonzero(again):
            self._warm[i] = WarmStart()  # it did not move
        moves = ~again
        self.q[moves], self.v[moves] = runs.q[moves, -1], runs.v[moves, -1]
        self._done += moves
        reward = np.where(again, 0.0, self.task.reward(self.q, self.v, a))
        over = np.asarray(self.task.fallen(self.q, self.v), dtype=bool) & moves
        over |= np.array([bool(e) for e in runs.errors]) & moves
        late = (self._done >= self.task.horizon) & moves
        self._over = over | late
        return (self.task.observe(self.q, self.v), reward, over, late,
                {"failed_steps": runs.failed_steps})


def _make(name: str) -> Any:
    def single(**options: Any) -> Environment:
        return Environment(name, **options)

    def vector(num_envs: int = 1, **options: Any) -> VectorEnvironment:
        return VectorEnvironment(name, num_envs, **options)

    return single, vector


for _name in TASKS:
    _single, _vector = _make(_name)
    gymnasium.register(id=f"orthant/{_name}-v0", entry_point=_single, vector_entry_point=_vector)
