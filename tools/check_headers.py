#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py COMPILER: every public header compiles alone, as the first thing in a file.

Syntax only, several at once. Outside headers are found in the usual system places.
"""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compiles(compiler, header):
    text = f'#include "{header.relative_to(ROOT / "include")}"\n'
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
         f"-I{ROOT / 'include'}", "-isystem", "/usr/include/eigen3", "-"],
        input=text, text=True, capture_output=True)
    return header, done.returncode == 0, done.stderr


def main():
    headers = sorted((ROOT / "include/orthant").rglob("*.hpp"))
    failures = 0
    with ThreadPoolExecutor(cpu_count()) as pool:
        for header, good, message in pool.map(lambda h: compiles(sys.argv[1], h), headers):
            if not good:
                failures += 1
                print(f"{header.relative_to(ROOT)} does not compile alone:\n{message}")
    print(f"check_headers: {len(headers)} headers, {failures} do not compile alone")
    return 1 if failures or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
