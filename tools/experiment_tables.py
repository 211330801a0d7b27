#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of `orthant reproduce -o` => docs/experiments.md with its figures in docs/images/experiments.

usage: tools/experiment_tables.py REPORT... [--docs DIR]
Each experiment that a REPORT holds in full gets its tables, checks, notes and figures, in the order of
the list in docs/reproduce.md; where two hold it, the last counts. What none holds stays as the page has it.
"""
import argparse
import json
import re
import shutil
from pathlib import Path

HEAD = """# Tables and figures of the experiments

Each section is what one command printed, in its full form; the published numbers stand beside ours. `orthant reproduce
NAME -o report` also leaves runs for the viewer and ParaView ([how](reproduce.md)). Processor times are those of one
thread of a shared two-core machine. This page is made by `tools/experiment_tables.py report`; what the numbers mean is said in
[ReLCP](relcp.md), [interior point](interior_point.md), [flexible parts](flexible.md) and [gradients](gradients.md).
"""


def listed(docs: Path) -> list[tuple[str, str, str]]:
    """(name, document, what) of the table in docs/reproduce.md."""
    rows = []
    for line in (docs / "reproduce.md").read_text().splitlines():
        if m := re.match(r"\| (`\w+`(?:, `\w+`)*) \| (.*?) \| (.*?) \| ", line):
            rows += [(name, m[2], m[3]) for name in re.findall(r"`(\w+)`", m[1])]
    return rows


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("+-", "±")


def table(t: dict) -> str:
    lines = [t["columns"], ["---"] * len(t["columns"]), *t["rows"]]
    body = "\n".join("| " + " | ".join(cell(c) for c in row) + " |" for row in lines)
    return f"**{cell(t['title'])}**\n\n{body}\n"


def caption(svg: str, fallback: str) -> str:
    m = re.search(r"<title>(.*?)</title>", svg) or re.search(r"<text[^>]*>(.*?)</text>", svg)
    return m[1] if m else fallback


def section(record: dict, folder: Path, what: str, images: Path) -> str:
    name = record["name"]
    held = sum(c["holds"] for c in record["checks"])
    out = [f"### {name}\n", f"{what[0].upper()}{what[1:]}.\n", f"    orthant reproduce {name} -o report\n"]
    out.append(f"{record['cpu_seconds']:.3g} CPU s, {held} of {len(record['checks'])} checks hold.\n")
    out += [table(t) for t in record["tables"]]
    if record["notes"]:
        out.append("\n".join("* " + cell(n[0].upper() + n[1:]) + "." for n in record["notes"]) + "\n")
    missed = [c for c in record["checks"] if not c["holds"]]
    if missed:
        out.append("Checks that do not hold:\n")
        out.append("\n".join(f"* {cell(c['name'])}: {c['measured']:.3g}, bound {c['bound']:.3g}" for c in missed) + "\n")
    for path in sorted(folder.glob("*.svg")):
        target = images / f"{name}_{path.name.removeprefix(name + '_')}"
        shutil.copyfile(path, target)
        out.append(f"![{caption(path.read_text(), path.stem)}](images/experiments/{target.name})\n")
    return "\n".join(out)


def sections_of(page: Path) -> dict[str, str]:
    """What the page has so far, by experiment."""
    if not page.exists():
        return {}
    parts = re.split(r"(?m)^(?=##+ )", page.read_text())
    return {m[1]: part.rstrip() + "\n" for part in parts if (m := re.match(r"### (\w+)\n", part))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="+", type=Path)
    parser.add_argument("--docs", type=Path, default=Path(__file__).resolve().parent.parent / "docs")
    args = parser.parse_args()
    page, images = args.docs / "experiments.md", args.docs / "images" / "experiments"
    images.mkdir(parents=True, exist_ok=True)
    sections = sections_of(page)
    experiments = listed(args.docs)
    for name, _, what in experiments:
        for report in args.report:
            path = report / name / "result.json"
            record = json.loads(path.read_text()) if path.exists() else None
            if record and record["form"] == "full" and not record["error"]:
                sections[name] = section(record, path.parent, what, images)
    out, last = [HEAD], None
    for name, document, _ in experiments:
        if name not in sections:
            continue
        if document != last:
            out.append(f"## {'Cases of our own' if document == 'none' else document[0].upper() + document[1:]}\n")
            last = document
        out.append(sections[name])
    page.write_text("\n".join(out))
    print(f"{page}: {', '.join(n for n, _, _ in experiments if n in sections)}")


if __name__ == "__main__":
    main()
