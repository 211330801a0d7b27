#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/python_api.py [--check]: docs/python_api.md from the docstrings of the package `orthant`.

Needs the package on the path (PYTHONPATH=build/release/python). --check fails where the page is old or
a public name has no docstring.
"""
from __future__ import annotations

import ast
import enum
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs/python_api.md"
HEAD = """# Python reference

Every public name of the package `orthant` with what it is, made from the docstrings by `tools/python_api.py`. [Python](python.md) is
the page to begin with.
"""
OPTIONAL = {"orthant.torch": "torch.py", "orthant.jax": "jax.py", "orthant.gym": "gym.py"}


def brief(doc: str | None) -> str:
    """A docstring as one cell: its paragraphs in a row, without signatures that nanobind puts first."""
    if not doc:
        return ""
    lines = inspect.cleandoc(doc).splitlines()
    while lines and (lines[0].startswith("def ") or "->" in lines[0] and "(" in lines[0]):
        lines = lines[1:]
    return " ".join(" ".join(lines).split()).replace("|", "\\|")


def is_own(doc: str | None, of: Any) -> bool:
    return bool(brief(doc)) and doc != getattr(of, "__doc__", None)


def members(kind: type) -> list[tuple[str, Any]]:
    """Public attributes that the class or its binding defines."""
    out: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        if base.__module__.startswith("orthant"):
            out.update({k: v for k, v in vars(base).items() if not k.startswith("_")})
    return sorted(out.items())


def comments(kind: type) -> dict[str, str]:
    """What `#:` says of the fields of a dataclass."""
    found = {}
    for line in inspect.getsource(kind).splitlines():
        if "#:" in line and ":" in line.split("#:")[0]:
            found[line.split(":")[0].strip()] = line.split("#:")[1].strip()
    return found


class Page:
    def __init__(self) -> None:
        self.lines = [HEAD]
        self.missing: list[str] = []

    def row(self, name: str, doc: str, where: str) -> None:
        if not doc:
            self.missing.append(where)
        self.lines.append(f"| `{name}` | {doc} |")

    def table(self, rows: list[tuple[str, str, str]]) -> None:
        if rows:
            self.lines += ["", "| name | what it is |", "| --- | --- |"]
            for row in rows:
                self.row(*row)

    def of_class(self, name: str, kind: type, where: str) -> None:
        text = brief(kind.__doc__)
        if not text:
            self.missing.append(where)
        self.lines += ["", f"### {name}", text]
        if issubclass(kind, enum.Enum):
            self.lines += ["", ", ".join(f"`{m.name}`" for m in kind) + "."]
            return
        if issubclass(kind, BaseException):
            return
        rows = []
        fields = comments(kind) if "__dataclass_fields__" in vars(kind) else {}
        for field in vars(kind).get("__dataclass_fields__", {}):
            if not field.startswith("_"):
                rows.append((field, fields.get(field) or FIELDS.get(field, ""), f"{where}.{field}"))
        for member, value in members(kind):
            if member in vars(kind).get("__dataclass_fields__", {}):
                continue
            shown = member if isinstance(value, property) or not callable(
                getattr(kind, member)) else f"{member}()"
            rows.append((shown, brief(getattr(value, "__doc__", None)), f"{where}.{member}"))
        self.table(rows)

    def module(self, title: str, module: Any, names: list[str]) -> None:
        self.lines += ["", f"## {title}", brief(module.__doc__)]
        functions, classes = [], []
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value):
                classes.append((name, value))
            elif inspect.ismodule(value) or name == "__version__":
                continue
            else:
                functions.append((f"{name}()", brief(value.__doc__), f"{title}.{name}"))
        self.table(functions)
        for name, value in classes:
            self.of_class(name, value, f"{title}.{name}")

    def optional(self, title: str, source: Path) -> None:
        """A module whose own needs may be missing: read, not imported."""
        tree = ast.parse(source.read_text(encoding="utf-8"))
        self.lines += ["", f"## {title}", brief(ast.get_docstring(tree))]
        rows = []
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                call = "()" if isinstance(node, ast.FunctionDef) else ""
                rows.append((node.name + call, brief(ast.get_docstring(node)), f"{title}.{node.name}"))
        self.table(rows)

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


#: Fields of dataclasses that need no more words.
FIELDS = {"model": "The model.", "parameters": "Its numbers.", "settings": "Of the steps.",
          "cost": "Of the motion.", "iterations": "Done.", "stop": "Why it ended.",
          "names": "Of the parameters.", "z": "The unknowns.", "w": "M z + q.", "report": "Of the solve.",
          "final_state": "The last state."}


def make() -> Page:
    package = importlib.import_module("orthant")
    page = Page()
    page.module("orthant", package, [n for n in package.__all__])
    page.module("orthant.optimise", package.optimise, list(package.optimise.__all__))
    page.module("orthant.identify", package.identify, list(package.identify.__all__))
    folder = Path(__file__).resolve().parents[1] / "python/orthant"
    for title, name in OPTIONAL.items():
        if (folder / name).exists():
            page.optional(title, folder / name)
    return page


if __name__ == "__main__":
    made = make()
    if made.missing:
        sys.exit("no docstring: " + ", ".join(made.missing))
    if "--check" in sys.argv[1:]:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == made.text() else f"{PAGE}: is old; run {__file__}")
    PAGE.write_text(made.text(), encoding="utf-8")
