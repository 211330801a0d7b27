# SPDX-License-Identifier: Apache-2.0
"""28_quadruped: a quadruped that lies on the floor stands up.

Eight servos of at most 40 N m move from folded legs to the posture the model was built in; the limits are part of
the contact problem and hold exactly.

Prints: it stands: yes
"""
import numpy as np

import orthant as ot

FOOT, HIP = 0.02, 0.32
b = ot.ModelBuilder()
b.add_material("rubber", friction=0.8)
b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="rubber")])
b.add_body("trunk", position=(0, 0, HIP), mass=9.0, shapes=[ot.ShapeSpec(ot.Shape.box(0.25, 0.1, 0.05), material="rubber")])
servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=300, damping=10, max_force=40)
for leg, (x, y) in {"FL": (0.2, 0.12), "FR": (0.2, -0.12), "RL": (-0.2, 0.12), "RR": (-0.2, -0.12)}.items():
    hip, knee, foot = np.array([(x, y, HIP), (x - 0.1, y, HIP - 0.15), (x, y, FOOT)])
    b.add_body(f"{leg}_thigh", position=(hip + knee) / 2, mass=1.0, inertia=2e-3 * np.eye(3))
    b.add_body(f"{leg}_shin", position=(knee + foot) / 2, mass=0.3, inertia=6e-4 * np.eye(3), center_of_mass=(0, 0, 0),
               shapes=[ot.ShapeSpec(ot.Shape.sphere(FOOT), ot.Pose((foot - knee) / 2), material="rubber", name=f"{leg}_foot")])
    b.add_joint(f"{leg}_hip", ot.JointKind.Revolute, f"{leg}_thigh", "trunk", anchor=hip, axis=(0, 1, 0), motor=servo)
    b.add_joint(f"{leg}_knee", ot.JointKind.Revolute, f"{leg}_shin", f"{leg}_thigh", anchor=knee, axis=(0, 1, 0), motor=servo)
    b.add_servo_actuator(f"{leg}_hip", f"{leg}_hip")
    b.add_servo_actuator(f"{leg}_knee", f"{leg}_knee")
model = b.build()

tree, p, state = ot.Articulation(model, "trunk"), model.default_parameters(), model.rest_state()
folded = np.tile([0.6, -1.0], 4)  # hip, knee of every leg
tree.set_positions(p, {j.name: angle for j, angle in zip(tree.joints[1:], folded)}, state)
q = tree.positions(p, state)
low = min(tree.pose(p, state, q, f"{leg}_shin").x[2] for leg in ("FL", "RR")) - 0.15
q[2] += max(FOOT - low, 0.05 - q[2])  # clear of the floor
tree.write(p, q, np.zeros(tree.u_size), state)
settings, warm, record = ot.StepSettings(h=0.005), ot.WarmStart(), ot.StepRecord()
largest = 0.0
for i in range(600):
    share = max(0.0, 1 - i / 300)  # folded at first, the built posture at the end
    ot.step(model, p, settings, state, warm=warm, u=share * folded, record=record)
    largest = max(largest, max(abs(r.motor) for r in ot.read_joints(model, p, record).values()))
feet = [ot.read_touch(model, p, record, f"{leg}_foot").force[2] for leg in ("FL", "FR", "RL", "RR")]
print(f"trunk at {state.q[model.q_slice('trunk')][2]:.3f} m, largest effort {largest:.1f} N m, feet carry {sum(feet):.4f} N of "
      f"{9.81 * tree.mass(p):.4f} N")
print("it stands:", "yes" if state.q[model.q_slice("trunk")][2] > 0.27 and largest <= 40 * (1 + 1e-12) else "no")
