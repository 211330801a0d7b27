#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_ptxas.py LOG...: what nvcc -Xptxas -v said about the kernels => exit code 1 where one grew.

The forward step must stay in its registers; reverse mode, in dual numbers of six derivatives, may spill
what is listed here and not more.
"""
import re
import sys
from pathlib import Path

MOST = {"StepBody": 0, "PullBody": 2048, "SweepContact": 0, "FillContacts": 0,
        "SolveRods": 0, "CountRows": 0, "FillRows": 0,
        "EliminatePanel": 0, "UpdateTile": 0, "SolveUp": 0, "SolveDown": 0}  # bytes of spill stores of the kernel itself


def main():
    text = "".join(Path(log).read_text(encoding="utf-8") for log in sys.argv[1:])
    seen, bad = set(), False
    for part in text.split("Compiling entry function")[1:]:
        name = re.search("|".join(MOST), part)
        spill = re.search(r"(\d+) bytes spill stores", part)
        registers = re.search(r"Used (\d+) registers", part)
        if not (name and spill and registers):
            continue
        seen.add(name[0])
        print(f"{name[0]}: {registers[1]} registers, {spill[1]} bytes of spill stores")
        if int(spill[1]) > MOST[name[0]]:
            print(f"  more than {MOST[name[0]]}")
            bad = True
    missing = MOST.keys() - seen
    if missing:
        print(f"not in the log: {', '.join(sorted(missing))}")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
