# SPDX-License-Identifier: Apache-2.0
"""18_worm: a worm of four links learns to jump.

It lies on the floor. Torques in its three joints may bend it for half a second; the cost asks for
height of the second link at the end. Contact with the floor is all that can lift it. A worm that rests
has no exact slope (its feet stick): the gradient is smoothed first, then exact.

Prints: it jumps higher than 0.4 m: yes
"""
import os

import numpy as np

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ
STEPS = 50

builder = ot.ModelBuilder()
builder.add_material("skin", friction=0.8)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="skin")])
for i in range(4):
    builder.add_body(f"link{i}", motion=ot.Motion.Planar, position=(0.24 * i, 0.05), mass=0.25,
                     shapes=[ot.ShapeSpec(ot.Shape.stadium(0.05, 0.12), material="skin")])
for i in range(3):
    builder.add_joint(f"joint{i}", ot.JointKind.Revolute, f"link{i + 1}", f"link{i}",
                      anchor=(0.12 + 0.24 * i, 0.05), lower=-1.5, upper=1.5, damping=0.01)
    builder.add_joint_actuator(f"muscle{i}", f"joint{i}")
model = builder.build()

p = ot.optimise.Problem(model, STEPS, h=0.01, solver=ot.SolveSettings(tolerance=1e-11))
p.vary_controls(-4, 4)  # [N m]
p.effort(1e-3)
p.track("link1", "y", 1.0, weight=20, at="final")
p.guess(u=np.tile([0.3, -0.6, 0.3], (STEPS, 1)))
best = p.solve("ilqr", smoothing=(1e-3, 1e-4, 0.0), progress=False,
               max_iterations=20 if QUICK else 100)
top = best.of("link1", "y").max()
print(f"height {top:.3f} m, cost {best.history[0, 0]:.2f} -> {best.cost:.2f} in {best.iterations} "
      f"iterations ({best.stop.name})")
print("it jumps higher than 0.4 m:", "yes" if top > 0.4 else "no")
