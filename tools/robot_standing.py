#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A quadruped of example-robot-data on its servos: does it stand, and are its gradients right?

    pip install example-robot-data
    PYTHONPATH=build/release/python tools/robot_standing.py --orthant build/release/bin/orthant

The scene is that of `orthant new --urdf`. Settled, it stands for `--time` seconds: how far the feet creep,
how far contact forces are from the weight, how far efforts exceed their limits. Then its trunk is pushed until
the feet slide: distance of impulses from the friction cone. Then weaker motors (`--weak` of the limits): they
are cut at their limits. Last, gradients of where the trunk is after `--steps` steps by a joint target, gains,
link masses, the height of the ground and, of round feet, their radius beside central differences, with the certificate.
"""
from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import orthant as ot
from robot_bench import find


class Trial:
    def __init__(self, text, folder, tolerance):
        file = pathlib.Path(folder) / "trial.yaml"
        file.write_text(text)
        self.scene = ot.load(file)
        self.model, self.p, self.x = self.scene.model, self.scene.parameters, self.scene.state
        self.settings = ot.StepSettings(h=0.005, solver=ot.SolveSettings(tolerance=tolerance))
        self.warm, self.record, self.failed = ot.WarmStart(), ot.StepRecord(), 0

    def go(self, steps, push=0.0, each=None):
        for _ in range(steps):
            report = ot.step(self.model, self.p, self.settings, self.x, warm=self.warm, u=[push], record=self.record)
            self.failed += report.outcome != ot.Outcome.Converged
            if each is not None:
                each()

    def contacts(self):
        return ot.contacts(self.model, self.p, self.record)


def split(contact):
    normal = float(np.dot(contact.impulse, contact.normal))
    return normal, float(np.linalg.norm(contact.impulse - normal * np.asarray(contact.normal)))


def stand(trial, seconds):
    tree = ot.Articulation(trial.model)
    trial.go(round(2 / trial.settings.h))
    shapes = sorted({c.body_a if c.body_a != "floor" else c.body_b for c in trial.contacts()})
    feet = lambda: np.array([ot.read_frame(trial.model, trial.x, name).pose.x for name in shapes])
    before = feet()
    trial.go(round(seconds / trial.settings.h))
    creep = np.abs(feet() - before).max()
    weight = 9.81 * tree.mass(trial.p)
    total = sum(np.asarray(c.impulse) * (1 if c.body_b == "floor" else -1) for c in trial.contacts()) / trial.settings.h
    error = np.linalg.norm(total - np.array([0, 0, weight])) / weight
    print(f"stands {seconds:g} s on {len(trial.contacts())} contacts of {len(shapes)} links: creep {creep:.1e} m, "
          f"forces from the weight {error:.1e}, steps that missed the tolerance {trial.failed}")
    return weight


def slide(trial, weight):
    trial.failed = 0
    sliding, off, outside = [0], [0.0], [0.0]

    def look():
        for c in trial.contacts():
            normal, tangent = split(c)
            if normal <= 0:
                continue
            outside[0] = max(outside[0], tangent / (c.friction * normal) - 1)
            if c.state == ot.ContactState.Slide:
                sliding[0] += 1
                off[0] = max(off[0], abs(tangent / (c.friction * normal) - 1))

    for share in (0.3, 0.6, 0.9, 1.2):
        trial.go(20, share * weight, look)
    print(f"pushed up to 1.2 weights: {sliding[0]} times a contact slides, off the cone by {off[0]:.1e}, "
          f"outside by {max(outside[0], 0):.1e}, missed {trial.failed}")


def weak(trial, share):
    limits = {}
    for joint in trial.model.joint_names:
        name = f"joint/{joint}.motor.max_force"
        if name in trial.p.keys():
            trial.p[name] = limits[joint] = share * trial.p[name]
    cut, beyond = [0], [0.0]

    def look():
        for name, r in ot.read_joints(trial.model, trial.p, trial.record).items():
            if name in limits:
                beyond[0] = max(beyond[0], abs(r.motor) / limits[name] - 1)
                cut[0] += abs(r.motor) >= limits[name] * (1 - 1e-14)

    trial.go(100, 0, look)
    print(f"motors of {share:g} of their limits: {cut[0]} times cut, beyond the limit by {max(beyond[0], 0):.1e}, "
          f"missed {trial.failed}")


def gradients(trial, base, steps, step, names):
    """By central differences of `step` and half of it: their distance from the gradient, the smaller one."""
    by_q = np.zeros(trial.model.q_size)
    at = trial.model.q_slice(base).start
    by_q[at], by_q[at + 2] = 0.5, 1  # forward and up
    u = np.zeros((steps, trial.model.control_count))

    def tape_of(p):
        return ot.record_rollout(trial.model, p, trial.settings, trial.x, steps, u=u)

    def difference(name, e):
        one, other = trial.p.copy(), trial.p.copy()
        one[name] += e
        other[name] -= e
        return float(by_q @ (tape_of(one).q[-1] - tape_of(other).q[-1])) / (2 * e)

    g = tape_of(trial.p).pull_back(by_q)
    print(f"gradients over {steps} steps: {'exact' if g.certificate.exact else 'not exact: ' + g.certificate.reason}")
    for name in names:
        e = step * max(1.0, abs(trial.p[name]))
        found = min((difference(name, f * e) for f in (1, 0.5, 0.1)), key=lambda d: abs(d - g[name]))
        print(f"  {name:40} {float(g[name]):14.7e}  difference {found:14.7e}  off by "
              f"{abs(float(g[name]) - found) / max(abs(found), 1e-12):.1e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", nargs="?", default="go2", help="a file of example-robot-data")
    parser.add_argument("--orthant", default="orthant", help="the command")
    parser.add_argument("--time", type=float, default=10.0, help="[s]")
    parser.add_argument("--weak", type=float, default=0.05, help="share of the effort limits")
    parser.add_argument("--steps", type=int, default=60, help="of the rollout that is differentiated")
    parser.add_argument("--difference", type=float, default=1e-6, help="step of the differences")
    parser.add_argument("--tolerance", type=float, default=1e-12)
    args = parser.parse_args()
    command = str(pathlib.Path(shutil.which(args.orthant) or args.orthant).resolve())  # run in another folder
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([command, "new", "robot", "--urdf", str(find(args.robot))], cwd=folder,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        text = (pathlib.Path(folder) / "robot.yaml").read_text()
        base = ot.Articulation(ot.load(pathlib.Path(folder) / "robot.yaml").model).joints[0].name
        text += f"\nactuators:\n  - {{type: body, name: push, body: {base}, force: [1, 0, 0]}}\n"
        trial = Trial(text, folder, args.tolerance)
        weight = stand(trial, args.time)
        slide(trial, weight)
        weak(Trial(text, folder, args.tolerance), args.weak)
        drop = Trial(text.replace("  stand: true", "  position: [0, 0, 0.002]\n  stand: true"), folder, args.tolerance)
        joint, keys = drop.model.joint_names[2], drop.p.keys()
        wanted = [f"joint/{joint}.motor.target", f"joint/{joint}.motor.stiffness", f"joint/{joint}.motor.damping",
                  f"body/{base}.mass", "shape/floor.offset.z"]
        wanted += [k for k in keys if k.startswith("shape/") and k.endswith(".radius")][-1:]  # of a round foot
        gradients(drop, base, args.steps, args.difference, wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
