#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py COMPILER: every public header compiles alone, as the first thing in a file.

Syntax only, several at once. Most of the time would go into Eigen, so what a header includes of it,
directly or through other headers of ours, is precompiled once for all headers with the same set; a
header that includes none of it is compiled without. Outside headers are found in the usual system places.
"""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-x", "c++-header"]
PLACES = [f"-I{INCLUDE}", "-isystem", "/usr/include/eigen3"]


def includes(header):
    return re.findall(r'^#include ["<]([^">]+)[">]', header.read_text(encoding="utf-8"), re.M)


def eigen_of(header, known):
    """Eigen's headers that `header` includes, through others too."""
    if header not in known:
        known[header] = frozenset()  # a cycle ends here
        found = set()
        for name in includes(header):
            if name.startswith("Eigen/"):
                found.add(name)
            elif (INCLUDE / name).is_file():
                found |= eigen_of(INCLUDE / name, known)
        known[header] = frozenset(found)
    return known[header]


def run(command):
    done = subprocess.run(command, text=True, capture_output=True)
    return done.returncode == 0, done.stderr


def main():
    compiler = sys.argv[1]
    known = {}
    headers = sorted((INCLUDE / "orthant").rglob("*.hpp"))
    sets = sorted({eigen_of(h, known) for h in headers}, key=sorted)
    failures = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cpu_count()) as pool:
        def precompiled(number):
            path = Path(folder, f"eigen_{number}.hpp")
            path.write_text("".join(f"#include <{name}>\n" for name in sorted(sets[number])))
            good, message = run([compiler, *FLAGS, *PLACES, str(path), "-o", f"{path}.gch"])
            if not good:
                sys.exit(f"cannot precompile {sorted(sets[number])}:\n{message}")
            return str(path)

        first = dict(zip(sets, pool.map(precompiled, range(len(sets)))))

        def alone(header):
            text = Path(folder, "check_" + "_".join(header.relative_to(INCLUDE).parts) + ".cpp")
            text.write_text(f'#include "{header.relative_to(INCLUDE)}"\n')
            flags = [flag if flag != "c++-header" else "c++" for flag in FLAGS]
            before = ["-include", first[known[header]]] if known[header] else []
            return header, *run([compiler, *flags, *PLACES, "-fsyntax-only", *before, str(text)])

        for header, good, message in pool.map(alone, headers):
            if not good:
                failures += 1
                print(f"{header.relative_to(ROOT)} does not compile alone:\n{message}")
    print(f"check_headers: {len(headers)} headers, {failures} do not compile alone")
    return 1 if failures or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
