# SPDX-License-Identifier: Apache-2.0
"""Cases the torch and the JAX tests share: contact states one by one."""
from __future__ import annotations

import numpy as np
from conftest import block_world

import orthant as ot

FINE = ot.StepSettings(h=0.01, solver=ot.SolveSettings(tolerance=1e-13))


EVENTS = FINE.replace(impact_events=True)


def discs() -> ot.Model:
    """A plank on the floor with three discs on it: two contacts hold the plank, all five share loads."""
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.4)
    b.add_body("floor", motion=ot.Motion.Fixed, planar=True,
               shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
    b.add_body("plank", motion=ot.Motion.Planar, position=(0.0, 0.05), mass=1.0,
               shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.5, 0.05), material="wood")])
    for i, x in enumerate((-0.3, 0.0, 0.3)):
        b.add_body(f"disc{i}", motion=ot.Motion.Planar, position=(x, 0.2), mass=0.5,
                   shapes=[ot.ShapeSpec(ot.Shape.disc(0.1), material="wood")])
    b.add_body_actuator("push", "plank", force=(1.0, 0.0))
    return b.build()


# A gap of exactly 0 is a kink of q (touching, or just not), hence the hair of air under the block.
#: name => (model, v of the moving bodies, u); test_gradient.py checks that each is what it says
CASES = {
    "stick": (block_world(velocity=(0.0, 0.0), height=2e-4), np.zeros(3), 3.0),
    "slide": (block_world(height=2e-4), np.array([2.0, 0.0, 0.0]), 3.0),
    "impact": (block_world(restitution=0.5, height=0.004), np.array([0.3, -1.0, 0.0]), 1.0),
    "flight": (block_world(height=1.0), np.array([1.0, 0.5, 0.2]), 1.0),
    "redundant": (discs(), np.zeros(12), 20.0),
}


def cube() -> ot.Model:
    """A cube that slides on its face: four contacts with three rows each hold six velocities."""
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.4)
    b.add_body("floor", motion=ot.Motion.Fixed,
               shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="wood")])
    b.add_body("cube", position=(0, 0, 0.1), mass=1.5,
               shapes=[ot.ShapeSpec(ot.Shape.box(0.1, 0.1, 0.1), material="wood")])
    b.add_body_actuator("push", "cube", force=(1.0, 0.0, 0.0))
    return b.build()


#: name => (model, v, u): redundant in space. How the feet share the load is not unique, and with it
#: the friction torque of one that spins: derivatives are by (vx, vy), u, friction and mass.
CUBES = {"cube sticks": (cube(), np.zeros(6), 2.0),
         "cube slides": (cube(), np.array([1.0, 0.4, 0.0, 0.0, 0.0, 0.0]), 2.0)}


def disc() -> ot.Model:
    """One that hits the floor within the step, in one point: two at once have no derivative by tilt."""
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.2, restitution=0.5)
    b.add_body("floor", motion=ot.Motion.Fixed, planar=True,
               shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
    b.add_body("disc", motion=ot.Motion.Planar, position=(0.0, 0.104), mass=0.5,
               shapes=[ot.ShapeSpec(ot.Shape.disc(0.1), material="wood")])
    b.add_body_actuator("push", "disc", force=(1.0, 0.0))
    return b.build()


#: name => (model, v, u), with EVENTS
IMPACTS = {"rolls off": (disc(), np.array([0.1, -1.0, 0.2]), 1.0),
           "slides off": (disc(), np.array([3.0, -1.0, 0.2]), 1.0)}
