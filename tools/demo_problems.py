# SPDX-License-Identifier: Apache-2.0
"""The problems of the demo: one stack of boxes by several methods, all problems of tests/data by the automatic choice."""
import csv
import html
import json
import subprocess
import time
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data"
STACK = DATA / "fclib/BoxesStack1-i100000-32.hdf5.dat"
TOLERANCE = 1e-8
REPEATS = 3  # the answer is the same each time; the shortest time is told
# Method, name on the plot, colour: first-order ones light, those that factorise strong.
METHODS = [
    ("gauss_seidel", "Gauss–Seidel", "#c98a2b"),
    ("nonsmooth_newton", "nonsmooth Newton", "#2a6f97"),
    ("interior_point", "interior point", "#9b2226"),
]


def solve(command, out, name, files, *options):
    """One call of `orthant solve`: the objects of its JSON (none for bad input), what it complained."""
    report = out / f"{name}.json"
    report.unlink(missing_ok=True)
    done = subprocess.run([command, "solve", *files, "--tol", str(TOLERANCE), "--json", report, *options],
                          text=True, capture_output=True)
    return json.loads(report.read_text()) if report.exists() else [], done.stderr.strip()


def read_trace(path):
    """(iterations, residuals); where a method starts again, the count goes on."""
    steps, residuals, done, last = [], [], 0, 0
    with path.open() as file:
        for row in csv.DictReader(file):
            step = int(row["iteration"])
            if step < last:
                done += last
            last = step
            steps.append(done + step)
            residuals.append(float(row["residual"]))
    return steps, residuals


def convergence(command, out):
    """Residual against iteration for each method on the stack; returns the lines of the plot."""
    lines = []
    for method, label, colour in METHODS:
        trace = out / f"trace_{method}.csv"
        runs = [solve(command, out, f"stack_{method}", [STACK], "--method", method, "--trace", trace,
                      "--time-limit", "20") for _ in range(REPEATS)]
        if not runs[0][0]:
            print(f"  {label}: {runs[0][1]}")
            continue
        result = min((objects[0] for objects, _ in runs), key=lambda item: item["seconds"])
        print(f"  {label:18} {result['outcome']:16} {result['iterations']:6} iterations "
              f"{1e3 * result['seconds']:9.2f} ms   residual {result['residual']:.1e}")
        lines.append((label, colour, *read_trace(trace), result))
    return lines


def draw(lines, path):
    plt.rcParams.update({"font.size": 11, "svg.fonttype": "path", "svg.hashsalt": "orthant"})
    figure, axes = plt.subplots(figsize=(8, 4.4))
    for label, colour, steps, residuals, result in lines:
        axes.plot(steps, residuals, color=colour, lw=1.8, label=f"{label}, {1e3 * result['seconds']:.1f} ms")
        axes.plot(steps[-1:], residuals[-1:], "o", color=colour, ms=5)
    axes.axhline(TOLERANCE, color="#888", lw=1, ls="--")
    axes.text(1.1, TOLERANCE * 1.3, "tolerance", color="#666", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left=1)
    axes.set_xlabel("iteration")
    axes.set_ylabel("residual, block by block, without unit")
    axes.set_title("A stack of boxes: 52 contacts, exact Coulomb friction, W of rank 78 of 156",
                   fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, which="major", color="#eee")
    axes.legend(frameon=False, loc="upper right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def table_row(item):
    name = html.escape(Path(item["file"]).name)
    if "error" in item:
        text = html.escape(item["error"].replace(f"{ROOT}/", ""))
        return f'<tr><td>{name}</td><td colspan="7" class="bad">{text}</td></tr>'
    mark = "" if item["outcome"] == "converged" else ' class="bad"'
    return (f'<tr><td>{name}</td><td>{item["kind"]}</td><td class="n">{item["unknowns"]}</td>'
            f'<td>{item["method"]}</td><td{mark}>{item["outcome"]}</td><td class="n">{item["iterations"]}</td>'
            f'<td class="n">{1e3 * item["seconds"]:.2f} ms</td><td class="n">{item["residual"]:.1e}</td></tr>')


def problems(command, out):
    """Solves and draws; returns (plot as SVG, summary, rows of the table, did any method converge)."""
    lines = convergence(command, out)
    draw(lines, out / "convergence.svg")
    files = sorted(path for folder in ("lcp", "mlcp", "fclib") for path in (DATA / folder).iterdir())
    start = time.monotonic()
    objects, complaint = solve(command, out, "all", files)
    if not objects:
        raise SystemExit(complaint)
    seconds = time.monotonic() - start
    good = sum(item.get("outcome") == "converged" for item in objects)
    print(f"  {good} of {len(objects)} problems of tests/data converged in {1e3 * seconds:.0f} ms")
    svg = (out / "convergence.svg").read_text()
    summary = (f"{good} of {len(objects)} converged to {TOLERANCE:g} in {1e3 * seconds:.0f} ms. "
               "lcp_Pang_isolated_sol_perturbed has no solution and must not converge; Rectangular_mlcp "
               "has more rows than unknowns and is refused.")
    return (svg[svg.index("<svg"):], summary, "\n".join(table_row(item) for item in objects),
            any(line[-1]["outcome"] == "converged" for line in lines))
