# SPDX-License-Identifier: Apache-2.0
"""showcases.py [FILE.svg]: the optimisation examples beside CMA-ES on the same unknowns and start.

Runs each example, then CMA-ES (package `cma`) with as much processor time, at least 2000 rollouts. Prints
the table of docs/optimise.md and draws the costs over processor time.
"""
from __future__ import annotations

import contextlib
import io
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import orthant as ot

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NAMES = ["15_cartpole", "16_chain", "17_stack", "18_worm", "19_catapult", "20_double_pendulum",
         "26_throw"]


def timed(name: str) -> tuple[dict[str, Any], list[tuple[float, float]]]:
    """An example's variables, and (processor time, cost) of its first search."""
    points: list[tuple[float, float]] = []
    solve = ot.optimise.Problem.solve
    searches = []

    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        searches.append(self)
        if len(searches) > 1:
            return solve(self, *arguments, **named)
        begin = time.process_time()
        points.append((0.0, float("nan")))
        named["progress"] = lambda i, cost, *rest: points.append((time.process_time() - begin, cost))
        result = solve(self, *arguments, **named)
        points[0] = (0.0, float(result.history[0, 0]))
        points.append((time.process_time() - begin, result.cost))
        return result

    ot.optimise.Problem.solve = watched  # type: ignore[method-assign]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return runpy.run_path(str(EXAMPLES / f"{name}.py")), points
    finally:
        ot.optimise.Problem.solve = solve  # type: ignore[method-assign]


if __name__ == "__main__":
    rows = {}
    print("| example | unknowns | cost at the start | by gradients | time | CMA-ES | rollouts, time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in NAMES:
        found, points = timed(name)
        p = found["p"]
        begin = time.process_time()
        costs, _ = ot.optimise.cma_es(p, evaluations=2000)
        spent = time.process_time() - begin
        rows[name] = (points, costs, spent)
        print(f"| `{name}` | {p.vector()[0].size} | {points[0][1]:.3g} | {found['best'].cost:.3g} | "
              f"{points[-1][0]:.2f} s | {costs[-1]:.3g} | 2000, {spent:.2f} s |", flush=True)
    if len(sys.argv) > 1:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        matplotlib.rcParams["svg.hashsalt"] = "orthant"
        figure, axes = plt.subplots(2, 4, figsize=(11, 5))
        axes.flat[-1].axis("off")
        for ax, (name, (points, costs, spent)) in zip(axes.flat, rows.items()):
            t, c = np.array(points).T
            ax.semilogy(t, np.maximum(c, 1e-22), label="gradients")
            ax.semilogy(np.linspace(0, spent, len(costs)), costs, "--", label="CMA-ES")
            ax.set_title(name[3:])
            ax.set_xlabel("processor time [s]")
        axes[0, 0].set_ylabel("cost")
        axes[0, 0].legend()
        figure.tight_layout()
        figure.savefig(sys.argv[1], metadata={"Date": None})
