#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the work-precision figure of docs/engines.md from a run of bench_piles.

    tools/plot_piles.py [--bench build/release/bin/bench_piles] [--count 500] [--out docs/images]
    tools/plot_piles.py --table FILE     # of a run that was kept

Time per step against overlap, and against the speed left in a pile at rest, for fast with 5 to 100
sweeps, standard, standard to 1e-8, and ODE with 10 to 200 iterations where bench_piles has it.
"""
from __future__ import annotations

import argparse
import pathlib
import subprocess

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "orthant"
import matplotlib.pyplot as plt  # noqa: E402

OURS = ("fast5", "fast10", "fast20", "fast30", "fast50", "fast100")
SINGLE = ("standard", "standard1e-8")
ODE = ("ode10", "ode20", "ode50", "ode200")
PANELS = (  # scene, column, what it is
    ("settled", "overlap/r mean", "deepest overlap / r, mean over the steps"),
    ("dropped", "overlap/r mean", ""),
    ("tilting", "overlap/r mean", ""),
    ("settled", "rms v last 50", "speed left at rest [m/s]"),
)


def read(text: str) -> dict[tuple[str, str], dict[str, float]]:
    """The rows of a table of bench_piles by (scene, method)."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in lines[0].strip("|").split("|")]
    rows = {}
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        values = {}
        for name, cell in zip(names[2:], cells[2:]):
            try:
                values[name] = float(cell)
            except ValueError:
                pass  # "99/100"
        rows[cells[0], cells[1]] = values
    return rows


def draw(rows: dict[tuple[str, str], dict[str, float]], title: str, out: pathlib.Path) -> None:
    figure, axes = plt.subplots(1, len(PANELS), figsize=(13, 3.6), sharex=True)
    for axis, (scene, column, label) in zip(axes, PANELS):
        for methods, colour, name, short in ((OURS, "#06c", "Orthant fast, 5 to 100 sweeps", "fast"),
                                             (ODE, "#c60", "ODE quick, 10 to 200 iterations", "ode")):
            found = [(m, rows[scene, m]) for m in methods if (scene, m) in rows]
            if not found:
                continue
            axis.plot([r["ms mean"] for _, r in found], [r[column] for _, r in found], "o-",
                      color=colour, markersize=4, label=name)
            for method, row in (found[0], found[-1]):
                axis.annotate(method.removeprefix(short), (row["ms mean"], row[column]), fontsize=7,
                              xytext=(4, 4), textcoords="offset points", color=colour)
        for method, marker in zip(SINGLE, "s^"):
            if (scene, method) in rows:
                row = rows[scene, method]
                axis.plot(row["ms mean"], row[column], marker, color="#080", markersize=6,
                          label=f"Orthant {method.replace('standard1', 'standard, 1')}")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.margins(y=0.15)
        axis.set_title(scene if column.startswith("overlap") else "settled: speed", fontsize=10)
        axis.set_xlabel("processor time per step [ms]", fontsize=9)
        axis.set_ylabel(label, fontsize=9)
        axis.grid(True, which="major", alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.suptitle(title, fontsize=10)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=9, frameon=False)
    figure.savefig(out, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=root / "build/release/bin/bench_piles")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=root / "docs/images")
    args = parser.parse_args()
    if args.table:
        text = args.table.read_text()
    else:
        def run(methods: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
            return subprocess.run([args.bench, f"count={args.count}", "method=" + ",".join(methods)],
                                  capture_output=True, text=True, check=False)

        done = run(OURS + SINGLE + ODE)
        if done.returncode != 0:  # no ODE on this machine
            done = run(OURS + SINGLE)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        text = done.stdout
        print(text, end="")
    heading = text.splitlines()[0].replace(" sphere,", " spheres,")
    draw(read(text), heading, args.out / f"piles_{args.count}.svg")


if __name__ == "__main__":
    main()
