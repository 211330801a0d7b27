# SPDX-License-Identifier: Apache-2.0
"""Models as pickles: built again call by call, number for number; flexible parts."""
from __future__ import annotations

import multiprocessing
import pickle

import numpy as np
import pytest
from conftest import block_world, cube_world

import orthant as ot


class Wind(ot.ForceCallback):
    """A force of one's own that knows its strength."""

    def __init__(self, strength: float) -> None:
        super().__init__()
        self.strength = strength

    def add_force(self, model, parameters, q, v, t):
        f = np.zeros(v.size)
        f[model.v_slice("link")][0] = self.strength
        return f


def everything() -> ot.Model:
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.4, restitution=0.1)
    b.add_material("ice", friction=0.05)
    b.add_material_pair("wood", "ice", friction=0.1)
    b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="ice")])
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.4], [0.1, 0.1, 0.3]])
    b.add_body("stone", position=(0, 0, 1), shapes=[ot.ShapeSpec(ot.Shape.hull(corners), material="wood")])
    corners[:] = 7  # what was told counts, not what became of it
    b.add_body("link", position=[0.5, 0, 1], shapes=[
        ot.ShapeSpec(ot.Shape.capsule(0.05, 0.2), offset=ot.Pose((0, 0, 0.1), (0.8, 0.6, 0, 0))),
        ot.Shape.torus(0.2, 0.05), ot.Shape.ellipsoid(0.1, 0.2, 0.3), ot.Shape.cylinder(0.1, 0.2),
        ot.Shape.cone(0.1, 0.2), ot.Shape.rounded_hull(0.1 * np.eye(4, 3), 0.02),
        ot.Shape.super_ellipsoid(0.1, 0.2, 0.3, 0.5, 0.8)])
    b.add_body("hill", motion=ot.Motion.Fixed, shapes=[
        ot.Shape.height_field(-np.ones((3, 4)), 5.0, 4.0),
        ot.Shape.mesh(np.eye(3) - 4, [[0, 1, 2]]).with_parameters([1, 2, 1])])
    b.add_joint("hinge", ot.JointKind.Revolute, "link", anchor=(0.5, 0, 1), axis=(0, 1, 0),
                motor=ot.MotorSpec(ot.MotorKind.Velocity, velocity=2.0, max_force=3.0,
                                   times=[0, 1], values=[0, 1]))
    b.add_joint("second", ot.JointKind.Revolute, "stone", anchor=(0, 0, 1), axis=(0, 1, 0),
                follow=ot.FollowSpec("hinge", 2.0))
    b.add_spring("spring", "link", "stone", stiffness=10.0)
    b.add_force("wind", "link", Wind(3.0))
    b.add_joint_actuator("drive", "hinge", gear=2.0)
    b.set_gravity((0, 0, -3.7))
    return b.build()


def run(model: ot.Model) -> np.ndarray:
    return ot.Simulator(model, h=0.005).rollout(30).q


@pytest.mark.parametrize("make", [everything, cube_world, block_world])
def test_a_pickled_model_runs_bit_for_bit(make):
    model = make()
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    assert again.default_parameters().keys() == model.default_parameters().keys()
    np.testing.assert_array_equal(again.default_parameters().values, model.default_parameters().values)
    np.testing.assert_array_equal(run(again), run(model))


def test_other_processes():
    model = cube_world()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.apply(run, (model,)), run(model))


def test_what_cannot_be_pickled_says_so():
    scene = ot.parse_scene("orthant: 1\nbodies:\n  - {name: a, shapes: {type: sphere, radius: 0.1}}\nrun: {time: 1}\n")
    with pytest.raises(ot.Error, match="travels as its path"):
        pickle.dumps(scene.model)
    b = ot.ModelBuilder()
    with pytest.raises(ot.Error):
        b.add_material("wood", friction=-1)
        b.build()


def beam() -> ot.Model:
    b = ot.ModelBuilder()
    mesh = ot.Mesh.rectangle(1.0, 0.1, 10, 1)
    left = np.flatnonzero(mesh.nodes[:, 0] < 1e-9)
    tip = np.flatnonzero(mesh.nodes[:, 0] > 1 - 1e-9)
    b.add_flexible("beam", mesh, young=1e6, density=100.0, fixed=left, damping_stiffness=0.01)
    b.add_node_force("load", "beam", tip, (0.0, -1.0))
    b.set_gravity((0, 0))
    return b.build()


def test_flexible_parts():
    model = beam()
    part = model.flexible_parts[0]
    assert (part.name, part.dim, part.node_count) == ("beam", 2, 22)
    sim = ot.Simulator(model, h=0.05)
    q = sim.rollout(400).q[-1]
    tip = q[part.q_begin:part.q_begin + 2 * part.node_count].reshape(-1, 2)[:, 1].min()
    # F L^3 / 3 E I = 4 mm; linear triangles, one across, are about half as soft
    assert -0.005 < tip < -0.0005
    np.testing.assert_array_equal(run(pickle.loads(pickle.dumps(model))), run(model))


def test_meshes():
    mesh = ot.Mesh.box((1, 1, 1), 2, 2, 2)
    assert mesh.dim == 3 and mesh.elements.shape == (48, 4)
    again = ot.Mesh(mesh.nodes, mesh.elements)
    np.testing.assert_array_equal(again.nodes, mesh.nodes)
    with pytest.raises(ot.Error, match="there is no node 99"):
        ot.Mesh(mesh.nodes, [[0, 1, 2, 99]])
    with pytest.raises(ot.Error, match="columns"):
        ot.Mesh(mesh.nodes, [[0, 1]])
    with pytest.raises(ot.Error, match="numbers of nodes"):
        ot.ModelBuilder().add_flexible("a", mesh, fixed=[0.5])


def test_servos_keep_their_gains():
    servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=3.0, damping=0.5, max_force=2.0)
    again = pickle.loads(pickle.dumps(servo))
    assert (again.stiffness, again.damping, again.max_force) == (3.0, 0.5, 2.0)


def robot(*, apart: bool = True) -> ot.Model:
    """Servos driven by controls (one of them a speed), a frame, two bodies that never touch."""
    b = ot.ModelBuilder()
    b.add_body("base", motion=ot.Motion.Fixed, shapes=[ot.Shape.box(0.2, 0.2, 0.2)])
    for name, x in (("upper", 0.2), ("lower", 0.6)):
        b.add_body(name, position=(x, 0, 0), mass=1.0, shapes=[ot.Shape.capsule(0.05, 0.15)])
    servo = ot.MotorSpec(ot.MotorKind.Servo, stiffness=40.0, damping=2.0, max_force=15.0)
    b.add_joint("shoulder", ot.JointKind.Revolute, "upper", motor=servo, axis=(0, 1, 0))
    b.add_joint("elbow", ot.JointKind.Revolute, "lower", "upper", anchor=(0.4, 0, 0), motor=servo, axis=(0, 1, 0))
    b.add_frame("tip", "lower", ot.Pose((0.2, 0, 0)))
    b.add_servo_actuator("shoulder", "shoulder", gear=0.5, lower=-1.0, upper=1.0)
    b.add_servo_actuator("elbow", "elbow", speed=True, gear=2.0)
    if apart:  # the shoulder is inside the base
        b.exclude("upper", "base")
    return b.build()


def test_servo_actuators_frames_and_exclusions():
    model = robot()
    again = pickle.loads(pickle.dumps(model))
    u = np.column_stack([np.linspace(0, 3, 40), np.sin(np.arange(40.0))])
    settings = ot.StepSettings(h=0.005)

    def moved(of: ot.Model) -> np.ndarray:
        return ot.rollout(of, of.default_parameters(), settings, of.rest_state(), 40, u=u).q

    np.testing.assert_array_equal(moved(again), moved(model))
    assert np.abs(moved(model)[-1] - moved(model)[0]).max() > 0.01  # the controls move it
    assert np.abs(moved(robot(apart=False)) - moved(model)).max() > 1e-3  # the exclusion counts
    assert again.actuator_names == model.actuator_names == ["shoulder", "elbow"]
    tips = [ot.Articulation(m, "upper") for m in (model, again)]
    poses = [t.pose(m.default_parameters(), m.rest_state(), t.positions(m.default_parameters(), m.rest_state()), "tip")
             for t, m in zip(tips, (model, again))]
    np.testing.assert_array_equal(poses[0].x, poses[1].x)
    np.testing.assert_allclose(poses[1].x, [0.8, 0, 0], atol=1e-12)
