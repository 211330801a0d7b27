# SPDX-License-Identifier: Apache-2.0
"""mypy --strict on the package with its generated stub and on every example."""
from __future__ import annotations

import importlib.util
import os
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
