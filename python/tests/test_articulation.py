# SPDX-License-Identifier: Apache-2.0
"""Joint coordinates: by themselves, and against Pinocchio (PyPI: pin) where it is installed."""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import orthant as ot

ROBOT = """<robot name="walker">
  <link name="trunk"><inertial><origin xyz="0.1 0.02 -0.03" rpy="0.1 0.2 0.3"/><mass value="6"/>
    <inertia ixx="0.05" iyy="0.07" izz="0.09" ixy="0.002" ixz="-0.003" iyz="0.004"/></inertial></link>
  {legs}
</robot>"""
LEG = """<link name="hip{n}"><inertial><origin xyz="0.01 0.02 0"/><mass value="0.7"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.0025" ixy="0.0001" ixz="0" iyz="0"/></inertial></link>
  <joint name="abduct{n}" type="revolute"><origin xyz="{x} {y} 0" rpy="0 0 {y}"/><parent link="trunk"/>
    <child link="hip{n}"/><axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="20" velocity="10"/></joint>
  <link name="shin{n}"><inertial><origin xyz="0 0 -0.1"/><mass value="0.4"/>
    <inertia ixx="0.003" iyy="0.003" izz="0.0004" ixy="0" ixz="0.0002" iyz="0"/></inertial></link>
  <joint name="knee{n}" type="revolute"><origin xyz="0 0.08 -0.2" rpy="0.2 -0.1 0.3"/><parent link="hip{n}"/>
    <child link="shin{n}"/><axis xyz="0 0.6 0.8"/><limit lower="-2" upper="2" effort="20" velocity="10"/></joint>
  <link name="toe{n}"><inertial><origin xyz="0 0.01 0"/><mass value="0.05"/>
    <inertia ixx="0.0001" iyy="0.0001" izz="0.0001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="push{n}" type="prismatic"><origin xyz="0 0 -0.25" rpy="0.3 0 0"/><parent link="shin{n}"/>
    <child link="toe{n}"/><axis xyz="0 0 1"/><limit lower="-0.1" upper="0.1" effort="20" velocity="10"/></joint>
  <link name="foot{n}"/>
  <joint name="sole{n}" type="fixed"><origin xyz="0.02 0 -0.03" rpy="0 0.4 0"/><parent link="toe{n}"/>
    <child link="foot{n}"/></joint>"""


def write_robot(folder: Path) -> Path:
    legs = "\n".join(LEG.format(n=n, x=x, y=y) for n, (x, y) in enumerate([(0.2, 0.1), (-0.2, -0.1)]))
    path = folder / "walker.urdf"
    path.write_text(ROBOT.format(legs=legs))
    return path


def load(path: Path, fixed: bool) -> ot.LoadedScene:
    scene = path.with_suffix(".yaml")
    scene.write_text(f"orthant: 1\nurdf: {{file: {path.name}, fixed: {str(fixed).lower()}}}\n")
    return ot.load(scene)


def random_motion(tree: ot.Articulation, q0: np.ndarray, rng: np.random.Generator):
    u, a = rng.normal(size=tree.u_size), rng.normal(size=tree.u_size)
    return tree.integrate(q0, 0.5 * rng.normal(size=tree.u_size)), u, a


def test_mass_matrix_and_inverse_dynamics_agree(tmp_path, rng):
    scene = load(write_robot(tmp_path), fixed=False)
    tree = ot.Articulation(scene.model)
    p, x = scene.parameters, scene.state
    assert [j.name for j in tree.joints][:2] == ["trunk", "abduct0"]
    q, u, a = random_motion(tree, tree.positions(p, x), rng)
    M = tree.mass_matrix(p, x, q)
    tau = tree.inverse_dynamics(p, x, q, u, a)
    np.testing.assert_allclose(tau, M @ a + tree.bias(p, x, q, u), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(tree.forward_dynamics(p, x, q, u, tau), a, rtol=1e-8, atol=1e-9)
    by_q, by_u = tree.inverse_dynamics_derivatives(p, x, q, u, a)
    e = 1e-6
    for k in range(tree.u_size):
        d = e * np.eye(tree.u_size)[k]
        change = (tree.inverse_dynamics(p, x, tree.integrate(q, d), u, a)
                  - tree.inverse_dynamics(p, x, tree.integrate(q, -d), u, a)) / (2 * e)
        np.testing.assert_allclose(by_q[:, k], change, rtol=1e-6, atol=1e-6)
        change = (tree.inverse_dynamics(p, x, q, u + d, a) - tree.inverse_dynamics(p, x, q, u - d, a)) / (2 * e)
        np.testing.assert_allclose(by_u[:, k], change, rtol=1e-6, atol=1e-6)


def test_positions_by_name_and_inverse_kinematics(tmp_path):
    scene = load(write_robot(tmp_path), fixed=True)
    tree = ot.Articulation(scene.model)
    p, x = scene.parameters, scene.state
    tree.set_positions(p, {"knee1": 0.4, "push0": -0.03}, x)
    tree.set_velocities(p, {"knee1": 2.0}, x)
    q = tree.positions(p, x)
    at = {j.name: j for j in tree.joints}
    assert q[at["knee1"].q_begin] == pytest.approx(0.4, abs=1e-12)
    assert q[at["push0"].q_begin] == pytest.approx(-0.03, abs=1e-12)
    assert tree.velocities(p, x)[at["knee1"].u_begin] == pytest.approx(2.0, abs=1e-12)
    goal = tree.pose(p, x, q, "foot1")
    start = np.zeros(tree.q_size)
    found, report = tree.inverse_kinematics(p, x, {"foot1": goal.x}, start)
    assert report.reached
    np.testing.assert_allclose(tree.pose(p, x, found, "foot1").x, goal.x, atol=1e-9)
    with pytest.raises(ot.Error, match="knee0"):
        tree.set_positions(p, {"kne0": 0.1}, x)


@pytest.mark.parametrize("fixed", [True, False])
def test_pinocchio_has_the_same_dynamics(tmp_path, rng, fixed):
    pin = pytest.importorskip("pinocchio")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
    from robot_compare import Comparison

    path = write_robot(tmp_path)
    worst = Comparison(pin, path, load(path, fixed), fixed).run(rng, postures=5)
    assert worst["mass matrix"] < 1e-10
    assert worst["inverse dynamics"] < 1e-10
    assert worst["jacobian"] < 1e-10
    assert worst["frame"] < 1e-10
    assert worst["centre of mass"] < 1e-10


def test_sensors_of_a_recorded_step(tmp_path):
    scene = load(write_robot(tmp_path), fixed=True)
    m, p, x = scene.model, scene.parameters, scene.state
    record = ot.StepRecord()
    for _ in range(3):
        ot.step(m, p, scene.settings, x, record=record)
    joints = ot.read_joints(m, p, record)
    tree = ot.Articulation(m)
    q, u = tree.positions(p, x), tree.velocities(p, x)
    for j in tree.joints:
        assert joints[j.name].position == pytest.approx(q[j.q_begin], abs=1e-13)
        assert joints[j.name].velocity == pytest.approx(u[j.u_begin], abs=1e-12)
        assert joints[j.name].motor == 0
    tree.write(p, q, u, x)  # a step leaves the speeds of its start: the bodies' agree to order h
    frame = ot.read_frame(m, x, "foot0")
    np.testing.assert_allclose(frame.pose.x, tree.pose(p, x, q, "foot0").x, atol=1e-13)
    np.testing.assert_allclose(np.r_[frame.velocity, frame.angular_velocity], tree.jacobian(p, x, q, "foot0") @ u,
                               atol=1e-12)
    assert np.isfinite(ot.read_imu(m, p, record, "foot0").acceleration).all()
    with pytest.raises(ot.Error):
        ot.read_touch(m, p, record, "no such shape")


def test_step_in_joint_coordinates_has_the_jacobian_of_differences(tmp_path, rng):
    scene = load(write_robot(tmp_path), fixed=False)
    m, p, tree = scene.model, scene.parameters, ot.Articulation(scene.model)
    q = tree.integrate(tree.positions(p, scene.state), 0.02 * rng.normal(size=tree.u_size))  # within the limits
    u = 0.5 * rng.normal(size=tree.u_size)
    tight = ot.StepSettings(h=0.01, projection_tolerance=1e-12, solver=ot.SolveSettings(tolerance=1e-13))
    n = tree.u_size

    def end(change, record=None):
        x = scene.state.copy()
        tree.write(p, tree.integrate(q, change[:n]), u + change[n:], x)
        ot.step(m, p, tight, x, warm=ot.WarmStart(), record=record)
        return x

    record = ot.StepRecord()
    after = end(np.zeros(2 * n), record)
    A, B = ot.StepGradient(m, p, tight, record).joint_jacobian(tree, after)
    assert A.shape == (2 * n, 2 * n) and B.shape == (2 * n, 0)
    there = tree.positions(p, after)
    for i in range(2 * n):
        change = np.zeros(2 * n)
        change[i] = 1e-5
        up, down = end(change), end(-change)
        dq = tree.difference(tree.positions(p, up), there) - tree.difference(tree.positions(p, down), there)
        difference = np.concatenate([dq, tree.velocities(p, up) - tree.velocities(p, down)]) / 2e-5
        np.testing.assert_allclose(A[:, i], difference, atol=2e-5 * (1 + np.abs(difference).max()), err_msg=str(i))


def test_rays_and_postures_with_contacts():
    b = ot.ModelBuilder()
    b.add_body("ground", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), name="floor")])
    b.add_body("ball", position=(0, 0, 2), shapes=[ot.ShapeSpec(ot.Shape.sphere(0.5), name="ball")], mass=1)
    m = b.build()
    p, x = m.default_parameters(), m.rest_state()
    ray = ot.cast_ray(m, p, x, (0.3, 0, 5), (0, 0, -1))
    assert ray.hits and (ray.body, ray.shape) == ("ball", "ball")
    assert ray.distance == pytest.approx(2.6, abs=1e-12)
    np.testing.assert_allclose(ray.normal, (0.6, 0, 0.8), atol=1e-9)
    down, up = ot.read_rays(m, p, x, "ball", [(0, 0, -1), (0, 0, 1)], reach=3)
    assert down.shape == "floor" and down.distance == pytest.approx(2, abs=1e-12)
    assert not up.hits and up.shape == ""
    tree = ot.Articulation(m)
    q, report = tree.inverse_kinematics(p, x, {}, tree.positions(p, x), gaps={("ball", "floor"): 0.25}, contacts=True)
    assert report.reached and q[2] == pytest.approx(0.75, abs=1e-9)
