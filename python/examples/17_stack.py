# SPDX-License-Identifier: Apache-2.0
"""17_stack: friction between the blocks of a stack, from how it slides apart.

Three blocks on a floor; the lowest one is pulled away with a known force. All surfaces are different,
so the three coefficients of friction are told apart by who drags whom.

Prints: largest error of a coefficient below 0.005: yes
"""
import numpy as np

import orthant as ot

PAIRS = {"floor-low": 0.15, "low-mid": 0.3, "mid-top": 0.2}

builder = ot.ModelBuilder()
for name in ("floor", "low", "mid", "top"):
    builder.add_material(name, friction=0.5)
for pair in PAIRS:
    below, above = pair.split("-")
    builder.add_material_pair(below, above, friction=0.25)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="floor")])
for i, name in enumerate(("low", "mid", "top")):
    builder.add_body(name, motion=ot.Motion.Planar, position=(0, 0.1 + 0.2 * i), mass=1.0,
                     shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.5 - 0.1 * i, 0.1), material=name)])
builder.add_body_actuator("pull", "low", force=(1, 0))
model = builder.build()
names = {pair: next(n for n in model.default_parameters().keys()
                    if "friction" in n and all(x in n for x in pair.split("-")))
         for pair in PAIRS}
settings = ot.StepSettings(h=0.01, solver=ot.SolveSettings(tolerance=1e-12))
pull = np.full((40, 1), 22.0)

truth = model.default_parameters()
for pair, mu in PAIRS.items():
    truth[names[pair]] = mu
seen = ot.rollout(model, truth, settings, model.rest_state(), 40, u=pull)

p = ot.optimise.Problem(model, 40, settings=settings)
p.guess(u=pull)
for pair in PAIRS:
    p.vary_parameter(names[pair], 0.01, 1.0)
for body in ("low", "mid", "top"):
    p.track(body, "x", seen.of(body, "x"), weight=100)
best = p.solve("gauss_newton", progress=False, tolerance=1e-12)
found = {pair: best.values[names[pair]] for pair in PAIRS}
print(", ".join(f"{pair} {mu:.3f}" for pair, mu in found.items()))
print(f"cost {best.history[0, 0]:.2e} -> {best.cost:.1e} in {best.iterations} iterations")
error = max(abs(found[pair] - mu) for pair, mu in PAIRS.items())
print("largest error of a coefficient below 0.005:", "yes" if error < 0.005 else "no")
