# SPDX-License-Identifier: Apache-2.0
"""27_arm_pushes: an arm of two links pushes a block along a line.

Inverse kinematics gives the joint targets, servos of at most 30 N m follow them, and the block yields to the
contact.

Prints: the block moved 0.17 m
"""
import numpy as np

import orthant as ot

b = ot.ModelBuilder()
b.add_material("wood", friction=0.3)
b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="wood")])
b.add_body("block", position=(0.5, 0.15, 0.05), mass=1.0,
           shapes=[ot.ShapeSpec(ot.Shape.box(0.08, 0.05, 0.05), material="wood")])
for name, x in [("upper", 0.2), ("lower", 0.6)]:
    b.add_body(name, position=(x, 0, 0.06), mass=1.0,
               shapes=[ot.ShapeSpec(ot.Shape.capsule(0.03, 0.17), material="wood")])
servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=400, damping=20, max_force=30)
b.add_joint("shoulder", ot.JointKind.Revolute, "upper", anchor=(0, 0, 0.06), motor=servo)
b.add_joint("elbow", ot.JointKind.Revolute, "lower", "upper", anchor=(0.4, 0, 0.06), motor=servo, lower=-2.5, upper=0.0)
b.add_frame("tip", "lower", ot.Pose((0.17, 0, 0)))
for joint in ("shoulder", "elbow"):
    b.add_servo_actuator(joint, joint)
model = b.build()

tree, p, state = ot.Articulation(model, "upper"), model.default_parameters(), model.rest_state()
tree.set_positions(p, {"shoulder": 0.6, "elbow": -1.4}, state)
q = tree.positions(p, state)
settings, warm = ot.StepSettings(h=0.01), ot.WarmStart()
start = state.q[model.q_slice("block")][1]
for y in np.concatenate([np.linspace(-0.05, 0.27, 160), np.full(60, 0.27)]):
    q, report = tree.inverse_kinematics(p, state, {"tip": (0.5, y, 0.06)}, q)
    assert report.reached
    ot.step(model, p, settings, state, warm=warm, u=q)
print(f"the block moved {state.q[model.q_slice('block')][1] - start:.2f} m")
