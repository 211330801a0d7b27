#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_tidy.py TREE JOBS [BASE]: clang-tidy over all sources but the tests, or over those that differ from the
commit BASE; exit code 1 and the warnings when not clean.

Remembers clean files in TREE/tidy by a hash of the preprocessed text, so a second run looks only at
what changed.
"""
import hashlib
import json
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
FOLDERS = ("src", "apps", "examples", "bench", "scenes")


def fingerprint(entry):
    """Hash of configuration, command and preprocessed text."""
    command = shlex.split(entry["command"])
    if command[0].endswith("ccache"):
        command = command[1:]
    command = command[:command.index("-o")] + ["-E", "-P", entry["file"]]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True)
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    # NOLINT marks are comments, which the preprocessor drops.
    digest.update(Path(entry["file"]).read_bytes())
    digest.update(done.stdout)
    return digest.hexdigest()


def check(entry, tree):
    mark = tree / "tidy" / fingerprint(entry)
    if mark.exists():
        return True, ""
    done = subprocess.run([TIDY, "--quiet", "-p", str(tree), entry["file"]], capture_output=True,
                          text=True)
    clean = done.returncode == 0
    if clean:
        mark.touch()
    return clean, done.stdout


def changed_since(base):
    """Sources that differ from a commit, and sources that include a header which does."""
    done = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", base, "--"], cwd=ROOT, text=True,
                          capture_output=True, check=True)
    names = done.stdout.split()
    headers = {name.removeprefix("include/").removeprefix("src/") for name in names if name.endswith(".hpp")}
    changed = {ROOT / name for name in names}
    for path in (p for folder in FOLDERS for p in (ROOT / folder).rglob("*.cpp")):
        if any(f'"{header}"' in path.read_text(encoding="utf-8") for header in headers):
            changed.add(path)
    return changed


def main():
    tree, jobs = Path(sys.argv[1]).resolve(), int(sys.argv[2])
    (tree / "tidy").mkdir(exist_ok=True)
    entries = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            entries[path] = entry
    if not entries:
        sys.exit(f"run_tidy: no sources in {tree}/compile_commands.json")
    if len(sys.argv) > 3 and sys.argv[3]:
        changed = changed_since(sys.argv[3])
        entries = {path: entry for path, entry in entries.items() if path in changed}
    bad = 0
    with ThreadPoolExecutor(jobs) as pool:
        for path, (clean, text) in zip(entries, pool.map(lambda e: check(e, tree), entries.values())):
            if not clean:
                bad += 1
                print(f"{path.relative_to(ROOT)}:\n{text}")
    print(f"clang-tidy: {len(entries)} files, {bad} not clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
