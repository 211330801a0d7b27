# SPDX-License-Identifier: Apache-2.0
"""Parameters found again from motions that were simulated with them; and what data cannot tell."""
from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from conftest import block_world

import orthant as ot

S = ot.StepSettings(h=0.01)
FRICTION = "material/wood.friction"
MASS = "body/block.mass"


def thrown(model: ot.Model, speeds=(1.0, 2.0, 3.0), steps: int = 40) -> list[ot.Trajectory]:
    runs = []
    for speed in speeds:
        x = model.rest_state()
        x.v[0] = speed
        runs.append(ot.rollout(model, model.default_parameters(), S, x, steps))
    return runs


def wrong(model: ot.Model, friction: float = 1.2) -> ot.Parameters:
    p = model.default_parameters()
    p[FRICTION] = friction
    return p


@pytest.mark.parametrize("method", ["simulate", "implicit"])
def test_friction_is_found_again(method):
    model = block_world(friction=0.37)
    data = thrown(model)
    r = ot.fit(model, data, {FRICTION: (0.01, 1.5, 1.2)}, method=method, base=wrong(model),
               settings=S, starts=2)
    e = r[FRICTION]
    assert e.value == pytest.approx(0.37, abs=1e-3) and e.identified and r.identified
    assert e.lower95 <= e.value <= e.upper95 and (e.lower, e.upper, e.start) == (0.01, 1.5, 1.2)
    assert r.unidentified == [] and r.sliding > 0 and r.motions == 3
    assert r.parameters[FRICTION] == e.value
    assert r.parameters[MASS] == 2.0  # the others stay
    assert FRICTION in str(r)


def test_score_and_prediction():
    model = block_world(friction=0.37)
    data = thrown(model)
    right = ot.score(model, model.default_parameters(), data, settings=S)
    bad = ot.score(model, wrong(model), data, settings=S)
    assert right.median_position < 1e-9 < 0.01 < bad.median_position and len(bad.position) == 3
    flight = ot.score(model, model.default_parameters(), data, settings=S,
                      predictor=ot.Predictor.Ballistic)
    assert flight.median_position > 0.1
    q = ot.predict(model, model.default_parameters(), data, 1, settings=S)
    np.testing.assert_allclose(q, data[1].q, atol=1e-9)


def test_from_a_file(tmp_path):
    model = block_world(friction=0.37)
    rows = ["run,t,x,y,theta,vx,vy,omega"]
    for i, run in enumerate(thrown(model)):
        for k in range(len(run)):
            numbers = [run.t[k], *run.q[k, 3:], *run.v[k]]
            rows.append(",".join([str(i), *(f"{x:.17g}" for x in numbers)]))
    path = tmp_path / "motions.csv"
    path.write_text("\n".join(rows))
    data = ot.read_trajectories(path, model)
    assert len(data) == 3 and len(data[0]) == 41 and len(data[1:]) == 2
    assert data[-1].q.shape == (41, 6) and data[0].dt == pytest.approx(0.01)
    r = ot.fit(model, path, [FRICTION], settings=S, base=wrong(model), starts=2)
    assert r[FRICTION].value == pytest.approx(0.37, abs=1e-3)


def test_what_the_data_cannot_tell_is_named():
    # a block at rest sticks whatever its friction; one that slides freely does not show its mass
    model = block_world(velocity=(0.0, 0.0))
    r = ot.fit(model, thrown(model, speeds=(0.0,)), [FRICTION], settings=S, starts=2)
    assert r.unidentified == [FRICTION] and not r.identified and r[FRICTION].deviation == np.inf
    assert any("stick" in note for note in r.notes)
    r = ot.fit(block_world(), thrown(block_world()), [FRICTION, MASS], settings=S, starts=2)
    assert MASS in r.unidentified


def test_progress_sees_and_stops():
    model = block_world(friction=0.37)
    seen = []

    def watch(stage, evaluations, best, cost):
        seen.append((stage, evaluations, best.copy(), cost))
        return len(seen) < 3

    r = ot.fit(model, thrown(model), [FRICTION], settings=S, base=wrong(model), progress=watch)
    assert len(seen) == 3 and seen[0][0] == "start" and seen[0][2].shape == (1,)
    assert r.evaluations >= 2

    def broken(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ot.fit(model, thrown(model), [FRICTION], settings=S, progress=broken)


def test_interrupt_stops_a_fit():
    model = block_world(friction=0.37)
    data = thrown(model, speeds=np.linspace(0.5, 4, 40), steps=200)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ot.fit(model, data, [FRICTION], settings=S, base=wrong(model), starts=100_000)


@pytest.mark.parametrize("change, error, message", [
    (dict(parameters=["material/wod.friction"]), ot.Error, "material/wood.friction"),
    (dict(parameters=[]), ot.Error, "nothing to fit"),
    (dict(parameters=[FRICTION, FRICTION]), ot.Error, "twice"),
    (dict(parameters={FRICTION: (1.0, 0.5)}), ot.Error, "bounds are empty"),
    (dict(parameters={FRICTION: (0.1, 0.5, 0.9)}), ot.Error, "outside of its bounds"),
    (dict(parameters={FRICTION: (0.1, np.inf)}), ot.Error, "finite"),
    (dict(parameters={FRICTION: 0.3}), ot.Error, "expected .lower, upper."),
    (dict(method="magic"), ot.Error, "'simulate' or 'implicit', got 'magic'"),
    (dict(data=[]), ot.Error, "."),
    (dict(data="nowhere.csv"), ot.Error, "nowhere.csv"),
    (dict(data=[1, 2]), TypeError, "motion 0: expected MeasuredMotion or Trajectory, got int"),
    (dict(data=[ot.MeasuredMotion(np.zeros((5, 4)), np.zeros((5, 3)), 0.01)]), ot.Error, "."),
    (dict(data=[ot.MeasuredMotion(np.full((5, 6), np.nan), np.zeros((5, 3)), 0.01)]), ot.Error,
     "finite"),
    (dict(data=[ot.MeasuredMotion(np.zeros((5, 6)), np.zeros((5, 3)), -1.0)]), ot.Error, "."),
    (dict(horizons=3), TypeError, "did you mean 'horizon'"),
    (dict(substeps=0), ot.Error, "substeps"),
    (dict(base=ot.ModelBuilder().build().default_parameters()), ot.Error, "another model"),
])
def test_bad_input(change, error, message):
    model = block_world()
    arguments = dict(data=thrown(model, steps=5), parameters=[FRICTION], settings=S)
    arguments.update(change)
    with pytest.raises(error, match=message):
        ot.fit(model, **arguments)


def test_bad_motions():
    with pytest.raises(ot.Error, match="v: expected 5 rows"):
        ot.MeasuredMotion(np.zeros((5, 6)), np.zeros((4, 3)), 0.01)
    with pytest.raises(ot.Error, match="q: expected 2 dim"):
        ot.MeasuredMotion(np.zeros(6), np.zeros(3), 0.01)
    model = block_world()
    uneven = ot.rollout(model, model.default_parameters(), S, model.rest_state(), 5, every=2)
    with pytest.raises(ot.Error, match="even times"):
        ot.fit(model, [uneven], [FRICTION])
    data = ot.TrajectoryData([ot.MeasuredMotion(np.zeros((5, 6)), np.zeros((5, 3)), 0.01)])
    with pytest.raises(IndexError):
        data[1]
    with pytest.raises(ot.Error, match="motion"):
        ot.predict(model, model.default_parameters(), data, 7)


def test_friction_of_motions_that_never_touch():
    model = block_world(height=5.0)
    with pytest.raises(ot.Error, match="touch"):
        ot.fit(model, thrown(model, steps=10), [FRICTION], settings=S)
