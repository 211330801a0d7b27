#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/experiment_tables.py: a report becomes a page; what another report holds stays."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parents[2]
LIST = """| experiment | document | what | quick [CPU s] | full [CPU s] |
| --- | --- | --- | --- | --- |
| `first` | ReLCP | table 1 | 1 | 2 |
| `second`, `third` | none | more | 1 | 2 |
"""


def record(name: str, form: str, value: str) -> dict:
    return {"name": name, "form": form, "error": "", "cpu_seconds": 12.345, "notes": ["it | holds <= 1"],
            "checks": [{"name": "small", "measured": 2.0, "bound": 1.0, "holds": False}],
            "tables": [{"title": "A table", "columns": ["x", "y"], "rows": [["1", value]]}]}


def make(docs: Path, report: Path) -> str:
    subprocess.run([sys.executable, "-B", str(root / "tools/experiment_tables.py"), str(report), "--docs", str(docs)],
                   check=True, capture_output=True)
    return (docs / "experiments.md").read_text()


with tempfile.TemporaryDirectory() as folder:
    docs, reports = Path(folder) / "docs", [Path(folder) / "a", Path(folder) / "b"]
    docs.mkdir()
    (docs / "reproduce.md").write_text(LIST)
    for report, name, form, value in ((reports[0], "third", "full", "7"), (reports[0], "second", "quick", "8"),
                                      (reports[1], "first", "full", "9")):
        (report / name).mkdir(parents=True)
        (report / name / "result.json").write_text(json.dumps(record(name, form, value)))
    (reports[0] / "third" / "third_rows.svg").write_text("<svg><text>Rows by size</text></svg>")
    page = make(docs, reports[0])
    assert "### third" in page and "| 1 | 7 |" in page, page
    assert "### second" not in page, "a quick form is no full one"
    assert "It \\| holds &lt;= 1." in page and "* small: 2, bound 1" in page and "0 of 1 checks hold" in page, page
    assert "![Rows by size](images/experiments/third_rows.svg)" in page, page
    assert (docs / "images/experiments/third_rows.svg").exists()
    page = make(docs, reports[1])
    assert 0 < page.index("## ReLCP") < page.index("### first") < page.index("## Cases of our own") < page.index("### third"), page
    assert page == make(docs, reports[1]), "the same report changed the page"
