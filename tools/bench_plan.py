# SPDX-License-Identifier: Apache-2.0
"""bench_plan.py ORTHANT OUT [--baseline FILE] [--folder FOLDER ...] [--record FOLDER]: what the automatic plan costs, file by file.

Solves every problem file below the folders (tests/data/{lcp,mlcp,fclib,packing} unless told otherwise). --record
FOLDER first saves there the problems that named steps of a few scenes pose. For each: processor time of one solve (the least of several in
one process, memory included), residual, outcome, the method that gave the answer. One thread. Writes OUT/plan.json;
--baseline compares with such a file of another build; --thresholds then halves and doubles every threshold of the plan
and prints what that does to the time.
Exit status 1 when a file that the baseline solves is not solved, or one of 20 contacts and more takes over LIMIT of its time.
"""
import argparse
import json
import math
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [ROOT / "tests/data" / name for name in ("lcp", "mlcp", "fclib", "packing")]
LONG = 0.1  # seconds: from here on three solves are timed
ENOUGH_CONTACTS = 20  # below, the fixed cost of a call is all there is to compare
LIMIT = 1.2  # slower than this is named
# (scene, step): a step whose problem has something of its own.
SCENES = [("arch", 40), ("chain", 50), ("dominoes", 120), ("pebbles", 150), ("sediment", 100), ("soft_beam", 20),
          ("spheres_in_a_box", 60), ("spheres_in_a_box", 240), ("stack", 50)]


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
    for scene, step in SCENES:
        done = subprocess.run([command, "run", ROOT / f"scenes/yaml/{scene}.yaml", "--explain", str(step),
                               "--problems", folder], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            print(f"{scene}: not recorded: {done.stderr.strip()}", file=sys.stderr)
    return sorted(Path(folder).glob("*.h5"))


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


def threshold_defaults(command):
    """Names and defaults of the thresholds, as the command's help lists them."""
    text = subprocess.run([command, "solve", "--help"], capture_output=True, text=True).stdout
    found = re.findall(r"--(thresholds\.[a-z-]+)\s+\w+(?:\s+\[([-+.e0-9]+)\])?", text)
    return [(name, float(value)) for name, value in found if value]


def show_thresholds(command, files, results):
    """Every threshold halved and doubled: files whose attempts change, and their time."""
    print(f"{'threshold':<32} {'value':>10} {'files moved':>11} {'time':>6}  worst")
    for name, value in threshold_defaults(command):
        for factor in (0.5, 2):
            other = value * factor if value < 1 or value * factor % 1 else int(value * factor)
            before = after = 0.0
            moved = []
            for file in files:
                key = f"{file.parent.name}/{file.name}"
                if key not in results:
                    continue
                new = solve(command, str(file), 1, [f"--{name}", str(other)])
                if new is None or ways(new) == ways(results[key]):
                    continue
                new = measure(command, str(file), [f"--{name}", str(other)])
                before += results[key]["processor_seconds"]
                after += new["processor_seconds"]
                ratio = new["processor_seconds"] / results[key]["processor_seconds"]
                moved.append((ratio if new["outcome"] == results[key]["outcome"] else math.inf, key))
            worst = f"{max(moved)[0]:.2f} {max(moved)[1]}" if moved else ""
            print(f"{name:<32} {other:>10} {len(moved):>11} {after / before if before else 1:>6.2f}  {worst}")


def ways(result):
    return [(a["method"], a["outcome"], a["iterations"]) for a in result["attempts"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command")
    parser.add_argument("out")
    parser.add_argument("--baseline")
    parser.add_argument("--folder", action="append", help="instead of tests/data; may be repeated")
    parser.add_argument("--record", help="save problems of a few scenes in this folder and solve them too")
    parser.add_argument("--thresholds", action="store_true", help="what every threshold is worth")
    parser.add_argument("--only", default="", help="files whose name contains this")
    options = parser.parse_args()

    baseline = json.loads(Path(options.baseline).read_text()) if options.baseline else {}
    files = problem_files(options.folder or FOLDERS)
    if options.record:
        files += recorded(options.command, options.record)
    results = {}
    for file in files:
        if options.only in file.name and (result := measure(options.command, str(file))) is not None:
            results[f"{file.parent.name}/{file.name}"] = result
    show(results, baseline)
    solved = sum(r["outcome"] == "converged" for r in results.values())
    total = sum(r["processor_seconds"] for r in results.values())
    print(f"{solved} of {len(results)} solved, {total:.2f} s in all")
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(results, indent=1))
    if options.thresholds:
        show_thresholds(options.command, files, results)
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
