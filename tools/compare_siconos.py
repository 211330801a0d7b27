# SPDX-License-Identifier: Apache-2.0
"""compare_siconos.py ORTHANT PEER OUT [FOLDER]: friction problems by us and by every Siconos solver.

One thread each, one after the other, processor time, the best of a few runs in one process on either side, each
from nothing. A Siconos solver counts when it meets both 1e-8 in Siconos' own error and 1e-6 in the scale-free
one within its limit, which is stated for every file: LIMIT_FACTOR times our time, at least LIMIT_LEAST and at most
LIMIT_MOST seconds (SICONOS_SECONDS sets one limit for all). Where none does, the problem is ours and is listed.
A global problem is also condensed for the local solvers of Siconos: condensing counts, as it does for us, and a
second ratio leaves it out. The default solver of Siconos is its Gauss-Seidel. FOLDER: tests/data/fclib.
Writes OUT/siconos.json.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE, SCALE_FREE = 1e-8, 1e-6
LIMIT_FACTOR, LIMIT_LEAST, LIMIT_MOST = 10, 0.3, 5.0  # seconds of processor time a solver and file
LONG = 0.3  # seconds: from here on one solve is timed, not many
ENOUGH_CONTACTS = 20  # below, the fixed cost of a call is all there is to compare


def ours(command, file):
    """The fastest of several solves in one process, as the peer does it."""
    first = solve(command, file, 1)
    return first if first["processor_seconds"] > LONG else solve(command, file, 9)


def solve(command, file, times):
    done = subprocess.run([command, "solve", file, "--repeat", str(times), "--json", "-"], capture_output=True,
                          text=True)
    return json.loads(done.stdout)[0]


def theirs(peer, text, form, seconds):
    """One result a solver; `total` is what the file as given takes."""
    # Siconos itself runs single-threaded; its BLAS must as well.
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([peer, text, form, str(TOLERANCE), str(seconds)], capture_output=True, text=True,
                          env=one_thread)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for result in results:
        if "seconds" in result:
            result["total"] = result["seconds"] + result["condense"]
    return results


def limit_for(seconds):
    if "SICONOS_SECONDS" in os.environ:
        return float(os.environ["SICONOS_SECONDS"])
    return min(max(LIMIT_FACTOR * seconds, LIMIT_LEAST), LIMIT_MOST)


def milliseconds(item):
    return f"{item['total'] * 1e3:10.3f}" if item else f"{'fails':>10}"


def number(value):
    return f"{value:8.2f}" if value else f"{'-':>8}"


def compare(command, peer, file):
    item = ours(command, file)
    if item.get("kind") not in ("friction_local", "friction_global"):
        return None
    form = item["kind"].removeprefix("friction_")
    seconds = item["processor_seconds"]
    limit = limit_for(seconds)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "problem.dat"
        done = subprocess.run([command, "convert", file, text], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{file.name}: {done.stderr.strip()}", flush=True)
            return None
        dim, contacts = (int(word) for word in text.read_text().split(None, 2)[:2])
        peers = theirs(peer, text, form, limit) if contacts else []
    good = [p for p in peers if p.get("siconos", 1) <= 1.01 * TOLERANCE and p.get("scale_free", 1) <= SCALE_FREE]
    best = min(good, key=lambda p: p["total"], default=None)
    alone = min(good, key=lambda p: p["seconds"], default=None)
    default = next((p for p in good if p["solver"].split("_")[-1] == "NSGS" or "NSGS_WR" in p["solver"]), None)
    solved = item["residual_siconos"] <= TOLERANCE and item["residual_scale_free"] <= SCALE_FREE
    ratio = best["total"] / seconds if best and solved else None
    condensed = alone["seconds"] / seconds if best and solved else None
    late = sum(p.get("failed") == "time limit" for p in peers)
    name = best["solver"] if best else ""
    print(f"{file.name:42.42} {contacts:5} {seconds * 1e3:10.3f} {item['residual']:8.1e}"
          f" {item['residual_siconos']:8.1e} {item['residual_scale_free']:8.1e} {milliseconds(best)} {name:11}"
          f" {milliseconds(default)} {len(good):3}/{len(peers):<3} {late:4} {limit:6.2f} {number(ratio)}"
          f" {number(condensed) if form == 'global' else ''}", flush=True)
    return {"file": file.name, "dim": dim, "contacts": contacts, "orthant": item, "siconos": peers,
            "limit_seconds": limit, "solved": solved, "best": best, "ratio": ratio, "ratio_condensed": condensed}


def summary(rows, key, what):
    # Where no Siconos solver succeeds any time of ours is faster.
    fast = [row for row in rows if row["solved"] and (row["best"] is None or row[key] >= 1)]
    ratios = [row[key] for row in rows if row[key]]
    if rows and ratios:
        print(f"{what}: as fast as the best Siconos solver on {len(fast)} of {len(rows)}"
              f" ({100 * len(fast) / len(rows):.0f} %), median ratio {statistics.median(ratios):.2f}"
              f" over the {len(ratios)} that both solve")


def main():
    command, peer, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder = Path(sys.argv[4]) if len(sys.argv) > 4 else ROOT / "tests/data/fclib"
    out.mkdir(parents=True, exist_ok=True)
    print(f"{'problem':42} {'nc':>5} {'Orthant ms':>10} {'judge':>8} {'siconos':>8} {'sc.free':>8} {'best ms':>10}"
          f" {'solver':11} {'default ms':>10} {'solve':>7} {'late':>4} {'lim. s':>6} {'ratio':>8} {'condensed':>9}")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".dat", ".hdf5"))
    table = [row for row in (compare(command, peer, file) for file in files) if row]
    (out / "siconos.json").write_text(json.dumps(table, indent=1))
    rows = [row for row in table if row["contacts"]]
    large = [row for row in rows if row["contacts"] >= ENOUGH_CONTACTS]
    alone = [row["file"] for row in rows if row["solved"] and row["best"] is None]
    slower = [f"{row['file']} ({row['ratio']:.2f})" for row in large if row["ratio"] and row["ratio"] < 1]
    print(f"{sum(row['solved'] for row in table)} of {len(table)} solved by Orthant, "
          f"{sum(row['best'] is not None for row in table)} of {len(rows)} by some solver of Siconos")
    print(f"no solver of Siconos within its limit: {', '.join(alone) or 'none'}")
    print(f"slower than the best of Siconos, {ENOUGH_CONTACTS} contacts and more: {', '.join(slower) or 'none'}")
    summary(large, "ratio", f"{ENOUGH_CONTACTS} contacts and more")
    summary(large, "ratio_condensed", "the same, condensing not counted for Siconos")
    summary([row for row in rows if row["contacts"] < ENOUGH_CONTACTS], "ratio", "fewer contacts")
    print(f"JSON: {out / 'siconos.json'}   (ratio > 1: Orthant is faster; late: solvers stopped by the limit)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
