# SPDX-License-Identifier: Apache-2.0
"""encoder_compared.py [FILE.svg]: example 21 (pictures predicted through the engine) beside CMA-ES.

CMA-ES (package `cma`) gets the loss, the start and four times the processor time of the example: once on all
weights, with a diagonal covariance (a full one of 74,000 numbers takes 44 GB), once with a full one on the
weights of the last layer alone. All are judged by the loss on 256 new motions and by how far the predicted
places are off. One thread.
"""
from __future__ import annotations

import contextlib
import io
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import cma
import numpy as np
import torch

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/21_encoder.py"
SHARE = 4  # of the processor time, for CMA-ES
Curve = list[tuple[float, float]]


def search(found: dict[str, Any], last: int, sigma: float, budget: float) -> Curve:
    """CMA-ES on the last weights for `budget` seconds of processor time; the best become the encoder's."""
    encoder, first = found["encoder"], found["first"]
    weights = first.numpy().copy()
    free = weights[-last:]

    def use(x: Any) -> None:
        weights[-last:] = x
        torch.nn.utils.vector_to_parameters(torch.tensor(weights), encoder.parameters())

    torch.manual_seed(2)
    begin, curve = time.process_time(), []
    finder = cma.CMAEvolutionStrategy(free.copy(), sigma, {"seed": 1, "verbose": -9, "CMA_diagonal": last > 1000})
    with torch.no_grad():
        while not finder.stop() and time.process_time() - begin < budget:
            points, batch, costs = finder.ask(), found["sample"](found["BATCH"]), []
            for x in points:  # one batch for all of a generation
                use(x)
                costs.append(float(found["error"](batch)))
            finder.tell(points, costs)
            curve.append((time.process_time() - begin, min(costs)))
        use(finder.result.xfavorite)
    return curve


def judge(found: dict[str, Any]) -> tuple[float, float]:
    """Loss on new motions, and the median miss of the last place in pixels."""
    torch.manual_seed(7)
    with torch.no_grad():
        starts = found["sample"](256)
        motion, ahead, size = found["motion"], found["AHEAD"], found["SIZE"]
        places = motion(starts, ahead)
        guess = found["encoder"](found["draw"](places)[:, :found["SEEN"]])
        miss = (motion(guess, ahead)[:, -1] - places[:, -1]).norm(dim=1) * size
        return float(found["error"](starts)), float(miss.median())


def main() -> None:
    os.environ.pop("ORTHANT_QUICK", None)
    with contextlib.redirect_stdout(io.StringIO()):
        found = runpy.run_path(str(EXAMPLE))
    count = found["first"].numel()
    spent = found["curve"][-1][0]
    last = sum(p.numel() for p in found["encoder"][3].parameters())
    rows: dict[str, tuple[int, Curve, tuple[float, float]]] = {"Adam": (count, found["curve"], judge(found))}
    for name, free, sigma in (("CMA-ES, all weights", count, 0.01), ("CMA-ES, last layer", last, 0.05)):
        rows[name] = (free, search(found, free, sigma, SHARE * spent), judge(found))
    torch.nn.utils.vector_to_parameters(found["first"], found["encoder"].parameters())
    before = judge(found)
    print("| search | unknowns | loss at the start | loss at the end | median miss [pixels] | processor time |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (free, curve, (loss, miss)) in rows.items():
        print(f"| {name} | {free} | {before[0]:.3g} | {loss:.3g} | {miss:.2f} | {curve[-1][0]:.1f} s |")
    if len(sys.argv) > 1:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        matplotlib.rcParams["svg.hashsalt"] = "orthant"
        figure, ax = plt.subplots(figsize=(5.5, 3.4))
        for (name, (_, curve, _)), style in zip(rows.items(), ("-", "--", ":")):
            t, loss = np.array(curve).T
            mean = np.convolve(np.pad(loss, 9, mode="edge"), np.ones(19) / 19, mode="valid")  # over batches
            ax.semilogy(t, mean, style, label=name)
        ax.set_xlabel("processor time [s]")
        ax.set_ylabel("loss, mean of 19 batches")
        ax.legend()
        figure.tight_layout()
        figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
