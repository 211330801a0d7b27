# SPDX-License-Identifier: Apache-2.0
"""19_catapult: the torque of a catapult's arm that throws a ball onto a mark.

The ball lies in a cup at the end of the arm; it leaves when the arm slows down. Neither the moment nor
the speed of leaving is given: both follow from contact.

Prints: the ball meets the mark within 2 cm: yes
"""
import numpy as np

import orthant as ot

STEPS, GOAL = 80, (2.0, 0.6)  # [-], [m] at t = 0.8 s

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.6)
builder.add_body("arm", motion=ot.Motion.Planar, position=(-0.25, 0.5), mass=0.5,
                 shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.25, 0.02), material="wood"),
                         ot.ShapeSpec(ot.Shape.rectangle(0.01, 0.05), material="wood",
                                      offset=ot.Pose.planar(-0.25, 0.05, 0.0))])
builder.add_body("ball", motion=ot.Motion.Planar, position=(-0.19, 0.57), mass=0.1,
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.05), material="wood")])
builder.add_joint("axle", ot.JointKind.Revolute, "arm", anchor=(0, 0.5), lower=-1.6, upper=0.0)
builder.add_joint_actuator("torque", "axle")
model = builder.build()

p = ot.optimise.Problem(model, STEPS, h=0.01, solver=ot.SolveSettings(tolerance=1e-11))
p.vary_controls(-20, 20)  # [N m]
p.effort(1e-4)
p.track("ball", "x", GOAL[0], weight=100, at="final")
p.track("ball", "y", GOAL[1], weight=100, at="final")
p.guess(u=np.where(np.arange(STEPS) < 20, -3.0, 0.0)[:, None])
best = p.solve("ilqr", progress=False)
x, y = best.of("ball", "x")[-1], best.of("ball", "y")[-1]
miss = float(np.hypot(x - GOAL[0], y - GOAL[1]))
print(f"ball at ({x:.3f}, {y:.3f}) m, {miss * 100:.2f} cm off; cost {best.history[0, 0]:.1f} -> "
      f"{best.cost:.4f} in {best.iterations} iterations ({best.stop.name})")
print("the ball meets the mark within 2 cm:", "yes" if miss < 0.02 else "no")
