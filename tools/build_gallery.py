#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build_gallery.py ORTHANT FOLDER [SECONDS]: every scene of docs/gallery.md as a page that plays it.

Each scene is run for at most SECONDS (60); a longer run is interrupted, which keeps what was computed, and
the page shows that much. A scene whose page exists and is newer than command and scene is left alone.
"""
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INTERRUPTED, MISSED = 4, 1  # exit codes of `orthant run`


def scenes():
    text = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    return re.findall(r'href="gallery/(\w+)\.html"', text)


def build(orthant, name, page, seconds):
    scene = ROOT / f"scenes/yaml/{name}.yaml"
    if page.exists() and page.stat().st_mtime > max(scene.stat().st_mtime, orthant.stat().st_mtime):
        return "as it was"
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen([orthant, "run", scene, "-o", f"{folder}/run", "--quiet"])
        try:
            code = run.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
            code = run.wait()
        if code not in (0, MISSED, INTERRUPTED):
            sys.exit(f"build_gallery: {name} ended with {code}")
        subprocess.run([orthant, "view", f"{folder}/run", "-o", page, "--no-open"], check=True, stdout=subprocess.DEVNULL)
    return "interrupted" if code == INTERRUPTED else "whole"


def main():
    orthant, folder = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 60
    folder.mkdir(parents=True, exist_ok=True)
    for name in scenes():
        page = folder / f"{name}.html"
        how = build(orthant, name, page, seconds)
        print(f"gallery: {name:18} {page.stat().st_size / 1e6:6.1f} MB, {how}", flush=True)


if __name__ == "__main__":
    main()
