# SPDX-License-Identifier: Apache-2.0
"""Every optimised example, written as a scene file and run by the program: the same end to rounding.

Example 24 is none of them: its knocks change velocities during the run."""
from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_optimise import export

import orthant as ot
from orthant._trajectory import number_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ["15_cartpole", "16_chain", "17_stack", "18_worm", "19_catapult", "20_double_pendulum", "26_throw"]


def replayed(scene: Path, folder: Path) -> dict[str, dict[str, float]]:
    """The last row of every body that `orthant run` and `orthant export` make of a scene."""
    rows = export(scene, folder)
    assert rows
    return {row["body"]: {k: float(x) for k, x in row.items() if k != "body" and x} for row in rows}


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of an example, in its quick form."""
    monkeypatch.setenv("ORTHANT_QUICK", "1")
    return runpy.run_path(str(ROOT / "python/examples" / f"{name}.py"))


def compare(scene: Path, model: ot.Model, end: ot.State) -> None:
    """The scene, run by the package and by the program, ends in this state."""
    again = ot.Simulator.load(scene).run()
    np.testing.assert_allclose(again.q[-1], end.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.v[-1], end.v, rtol=0, atol=1e-11)
    ends = replayed(scene, scene.parent)
    for body in model.bodies:
        if body.motion == ot.Motion.Fixed:
            continue
        for what in ("x", "y", "vx", "vy") + (() if body.planar else ("z", "vz", "wx")):
            kind, place = number_of(model, body.name, what)
            expected = (end.q if kind == "q" else end.v)[place]
            assert ends[body.name][what] == pytest.approx(expected, abs=1e-12)


def compare_best(best: ot.optimise.Result, tmp_path: Path) -> None:
    best.save(tmp_path / "best.yaml")
    compare(tmp_path / "best.yaml", best.model, best.run().final_state)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_replayed(name, tmp_path, monkeypatch):
    compare_best(example(name, monkeypatch)["best"], tmp_path)


def test_an_optimiser_of_ones_own_replayed(tmp_path, monkeypatch):
    found = example("12_optimise_scipy", monkeypatch)
    model, settings, u = found["model"], found["settings"], found["best"].x.reshape(-1, 1)
    ot.save_scene(tmp_path / "box.yaml", model, u, settings=settings)
    compare(tmp_path / "box.yaml", model, found["end"].final_state)


def test_throws_of_torch_replayed(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    found = example("13_optimise_torch", monkeypatch)
    model, settings = found["model"], found["settings"]
    state = model.rest_state()
    state.v[:2] = found["throw"].detach()[3].numpy()
    end = ot.rollout(model, model.default_parameters(), settings, state, 40).final_state
    ot.save_scene(tmp_path / "throw.yaml", model, np.zeros((40, 0)), state=state, settings=settings)
    compare(tmp_path / "throw.yaml", model, end)


def test_a_receding_horizon_replayed(tmp_path, monkeypatch):
    found = example("22_planar_push", monkeypatch)
    sim = found["sim"]
    ot.save_scene(tmp_path / "push.yaml", found["model"], np.array(found["controls"]), settings=sim.settings)
    compare(tmp_path / "push.yaml", found["model"], sim.state)


def test_a_quadruped_replayed(tmp_path):
    """Spatial bodies, springs in joints, masks, motors, settings that are not as they come."""
    from orthant._tasks import Stand

    task = Stand()
    p = ot.optimise.Problem(task.model, 10, settings=task.settings)
    p.vary_controls(-20, 20)
    p.vary_parameter("material/sole.friction", 0.3, 1.2)
    p.vary_parameter("body/torso.mass", 6.0, 10.0)
    p.vary_initial("torso", "vx", -1.0, 1.0)
    p.track("torso", "x", 0.02, 100)
    p.effort(1e-3)
    best = p.solve("ilqr", max_iterations=2, progress=False)
    assert best.cost < best.history[0, 0] and best.values["torso.vx"] != 0
    compare_best(best, tmp_path)


def test_what_a_scene_file_cannot_say_is_named(tmp_path):
    b = ot.ModelBuilder()
    b.add_body("ball", mass=1.0, shapes=[ot.Shape.sphere(0.1)])
    b.add_field("wind", "ball", lambda x, v, t: np.array([1.0, 0.0, 0.0]))
    p = ot.optimise.Problem(b.build(), 3)
    p.vary_initial("ball", "vx")
    p.track("ball", "x", 1.0)
    best = p.solve("gauss_newton")
    with pytest.raises(ot.Error, match=r"what add_force\(\) adds cannot be written"):
        best.save(tmp_path / "wind.yaml")
    b = ot.ModelBuilder()
    b.add_body("ball", mass=1.0, shapes=[ot.Shape.sphere(0.1)])
    p = ot.optimise.Problem(b.build(), 3)
    p.vary_initial("ball", "vx")
    p.track("ball", "x", 1.0)
    best = p.solve("gauss_newton")
    for u in (np.zeros(3), np.zeros((3, 2)), np.zeros((0, 0)), [["a"]]):
        with pytest.raises((ot.Error, ValueError)):
            ot.save_scene(tmp_path / "ball.yaml", best.model, u)
    best.parameters["shape/ball.radius"] = 0.2
    with pytest.raises(ot.Error, match="parameter 'shape/ball.radius': was changed"):
        best.save(tmp_path / "ball.yaml")
