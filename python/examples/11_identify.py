# SPDX-License-Identifier: Apache-2.0
"""11_identify: find friction and mass from a motion that was seen.

A block is pushed with a known force that grows and fades; its positions are measured with 0.1 mm of
noise. Gauss-Newton on the two numbers, the derivatives of all residuals by two forward walks: no step
sizes, no finite differences.

Prints: friction 0.35, mass 1.6 kg
"""
import os

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

import orthant as ot

Floats = NDArray[np.float64]

QUICK = "ORTHANT_QUICK" in os.environ
steps = 60 if QUICK else 200
h = 0.6 / steps


def world() -> ot.Model:
    builder = ot.ModelBuilder()
    builder.add_material("table", friction=0.5)
    builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                     shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="table")])
    builder.add_body("block", motion=ot.Motion.Planar, position=(0, 0.05), mass=1.0,
                     shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.1, 0.05), material="table")])
    builder.add_body_actuator("push", "block", force=(1, 0))
    return builder.build()


model = world()
settings = ot.StepSettings(h=h, solver=ot.SolveSettings(tolerance=1e-12))
names = ["material/table.friction", "body/block.mass"]
column = model.q_slice("block").start  # x of the block
push = 14.0 * np.sin(np.pi * np.arange(steps) / steps)[:, None]
seen = np.arange(4, steps + 1, 4)  # frames with a measurement


def tape(x: Floats) -> ot.RolloutTape:
    parameters = model.default_parameters()
    for name, value in zip(names, x):
        parameters[name] = value
    return ot.record_rollout(model, parameters, settings, model.rest_state(), steps, u=push)


noise = np.random.default_rng(7).normal(0, 1e-4, seen.size)
measured = tape(np.array([0.35, 1.6])).q[seen, column] + noise


def residual(x: Floats) -> Floats:
    return np.asarray(tape(x).q[seen, column] - measured)


def jacobian(x: Floats) -> Floats:
    run = tape(x)
    columns = [run.push_forward(parameters={name: 1.0})[0][seen, column] for name in names]
    return np.stack(columns, axis=1)


fit = least_squares(residual, x0=[0.2, 1.0], jac=jacobian, bounds=([0.01, 0.1], [2, 10]))
print(f"friction {fit.x[0]:.2f}, mass {fit.x[1]:.1f} kg")
print(f"{fit.nfev} rollouts, residual {np.sqrt(np.mean(fit.fun**2)) * 1e3:.2f} mm")
