# SPDX-License-Identifier: Apache-2.0
"""Small worlds that the tests share."""
from __future__ import annotations

import signal

import numpy as np
import pytest

import orthant as ot

# A shell starts what it runs in the background with ctrl-C ignored; the tests of interruption need it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def block_world(*, friction: float = 0.5, velocity: tuple[float, float] = (2.0, 0.0),
                restitution: float = 0.0, height: float = 0.0) -> ot.Model:
    """A planar block of 2 kg on a floor, with a horizontal actuator."""
    b = ot.ModelBuilder()
    b.add_material("wood", friction=friction, restitution=restitution)
    b.add_body("floor", motion=ot.Motion.Fixed, planar=True,
               shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
    b.add_body("block", motion=ot.Motion.Planar, position=(0.0, 0.1 + height), velocity=velocity,
               mass=2.0, shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.2, 0.1), material="wood")])
    b.add_body_actuator("push", "block", force=(1.0, 0.0))
    return b.build()


def cube_world(height: float = 1.0) -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.Shape.half_space()])
    b.add_body("cube", position=(0, 0, 0.5 + height), shapes=[ot.Shape.box(0.5, 0.5, 0.5)])
    return b.build()


@pytest.fixture
def block() -> ot.Model:
    return block_world()


@pytest.fixture
def cube() -> ot.Model:
    return cube_world()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240501)
