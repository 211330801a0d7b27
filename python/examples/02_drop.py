# SPDX-License-Identifier: Apache-2.0
"""02_drop: first steps. Build a world, drop a cube from 1 m, look at it.

Prints: after 1.00 s: height 0.500000 m, speed 0.000000 m/s, overlap below 1e-9 m: yes
"""
import numpy as np

import orthant as ot

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.5)
builder.add_body("floor", motion=ot.Motion.Fixed,
                 shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="wood")])
builder.add_body("cube", position=(0, 0, 1.5),
                 shapes=[ot.ShapeSpec(ot.Shape.box(0.5, 0.5, 0.5), material="wood")])
model = builder.build()  # checked once, const ever after

sim = ot.Simulator(model, h=0.01)
run = sim.rollout(100)

speed = np.linalg.norm(sim.state.v[model.v_slice("cube")][:3])
print(f"after {sim.t:.2f} s: height {run.of('cube', 'z')[-1]:.6f} m, speed {speed:.6f} m/s, "
      f"overlap below 1e-9 m: {'yes' if run.deepest.max() < 1e-9 else 'no'}")
