# SPDX-License-Identifier: Apache-2.0
"""12_optimise_scipy: forces that slide a box onto a mark and leave it at rest there.

Friction does half of the work; the gradient through every step of sticking and sliding does the rest.
L-BFGS of SciPy, one rollout and one reverse walk a look.

Prints: the box stops on the mark: yes
"""
import os

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import orthant as ot

Floats = NDArray[np.float64]

QUICK = "ORTHANT_QUICK" in os.environ
steps, goal = 50, 0.5  # [-], [m]

builder = ot.ModelBuilder()
builder.add_material("wood", friction=0.4)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
builder.add_body("box", motion=ot.Motion.Planar, position=(0, 0.1), mass=2.0,
                 shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.2, 0.1), material="wood")])
builder.add_body_actuator("push", "box", force=(10, 0))
model = builder.build()
settings = ot.StepSettings(h=0.02, solver=ot.SolveSettings(tolerance=1e-12))
x, vx = model.q_slice("box").start, model.v_slice("box").start


def loss(u: Floats) -> tuple[float, Floats]:
    tape = ot.record_rollout(model, model.default_parameters(), settings, model.rest_state(), steps,
                             u=u.reshape(steps, 1))
    miss, speed = tape.q[-1, x] - goal, tape.v[-1, vx]
    by_q, by_v = np.zeros(model.q_size), np.zeros(model.v_size)
    by_q[x], by_v[vx] = 2 * miss, 0.2 * speed
    gradient = tape.pull_back(by_q, by_v).u[:, 0] + 2e-5 * u
    return miss**2 + 0.1 * speed**2 + 1e-5 * float(u @ u), gradient


begin = np.full(steps, 1.2)  # enough to slide: a box that sticks has no slope
best = minimize(loss, begin, jac=True, method="L-BFGS-B",
                options={"maxiter": 60 if QUICK else 300, "ftol": 1e-12, "gtol": 1e-8})
end = ot.rollout(model, model.default_parameters(), settings, model.rest_state(), steps,
                 u=best.x.reshape(steps, 1))
print(f"x {end.of('box', 'x')[-1]:.3f} m, v {end.of('box', 'vx')[-1]:.3f} m/s after {best.nit} "
      f"iterations, loss {loss(begin)[0]:.4f} -> {best.fun:.5f}")
on_mark = abs(end.of("box", "x")[-1] - goal) < 0.02 and abs(end.of("box", "vx")[-1]) < 0.02
print("the box stops on the mark:", "yes" if on_mark else "no")
