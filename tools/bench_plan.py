# SPDX-License-Identifier: Apache-2.0
"""bench_plan.py ORTHANT OUT [--baseline FILE] [--folder FOLDER ...] [--scenes]: what the automatic plan costs, file by file.

Solves every problem file below the folders (tests/data/{lcp,mlcp,fclib,packing} unless told otherwise) and, with
--scenes, problems that named steps of a few scenes pose. For each: processor time of one solve (the least of several in
one process, memory included), residual, outcome, the method that gave the answer. One thread. Writes OUT/plan.json;
--baseline compares with such a file of another build, --thresholds repeats the whole with every threshold of the plan at
half and at twice its value.
Exit status 1 when a file that the baseline solves is not solved, or one of 20 contacts and more takes over LIMIT of its time.
"""
import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "tests/data" / name for name in ("lcp", "mlcp", "fclib", "packing")]
LONG = 0.1  # seconds: from here on three solves are timed
ENOUGH_CONTACTS = 20  # below, the fixed cost of a call is all there is to compare
LIMIT = 1.2  # slower than this is named
# (scene, step): a step whose problem has something of its own.
SCENES = [("scenes/stack.yaml", 50), ("scenes/dominoes.yaml", 100), ("scenes/pile.yaml", 100),
          ("scenes/box_of_spheres.yaml", 150), ("scenes/chain.yaml", 50)]


def solve(command, file, times, options=()):
    done = subprocess.run([command, "solve", file, "--repeat", str(times), "--json", "-", *options],
                          capture_output=True, text=True)
    if not done.stdout.strip():
        return None
    result = json.loads(done.stdout)[0]
    return None if result["outcome"] == "bad_input" else result


def measure(command, file, options=()):
    """Least processor time of a few solves; short ones are repeated until they fill 50 ms."""
    first = solve(command, file, 1, options)
    if first is None:
        return None
    seconds = first["processor_seconds"]
    times = 3 if seconds > LONG else min(max(int(0.05 / max(seconds, 1e-7)), 5), 2000)
    again = solve(command, file, times, options)
    again["processor_seconds"] = min(seconds, again["processor_seconds"])
    return again


def recorded(command, folder):
    """Problem files of the steps in SCENES that this build has."""
    files = []
    for scene, step in SCENES:
        path = ROOT / scene
        if not path.exists():
            continue
        done = subprocess.run([command, "run", path, "-o", Path(folder) / path.stem, "--explain", str(step),
                               "--problems", folder], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{scene}: not recorded: {done.stderr.strip()}", file=sys.stderr)
    files += sorted(Path(folder).glob("*.h5"))
    return files


def problem_files(folders):
    return sorted(path for folder in folders for path in Path(folder).rglob("*")
                  if path.suffix in (".dat", ".hdf5", ".h5") and path.is_file())


def compared(results, baseline):
    """(ratios of time, failures) against the baseline's files of the same name."""
    ratios, failures = [], []
    for name, new in results.items():
        old = baseline.get(name)
        if old is None:
            continue
        if old["outcome"] == "converged" and new["outcome"] != "converged":
            failures.append(f"{name}: {new['outcome']}, was solved")
            continue
        if old["outcome"] != "converged":
            continue
        ratio = new["processor_seconds"] / old["processor_seconds"]
        ratios.append((ratio, name, new))
        if ratio > LIMIT and new["contacts"] >= ENOUGH_CONTACTS:
            failures.append(f"{name}: {ratio:.2f} times the baseline's time")
    return ratios, failures


def show(results, baseline):
    print(f"{'file':<44} {'contacts':>8} {'method':<20} {'outcome':<15} {'iter':>5} {'residual':>9} {'ms':>10} {'ratio':>6}")
    for name, r in results.items():
        old = baseline.get(name)
        ratio = f"{r['processor_seconds'] / old['processor_seconds']:6.2f}" if old else f"{'-':>6}"
        print(f"{name:<44} {r['contacts']:>8} {r['method']:<20} {r['outcome']:<15} {r['iterations']:>5} "
              f"{r['residual']:>9.1e} {1e3 * r['processor_seconds']:>10.4f} {ratio}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("out")
    parser.add_argument("--baseline")
    parser.add_argument("--folder", action="append", help="instead of tests/data; may be repeated")
    parser.add_argument("--scenes", action="store_true", help="record problems of a few scenes too")
    parser.add_argument("--only", default="", help="files whose name contains this")
    options = parser.parse_args()

    baseline = json.loads(Path(options.baseline).read_text()) if options.baseline else {}
    with tempfile.TemporaryDirectory() as scratch:
        files = problem_files(options.folder or FOLDERS)
        if options.scenes:
            files += recorded(options.command, scratch)
        results = {}
        for file in files:
            if options.only not in file.name:
                continue
            result = measure(options.command, str(file))
            if result is not None:
                results[f"{file.parent.name}/{file.name}" if not options.scenes else file.name] = result
    show(results, baseline)
    solved = sum(r["outcome"] == "converged" for r in results.values())
    total = sum(r["processor_seconds"] for r in results.values())
    print(f"{solved} of {len(results)} solved, {total:.2f} s in all")
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(results, indent=1))
    if not baseline:
        return 0
    ratios, failures = compared(results, baseline)
    if ratios:
        large = [r for r in ratios if r[2]["contacts"] >= ENOUGH_CONTACTS]
        print(f"time against the baseline: median {statistics.median(r[0] for r in ratios):.2f}, "
              f"geometric mean {math.exp(statistics.fmean(math.log(r[0]) for r in ratios)):.2f}; "
              f"{len(large)} files of {ENOUGH_CONTACTS} contacts and more: worst "
              + (f"{max(large)[0]:.2f} ({max(large)[1]})" if large else "none"))
    for failure in failures:
        print("worse:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
