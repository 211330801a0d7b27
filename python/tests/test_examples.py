# SPDX-License-Identifier: Apache-2.0
"""Every example runs in its quick form and prints what its first lines promise."""
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


def run(code_or_file: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-B", *code_or_file], text=True, capture_output=True,
                          timeout=300, cwd=folder,
                          env={**os.environ, "PYTHONPATH": str(Path(orthant.__file__).parents[1]),
                               "ORTHANT_QUICK": "1", "MPLBACKEND": "Agg"})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_example(example, tmp_path):
    text = example.read_text(encoding="utf-8")
    needs = re.search(r"^Needs: (\w+)", text, re.M)
    if needs:
        pytest.importorskip(needs[1])
    done = run([str(example)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in re.findall(r"^Prints: (.*)$", text, re.M):
        assert line in done.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/optimise.md",
                                  "docs/tutorial/1_drop.md", "docs/tutorial/3_gradient.md"])
def test_snippets_run_as_printed(page, tmp_path):
    path = ROOT / page
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    if page == "README.md" and not blocks:
        pytest.fail("the README shows no Python")
    for module in ("torch", "jax"):  # optional: what needs a missing one is left out
        if importlib.util.find_spec(module) is None:
            blocks = [b for b in blocks if not re.search(rf"import {module}\b|ot\.{module}\b", b)]
    done = run(["-c", "\n".join(blocks)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
