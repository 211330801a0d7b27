# SPDX-License-Identifier: Apache-2.0
"""30_arm_learns: an arm pushes a block and learns what the block weighs and how it slides.

The joint targets are given; seen are the places of the block and of the two links, with noise of half a
millimetre (the motion is simulated). How far the servos yield to the block tells the force of friction, how
it sets off and stops tells friction and mass apart.

Prints: friction within 0.03, mass within 10 %: yes
"""
import numpy as np

import orthant as ot

b = ot.ModelBuilder()
b.add_material("wood", friction=0.3)
b.add_material("felt", friction=0.3)
b.add_material("block", friction=0.3)
b.add_material_pair("felt", "block", friction=0.3)
b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="felt")])
b.add_body("block", position=(0.5, 0.15, 0.05), mass=1.0,
           shapes=[ot.ShapeSpec(ot.Shape.box(0.08, 0.05, 0.05), material="block")])
for name, x in [("upper", 0.2), ("lower", 0.6)]:
    b.add_body(name, position=(x, 0, 0.06), mass=1.0,
               shapes=[ot.ShapeSpec(ot.Shape.capsule(0.03, 0.17), material="wood")])
servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=100, damping=8, max_force=30)
b.add_joint("shoulder", ot.JointKind.Revolute, "upper", anchor=(0, 0, 0.06), motor=servo)
b.add_joint("elbow", ot.JointKind.Revolute, "lower", "upper", anchor=(0.4, 0, 0.06), motor=servo, lower=-2.5, upper=0.0)
b.add_frame("tip", "lower", ot.Pose((0.17, 0, 0)))
for joint in ("shoulder", "elbow"):
    b.add_servo_actuator(joint, joint)
model = b.build()

tree, p, state = ot.Articulation(model, "upper"), model.default_parameters(), model.rest_state()
tree.set_positions(p, {"shoulder": 0.6, "elbow": -1.4}, state)
q, targets = tree.positions(p, state), []
for y in np.concatenate([np.linspace(-0.05, 0.2, 60), np.full(40, 0.2)]):
    q, report = tree.inverse_kinematics(p, state, {"tip": (0.5, y, 0.06)}, q)
    assert report.reached
    targets.append(q)
u, steps = np.array(targets), len(targets)

names = {what: next(n for n in p.keys() if all(x in n for x in parts))
         for what, parts in {"friction": ("felt", "block", "friction"), "mass": ("block", "mass")}.items()}
truth = {"friction": 0.45, "mass": 1.4}
for what, value in truth.items():
    p[names[what]] = value
settings, start = ot.StepSettings(h=0.01), state.copy()
seen = ot.rollout(model, p, settings, start, steps, u=u)
rng = np.random.default_rng(1)

problem = ot.optimise.Problem(model, steps, settings=settings, state=start)
problem.guess(u=u)
problem.vary_parameter(names["friction"], 0.05, 1.0)
problem.vary_parameter(names["mass"], 0.2, 5.0)
for body, signal in [("block", "y"), ("upper", "y"), ("lower", "x"), ("lower", "y")]:
    path = np.asarray(seen.of(body, signal))
    problem.track(body, signal, path + 5e-4 * rng.standard_normal(path.shape), weight=100)
best = problem.solve("gauss_newton", progress=False)
found = {what: best.values[name] for what, name in names.items()}
print(", ".join(f"{what} {value:.3f} ({truth[what]})" for what, value in found.items()))
good = abs(found["friction"] - 0.45) < 0.03 and abs(found["mass"] / 1.4 - 1) < 0.1
print("friction within 0.03, mass within 10 %:", "yes" if good else "no")
