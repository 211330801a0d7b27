# SPDX-License-Identifier: Apache-2.0
"""22_planar_push: a ball pushes a box over a table onto a mark, planned anew at every step.

Receding horizon of 0.6 s, warm started, with smoothed gradients. The box slides with friction on four
corners and the ball can only push: a box that went too far cannot be fetched back. The mark is 6 cm
beside the line it would take.

Prints: the box ends within 2 cm of the mark: yes
"""
import os

import numpy as np

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ
GOAL = (0.3, 0.06)  # [m]

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.3)
builder.add_body("table", motion=ot.Motion.Fixed,
                 shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="wood")])
builder.add_body("box", position=(0, 0, 0.05), mass=0.3,
                 shapes=[ot.ShapeSpec(ot.Shape.box(0.08, 0.08, 0.05), material="wood")])
builder.add_body("ball", position=(-0.12, -0.02, 0.05), mass=0.3,
                 shapes=[ot.ShapeSpec(ot.Shape.sphere(0.03), material="wood")])
builder.add_joint("height", ot.JointKind.LockZ, "ball", anchor=(-0.12, -0.02, 0.05))
builder.add_joint("upright", ot.JointKind.LockRotation, "ball")
builder.add_body_actuator("x", "ball", force=(1, 0, 0))
builder.add_body_actuator("y", "ball", force=(0, 1, 0))
model = builder.build()

p = ot.optimise.Problem(model, 30, h=0.02)
p.vary_controls(-1.5, 1.5)  # [N]
p.effort(2e-3)
for what, goal in zip(("x", "y"), GOAL):
    p.track("box", what, goal, weight=30)
    p.track("box", "v" + what, 0.0, weight=1, at="final")
    p.track("box", what, goal, weight=100, at="final")
p.track("ball", "vx", 0.0, weight=0.05)
p.track("ball", "vy", 0.0, weight=0.05)
p.guess(u=np.tile([1.2, 0.0], (30, 1)))
smooth = ot.StepGradientSettings(solution=ot.SolutionGradientSettings(
    mode=ot.GradientMode.Smoothed, kappa=1e-4))
mpc = ot.optimise.Mpc(p, "gauss_newton", max_iterations=4, gradient=smooth)
sim = ot.Simulator(model, settings=p.settings)
mpc.result = p.solve("gauss_newton", max_iterations=20, progress=False, gradient=smooth)
controls = []
for i in range(80 if QUICK else 120):
    controls.append(mpc(sim.state))
    sim.step(controls[-1])
    if not QUICK and i % 15 == 0:
        print(f"{sim.t:.2f} s: box at ({sim.of('box', 'x'):.3f}, {sim.of('box', 'y'):.3f}) m")
miss = float(np.hypot(sim.of("box", "x") - GOAL[0], sim.of("box", "y") - GOAL[1]))
print(f"{miss * 100:.1f} cm off after {sim.t:.1f} s")
print("the box ends within 2 cm of the mark:", "yes" if miss < 0.02 else "no")
