# SPDX-License-Identifier: Apache-2.0
"""10_gradients: what the derivative of a step means, and what it means at a kink.

A block of 2 kg lies on a floor, friction 0.5: it holds up to 9.81 N. We push it and ask how its speed
after one step changes with the push. Below the limit: not at all. Above: h/m. Exactly at the limit
both are right, and the certificate says so: the contact is `floating`, the choice is ours.

Prints: push  5.00 N: slope 0.000000, floating rows 0
Prints: push 15.00 N: slope 0.005000, floating rows 0
Prints: at the limit: 0.000000 (keep) or 0.005000 (let go)
"""
import numpy as np

import orthant as ot

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.5)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
builder.add_body("block", motion=ot.Motion.Planar, position=(0, 0.1), mass=2.0,
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.1), material="wood")])
builder.add_joint("upright", ot.JointKind.LockRotation, "block")
builder.add_body_actuator("push", "block", force=(1, 0))
model = builder.build()
parameters = model.default_parameters()
settings = ot.StepSettings(h=0.01, solver=ot.SolveSettings(tolerance=1e-13))


def slope(push: float, kink: ot.KinkChoice = ot.KinkChoice.Clamp) -> tuple[float, int]:
    """d(speed after the step)/d(push), and the rows on a border."""
    state, record = model.rest_state(), ot.StepRecord()
    ot.step(model, parameters, settings, state, u=[push], record=record)
    choice = ot.StepGradientSettings(solution=ot.SolutionGradientSettings(kink=kink))
    gradient = ot.StepGradient(model, parameters, settings, record, choice)
    return float(gradient.pull_back(v=np.array([1.0, 0, 0]))["u"][0]), gradient.certificate.floating


for push in (5.0, 15.0):
    value, floating = slope(push)
    print(f"push {push:5.2f} N: slope {abs(value):.6f}, floating rows {floating}")

limit = 0.5 * 2.0 * 9.81
keep, go = slope(limit)[0], slope(limit, ot.KinkChoice.Separate)[0]
print(f"at the limit: {abs(keep):.6f} (keep) or {go:.6f} (let go)")
