# SPDX-License-Identifier: Apache-2.0
"""31_biped_stairs: a biped of twelve servos climbs three stairs.

It walks as slowly as statics wants it: pelvis over the standing foot, then the other foot up and forward. Inverse
kinematics turns places of pelvis and soles into joint targets; legs and contacts do the rest.

Prints: it stands on the third stair: yes
"""
from __future__ import annotations

from typing import Sequence

import numpy as np
from numpy.typing import NDArray

import orthant as ot

RISE, DEPTH, STAIRS = 0.08, 0.28, 3
SIDE, THIGH, SHIN, ANKLE = 0.09, 0.35, 0.35, 0.08  # hips off the middle, lengths, ankle above the sole
HIP, CROUCH = ANKLE + SHIN + THIGH, 0.12  # where hips are, straight; how far bent knees lower them

b = ot.ModelBuilder()
b.add_material("rubber", friction=0.8)
stairs = [ot.ShapeSpec(ot.Shape.half_space(), material="rubber")]
for i in range(1, STAIRS + 1):  # from its edge on, every stair reaches below the next ones
    half = (0.5 * DEPTH * (STAIRS + 2 - i), 0.5, 0.5 * RISE * i)
    edge = DEPTH * (i - 0.5)
    stairs.append(ot.ShapeSpec(ot.Shape.box(*half), ot.Pose((edge + half[0], 0, half[2])), material="rubber"))
b.add_body("stairs", motion=ot.Motion.Fixed, shapes=stairs)
b.add_body("pelvis", position=(0, 0, HIP), mass=20.0, shapes=[ot.ShapeSpec(ot.Shape.box(0.08, 0.12, 0.06), material="rubber")])
servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=4000, damping=100, max_force=200)
names: list[str] = []


def hinge(name: str, body: str, parent: str, anchor: Sequence[float], axis: Sequence[float]) -> None:
    b.add_joint(name, ot.JointKind.Revolute, body, parent, anchor=anchor, axis=axis, motor=servo)
    b.add_servo_actuator(name, name)
    names.append(name)


for leg, y in (("left", SIDE), ("right", -SIDE)):
    small = 5e-3 * np.eye(3)
    for part, z, mass in (("yaw", HIP, 0.5), ("roll", HIP, 0.5), ("thigh", HIP - THIGH / 2, 2.0), ("shin", ANKLE + SHIN / 2, 1.0), ("ankle", ANKLE, 0.3)):
        b.add_body(f"{leg}_{part}", position=(0, y, z), mass=mass, inertia=small)
    b.add_body(f"{leg}_foot", position=(0, y, 0), mass=0.5,
               shapes=[ot.ShapeSpec(ot.Shape.box(0.1, 0.05, 0.015), ot.Pose((0.01, 0, 0.015)), material="rubber", name=f"{leg}_foot")])
    b.add_frame(f"{leg}_sole", f"{leg}_foot")
    hip, knee, ankle = (0, y, HIP), (0, y, ANKLE + SHIN), (0, y, ANKLE)
    hinge(f"{leg}_hip_yaw", f"{leg}_yaw", "pelvis", hip, (0, 0, 1))
    hinge(f"{leg}_hip_roll", f"{leg}_roll", f"{leg}_yaw", hip, (1, 0, 0))
    hinge(f"{leg}_hip_pitch", f"{leg}_thigh", f"{leg}_roll", hip, (0, 1, 0))
    hinge(f"{leg}_knee", f"{leg}_shin", f"{leg}_thigh", knee, (0, 1, 0))
    hinge(f"{leg}_ankle_pitch", f"{leg}_ankle", f"{leg}_shin", ankle, (0, 1, 0))
    hinge(f"{leg}_ankle_roll", f"{leg}_foot", f"{leg}_ankle", ankle, (1, 0, 0))
b.add_frame("hips", "pelvis")
model = b.build()
tree, p, state = ot.Articulation(model, "pelvis"), model.default_parameters(), model.rest_state()
q, place = tree.positions(p, state), {joint.name: joint.q_begin for joint in tree.joints}
for leg in ("left", "right"):  # knees bend forwards
    for joint, angle in (("hip_pitch", -0.4), ("knee", 0.8), ("ankle_pitch", -0.4)):
        q[place[f"{leg}_{joint}"]] = angle

level = ot.Pose((0, 0, 0)).p
soles = {"left": np.array([0.0, SIDE, 0.0]), "right": np.array([0.0, -SIDE, 0.0])}
hips = np.array([0.0, 0.0, HIP - CROUCH])


def posture() -> NDArray[np.float64]:
    """Joint coordinates that put pelvis and soles where they should be."""
    global q
    targets = {"hips": ot.Pose(hips), **{f"{leg}_sole": ot.Pose(at) for leg, at in soles.items()}}
    q, report = tree.inverse_kinematics(p, state, targets, q)
    assert report.reached, report.error
    return q


order = [place[name] for name in names]
tree.write(p, posture(), np.zeros(tree.u_size), state)
settings = ot.StepSettings(h=0.005)
warm = ot.WarmStart()


def move(steps: int, to_hips: Sequence[float] | None = None, leg: str = "",
         to_sole: Sequence[float] | NDArray[np.float64] = ()) -> None:
    """Pelvis and one sole along straight lines, slow at both ends."""
    global hips
    from_hips, from_sole = hips.copy(), soles[leg].copy() if leg else np.zeros(3)
    for i in range(steps):
        s = (i + 1) / steps
        s = s * s * (3 - 2 * s)
        if to_hips is not None:
            hips = from_hips + s * (np.asarray(to_hips) - from_hips)
        if leg:
            soles[leg] = from_sole + s * (np.asarray(to_sole) - from_sole)
        report = ot.step(model, p, settings, state, warm=warm, u=posture()[order])
        assert report.outcome == ot.Outcome.Converged


def over(leg: str) -> list[float]:
    """The pelvis above a sole."""
    return [soles[leg][0] + 0.01, soles[leg][1], min(s[2] for s in soles.values()) + HIP - CROUCH]


for i in range(1, STAIRS + 1):
    for leg, other in (("left", "right"), ("right", "left")):
        move(240, to_hips=over(other))
        goal = np.array([DEPTH * i, soles[leg][1], RISE * i])
        lifted = soles[leg] + [-0.02, 0, goal[2] - soles[leg][2] + 0.03]
        move(80, leg=leg, to_sole=lifted)
        move(100, leg=leg, to_sole=goal + [0, 0, 0.03])
        move(80, leg=leg, to_sole=goal)
move(200, to_hips=[DEPTH * STAIRS, 0, RISE * STAIRS + HIP - CROUCH])
at, up = state.q[model.q_slice("pelvis")][:3], RISE * STAIRS
print(f"pelvis at {at[0]:.2f} m, {at[2] - up:.2f} m above stair {STAIRS}")
print(f"it stands on the third stair: {'yes' if abs(at[0] - DEPTH * STAIRS) < 0.05 and at[2] - up > HIP - CROUCH - 0.02 else 'no'}")
