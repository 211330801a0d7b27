# SPDX-License-Identifier: Apache-2.0
"""16_chain: the masses of a hanging chain, from how it swings when a ball hits it.

Four links of unknown mass hang from the ceiling; a ball of 1 kg flies into the lowest one. We saw the
positions for 0.8 s, the impact included. Gauss-Newton through every contact finds the masses.

Prints: largest error of a mass below 1 %: yes
"""
import numpy as np

import orthant as ot

TRUTH = [0.5, 0.8, 0.3, 0.6]  # [kg]

builder = ot.ModelBuilder()
builder.add_material("steel", friction=0.1, restitution=0.4)
above, anchor = "world", (0.0, 0.0)
for i in range(4):
    builder.add_body(f"link{i}", motion=ot.Motion.Planar, position=(0, -0.2 * (i + 1)), mass=1.0,
                     shapes=[ot.ShapeSpec(ot.Shape.disc(0.05), material="steel")])
    builder.add_joint(f"rod{i}", ot.JointKind.Distance, f"link{i}", above, anchor=(0, 0))
    above = f"link{i}"
builder.add_body("ball", motion=ot.Motion.Planar, position=(-0.6, -0.75), velocity=(3.0, 0.8), mass=1.0,
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.08), material="steel")])
model = builder.build()
settings = ot.StepSettings(h=0.01, impact_events=True, solver=ot.SolveSettings(tolerance=1e-12))
names = [f"body/link{i}.mass" for i in range(4)]

truth = model.default_parameters()
for name, mass in zip(names, TRUTH):
    truth[name] = mass
seen = ot.rollout(model, truth, settings, model.rest_state(), 80)

p = ot.optimise.Problem(model, 80, settings=settings)
for name in names:
    p.vary_parameter(name, 0.05, 5.0)
for body in [f"link{i}" for i in range(4)] + ["ball"]:
    for what in ("x", "y"):
        p.track(body, what, seen.of(body, what))
best = p.solve("gauss_newton", progress=False, tolerance=1e-12)
found = [best.values[name] for name in names]
print("masses", " ".join(f"{m:.3f}" for m in found), "kg")
print(f"cost {best.history[0, 0]:.2e} -> {best.cost:.1e} in {best.iterations} iterations, "
      f"{best.evaluations} rollouts")
error = float(np.max(np.abs(np.array(found) / TRUTH - 1)))
print("largest error of a mass below 1 %:", "yes" if error < 0.01 else "no")
