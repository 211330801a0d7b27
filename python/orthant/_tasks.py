# SPDX-License-Identifier: Apache-2.0
"""Control tasks: a model, what is observed, what is rewarded.

observe() and reward() use arithmetic alone, so that they take NumPy arrays and torch tensors with any
leading dimensions: an environment steps them, a gradient goes through them.
"""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import (JointKind, Model, Motion, Pose, Shape, ShapeSpec, SolveSettings, Stabilisation,
                    State, StepSettings)
from ._model import ModelBuilder

Floats = NDArray[np.float64]


def _stack(parts: list[Any]) -> Any:
    """Numbers (…) side by side: (…, n)."""
    if type(parts[0]).__module__.startswith("torch"):
        import torch
        return torch.stack(parts, dim=-1)
    return np.stack(parts, axis=-1)


def _sin_cos(x: Any) -> tuple[Any, Any]:
    return (np.sin(x), np.cos(x)) if isinstance(x, (np.ndarray, float)) else (x.sin(), x.cos())


class Task(ABC):
    """What an environment is about. Actions are in [-1, 1]; `strength` makes controls of them."""

    model: Model
    settings: StepSettings
    strength: Floats  #: control of an action of 1, (control_count,)
    frame_skip: int = 1  #: steps per action
    horizon: int = 500  #: actions per episode

    @abstractmethod
    def start(self, rng: np.random.Generator) -> State:
        """A first state."""

    @abstractmethod
    def observe(self, q: Any, v: Any) -> Any:
        """(…, q_size), (…, v_size) => (…, n)."""

    @abstractmethod
    def reward(self, q: Any, v: Any, action: Any) -> Any:
        """Of the state after an action, (…)."""

    @abstractmethod
    def fallen(self, q: Any, v: Any) -> Any:
        """True where the episode is over, (…)."""


class CartPole(Task):
    """A pole balanced on a cart: action the force on the cart, 10 N at most."""

    def __init__(self) -> None:
        b = ModelBuilder()
        b.add_body("cart", motion=Motion.Planar, mass=1.0, shapes=[ShapeSpec(Shape.rectangle(0.2, 0.1))])
        b.add_body("pole", motion=Motion.Planar, position=(0, 0.5), mass=0.1,
                   shapes=[ShapeSpec(Shape.rectangle(0.02, 0.5))])
        b.add_joint("rail", JointKind.Prismatic, "cart", axis=(1, 0))
        b.add_joint("pivot", JointKind.Revolute, "pole", "cart")
        b.add_joint_actuator("drive", "rail")
        self.model = b.build()
        self.settings = StepSettings(h=0.02)
        self.strength = np.array([10.0])

    def start(self, rng: np.random.Generator) -> State:
        x = self.model.rest_state()
        angle, turn, place, speed = rng.uniform(-0.05, 0.05, 4)
        x.q[:] = [place, 0, 0, place - 0.5 * math.sin(angle), 0.5 * math.cos(angle), angle]
        x.v[:] = [speed, 0, 0, speed - 0.5 * math.cos(angle) * turn, -0.5 * math.sin(angle) * turn,
                  turn]
        return x

    def observe(self, q: Any, v: Any) -> Any:
        s, c = _sin_cos(q[..., 5])
        return _stack([q[..., 0], v[..., 0], s, c, v[..., 5]])

    def reward(self, q: Any, v: Any, action: Any) -> Any:
        return 1.0 - q[..., 5] ** 2 - 0.05 * q[..., 0] ** 2 - 0.001 * (action**2).sum(-1)

    def fallen(self, q: Any, v: Any) -> Any:
        return (abs(q[..., 0]) > 2.4) | (abs(q[..., 5]) > 0.4)


class PlanarPush(Task):
    """A ball pushes a box over a table to a mark: action two forces on the ball, 3 N at most."""

    def __init__(self) -> None:
        b = ModelBuilder()
        b.add_material("wood", friction=0.3)
        b.add_body("table", motion=Motion.Fixed, shapes=[ShapeSpec(Shape.half_space(), material="wood")])
        b.add_body("box", position=(0, 0, 0.05), mass=0.3,
                   shapes=[ShapeSpec(Shape.box(0.08, 0.08, 0.05), material="wood")])
        b.add_body("pusher", position=(-0.15, 0, 0.05), mass=0.3,
                   shapes=[ShapeSpec(Shape.sphere(0.03), material="wood")])
        b.add_joint("height", JointKind.LockZ, "pusher", anchor=(-0.15, 0, 0.05))
        b.add_joint("upright", JointKind.LockRotation, "pusher")
        b.add_body_actuator("x", "pusher", force=(1, 0, 0))
        b.add_body_actuator("y", "pusher", force=(0, 1, 0))
        self.model = b.build()
        self.settings = StepSettings(h=0.01)
        self.strength = np.array([3.0, 3.0])
        self.frame_skip = 2
        self.horizon = 200
        self.goal = (0.3, 0.1)  #: where the box should go [m]
        self._box, self._pusher = self.model.q_slice("box").start, self.model.q_slice("pusher").start
        self._vbox = self.model.v_slice("box").start
        self._vpusher = self.model.v_slice("pusher").start

    def start(self, rng: np.random.Generator) -> State:
        x = self.model.rest_state()
        x.q[self._pusher + 1] = rng.uniform(-0.05, 0.05)
        return x

    def observe(self, q: Any, v: Any) -> Any:
        i, j, k, m = self._box, self._pusher, self._vbox, self._vpusher
        return _stack([q[..., i] - self.goal[0], q[..., i + 1] - self.goal[1], q[..., i + 3],
                       q[..., i + 6], q[..., j] - q[..., i], q[..., j + 1] - q[..., i + 1],
                       v[..., k], v[..., k + 1], v[..., k + 5], v[..., m], v[..., m + 1]])

    def reward(self, q: Any, v: Any, action: Any) -> Any:
        i, j = self._box, self._pusher
        off = (q[..., i] - self.goal[0]) ** 2 + (q[..., i + 1] - self.goal[1]) ** 2
        near = (q[..., j] - q[..., i]) ** 2 + (q[..., j + 1] - q[..., i + 1]) ** 2
        return -10.0 * off - near - 0.001 * (action**2).sum(-1)

    def fallen(self, q: Any, v: Any) -> Any:
        i, j = self._box, self._pusher
        return (abs(q[..., j] - q[..., i]) > 1.0) | (abs(q[..., j + 1] - q[..., i + 1]) > 1.0)


class Legged(Task):
    """A torso on four legs of two links each, with a motor in every hip and knee."""

    def __init__(self, torso: ShapeSpec, mass: float, reach: tuple[float, float], upper: float,
                 lower: float, height: float, hips: str, torque: float) -> None:
        b = ModelBuilder()
        b.add_material("sole", friction=0.9)
        b.add_body("floor", motion=Motion.Fixed, shapes=[ShapeSpec(Shape.half_space(), material="sole")])
        b.add_body("torso", position=(0, 0, height), mass=mass, shapes=[torso])
        for leg, (sx, sy) in enumerate(((1, 1), (1, -1), (-1, -1), (-1, 1))):
            hip = np.array([sx * reach[0], sy * reach[1], height])
            if hips == "yaw":  # the thigh points outwards and swings about z
                along = np.array([sx, sy, 0]) / math.sqrt(2)
                axis, bend = (0.0, 0.0, 1.0), np.array([-along[1], along[0], 0])
                half = 0.5 * math.atan2(along[1], along[0])
                turn = (math.cos(half), 0.0, 0.0, math.sin(half))
            else:  # it hangs and swings about y
                along = np.array([0, 0, -1.0])
                axis, bend = (0.0, 1.0, 0.0), np.array([0.0, 1.0, 0.0])
                turn = (math.cos(math.pi / 4), 0.0, math.sin(math.pi / 4), 0.0)
            knee = hip + upper * along
            b.add_body(f"thigh{leg}", position=0.5 * (hip + knee), orientation=turn, mass=0.1 * mass,
                       shapes=[ShapeSpec(Shape.capsule(0.04, 0.5 * upper - 0.04), mask=0)])
            down = np.array([0, 0, -1.0])
            foot = knee + lower * down
            b.add_body(f"shin{leg}", position=0.5 * (knee + foot), mass=0.08 * mass,
                       orientation=(math.cos(math.pi / 4), 0.0, math.sin(math.pi / 4), 0.0),
                       shapes=[ShapeSpec(Shape.sphere(0.04), Pose((0.5 * lower, 0, 0)), material="sole"),
                               ShapeSpec(Shape.capsule(0.03, 0.5 * lower - 0.03), mask=0)])
            b.add_joint(f"hip{leg}", JointKind.Revolute, f"thigh{leg}", "torso", anchor=hip, axis=axis,
                        stiffness=0.5 * torque, damping=0.05 * torque)
            b.add_joint(f"knee{leg}", JointKind.Revolute, f"shin{leg}", f"thigh{leg}", anchor=knee,
                        axis=bend, stiffness=0.5 * torque, damping=0.05 * torque)
            b.add_joint_actuator(f"hip{leg}", f"hip{leg}")
            b.add_joint_actuator(f"knee{leg}", f"knee{leg}")
        self.model = b.build()
        # Springs instead of limits, and joints pulled together instead of projected: a third of the time
        # for 0.15 mm of play.
        self.settings = StepSettings(h=0.01, stabilisation=Stabilisation.Baumgarte,
                                     solver=SolveSettings(tolerance=1e-8))
        self.strength = np.full(8, torque)
        self.frame_skip = 4
        self.height = height
        self._torso = self.model.q_slice("torso").start
        self._vtorso = self.model.v_slice("torso").start
        names = [f"{part}{leg}" for leg in range(4) for part in ("thigh", "shin")]
        self._links = [self.model.q_slice(n).start for n in names]
        self._vlinks = [self.model.v_slice(n).start for n in names]

    def start(self, rng: np.random.Generator) -> State:
        x = self.model.rest_state()
        x.v[self._vtorso:self._vtorso + 3] = rng.uniform(-0.1, 0.1, 3)
        return x

    def observe(self, q: Any, v: Any) -> Any:
        i, k = self._torso, self._vtorso
        parts = [q[..., i + n] for n in range(2, 7)] + [v[..., k + n] for n in range(6)]
        for link, speed in zip(self._links, self._vlinks):
            parts += [q[..., link + n] - q[..., i + n] for n in range(3)]
            parts += [v[..., speed + n] for n in range(3, 6)]
        return _stack(parts)

    def up(self, q: Any) -> Any:
        """z of the torso's own z axis: 1 upright."""
        i = self._torso
        return 1.0 - 2.0 * (q[..., i + 4] ** 2 + q[..., i + 5] ** 2)

    def fallen(self, q: Any, v: Any) -> Any:
        return (q[..., self._torso + 2] < 0.4 * self.height) | (self.up(q) < 0.3)


class Ant(Legged):
    """A ball on four legs that point outwards runs along x: reward its speed."""

    def __init__(self) -> None:
        super().__init__(ShapeSpec(Shape.sphere(0.2), mask=0), 4.0, (0.15, 0.15), 0.25, 0.35, 0.39,
                         "yaw", 10.0)
        self.horizon = 250

    def reward(self, q: Any, v: Any, action: Any) -> Any:
        return v[..., self._vtorso] + 0.5 - 0.05 * (action**2).sum(-1)


class Stand(Legged):
    """A quadruped that is knocked at the start and should stand still at its height."""

    def __init__(self) -> None:
        super().__init__(ShapeSpec(Shape.box(0.25, 0.12, 0.06), mask=0), 8.0, (0.22, 0.14), 0.2, 0.25,
                         0.49, "pitch", 20.0)
        self.horizon = 150

    def start(self, rng: np.random.Generator) -> State:
        x = self.model.rest_state()
        x.v[self._vtorso:self._vtorso + 2] = rng.uniform(-0.8, 0.8, 2)
        return x

    def reward(self, q: Any, v: Any, action: Any) -> Any:
        i, k = self._torso, self._vtorso
        still = v[..., k] ** 2 + v[..., k + 1] ** 2 + v[..., k + 2] ** 2
        low = (q[..., i + 2] - self.height) ** 2
        return self.up(q) - 0.5 * still - 20.0 * low - 0.01 * (action**2).sum(-1)


TASKS: dict[str, type[Task]] = {"CartPole": CartPole, "PlanarPush": PlanarPush, "Ant": Ant,
                                "Stand": Stand}
