# SPDX-License-Identifier: Apache-2.0
"""13_optimise_torch: the throw that hits a point, after a bounce. Adam, 8 throws at once.

Needs: torch
Prints: all throws hit: yes
"""
import os

import torch

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ

builder = ot.ModelBuilder()
builder.add_material("rubber", friction=0.3, restitution=0.7)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="rubber")])
builder.add_body("ball", motion=ot.Motion.Planar, position=(0, 1.0),
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.1), material="rubber")])
model = builder.build()
settings = ot.StepSettings(h=0.02, impact_events=True, solver=ot.SolveSettings(tolerance=1e-12))
x, y = model.q_slice("ball").start, model.q_slice("ball").start + 1

torch.manual_seed(1)
goal = torch.tensor([1.5, 0.5], dtype=torch.float64)  # [m], at t = 0.8 s
throw = torch.randn(8, 2, dtype=torch.float64) * 0.3 + torch.tensor([1.5, -0.5])
throw = throw.double().requires_grad_()
optimiser = torch.optim.Adam([throw], lr=0.1)
q0 = torch.tensor(model.rest_state().q)

for i in range(70 if QUICK else 150):
    v0 = torch.cat([throw, torch.zeros(8, 1, dtype=torch.float64)], dim=1)
    q, _ = ot.torch.rollout(model, settings, q0, v0, steps=40)
    miss = (q[:, -1, [x, y]] - goal).norm(dim=1)
    optimiser.zero_grad()
    miss.pow(2).sum().backward()
    optimiser.step()

print(f"largest miss {float(miss.max().detach()):.4f} m")
print("all throws hit:", "yes" if float(miss.max().detach()) < 0.05 else "no")
