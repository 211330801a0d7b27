# SPDX-License-Identifier: Apache-2.0
"""demo.py COMMAND OUT: three things Orthant does, on one page, OUT/index.html, that works from disk.

1. A throw that bounces off a wall into a bin, found by gradients through the bounce (`orthant grad`).
2. A thousand dominoes, run and recorded (`orthant run`).
3. A measured contact problem by several methods (`orthant solve`).
"""
import base64
import html
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import demo_problems

ROOT = Path(__file__).resolve().parent.parent
THROW = ROOT / "scenes/yaml/throw.yaml"
DOMINOES = ROOT / "scenes/yaml/domino_flower.yaml"
VIEWER = ROOT / "viewer/dist/viewer.html"
BIN = np.array([0.5, 0.9, 0.36])  # above its mouth, reached on the way down
STEPS = 100                       # of 0.01 s: when the ball shall be there
ROUNDS = 8
START = np.array([0.2, 4.6, 4.9])


def bar(done, whole, text):
    """A bar on a terminal, a line elsewhere."""
    filled = round(24 * done / whole)
    line = f"  [{'#' * filled}{'.' * (24 - filled)}] {text}"
    if sys.stdout.isatty():
        print(f"\r\033[K{line}", end="\n" if done == whole else "", flush=True)
    else:
        print(line, flush=True)


def run(command, *words, **options):
    """One call of the command; its complaint ends the demo."""
    done = subprocess.run([str(command), *map(str, words)], text=True, **options)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr or f"orthant {words[0]} failed")
    return done


def thrown(v):
    return [word for name, value in zip(("vx", "vy", "vz"), v) for word in ("--set", f"{name}={float(value)!r}")]


def end_of_throw(command, v):
    """Where the ball is after STEPS steps, its derivative by the throw, and what vouches for it."""
    losses = [word for axis in "xyz" for word in ("--loss", f"position(ball).{axis}")]
    done = run(command, "grad", THROW, *losses, "--params", "velocity(ball).x,velocity(ball).y,velocity(ball).z",
               "--steps", STEPS, "--json", "-", *thrown(v), capture_output=True)
    report = json.loads(done.stdout)["losses"]
    place = np.array([loss["value"] for loss in report])
    slope = np.array([[entry["gradient"] for entry in loss["gradient"]] for loss in report])
    return place, slope, report[0]["certificate"]


def optimise(command):
    """Newton with a step that is halved until the ball lands nearer: [(throw, miss, certificate)]."""
    v, rounds = START, []
    place, slope, certificate = end_of_throw(command, v)
    for n in range(ROUNDS):
        miss = float(np.linalg.norm(place - BIN))
        rounds.append((v, miss, certificate))
        last = miss < 1e-6 or n == ROUNDS - 1
        bar(ROUNDS if last else n + 1, ROUNDS,
            f"round {n}: thrown at ({v[0]:.3f}, {v[1]:.3f}, {v[2]:.3f}) m/s, misses by {miss:.2e} m")
        if last:
            return rounds
        step = np.linalg.solve(slope, BIN - place)
        for _ in range(6):
            place, slope, certificate = end_of_throw(command, v + step)
            if np.linalg.norm(place - BIN) < miss:
                break
            step = step / 2
        v = v + step
    return rounds


def throw(command, out):
    """All throws of the optimisation in one scene: the balls do not touch each other."""
    rounds = optimise(command)
    ghosts = [f'  - {{name: round{n}, position: [0, 0, 1], velocity: {[float(x) for x in v]}, colour: "#b8b8b8", '
              "shapes: {type: sphere, radius: 0.06, density: 400, material: rubber, group: 2, mask: 1}}"
              for n, (v, _, _) in enumerate(rounds[:-1])]
    scene = out / "throws.yaml"
    bodies = "bodies:\n" + "\n".join(ghosts) + "\n" if ghosts else ""
    shutil.copy(THROW, out)  # a scene includes files of its own folder only
    scene.write_text(f"orthant: 1\nname: throws\ninclude: {THROW.name}\n{bodies}")
    run(command, "run", scene, "-o", out / "throws", "--overwrite", "--quiet", *thrown(rounds[-1][0]))
    return rounds, view_data(command, out / "throws")


def dominoes(command, out):
    """Recorded without its contacts: four thousand per frame would make the page ten times as large."""
    start = time.monotonic()
    run(command, "run", DOMINOES, "-o", out / "dominoes", "--overwrite", "--threads", 0, "--json",
        out / "dominoes.json", "--set", "record.contacts=false", stdout=subprocess.DEVNULL)
    report = json.loads((out / "dominoes.json").read_text())
    report["wall"] = time.monotonic() - start
    print(f"  {report['step']} steps of 1000 tiles, {report['most_contacts']} contacts at most, "
          f"{report['failed_steps']} steps missed the tolerance, {report['wall']:.0f} s")
    return report, view_data(command, out / "dominoes", every=2)


def view_data(command, folder, every=1):
    """What the viewer plays, as text; '</' must not end the element it is put in."""
    path = folder / "view.json"
    run(command, "view", folder, "--json", "-o", path, "--every", every, stdout=subprocess.DEVNULL)
    return path.read_text().replace("</", "<\\/")


def miss_plot(rounds):
    """Miss against round, as a small picture; without a library, so that the page needs none."""
    logs = [np.log10(max(miss, 1e-12)) for _, miss, _ in rounds]
    low, high = np.floor(min(logs)), np.ceil(max(logs))
    x = [60 + 480 * n / max(len(logs) - 1, 1) for n in range(len(logs))]
    y = [20 + 150 * (high - value) / max(high - low, 1) for value in logs]
    ticks = "".join(f'<line x1="60" x2="540" y1="{20 + 150 * (high - t) / max(high - low, 1):.1f}" '
                    f'y2="{20 + 150 * (high - t) / max(high - low, 1):.1f}" class="grid"/>'
                    f'<text x="52" y="{24 + 150 * (high - t) / max(high - low, 1):.1f}" text-anchor="end">1e{int(t)}</text>'
                    for t in np.arange(low, high + 1, max(1, (high - low) // 4)))
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"/><text x="{a:.1f}" y="192" text-anchor="middle">{n}</text>'
                   for n, (a, b) in enumerate(zip(x, y)))
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return (f'<svg viewBox="0 0 560 215" class="miss"><title>miss against round</title>{ticks}'
            f'<polyline points="{line}"/>{dots}<text x="300" y="211" text-anchor="middle">round</text>'
            '<text x="60" y="12">miss [m]</text></svg>')


def page(rounds, report, solved):
    plot, summary, rows, _ = solved
    certificate = rounds[-1][2]
    exact = "exact" if certificate["exact"] else "not exact: " + certificate["reason"]
    table = "\n".join(f'<tr><td class="n">{n}</td><td class="n">{v[0]:.4f}, {v[1]:.4f}, {v[2]:.4f}</td>'
                      f'<td class="n">{miss:.2e}</td></tr>' for n, (v, miss, _) in enumerate(rounds))
    text = (ROOT / "tools/demo_page.html").read_text(encoding="utf-8")
    for name, value in {
            "rounds": table, "miss": miss_plot(rounds), "round_count": str(len(rounds) - 1),
            "last_miss": f"{rounds[-1][1]:.1e}",
            "certificate": html.escape(f"{exact}, margin {certificate['margin']:.1e}, "
                                       f"{certificate['impacts']} impact located within its step"),
            "steps": str(report["step"]), "contacts": str(report["most_contacts"]),
            "failed": str(report["failed_steps"]), "residual": f"{report['worst_residual']:.1e}",
            "deepest": f"{report['deepest']:.1e}", "seconds": f"{report['wall']:.0f}",
            "plot": plot, "summary": summary, "rows": rows}.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def main():
    command, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    print("1. a throw off a wall into a bin, by gradients through the bounce")
    rounds, throws = throw(command, out)
    print("2. a thousand dominoes")
    report, tiles = dominoes(command, out)
    print("3. a measured stack of boxes by three methods, and all problems of tests/data")
    solved = demo_problems.problems(command, out)
    text = page(rounds, report, solved)
    # The viewer is put in once, its data twice; the page fits them together when it is opened.
    viewer = base64.b64encode(VIEWER.read_bytes()).decode()
    for name, value in (("viewer", viewer), ("throws", throws), ("dominoes", tiles)):
        text = text.replace("{{" + name + "}}", value)
    path = out / "index.html"
    path.write_text(text, encoding="utf-8")
    print(f"page: {path} ({path.stat().st_size / 1e6:.1f} MB, works from disk), {time.monotonic() - start:.0f} s in all")
    if (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
        subprocess.run(["xdg-open", str(path.resolve())], check=False, stderr=subprocess.DEVNULL)
    hit = rounds[-1][1] < 1e-3
    return 0 if hit and report["failed_steps"] == 0 and solved[3] else 1


if __name__ == "__main__":
    sys.exit(main())
