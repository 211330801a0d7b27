# SPDX-License-Identifier: Apache-2.0
"""Cases the torch and the JAX tests share: contact states one by one."""
from __future__ import annotations

import numpy as np
from conftest import block_world

import orthant as ot

FINE = ot.StepSettings(h=0.01, solver=ot.SolveSettings(tolerance=1e-13))


def discs() -> ot.Model:
    """Two discs on top of each other between two walls: redundant contacts."""
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
#: name => (model, v of the moving bodies, u)
CASES = {
    "stick": (block_world(velocity=(0.0, 0.0), height=2e-4), np.zeros(3), 3.0),
    "slide": (block_world(height=2e-4), np.array([2.0, 0.0, 0.0]), 3.0),
    "impact": (block_world(restitution=0.5, height=0.004), np.array([0.3, -1.0, 0.0]), 1.0),
    "flight": (block_world(height=1.0), np.array([1.0, 0.5, 0.2]), 1.0),
    "redundant": (discs(), np.zeros(12), 20.0),
}
