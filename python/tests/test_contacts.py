# SPDX-License-Identifier: Apache-2.0
"""Contacts of a step with their impulses and states; what a simulator says of its bodies."""
from __future__ import annotations

import numpy as np
import pytest
from conftest import block_world, cube_world
from test_scene import SCENE

import orthant as ot


@pytest.mark.parametrize("push, state", [(5.0, "Stick"), (20.0, "Slide")])
def test_block_under_a_push(push, state):
    sim = ot.Simulator(block_world(velocity=(0.0, 0.0)))
    sim.step([push])
    contacts = sim.contacts()
    assert len(contacts) == 2
    # How two feet share the friction is not unique: one of them may be at its limit.
    allowed = {ot.ContactState[state]} | ({ot.ContactState.Floating} if state == "Stick" else set())
    assert {c.state for c in contacts} <= allowed
    force = sum(c.force if c.body_a == "block" else -c.force for c in contacts)
    held = min(push, 0.5 * 2.0 * 9.81)
    np.testing.assert_allclose(force, [-held, 2.0 * 9.81, 0.0], atol=1e-6)
    for c in contacts:
        assert {c.body_a, c.body_b} == {"floor", "block"}
        assert abs(c.point[1]) < 1e-9 and abs(abs(c.point[0]) - 0.2) < 1e-9
        np.testing.assert_allclose(np.abs(c.normal), [0, 1, 0], atol=1e-12)
        assert not c.impact and c.duration == sim.settings.h
        assert c.sliding_speed == pytest.approx(abs(sim.of("block", "vx")), abs=1e-8)


def test_a_cube_in_space_and_in_flight():
    sim = ot.Simulator(cube_world(height=0.0))
    sim.step()
    contacts = sim.contacts()
    assert len(contacts) == 4
    up = sum(abs(c.impulse[2]) for c in contacts)
    assert up == pytest.approx(1000.0 * 9.81 * sim.settings.h, rel=1e-8)
    flying = ot.Simulator(cube_world(height=5.0))
    flying.step()
    assert all(c.state == ot.ContactState.Separate for c in flying.contacts())


def test_an_impact_has_an_impulse_and_no_force():
    sim = ot.Simulator(block_world(restitution=0.5, height=0.004, velocity=(0.0, -1.0)),
                       impact_events=True)
    sim.step()
    hits = [c for c in sim.contacts() if c.impact]
    assert hits and sum(c.impulse @ c.normal for c in hits) == pytest.approx(2.0 * 1.5, rel=0.05)
    with pytest.raises(ot.Error, match="an impact has an impulse"):
        hits[0].force


def test_numbers_by_name():
    sim = ot.Simulator(cube_world())
    assert sim.of("cube", "z") == 1.5 and sim.of("cube").shape == (7,)
    run = sim.rollout(3)
    assert sim.of("cube", "vz") == run.of("cube", "vz")[-1]
    with pytest.raises(ot.UnknownName, match="a spatial body has"):
        sim.of("cube", "angle")
    with pytest.raises(ot.UnknownName, match="did you mean 'cube'"):
        sim.of("cub", "z")
    with pytest.raises(ot.Error, match="take one first"):
        sim.contacts()


def test_simulator_of_a_scene(tmp_path):
    path = tmp_path / "ball.yaml"
    path.write_text(SCENE)
    sim = ot.Simulator.load(path, set=["run.time=0.1"])
    assert sim.scene is not None and sim.settings.h == 0.005
    run = sim.run()
    assert run.steps == sim.scene.steps == 20
    assert sim.of("ball", "z") == run.of("ball", "z")[-1] < 1
    with pytest.raises(ot.Error, match="knows how long"):
        ot.Simulator(sim.model).run()


def test_steps_of_a_crowd_keep_their_accuracy():
    """A record would make a step exact; step() and rollout() are the same motion."""
    builder = ot.ModelBuilder()
    builder.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.Shape.half_space()])
    for i in range(125):
        x, y, z = i % 5, i // 5 % 5, i // 25
        builder.add_body(f"ball{i}", shapes=[ot.Shape.sphere(0.1)],
                         position=(0.19 * x + 0.01 * z, 0.19 * y, 0.1 + 0.15 * z))
    model = builder.build()
    sim, same = (ot.Simulator(model, h=0.01, accuracy=ot.Accuracy.Fast) for _ in range(2))
    reports = [sim.step() for _ in range(20)]
    assert {r.accuracy for r in reports} == {ot.Accuracy.Fast}
    same.rollout(20)
    np.testing.assert_array_equal(sim.state.q, same.state.q)
    with pytest.raises(ot.Error, match="contact_forces"):
        sim.contacts()
    forces = sim.contact_forces()
    assert [f.body_a for f in forces] == [f.body_a for f in same.contact_forces()]
    assert all(f.force @ f.normal > 0 for f in forces if np.any(f.force))


def test_forces_carry_the_weight():
    sim = ot.Simulator(cube_world(height=0.0))
    sim.step()
    up = sum(f.force[2] if f.body_a == "cube" else -f.force[2] for f in sim.contact_forces())
    assert up == pytest.approx(1000.0 * 9.81, rel=1e-8)
