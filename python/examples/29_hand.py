# SPDX-License-Identifier: Apache-2.0
"""29_hand: a hand of two fingers closes on a ball, lifts it and holds it.

One finger follows the other as in a gripper; its servo is cut at 8 N, and friction carries the ball.

Prints: the ball hangs 0.10 m above the floor, slip below 1e-8 m
"""
import numpy as np

import orthant as ot

b = ot.ModelBuilder()
b.add_material("skin", friction=0.7)
b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="skin")])
b.add_body("ball", position=(0, 0, 0.04), mass=0.2, shapes=[ot.ShapeSpec(ot.Shape.sphere(0.04), material="skin")])
b.add_body("palm", position=(0, 0, 0.16), mass=0.5, shapes=[ot.ShapeSpec(ot.Shape.box(0.08, 0.03, 0.01), material="skin")])
for side, x in [("left", -0.065), ("right", 0.065)]:
    b.add_body(side, position=(x, 0, 0.08), mass=0.1,
               shapes=[ot.ShapeSpec(ot.Shape.box(0.01, 0.02, 0.06), material="skin")])
lift = ot.MotorSpec(ot.MotorKind.Servo, stiffness=4000, damping=200)
close = ot.MotorSpec(ot.MotorKind.Servo, stiffness=2000, damping=40, max_force=8)
b.add_joint("wrist", ot.JointKind.Prismatic, "palm", axis=(0, 0, 1), motor=lift)
b.add_joint("grip", ot.JointKind.Prismatic, "left", "palm", axis=(1, 0, 0), motor=close, lower=0, upper=0.05)
b.add_joint("mirror", ot.JointKind.Prismatic, "right", "palm", axis=(1, 0, 0), follow=ot.FollowSpec("grip", ratio=-1))
b.add_servo_actuator("wrist", "wrist")
b.add_servo_actuator("grip", "grip")
model = b.build()

sim = ot.Simulator(model, h=0.005)
for i in range(200):  # close in half a second, lift in another half
    sim.step(u=[0.1 * np.clip((i - 100) / 100, 0, 1), 0.04 * min(i / 100, 1)])
for _ in range(100):
    sim.step(u=[0.1, 0.04])
held = sim.of("ball")[2] - sim.of("palm")[2]
for _ in range(400):
    sim.step(u=[0.1, 0.04])
height, slip = sim.of("ball")[2] - 0.04, abs(sim.of("ball")[2] - sim.of("palm")[2] - held)
print(f"the ball hangs {height:.2f} m above the floor, slip {'below' if slip < 1e-8 else 'above'} 1e-8 m ({slip:.1e})")
