# SPDX-License-Identifier: Apache-2.0
"""20_double_pendulum: swung up beside a wall that it may lean on.

Both joints have motors of at most 6 N m. A wall stands 0.35 m to the right: there is no swinging
through; the way up is on the other side, or along the wall.

Prints: it stands: yes
"""
import os

import numpy as np

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ
STEPS = 120

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.2)
builder.add_body("wall", motion=ot.Motion.Fixed, planar=True, position=(0.35, 0), angle=np.pi / 2,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
builder.add_body("upper", motion=ot.Motion.Planar, position=(0, -0.25), mass=0.5,
                 shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.02, 0.25), material="wood")])
builder.add_body("lower", motion=ot.Motion.Planar, position=(0, -0.7), mass=0.4,
                 shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.02, 0.2), material="wood")])
builder.add_joint("shoulder", ot.JointKind.Revolute, "upper", anchor=(0, 0))
builder.add_joint("elbow", ot.JointKind.Revolute, "lower", "upper", anchor=(0, -0.5))
builder.add_joint_actuator("m1", "shoulder")
builder.add_joint_actuator("m2", "elbow")
model = builder.build()

p = ot.optimise.Problem(model, STEPS, h=0.015, solver=ot.SolveSettings(tolerance=1e-11))
p.vary_controls(-6, 6)  # [N m]
p.effort(1e-3)
for body in ("upper", "lower"):
    p.track(body, "angle", -np.pi, weight=0.05)  # round the side without the wall
    p.track(body, "angle", -np.pi, weight=100, at="final")
    p.track(body, "omega", 0.0, weight=5, at="final")
best = p.solve("ilqr", progress=False, max_iterations=100 if QUICK else 300)
run = best.run()
ends = [best.of(body, "angle")[-1] + np.pi for body in ("upper", "lower")]
touched = int((run.contacts > 0).sum())
print(f"angles off by {ends[0]:+.3f} and {ends[1]:+.3f} rad, contact near in {touched} of {STEPS} steps; "
      f"cost {best.history[0, 0]:.0f} -> {best.cost:.2f} in {best.iterations} iterations "
      f"({best.stop.name})")
print("it stands:", "yes" if max(map(abs, ends)) < 0.05 else "no")
