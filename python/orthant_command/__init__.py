# SPDX-License-Identifier: Apache-2.0
"""The command `orthant` of a wheel: the program lies beside this file, and the process becomes it.

A package of its own, so that a command does not wait for NumPy to be imported.
"""
import os
import sys
from pathlib import Path

__all__ = ["PROGRAM", "main"]

#: the program's file
PROGRAM = Path(__file__).with_name("orthant")


def main() -> None:
    """Runs the program with the arguments of this process, in its place."""
    if not PROGRAM.is_file():
        sys.exit(f"orthant: the program is not installed: {PROGRAM} is missing")
    sys.stdout.flush()
    os.execv(PROGRAM, ["orthant", *sys.argv[1:]])
