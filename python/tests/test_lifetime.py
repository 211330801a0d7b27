# SPDX-License-Identifier: Apache-2.0
"""Owners that go before what they own, pickles, ctrl-C in long calls, callbacks that raise in threads."""
from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import block_world, cube_world

import orthant as ot

ROOT = Path(__file__).resolve().parents[2]
S = ot.StepSettings(h=0.01)


def churn() -> None:
    """Frees, then fills the heap: what was freed too early is overwritten."""
    gc.collect()
    for size in (8, 64, 512, 4096):
        for _ in range(200):
            np.full(size, np.nan).sum()
    gc.collect()


def test_views_outlive_their_owner():
    model = block_world()
    x, p = model.rest_state(), model.default_parameters()
    problem = ot.CanonicalProblem(H=2.0 * np.eye(2), k=[1.5, -1.962],
                                  laws=[ot.Law.coulomb(2, 0.5)], D=[[0, 1], [1, 0]], b=[3, 4])
    answer = ot.solve(problem)[0]
    motion = ot.MeasuredMotion(np.ones((4, 6)), np.ones((4, 3)), 0.1)
    views = [x.q, x.v, p.values, problem.b, problem.k, answer.lambda_, answer.v, motion.q]
    before = [v.copy() for v in views]
    del x, p, problem, answer, motion, model
    churn()
    for view, kept in zip(views, before):
        np.testing.assert_array_equal(view, kept)
        view[...] = 7.0  # and they stay writable memory


def test_parts_outlive_their_model():
    model = block_world()
    bodies, shapes = model.bodies, [s for b in model.bodies for s in [b.name]]
    p, x = model.default_parameters(), model.rest_state()
    run = ot.rollout(model, p, S, x, 5)
    tape = ot.record_rollout(model, p, S, x, 5)
    record = ot.StepRecord()
    ot.step(model, p, S, x, record=record)
    step = ot.StepGradient(model, p, S, record)
    sim = ot.Simulator(model)
    del model, p, x, record
    churn()
    assert [b.name for b in bodies] == shapes == ["floor", "block"]
    assert run.of("block", "x").shape == (6,) and sim.step().contacts == 2
    assert np.isfinite(tape.pull_back(np.ones(6)).parameters).all()
    assert np.isfinite(step.jacobian()[0]).all()


def test_parts_outlive_their_scene():
    scene = ot.load(sorted((ROOT / "scenes/yaml").glob("*.yaml"))[0])
    model, settings = scene.model, scene.settings
    del scene
    churn()
    assert ot.rollout(model, model.default_parameters(), settings, model.rest_state(), 2).steps == 2


def test_settings_parts_outlive_the_whole():
    solver = ot.StepSettings(solver=ot.SolveSettings(tolerance=1e-9)).solver
    churn()
    assert solver.tolerance == 1e-9


def test_objects_made_without_init_are_refused():
    for kind in (ot.State, ot.Parameters, ot.Model, ot.StepSettings, ot.CanonicalProblem):
        empty = kind.__new__(kind)
        with pytest.raises(TypeError):
            ot.step(empty, empty, empty, empty)
        with pytest.raises(TypeError):
            ot.solve(empty)


@pytest.mark.parametrize("bad", [
    np.array(["1", "2", "3"]), np.array([1, 2, 3], dtype=object), np.array([True, False, True]),
    np.array([1, 2, 3], dtype="M8[s]"), {1: 2}, 3.0, None])
def test_types_of_arrays(bad):
    x = block_world().rest_state()
    with pytest.raises((TypeError, ot.Error), match="state.v: expected|incompatible"):
        x.v = bad


@pytest.mark.parametrize("kind", ["<f8", ">f8", "f4", "f2", "g", "i1", "u8", ">i4"])
def test_numbers_of_any_kind(kind):
    x = block_world().rest_state()
    given = np.array([3, 0, 1, 0, 2, 0]).astype(kind)
    x.v = given[::2]
    np.testing.assert_array_equal(x.v, [3, 1, 2])
    u = np.broadcast_to(np.array(4.0), (5, 1))  # strides 0, read-only
    run = ot.rollout(block_world(), block_world().default_parameters(), S, x, 5, u=u)
    assert run.steps == 5


def test_results_of_a_read_only_start():
    model = block_world()
    q, v = model.rest_state().q, model.rest_state().v
    q.flags.writeable = v.flags.writeable = False
    end = ot.rollout_batch(model, S, (q[None], v[None]), 3)
    assert end.ok.all() and not q.flags.writeable
    assert (ot.State(q, v).q == q).all()


@pytest.mark.parametrize("steps", [1 << 31, (1 << 32) + 3, 1 << 50, 1 << 62])
def test_absurd_lengths(steps):
    """Counts that do not fit, among them one that would be 3 where it wraps round."""
    model, u = block_world(), np.zeros((3, 1))
    p, x = model.default_parameters(), model.rest_state()
    with pytest.raises(ot.Error, match="steps|u: expected"):
        ot.rollout(model, p, S, x, steps, u=u)
    with pytest.raises(ot.Error, match="steps"):
        ot.rollout_batch(model, S, x, steps)
    with pytest.raises(ot.Error, match="steps"):
        ot.record_rollout(model, p, S, x, steps)
    with pytest.raises(ot.Error, match="GB"):
        ot.rollout_batch(model, S, [x] * 100, (1 << 31) - 1)
    with pytest.raises(TypeError):
        ot.rollout(model, p, S, x, 1 << 70)


def test_values_can_be_mailed(tmp_path):
    """Pickle and deepcopy keep every number."""
    model = cube_world(0.0)
    p, x = model.default_parameters(), model.rest_state()
    record = ot.StepRecord()
    report = ot.step(model, p, S, x, record=record)
    problem = ot.CanonicalProblem(H=2.0 * np.eye(2), k=[1.5, -1.962], b=[0, 0],
                                  laws=[ot.Law.coulomb(2, 0.5)], D=[[0, 1], [1, 0]])
    answer, solved = ot.solve(problem)
    for again in (lambda v: pickle.loads(pickle.dumps(v)), copy.deepcopy):
        assert again(report).to_dict() == report.to_dict()
        assert repr(again(solved)) == repr(solved)
        np.testing.assert_array_equal(again(answer).lambda_, answer.lambda_)
        same = again(problem)
        np.testing.assert_array_equal(same.H.toarray(), problem.H.toarray())
        np.testing.assert_array_equal(same.D.toarray(), problem.D.toarray())
        np.testing.assert_array_equal(ot.solve(same)[0].lambda_, answer.lambda_)
        for law in (ot.Law.zero(2), ot.Law.free(3), ot.Law.orthant(), ot.Law.box(-1, 2),
                    ot.Law.soc(3, 0.1), ot.Law.coulomb(2, 0.3), ot.Law.rolling_soc(5, 0.1, 0.2),
                    ot.Law.rolling(5, 0.4, 0.5)):
            assert again(law) == law
        assert again(ot.Outcome.Stalled) == ot.Outcome.Stalled
        data = again(ot.TrajectoryData([ot.MeasuredMotion(x.q[None], x.v[None], 0.1, "a")], True))
        assert data.backward_velocity and data[0].name == "a" and data[0].q[0].tolist() == x.q.tolist()
        pose = again(ot.Pose.planar(1, 2, 0.5))
        np.testing.assert_array_equal(pose.p, ot.Pose.planar(1, 2, 0.5).p)


@pytest.mark.parametrize("kind", [ot.StepReport, ot.SolveReport, ot.Estimate, ot.CertifiedContact,
                                  ot.FitOptions, ot.StepSettings])
def test_damaged_pickles(kind):
    with pytest.raises((ot.Error, TypeError, IndexError, RuntimeError, ValueError)):
        kind.__new__(kind).__setstate__({"nonsense": 1})
    with pytest.raises((ot.Error, TypeError, IndexError, RuntimeError, ValueError)):
        kind.__new__(kind).__setstate__(("h",))


def interrupted(work) -> float:
    """Seconds from a ctrl-C to the end of `work`."""
    sent = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    return time.monotonic() - sent[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_stops_a_batch(threads):
    model = cube_world(0.0)
    mu = np.linspace(0.1, 0.9, 4)
    spent = interrupted(lambda: ot.rollout_batch(
        model, ot.StepSettings(h=1e-5), model.rest_state(), 10_000_000, every=1_000_000,
        parameters={"material/default.friction": mu}, threads=threads))
    assert spent < 10


def test_interrupt_stops_a_recorded_batch():
    model = cube_world(0.0)
    mu = np.linspace(0.1, 0.9, 2000)
    spent = interrupted(lambda: ot.record_rollout_batch(
        model, ot.StepSettings(h=1e-4), model.rest_state(), 200,
        parameters={"material/default.friction": mu}))
    assert spent < 10


class Broken(ot.ForceCallback):
    """Raises in worlds that move to the right."""

    def add_force(self, model, parameters, q, v, t):
        if v[0] > 0:
            raise ZeroDivisionError("the wind")
        return np.zeros(v.size)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_force_that_raises_ends_its_world_only(threads):
    b = ot.ModelBuilder()
    b.add_body("ball", shapes=[ot.Shape.sphere(0.1)])
    b.add_force("wind", "ball", Broken())
    model = b.build()
    x = [model.rest_state() for _ in range(4)]
    x[1].v[0], x[3].v[0] = 1.0, -1.0
    r = ot.rollout_batch(model, S, x, 5, threads=threads)
    assert r.ok.tolist() == [True, False, True, True] and "the wind" in r.errors[1]
    with pytest.raises(ZeroDivisionError, match="the wind"):
        ot.rollout(model, model.default_parameters(), S, x[1], 5)


def test_a_callback_may_not_answer_nonsense():
    model = cube_world()
    with pytest.raises((TypeError, RuntimeError, ot.Error)):
        ot.rollout(model, model.default_parameters(), S, model.rest_state(), 3,
                   callback=lambda i, state, report: "go on")
    with pytest.raises(TypeError):
        ot.rollout(model, model.default_parameters(), S, model.rest_state(), 3,
                   callback=lambda: None)
