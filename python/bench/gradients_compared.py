# SPDX-License-Identifier: Apache-2.0
"""gradients_compared.py [FILE.svg]: four gradients on one task, the same descent.

A block of 2 kg sticks under 5 N (friction holds 9.8 N) and is to stop half a metre on, 0.6 s later. Adam
on the 30 forces, 150 iterations. Prints the table of docs/optimise.md and draws its picture.
"""
from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import orthant as ot

STEPS = 30


def problem() -> ot.optimise.Problem:
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.5)
    b.add_body("floor", motion=ot.Motion.Fixed, planar=True,
               shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="wood")])
    b.add_body("block", motion=ot.Motion.Planar, position=(0, 0.1), mass=2.0,
               shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.2, 0.1), material="wood")])
    b.add_body_actuator("push", "block", force=(1, 0))
    p = ot.optimise.Problem(b.build(), STEPS, h=0.02, solver=ot.SolveSettings(tolerance=1e-12))
    p.vary_controls(-40, 40)
    p.track("block", "x", 0.5, weight=100, at="final")
    p.track("block", "vx", 0.0, weight=10, at="final")
    p.effort(1e-4)
    p.guess(u=np.full((STEPS, 1), 5.0))
    return p


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("exact", {}),
    "smoothed, κ = 0.1 … 1e-4 J": ("smoothed", {"kappa": (1e-1, 1e-2, 1e-3, 1e-4)}),
    "loss-aware, probe 1": ("loss_aware", {"floating_tolerance": 1.0, "probe": 1.0}),
    "randomised, 2 × 16 rollouts": ("randomised", {"sigma": 0.05, "samples": 16}),
}

if __name__ == "__main__":
    curves = {}
    print("| gradient | cost after 10, 50, 150 iterations | x at the end [m] | processor time |")
    print("| --- | --- | --- | --- |")
    for name, (kind, options) in KINDS.items():
        p = problem()
        begin = time.process_time()
        costs, _ = ot.optimise.adam(p, gradient=kind, iterations=150, rate=0.01, **options)
        spent = time.process_time() - begin
        end = ot.rollout(p.model, p.parameters, p.settings, p.state, STEPS, u=p.u).of("block", "x")[-1]
        curves[name] = costs
        shown = ", ".join(f"{np.min(costs[:i + 1]):.3g}" for i in (10, 50, 150))
        print(f"| {name} | {shown} | {end:.3f} | {spent:.2f} s |")
    if len(sys.argv) > 1:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        matplotlib.rcParams["svg.hashsalt"] = "orthant"
        figure, axes = plt.subplots(figsize=(6.4, 3.4))
        for (name, costs), style in zip(curves.items(), ("k:", "C0-", "C1--", "C2-.")):
            axes.semilogy(costs, style, label=name)
        axes.set_xlabel("iteration of Adam")
        axes.set_ylabel("cost")
        axes.set_title("A block that sticks, asked to move")
        axes.legend()
        figure.tight_layout()
        figure.savefig(sys.argv[1], metadata={"Date": None})
