#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares joint dynamics and free motion of URDF files with Pinocchio's (PyPI: pin), of MJCF files with MuJoCo's.

    PYTHONPATH=build/release/python tools/robot_compare.py example-robot-data --only panda
    PYTHONPATH=build/release/python tools/robot_compare.py gymnasium --only humanoid.xml --motion 0.001

Columns: largest relative difference of mass matrix, inverse dynamics, Jacobians of all frames, frames and
centre of mass over random postures. Files whose inertias had to be changed are marked: theirs differ.
`--motion`: 1 s of free fall from a random posture and speed, distance from Pinocchio's motion (Runge-Kutta
of order 4, 1e-4 s) at h and h/2 and their ratio; without limits, contacts, couplings and, in URDF, damping and
friction. MJCF files are compared in motion only.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import xml.etree.ElementTree

import numpy as np

import orthant as ot


class Comparison:
    """One robot in both libraries. Pinocchio's coordinates are mapped to ours by the names of the joints."""

    def __init__(self, pin, path, scene, fixed: bool):
        self.pin, self.scene, self.fixed = pin, scene, fixed
        root = () if fixed else (pin.JointModelFreeFlyer(),)
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.tree = ot.Articulation(scene.model)
        self.joints = {j.name: j for j in self.tree.joints}
        self.p, self.x = scene.parameters, scene.state
        base = next((j for j in self.tree.joints if j.kind == ot.CoordinateKind.Free), None)
        self.base = base
        if base is not None:
            # Our free coordinates are those of the centre of mass of the whole base.
            q0 = self.tree.positions(self.p, self.x)
            link = self.tree.pose(self.p, self.x, q0, base.name)
            self.center = quat_matrix(link.p).T @ (q0[:3] - link.x)

    def missing(self):
        """Joints that one has and the other has not (held, massless)."""
        theirs = {n for n in self.model.names[1:] if n != "root_joint"}
        ours = {j.name for j in self.tree.joints if j.q_size == 1}
        return theirs ^ ours

    def to_pin(self, q, u):
        pq, pv = self.pin.neutral(self.model), np.zeros(self.model.nv)
        if self.base is not None:
            R = quat_matrix(q[3:7])
            pq[:3] = q[:3] - R @ self.center
            pq[3:7] = np.r_[q[4:7], q[3]]
            w = R.T @ u[3:6]
            pv[:3] = R.T @ u[:3] - np.cross(w, self.center)
            pv[3:6] = w
        for i, name in enumerate(self.model.names):
            if name not in self.joints or i == 0:
                continue
            j, joint = self.joints[name], self.model.joints[i]
            angle = q[j.q_begin]
            if joint.nq == 2:
                pq[joint.idx_q:joint.idx_q + 2] = np.cos(angle), np.sin(angle)
            else:
                pq[joint.idx_q] = angle
            pv[joint.idx_v] = u[j.u_begin]
        return pq, pv

    def map(self, q):
        """T with u = T v: ours from Pinocchio's speeds."""
        T = np.zeros((self.tree.u_size, self.model.nv))
        if self.base is not None:
            R = quat_matrix(q[3:7])
            T[:3, :3] = R
            T[:3, 3:6] = -R @ skew(self.center)
            T[3:6, 3:6] = R
        for i, name in enumerate(self.model.names):
            if name in self.joints and i > 0:
                T[self.joints[name].u_begin, self.model.joints[i].idx_v] = 1
        return T

    def run(self, rng, postures=3):
        pin, tree = self.pin, self.tree
        worst = dict.fromkeys(["mass matrix", "inverse dynamics", "jacobian", "frame", "centre of mass"], 0.0)

        def note(what, ours, theirs):
            size = max(np.linalg.norm(theirs), 1e-3)
            worst[what] = max(worst[what], np.linalg.norm(np.asarray(ours) - theirs) / size)

        q0 = tree.positions(self.p, self.x)
        for _ in range(postures):
            q = tree.integrate(q0, 0.5 * rng.normal(size=tree.u_size))
            u, a = rng.normal(size=tree.u_size), rng.normal(size=tree.u_size)
            pq, pv = self.to_pin(q, u)
            T = self.map(q)
            M = pin.crba(self.model, self.data, pq)
            M = np.triu(M) + np.triu(M, 1).T
            note("mass matrix", T.T @ tree.mass_matrix(self.p, self.x, q) @ T, M)
            rate = np.zeros(tree.u_size)  # the rate of T times v
            pa = np.linalg.lstsq(T, a, rcond=None)[0]
            if self.base is not None:
                w = u[3:6]
                rate[:3] = np.cross(w, u[:3])  # d/dt of R (v + w x c)
                pa = np.linalg.solve(T, a - rate)
            tau = pin.rnea(self.model, self.data, pq, pv, pa)
            note("inverse dynamics", T.T @ tree.inverse_dynamics(self.p, self.x, q, u, a), tau)
            pin.computeJointJacobians(self.model, self.data, pq)
            pin.updateFramePlacements(self.model, self.data)
            for k, frame in enumerate(self.model.frames):
                if frame.type != pin.FrameType.BODY or frame.name in ("universe", "world"):
                    continue
                try:
                    X = tree.pose(self.p, self.x, q, frame.name)
                    J = tree.jacobian(self.p, self.x, q, frame.name)
                except ot.Error:
                    continue
                note("frame", np.r_[X.x, quat_matrix(X.p).ravel()],
                     np.r_[self.data.oMf[k].translation, self.data.oMf[k].rotation.ravel()])
                theirs = pin.getFrameJacobian(self.model, self.data, k, pin.LOCAL_WORLD_ALIGNED)
                note("jacobian", J @ T, theirs)
            if self.base is not None or self.tree.mass(self.p) > 0:
                theirs = pin.centerOfMass(self.model, self.data, pq)
                if self.base is not None:
                    note("centre of mass", tree.center_of_mass(self.p, self.x, q), theirs)
        return worst

    def motion(self, rng, h, time=1.0):
        """Largest distance of joint positions after `time` of free motion, at h and h/2."""
        pin, tree = self.pin, self.tree
        q0 = tree.positions(self.p, self.x)
        q = tree.integrate(q0, 0.2 * rng.normal(size=tree.u_size))
        u = 0.5 * rng.normal(size=tree.u_size)
        pq, pv = self.to_pin(q, u)
        zero = np.zeros(self.model.nv)

        def rate(pq, pv):
            return pin.aba(self.model, self.data, pq, pv, zero)

        fine = 1e-4
        for _ in range(round(time / fine)):
            k1, v1 = rate(pq, pv), pv
            v2 = pv + 0.5 * fine * k1
            k2 = rate(pin.integrate(self.model, pq, 0.5 * fine * v1), v2)
            v3 = pv + 0.5 * fine * k2
            k3 = rate(pin.integrate(self.model, pq, 0.5 * fine * v2), v3)
            v4 = pv + fine * k3
            k4 = rate(pin.integrate(self.model, pq, fine * v3), v4)
            pq = pin.integrate(self.model, pq, fine * (v1 + 2 * v2 + 2 * v3 + v4) / 6)
            pv = pv + fine * (k1 + 2 * k2 + 2 * k3 + k4) / 6
        out = []
        for step in (h, h / 2):
            x = self.x.copy()
            tree.write(self.p, q, u, x)
            settings = ot.StepSettings(h=step)
            warm = ot.WarmStart()
            for _ in range(round(time / step)):
                report = ot.step(self.scene.model, self.p, settings, x, warm=warm)
                if report.outcome != ot.Outcome.Converged:
                    raise RuntimeError("a step failed")
            end, _ = self.to_pin(tree.positions(self.p, x), tree.velocities(self.p, x))
            gap = pin.difference(self.model, pq, end)
            for i, name in enumerate(self.model.names):  # a hinge in space does not count its turns
                if name in self.joints and i > 0 and self.joints[name].kind == ot.CoordinateKind.Hinge:
                    k = self.model.joints[i].idx_v
                    gap[k] -= 2 * np.pi * round(gap[k] / (2 * np.pi))
            out.append(float(np.abs(gap).max()))
        return out


def bare(path, folder):
    """A copy without shapes, limits, couplings, damping and friction: what both libraries integrate alike."""
    tree = xml.etree.ElementTree.parse(path)
    for link in tree.getroot().iter("link"):
        for tag in ("collision", "visual"):
            for element in link.findall(tag):
                link.remove(element)
    for joint in tree.getroot().iter("joint"):
        for tag in ("dynamics", "safety_controller", "mimic"):
            for element in joint.findall(tag):
                joint.remove(element)
        for limit in joint.findall("limit"):
            for name in ("lower", "upper"):
                limit.attrib.pop(name, None)
    out = pathlib.Path(folder) / path.name
    tree.write(out)
    return out


def mujoco_motion(path, h, seed, time=1.0):
    """Largest distance of joint positions from MuJoCo's after free motion, at h and h/2."""
    import mujoco

    tree = xml.etree.ElementTree.parse(path)
    root = tree.getroot()
    for joint in root.iter("joint"):
        joint.attrib.pop("range", None)
        if "limited" in joint.attrib:
            joint.attrib["limited"] = "false"
    for geom in root.iter("geom"):
        geom.attrib |= {"contype": "0", "conaffinity": "0"}
    for tag in ("actuator", "tendon", "sensor", "keyframe", "contact", "equality"):
        for element in root.findall(tag):
            root.remove(element)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path.name
        tree.write(file)
        m, scene = mujoco.MjModel.from_xml_path(str(file)), ot.load(file)
    m.opt.timestep, m.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    d = mujoco.MjData(m)
    robot = ot.Articulation(scene.model)
    joints = {j.name: j for j in robot.joints}
    rng = np.random.default_rng(seed)
    p, q, u = scene.parameters, robot.positions(scene.parameters, scene.state), np.zeros(robot.u_size)
    places = []
    for i in range(m.njnt):
        j = joints.get(m.joint(i).name)
        if m.jnt_type[i] >= 2 and j is not None:  # slides and hinges
            a, b = m.jnt_qposadr[i], m.jnt_dofadr[i]
            d.qpos[a] += 0.3 * rng.normal()
            d.qvel[b] = rng.normal()
            q[j.q_begin], u[j.u_begin] = d.qpos[a], d.qvel[b]
            places.append((j, a))
    mujoco.mj_step(m, d, nstep=round(time / 1e-4))
    out = []
    for step in (h, h / 2):
        x, warm = scene.state, ot.WarmStart()
        robot.write(p, q, u, x)
        for _ in range(round(time / step)):
            if ot.step(scene.model, p, ot.StepSettings(h=step), x, warm=warm).outcome != ot.Outcome.Converged:
                raise RuntimeError("a step failed")
        end = robot.positions(p, x)
        gap = np.array([end[j.q_begin] - d.qpos[a] for j, a in places])
        turns = np.array([2 * np.pi if j.kind == ot.CoordinateKind.Hinge else np.inf for j, _ in places])
        out.append(float(np.abs(gap - np.where(np.isfinite(turns), turns * np.round(gap / turns), 0)).max()))
    return out


def quat_matrix(p):
    w, x, y, z = p
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def pinocchio():
    import pinocchio as pin

    return pin


def main() -> int:
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from try_robots import files_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", help="folders, files or installed packages")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--motion", type=float, default=0.0, metavar="H", help="compare free motion at steps H, H/2 [s]")
    parser.add_argument("--floating", action="store_true", help="the root moves freely")
    args = parser.parse_args()
    bad = 0
    for path in [f for name in args.what for f in files_of(name) if args.only in str(f)]:
        if path.suffix == ".xml":
            if args.motion > 0:
                far, near = mujoco_motion(path, args.motion, 1)
                print(f"{path.name:36} motion {far:.2e} {near:.2e} ratio {far / near:.2f}", flush=True)
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "scene.yaml"
                if args.motion > 0:
                    path = bare(path, folder)
                options = {"file": str(path), "fixed": not args.floating, "density": 500, "skip_meshes": True}
                file.write_text(json.dumps({"orthant": 1, "urdf": options}))  # JSON is YAML
                scene = ot.load(file)
                compare = Comparison(pinocchio(), path, scene, not args.floating)
        except (ot.Error, ValueError, RuntimeError) as error:
            print(f"{path.name:36} {str(error)[:110]}")
            continue
        if compare.model.nv == 0:
            print(f"{path.name:36} nothing moves")
            continue
        changed = [n for n in scene.notes if "inertia" in n or "without mass between" in n or "masses from shapes" in n]
        if compare.missing():
            print(f"{path.name:36} other joints: {', '.join(sorted(compare.missing()))[:70]}")
            continue
        worst = compare.run(np.random.default_rng(1))
        line = " ".join(f"{value:9.1e}" for value in worst.values())
        if args.motion > 0:
            far, near = compare.motion(np.random.default_rng(2), args.motion)
            line += f"   motion {far:.2e} {near:.2e} ratio {far / near:.2f}"
        bad += max(worst.values()) > 1e-10 and not changed
        line += "  (masses changed)" if changed else ""
        print(f"{path.name:36} {line}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
