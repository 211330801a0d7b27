# SPDX-License-Identifier: Apache-2.0
"""compare_siconos.py ORTHANT PEER OUT: local 3D friction problems by us and by every Siconos solver.

One thread each, one after the other, three runs of ours and the best taken; a Siconos solver counts
when it meets both 1e-8 in Siconos' own error and 1e-6 in the scale-free one. Writes OUT/siconos.json.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE, SCALE_FREE = 1e-8, 1e-6
SECONDS = os.environ.get("SICONOS_SECONDS", "10")


def ours(command, file):
    best = None
    for _ in range(3):
        done = subprocess.run([command, "solve", file, "--json", "-"], capture_output=True, text=True)
        item = json.loads(done.stdout)[0]
        if best is None or item["seconds"] < best["seconds"]:
            best = item
    return best


def theirs(peer, text):
    """One result a solver."""
    # Siconos itself runs single-threaded; its BLAS must as well.
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([peer, text, str(TOLERANCE / 10), SECONDS], capture_output=True, text=True,
                          env=one_thread)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    command, peer, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    table = []
    print(f"{'problem':44} {'unknowns':>8} {'Orthant':>12} {'residual':>9} {'best Siconos':>14} {'of 14':>6} {'ratio':>7}")
    for file in sorted((ROOT / "tests/data/fclib").iterdir()):
        item = ours(command, file)
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder) / "problem.dat"
            if item.get("kind") != "friction_local":
                continue
            converted = subprocess.run([command, "convert", file, text], capture_output=True, text=True)
            if converted.returncode != 0 or text.read_text().split(None, 1)[0] != "3":
                continue
            peers = theirs(peer, text)
        good = [p for p in peers if p.get("siconos", 1) <= TOLERANCE and p.get("scale_free", 1) <= SCALE_FREE]
        best = min(good, key=lambda p: p["seconds"], default=None)
        mine = item["seconds"] if item["outcome"] == "converged" else None
        name = f"{best['seconds'] * 1e3:8.3f} {best['solver']}" if best else "none"
        ratio = f"{best['seconds'] / mine:7.2f}" if best and mine else "      -"
        print(f"{file.name:44} {item['unknowns']:8} {item['seconds'] * 1e3:9.3f} ms {item['residual']:9.1e} "
              f"{name:>14} {len(good):6} {ratio}", flush=True)
        table.append({"file": file.name, "orthant": item, "siconos": peers})
    (out / "siconos.json").write_text(json.dumps(table, indent=1))
    print(f"JSON: {out / 'siconos.json'}   (ratio > 1: Orthant is faster)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
