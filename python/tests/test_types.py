# SPDX-License-Identifier: Apache-2.0
"""mypy --strict on the package with its generated stub and on every example; the stub against the extension."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orthant

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "python/examples").glob("*.py"))


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    package = Path(orthant.__file__).parent
    if not (package / "_core.pyi").exists():
        pytest.fail("the stub _core.pyi was not built")
    # mypy finds an installed package by itself and refuses to be shown its place.
    installed = package.parent.name in ("site-packages", "dist-packages")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"),
               "--cache-dir", str(tmp_path if installed else package.parent / "mypy_cache"),
               "--scripts-are-modules"]
    where = {} if installed else {"MYPYPATH": str(package.parent)}
    checked = EXAMPLES if installed else [package, *EXAMPLES]
    done = subprocess.run([*command, *map(str, checked)], text=True, capture_output=True,
                          cwd=tmp_path, env={**os.environ, **where})
    assert done.returncode == 0, done.stdout + done.stderr


# What nanobind's classes and functions are at run time, which is not how a stub says it.
NANOBIND = re.compile(r"disjoint base|metaclass differs|__nb_enum__|\\*args parameter \"args\"|is not a function"
                      r"|stub is a staticmethod but runtime is not")


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_the_stub_is_that_of_the_extension(tmp_path):
    folder = str(Path(orthant.__file__).parents[1])
    installed = Path(folder).name in ("site-packages", "dist-packages")
    where = {"PYTHONPATH": folder, **({} if installed else {"MYPYPATH": folder})}
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "orthant._core", "--concise"], text=True,
                          capture_output=True, cwd=tmp_path, env={**os.environ, **where})
    lines = done.stdout.splitlines()
    assert any(NANOBIND.search(line) for line in lines), done.stdout + done.stderr  # it looked
    assert not [line for line in lines if not NANOBIND.search(line)]
