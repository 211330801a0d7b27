#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/gradients.md again: the modes, and the losses of the three examples.

    tools/plot_gradients.py [--examples build/release] [--out docs/images]

The modes are closed forms: a mass m over a floor, m v - l = k with 0 <= v, l and v l = kappa. The
losses are what the built examples print, round by round.
"""
from __future__ import annotations

import argparse
import math
import os
import pathlib
import re
import subprocess

MASS = 2.0  # [kg]
KAPPAS = ((0.005, "#c60"), (0.05, "#06c"))  # [J]
EXAMPLES = (  # name, what a line of it says, target, colour, label
    ("06_throw_into_bin", r"round \d+: .*misses by (\S+) m", 0.0, "#06c",
     "06 throw into the bin: miss [m]"),
    ("07_mass_and_friction", r"round \d+: .*error (\S+) m", 0.0, "#c60",
     "07 mass and friction: error [m]"),
    ("08_stop_on_target", r"round \d+: stops at (\S+) m", 1.0, "#080",
     "08 stop on target: miss [m]"),
)


class Axes:
    """A frame with linear scales, written as SVG."""

    def __init__(self, left: float, top: float, width: float, height: float,
                 x: tuple[float, float], y: tuple[float, float]):
        self.left, self.top, self.width, self.height, self.x, self.y = left, top, width, height, x, y
        self.lines = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" '
                      'stroke="#999"/>']

    def at(self, x: float, y: float) -> tuple[float, float]:
        return (self.left + self.width * (x - self.x[0]) / (self.x[1] - self.x[0]),
                self.top + self.height * (self.y[1] - y) / (self.y[1] - self.y[0]))

    def text(self, px: float, py: float, text: str, size: int = 11, anchor: str = "middle",
             colour: str = "#000") -> None:
        self.lines.append(f'<text x="{px:.1f}" y="{py:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}" fill="{colour}">{text}</text>')

    def ticks(self, xs: dict[float, str], ys: dict[float, str]) -> None:
        for x, label in xs.items():
            self.text(self.at(x, self.y[0])[0], self.top + self.height + 16, label)
        for y, label in ys.items():
            self.text(self.left - 6, self.at(self.x[0], y)[1] + 4, label, anchor="end")

    def line(self, points: list[tuple[float, float]], colour: str) -> None:
        path = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in points)
        self.lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          'stroke-width="2"/>')

    def dot(self, x: float, y: float, label: str) -> None:
        px, py = self.at(x, y)
        self.lines.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4"/>')
        self.text(px + 8, py - 6, label, anchor="start")


def page(width: int, height: int, lines: list[str]) -> str:
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      'font-family="sans-serif">',
                      '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", ""])


def smoothed(k: float, kappa: float) -> tuple[float, float]:
    """v on the central path, and its derivative by k."""
    root = math.sqrt(k * k + 4 * MASS * kappa)
    return (k + root) / (2 * MASS), (1 + k / root) / (2 * MASS)


def modes() -> str:
    ks = [i / 60 - 1 for i in range(121)]
    value = Axes(50, 50, 310, 200, (-1, 1), (0, 0.5))
    slope = Axes(430, 50, 310, 200, (-1, 1), (0, 0.6))
    for axes, title, top in ((value, "velocity after the step", "0.5"),
                             (slope, "its derivative by k", "0.6")):
        middle = axes.left + axes.width / 2
        axes.text(middle, 36, title, 14)
        axes.text(middle, 284, "impulse k of the applied forces [N s]", 12)
        axes.ticks({-1: "-1", 0: "0", 1: "1"}, {0: "0", axes.y[1]: top})
    value.line([(k, max(k, 0) / MASS) for k in ks], "#000")
    slope.line([(-1, 0), (0, 0)], "#000")
    slope.line([(0, 1 / MASS), (1, 1 / MASS)], "#000")
    legend = ['<line x1="60" y1="312" x2="90" y2="312" stroke="#000" stroke-width="2"/>'
              '<text x="96" y="316" font-size="12">exact</text>']
    for i, (kappa, colour) in enumerate(KAPPAS):
        value.line([(k, smoothed(k, kappa)[0]) for k in ks], colour)
        slope.line([(k, smoothed(k, kappa)[1]) for k in ks], colour)
        x = 290 + 230 * i
        legend.append(f'<line x1="{x}" y1="312" x2="{x + 30}" y2="312" stroke="{colour}" '
                      f'stroke-width="2"/><text x="{x + 36}" y="316" font-size="12">smoothed, '
                      f'κ = {kappa} J</text>')
    for share, label in ((0, "Clamp"), (0.5, "Average"), (1, "Separate")):
        slope.dot(0, share / MASS, label)
    return page(760, 330, value.lines + slope.lines + legend)


def losses(folder: pathlib.Path) -> str:
    curves = []
    for name, pattern, target, colour, label in EXAMPLES:
        program = next((p for p in sorted(folder.rglob(f"*{name}"))
                        if p.is_file() and os.access(p, os.X_OK)), None)
        if program is None:
            raise SystemExit(f"{name}: not built in {folder}")
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
        found = [abs(float(x) - target) for x in re.findall(pattern, text)]
        if not found:
            raise SystemExit(f"{name}: prints no rounds")
        # Printed digits end somewhere: what is shown as 0 is below the frame.
        curves.append(([(i, math.log10(max(x, 1e-11))) for i, x in enumerate(found)], colour, label))
    rounds = max(len(points) for points, _, _ in curves) - 1
    axes = Axes(70, 30, 540, 230, (0, max(rounds, 1)), (-11, 0.1))
    axes.ticks({i: str(i) for i in range(0, rounds + 1, 5)},
               {e: f"1e{e}" for e in range(-11, 0, 2)})
    axes.text(340, 294, "round", 12)
    for i, (points, colour, label) in enumerate(curves):
        axes.line(points, colour)
        axes.text(70 + 190 * i, 318, label, 12, "start", colour)
    return page(640, 340, axes.lines)


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=pathlib.Path, default=root / "build/release")
    parser.add_argument("--out", type=pathlib.Path, default=root / "docs/images")
    args = parser.parse_args()
    (args.out / "gradient_modes.svg").write_text(modes(), encoding="utf-8")
    (args.out / "gradient_examples.svg").write_text(losses(args.examples), encoding="utf-8")


if __name__ == "__main__":
    main()
