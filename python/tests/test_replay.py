# SPDX-License-Identifier: Apache-2.0
"""Every optimised example, written as a scene file and run by the program: the same end to rounding."""
from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from test_optimise import export

import orthant as ot

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ["15_cartpole", "16_chain", "17_stack", "18_worm", "19_catapult", "20_double_pendulum", "26_throw"]


def replayed(scene: Path, folder: Path) -> dict[str, dict[str, float]]:
    """The last row of every body that `orthant run` and `orthant export` make of a scene."""
    rows = export(scene, folder)
    if not rows:
        pytest.skip("the program orthant is not here")
    return {row["body"]: {k: float(x) for k, x in row.items() if k != "body" and x} for row in rows}


def compare(best: ot.optimise.Result, tmp_path: Path) -> None:
    scene = tmp_path / "best.yaml"
    best.save(scene)
    again = ot.Simulator.load(scene).run()
    np.testing.assert_allclose(again.q[-1], best.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.v[-1], best.v[-1], rtol=0, atol=1e-11)
    ends = replayed(scene, tmp_path)
    for body in best.model.bodies:
        if body.motion == ot.Motion.Fixed:
            continue
        for what in ("x", "y", "vx", "vy") + (() if body.planar else ("z", "vz", "wx")):
            assert ends[body.name][what] == pytest.approx(best.of(body.name, what)[-1], abs=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_replayed(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ORTHANT_QUICK", "1")
    compare(runpy.run_path(str(ROOT / "python/examples" / f"{name}.py"))["best"], tmp_path)


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
    compare(best, tmp_path)


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
    best.parameters["shape/ball.radius"] = 0.2
    with pytest.raises(ot.Error, match="parameter 'shape/ball.radius': was changed"):
        best.save(tmp_path / "ball.yaml")
