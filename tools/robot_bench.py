#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time per step of robots that stand on the floor by their servos, beside MuJoCo in one run, one thread.

    pip install example-robot-data mujoco
    PYTHONPATH=build/release/python tools/robot_bench.py --orthant build/release/bin/orthant go2 a1 panda g1

Scenes are those of `orthant new --urdf`: floor, posture, servos. MuJoCo gets the same file, posture and
gains (position actuators, elliptic cones, implicitfast). Both run `--settle` seconds first. Processor time.
`--gradients` adds what derivatives cost: one product backwards through a rollout per step, beside the step; and a
step with its whole Jacobian in joint coordinates (MuJoCo: centred differences).
"""
from __future__ import annotations

import argparse
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import orthant as ot

FILES = {"go2": "go2.urdf", "a1": "a1.urdf", "panda": "panda.urdf", "solo12": "solo12.urdf",
         "g1": "g1_29dof_rev_1_0.urdf"}


def find(name):
    file = FILES.get(name, name)
    for f in importlib.metadata.distribution("example-robot-data").files or []:
        if f.name == file:
            return pathlib.Path(f.locate()).resolve()
    raise SystemExit(f"no file {file} in example-robot-data")


def orthant_time(scene, h, tolerance, settle, seconds):
    model, p, x = scene.model, scene.parameters, scene.state
    settings = ot.StepSettings(h=h, solver=ot.SolveSettings(tolerance=tolerance))
    warm = ot.WarmStart()
    x = ot.rollout(model, p, settings, x, round(settle / h), warm=warm, every=10**9, progress=False).final_state
    steps = round(seconds / h)
    failed, contacts = [0], [0]

    def count(_, __, report):
        failed[0] += report.outcome != ot.Outcome.Converged
        contacts[0] = report.contacts

    ot.rollout(model, p, settings, x, 5, warm=warm.copy(), callback=count, progress=False)
    begin = time.process_time()
    ot.rollout(model, p, settings, x, steps, warm=warm, every=10**9, progress=False)
    return 1e3 * (time.process_time() - begin) / steps, contacts[0], failed[0]


def gradient_times(scene, h, tolerance, settle, steps=100):
    """Milliseconds: one product backwards, per step of a recorded rollout; a step and its Jacobian."""
    model, p, x = scene.model, scene.parameters, scene.state
    settings = ot.StepSettings(h=h, solver=ot.SolveSettings(tolerance=tolerance))
    warm = ot.WarmStart()
    x = ot.rollout(model, p, settings, x, round(settle / h), warm=warm, every=10**9, progress=False).final_state
    tape = ot.record_rollout(model, p, settings, x, steps)
    weights = [1.0] * model.v_size
    tape.pull_back(by_v=weights)
    begin = time.process_time()
    for _ in range(3):
        tape.pull_back(by_v=weights)
    backward = 1e3 * (time.process_time() - begin) / (3 * steps)
    record, states_only, tree = ot.StepRecord(), ot.StepGradientSettings(by_parameters=False), ot.Articulation(model)
    begin = time.process_time()
    for _ in range(steps):
        ot.step(model, p, settings, x, warm, record=record)
        ot.StepGradient(model, p, settings, record, states_only).joint_jacobian(tree, x)
    return backward, 1e3 * (time.process_time() - begin) / steps


def mujoco_time(path, scene, floating, stiffness, damping, h, settle, seconds):
    import mujoco
    import numpy

    text = path.read_text()
    root = str(path)[: str(path).index("/robots/")]
    text = text.replace("package://example-robot-data", root)
    option = '<mujoco><compiler strippath="false" discardvisual="true" balanceinertia="true" fusestatic="true"/></mujoco>'
    text = re.sub(r"(<robot[^>]*>)", r"\1" + option, text, count=1)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "robot.urdf"
        file.write_text(text)
        spec = mujoco.MjSpec.from_file(str(file))
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 0.1])
        if floating:
            spec.worldbody.first_body().add_freejoint()
        tree = ot.Articulation(scene.model)
        q = tree.positions(scene.parameters, scene.state)
        start = {j.name: q[j.q_begin] for j in tree.joints if j.q_size == 1}
        for joint in spec.joints:
            if joint.name in start:
                a = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
                a.set_to_position(kp=stiffness, kv=damping)
        m = spec.compile()
    m.opt.timestep, m.opt.cone = h, mujoco.mjtCone.mjCONE_ELLIPTIC
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    d = mujoco.MjData(m)
    for i in range(m.njnt):
        name = m.joint(i).name
        if name in start:
            d.qpos[m.jnt_qposadr[i]] = start[name]
            if name in {m.actuator(k).name for k in range(m.nu)}:
                d.ctrl[m.actuator(name).id] = start[name]
    if floating:
        base = next(j for j in tree.joints if j.kind == ot.CoordinateKind.Free)
        X = tree.pose(scene.parameters, scene.state, q, base.name)
        d.qpos[:3], d.qpos[3:7] = X.x, X.p
    mujoco.mj_step(m, d, nstep=round(settle / h))
    steps = round(seconds / h)
    begin = time.process_time()
    mujoco.mj_step(m, d, nstep=steps)
    ms = 1e3 * (time.process_time() - begin) / steps
    A = numpy.zeros((2 * m.nv, 2 * m.nv))
    begin = time.process_time()
    for _ in range(20):
        mujoco.mjd_transitionFD(m, d, 1e-6, True, A, None, None, None)
        mujoco.mj_step(m, d)
    return ms, d.ncon, 1e3 * (time.process_time() - begin) / 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=["go2", "a1", "panda"], help=", ".join(FILES))
    parser.add_argument("--orthant", default="orthant", help="the command")
    parser.add_argument("--h", type=float, default=0.005, help="step [s]")
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--settle", type=float, default=1.0, help="[s]")
    parser.add_argument("--seconds", type=float, default=2.0, help="measured [s]")
    parser.add_argument("--gradients", action="store_true", help="time derivatives as well")
    args = parser.parse_args()
    command = str(pathlib.Path(shutil.which(args.orthant) or args.orthant).resolve())  # run in another folder
    print(f"{'robot':8} {'links':>5} {'contacts':>8} {'failed':>6} {'ms/step':>8} | {'MuJoCo':>8} {'contacts':>8}"
          + (f" | {'backward':>8} {'Jacobian':>8} {'MuJoCo':>8}" if args.gradients else ""))
    for name in args.robots:
        path = find(name)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([command, "new", "robot", "--urdf", str(path)], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{name:8} {done.stderr.strip()[:120]}")
                continue
            text = (pathlib.Path(folder) / "robot.yaml").read_text()
            scene = ot.load(pathlib.Path(folder) / "robot.yaml")
        stiffness, damping = (float(re.search(rf"{k}: ([0-9.e+-]+)", text)[1]) for k in ("stiffness", "damping"))
        ms, contacts, failed = orthant_time(scene, args.h, args.tolerance, args.settle, args.seconds)
        floating = any(j.kind == ot.CoordinateKind.Free for j in ot.Articulation(scene.model).joints)
        line = f"{name:8} {len(scene.model.bodies):5d} {contacts:8d} {failed:6d} {ms:8.3f} | "
        try:
            other, ncon, differences = mujoco_time(path, scene, floating, stiffness, damping, args.h, args.settle, args.seconds)
            line += f"{other:8.3f} {ncon:8d}"
        except Exception as error:  # a file MuJoCo does not read
            differences = float("nan")
            line += str(error).splitlines()[0][:70]
        if args.gradients:
            backward, jacobian = gradient_times(scene, args.h, args.tolerance, args.settle)
            line += f" | {backward:8.3f} {jacobian:8.3f} {differences:8.3f}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
