# SPDX-License-Identifier: Apache-2.0
"""compare_siconos.py ORTHANT PEER OUT [FOLDER]: friction problems by us and by every Siconos solver.

One thread each, one after the other, the best of a few runs in one process on either side; a Siconos
solver counts when it meets both 1e-8 in Siconos' own error and 1e-6 in the scale-free one. The
default solver of Siconos is its Gauss-Seidel. FOLDER: tests/data/fclib. Writes OUT/siconos.json.
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
SECONDS = os.environ.get("SICONOS_SECONDS", "10")
ENOUGH_CONTACTS = 20  # below, the fixed cost of a call is all there is to compare


def ours(command, file):
    """The fastest of a few solves in one process, as the peer does it."""
    first = solve(command, file, 1)
    again = 1 if first["seconds"] > 0.5 else 7
    return min([first] + [solve(command, file, again)], key=lambda item: item["seconds"])


def solve(command, file, times):
    done = subprocess.run([command, "solve", *[file] * times, "--json", "-"], capture_output=True, text=True)
    return min(json.loads(done.stdout), key=lambda item: item["seconds"])


def theirs(peer, text, form):
    """One result a solver."""
    # Siconos itself runs single-threaded; its BLAS must as well.
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([peer, text, form, str(TOLERANCE), SECONDS], capture_output=True, text=True,
                          env=one_thread)
    return [json.loads(line) for line in done.stdout.splitlines()]


def milliseconds(item):
    return f"{item['seconds'] * 1e3:10.3f}" if item else f"{'fails':>10}"


def compare(command, peer, file):
    item = ours(command, file)
    if item["kind"] not in ("friction_local", "friction_global"):
        return None
    form = item["kind"].removeprefix("friction_")
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "problem.dat"
        done = subprocess.run([command, "convert", file, text], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{file.name}: {done.stderr.strip()}", flush=True)
            return None
        dim, contacts = (int(word) for word in text.read_text().split(None, 2)[:2])
        peers = theirs(peer, text, form) if contacts else []
    good = [p for p in peers if p.get("siconos", 1) <= 1.01 * TOLERANCE and p.get("scale_free", 1) <= SCALE_FREE]
    best = min(good, key=lambda p: p["seconds"], default=None)
    default = next((p for p in good if p["solver"].split("_")[-1] == "NSGS" or "NSGS_WR" in p["solver"]), None)
    solved = item["residual_siconos"] <= TOLERANCE and item["residual_scale_free"] <= SCALE_FREE
    ratio = best["seconds"] / item["seconds"] if best and solved else None
    name = best["solver"] if best else ""
    print(f"{file.name:42.42} {contacts:6} {item['seconds'] * 1e3:10.3f} {item['residual']:8.1e} {item['residual_siconos']:8.1e}"
          f" {item['residual_scale_free']:8.1e} {milliseconds(best)} {name:10} {milliseconds(default)}"
          f" {len(good):3}/{len(peers):<3} {f'{ratio:8.2f}' if ratio else '       -'}", flush=True)
    return {"file": file.name, "dim": dim, "contacts": contacts, "orthant": item, "siconos": peers,
            "solved": solved, "best": best, "ratio": ratio}


def main():
    command, peer, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder = Path(sys.argv[4]) if len(sys.argv) > 4 else ROOT / "tests/data/fclib"
    out.mkdir(parents=True, exist_ok=True)
    print(f"{'problem':42} {'nc':>6} {'Orthant ms':>10} {'judge':>8} {'siconos':>8} {'sc.free':>8} {'best ms':>10}"
          f" {'solver':10} {'default ms':>10} {'solve':>7} {'ratio':>8}")
    files = sorted(path for path in folder.iterdir() if path.suffix in (".dat", ".hdf5"))
    table = [row for row in (compare(command, peer, file) for file in files) if row]
    (out / "siconos.json").write_text(json.dumps(table, indent=1))
    large = [row for row in table if row["contacts"] >= ENOUGH_CONTACTS and row["solved"]]
    # Where no Siconos solver succeeds any time of ours is faster.
    fast = [row for row in large if row["best"] is None or row["ratio"] >= 1]
    ratios = [row["ratio"] for row in large if row["ratio"]]
    print(f"{sum(row['solved'] for row in table)} of {len(table)} solved by Orthant, "
          f"{sum(row['best'] is not None for row in table)} by some solver of Siconos")
    if large:
        print(f"{ENOUGH_CONTACTS} contacts and more: as fast as the best Siconos solver on {len(fast)} of {len(large)}, "
              f"median ratio {statistics.median(ratios):.2f}" if ratios else "")
    print(f"JSON: {out / 'siconos.json'}   (ratio > 1: Orthant is faster)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
