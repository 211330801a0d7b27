#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads every URDF and MJCF file below some folders, drops each on the floor and prints a table.

    pip install example-robot-data 'gymnasium[mujoco]'
    tools/try_robots.py --orthant build/release/bin/orthant example-robot-data gymnasium

A name that is no folder is that of an installed package: its files are tried. Columns: steps that
missed the tolerance, largest joint error, rise of the energy above that at the start (a share of all
that was lost), deepest overlap, CPU ms per step.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile


LARGEST_RISE = 1e-3  # of the energy, a share of all that was lost


def files_of(name):
    """Robots in a folder, or in the files of an installed package."""
    folder = pathlib.Path(name)
    if folder.is_file():
        return [folder]
    if folder.is_dir():
        paths = sorted(folder.rglob("*"))
    else:
        distribution = importlib.metadata.distribution(name)
        paths = [pathlib.Path(distribution.locate_file(f)) for f in distribution.files or []]
    found = []
    for path in paths:
        if path.suffix == ".urdf":
            found.append(path)
        elif path.suffix == ".xml" and path.is_file() and "<mujoco" in path.read_text(errors="ignore"):
            found.append(path)
    return sorted(set(path.resolve() for path in found))


def scene_of(path, args):
    """The robot 5 cm above the floor; MJCF brings its own floor and height."""
    options = {"file": str(path), "density": 500}
    if path.suffix == ".urdf":
        options |= {"stand": True, "position": [0, 0, args.drop]}
    scene = {
        "orthant": 1,
        "urdf" if path.suffix == ".urdf" else "mjcf": options,
        "step": {"h": args.step},
        "run": {"time": args.time},
        "record": {"every": 1, "contacts": False, "velocities": False},
    }
    if path.suffix == ".urdf":
        scene["bodies"] = [{"name": "the_floor", "motion": "fixed", "shapes": {"type": "half_space"}}]
    return scene


def run(command, limit):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(command, 1, "", f"took longer than {limit:g} s")
    return done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def try_one(path, args, folder):
    scene = pathlib.Path(folder) / "scene.yaml"
    scene.write_text(json.dumps(scene_of(path, args)))  # JSON is YAML
    done, load = run([args.orthant, "check", str(scene)], args.limit)
    if done.returncode != 0:
        return {"file": path.name, "error": done.stderr.strip().split("\n")[0][:300]}
    out = os.path.join(folder, "run")
    command = [args.orthant, "run", str(scene), "-o", out, "--overwrite", "--quiet", "--threads", "1"]
    done, used = run(command + ["--json", "-"], args.limit)
    if not done.stdout.strip().startswith("{"):
        return {"file": path.name, "error": done.stderr.strip()[:300]}
    report = json.loads(done.stdout)
    energy = report["energy"]
    lost = max(energy["first"] - energy["least"], 1e-9)
    report["energy_rise"] = max(energy["largest"] - energy["first"], 0) / lost
    report["lifted"] = False
    if report["energy_rise"] > LARGEST_RISE:  # a start inside the floor: the first step lifts it out
        done, _ = run(command + ["--json", "-", "--steps", "1"], args.limit)
        start = json.loads(done.stdout)["energy"]["largest"] if done.returncode == 0 else energy["first"]
        report["lifted"] = start > energy["first"]
        report["energy_rise"] = max(energy["largest"] - start, 0) / lost
    return {"file": path.name, "report": report, "ms": 1e3 * max(used - load, 0) / max(report["step"], 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", help="folders, files or installed packages")
    parser.add_argument("--orthant", default="orthant", help="the command")
    parser.add_argument("--time", type=float, default=2.0, help="of each run [s]")
    parser.add_argument("--step", type=float, default=0.005, help="[s]")
    parser.add_argument("--drop", type=float, default=0.05, help="height of the lowest point [m]")
    parser.add_argument("--limit", type=float, default=120.0, help="wall time per file [s]")
    parser.add_argument("--only", default="", help="files whose path contains this")
    args = parser.parse_args()
    bad = 0
    print(f"{'file':40} {'loaded':6} {'failed':>6} {'joint error':>11} {'energy rise':>11} {'deepest':>8} {'ms/step':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for path in [p for name in args.what for p in files_of(name) if args.only in str(p)]:
            row = try_one(path, args, folder)
            if "error" in row:
                bad += 1
                print(f"{row['file']:40} no     {row['error']}", flush=True)
                continue
            r = row["report"]
            good = r["failed_steps"] == 0 and r["joint_error"] < 1e-8 and r["energy_rise"] <= LARGEST_RISE
            bad += not good
            print(
                f"{row['file']:40} yes    {r['failed_steps']:6d} {r['joint_error']:11.1e} {r['energy_rise']:11.1e} "
                f"{r['deepest']:8.1e} {row['ms']:8.2f}{'' if good else '  <-'}"
                f"{'  (starts inside the floor: energy from the first step on)' if r['lifted'] else ''}",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
