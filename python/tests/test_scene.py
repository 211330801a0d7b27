# SPDX-License-Identifier: Apache-2.0
"""Scene files in Python: a run, and errors that say where."""
from __future__ import annotations

import numpy as np
import pytest

import orthant as ot

SCENE = """orthant: 1
materials:
  - {name: rubber, friction: 0.8, restitution: 0.0}
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_space, material: rubber}}
  - name: ball
    position: [0, 0, 1]
    shapes: {type: sphere, radius: 0.1, material: rubber}
step: {h: 0.005}
run: {time: 1}
"""


def test_load_and_run(tmp_path):
    path = tmp_path / "ball.yaml"
    path.write_text(SCENE)
    scene = ot.load(path)
    assert scene.steps == 200 and scene.settings.h == 0.005 and "bodies" in repr(scene)
    model = scene.model
    del scene  # the model keeps its scene alive
    assert model.body("ball").q_size == 7
    scene = ot.load(path)
    sim = ot.Simulator(scene.model, parameters=scene.parameters, settings=scene.settings,
                       state=scene.state)
    run = sim.rollout(scene.steps, u=scene.controls(scene.steps))
    assert abs(run.of("ball", "z")[-1] - 0.1) < 1e-9


def test_changes_and_memory(tmp_path):
    path = tmp_path / "ball.yaml"
    path.write_text(SCENE)
    assert ot.load(path, set=["step.h=0.01"]).settings.h == 0.01
    assert ot.load(path, set={"step.h": 0.01}).settings.h == 0.01
    scene = ot.parse_scene(SCENE)
    assert np.isclose(scene.state.q[scene.model.q_slice("ball")][2], 1.0)


def test_errors_say_where(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(SCENE.replace("radius", "radios"))
    with pytest.raises(ot.Error, match=r"bad.yaml:8.*radius"):
        ot.load(path)
    with pytest.raises(ot.Error, match="nowhere"):
        ot.load(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("max_cuts", [0, 6])
def test_the_report_says_that_a_step_was_cut(max_cuts):
    # A soft cube that is thrown at its fixed floor, too fast for its elements.
    scene = ot.parse_scene("orthant: 1\nworld: {gravity: [0, 0, 0]}\nflexible: {type: box, name: "
                           "cube, size: [0.1, 0.1, 0.1], cells: [1, 1, 1], young: 1e3, velocity: "
                           "[0, 0, -8], fixed: {upper: [1, 1, 0]}}\n"
                           f"step: {{h: 0.05, max_cuts: {max_cuts}}}\n")
    sim = ot.Simulator(scene.model, parameters=scene.parameters, settings=scene.settings,
                       state=scene.state)
    report = sim.step()
    assert report.cuts == max_cuts and report.inverted > 0
    assert (report.newton_iterations > 1) == (max_cuts > 0)
