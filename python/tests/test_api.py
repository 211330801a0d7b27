# SPDX-License-Identifier: Apache-2.0
"""Every public name has a docstring, and the reference page says what they say."""
from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_reference_page_is_complete_and_fresh():
    spec = importlib.util.spec_from_file_location("python_api", ROOT / "tools/python_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.make()
    assert not page.missing, "no docstring: " + ", ".join(page.missing)
    assert module.PAGE.read_text(encoding="utf-8") == page.text(), "run tools/python_api.py"
