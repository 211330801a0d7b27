# SPDX-License-Identifier: Apache-2.0
"""Worlds that move: closed forms, views, resume, interruption."""
from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from conftest import block_world, cube_world

import orthant as ot

G = 9.81


def test_free_fall_is_exact(cube):
    s = ot.rollout(cube, cube.default_parameters(), ot.StepSettings(h=0.01), cube.rest_state(), 40)
    np.testing.assert_allclose(s.of("cube", "z"), 1.5 - 0.5 * G * s.t**2, atol=1e-12)
    np.testing.assert_allclose(s.of("cube", "vz"), -G * s.t, atol=1e-12)


def test_cube_lands(cube):
    s = ot.rollout(cube, cube.default_parameters(), ot.StepSettings(), cube.rest_state(), 100)
    assert s.failed_steps == 0 and s.worst_outcome == ot.Outcome.Converged
    assert abs(s.of("cube", "z")[-1] - 0.5) < 1e-9
    assert s.deepest.max() < 1e-9 and s.contacts[-1] == 4
    assert len(s) == 101 and s.steps == 100


def test_sliding_block_stops_where_coulomb_says(block):
    # v^2 / (2 mu g) plus the half step of an implicit method
    h = 1e-3
    s = ot.rollout(block, block.default_parameters(), ot.StepSettings(h=h), block.rest_state(), 600)
    assert abs(s.of("block", "vx")[-1]) < 1e-12
    assert abs(s.of("block", "x")[-1] - 4 / (2 * 0.5 * G)) < 2 * h


def test_parameters_by_name(block):
    p = block.default_parameters()
    assert p["body/block.mass"] == 2 and "body/block.mass" in p and "nonsense" not in p
    assert p.unit("body/block.mass") == "kg"
    assert len(p) == len(list(p.keys())) == p.values.size
    p["material/wood.friction"] = 0.1
    assert p.values[p.index("material/wood.friction")] == 0.1
    other = p.copy()
    other["material/wood.friction"] = 0.7
    assert p["material/wood.friction"] == 0.1
    assert dict(p)["body/block.mass"] == 2
    h = 1e-3
    s = ot.rollout(block, p, ot.StepSettings(h=h), block.rest_state(), 100)
    np.testing.assert_allclose(s.of("block", "vx")[-1], 2 - 0.1 * G * 0.1, atol=1e-9)


def test_views_are_the_state(cube):
    x = cube.rest_state()
    q = x.q
    q[cube.q_slice("cube")][2] = 3.0
    assert x.q[9] == 3.0
    ot.step(cube, cube.default_parameters(), ot.StepSettings(), x)
    assert q[9] == x.q[9] < 3.0  # a step writes where the view looks
    del x
    gc.collect()
    assert np.isfinite(q).all()  # the view keeps its state alive


def test_setting_arrays_copies_into_place(cube):
    x = cube.rest_state()
    v = x.v
    x.v = np.arange(6.0)[::-1]
    np.testing.assert_array_equal(v, [5, 4, 3, 2, 1, 0])
    x.t = 2.5
    assert x.copy().t == 2.5


def test_step_and_rollout_agree_bit_for_bit(cube):
    p, s = cube.default_parameters(), ot.StepSettings()
    x, warm = cube.rest_state(), ot.WarmStart()
    for _ in range(60):
        ot.step(cube, p, s, x, warm)
    end = ot.rollout(cube, p, s, cube.rest_state(), 60)
    np.testing.assert_array_equal(x.q, end.q[-1])
    np.testing.assert_array_equal(x.v, end.v[-1])
    assert end.final_state.t == x.t and end.final_state.step == 60


def test_simulator_resumes_from_a_pickle(cube):
    whole = ot.Simulator(cube, h=0.01)
    whole.rollout(80)
    half = ot.Simulator(cube, h=0.01)
    half.rollout(50)
    state, warm, settings = pickle.loads(pickle.dumps((half.state, half.warm, half.settings)))
    again = ot.Simulator(cube, settings=settings, state=state)
    again.warm = warm
    again.rollout(30)
    np.testing.assert_array_equal(again.state.q, whole.state.q)
    np.testing.assert_array_equal(again.state.v, whole.state.v)
    again.reset()
    assert again.t == 0


def test_controls(block):
    # 20 N against mu m g = 9.81 N for 0.1 s from rest
    x = block.rest_state()
    x.v[:] = 0
    u = np.full((100, 1), 20.0)
    s = ot.rollout(block, block.default_parameters(), ot.StepSettings(h=1e-3), x, 100, u=u)
    np.testing.assert_allclose(s.of("block", "vx")[-1], 0.1 * (20 - 0.5 * 2 * G) / 2, rtol=1e-9)
    assert (x.v == 0).all()  # rollout leaves its start alone


def test_callback_ends_the_run(cube):
    seen = []

    def watch(i: int, state: ot.State, report: ot.StepReport) -> bool:
        seen.append((i, state.t, report.contacts))
        return i < 9

    s = ot.rollout(cube, cube.default_parameters(), ot.StepSettings(), cube.rest_state(), 50,
                   callback=watch)
    assert s.steps == 10 == len(seen) and len(s) == 11
    assert seen[-1][1] == pytest.approx(0.1)


def test_every_keeps_the_last(cube):
    s = ot.rollout(cube, cube.default_parameters(), ot.StepSettings(), cube.rest_state(), 25, every=10)
    np.testing.assert_allclose(s.t, [0, 0.1, 0.2, 0.25])
    assert len(s.residual) == 25


def test_pickle_and_copy(block):
    p = block.default_parameters()
    p["body/block.mass"] = 3.5
    q = pickle.loads(pickle.dumps(p))
    assert q["body/block.mass"] == 3.5 and list(q.keys()) == list(p.keys())
    settings = ot.StepSettings(h=0.002, friction=ot.FrictionModel.Cone,
                               solver=ot.SolveSettings(tolerance=1e-9))
    same = pickle.loads(pickle.dumps(settings))
    assert same == settings and same.solver.tolerance == 1e-9
    assert same.replace(h=0.1) != settings and "Cone" in repr(settings)
    x = copy.deepcopy(block.rest_state())
    assert x.q.tolist() == block.rest_state().q.tolist()
    assert ot.StepSettings().solver.tolerance == 1e-10
    box = ot.PeriodicBox(active=(True, False, False), lo=(0, 0, 0), hi=(1, 0, 0))
    again = pickle.loads(pickle.dumps(settings.replace(periodic=box)))
    assert again.periodic == box and again != settings and again.periodic.hi[0] == 1


def test_small_values_can_be_read():
    assert ot.Shape.box(1, 2, 3).parameters.tolist() == [1, 2, 3]
    assert ot.Shape.torus(2, 0.5).kind == ot.ShapeKind.Torus
    pose = ot.Pose.planar(1, 2, np.pi)
    assert pose.x.tolist() == [1, 2, 0]
    np.testing.assert_allclose(pose.p, [0, 0, 0, 1], atol=1e-15)


def test_settings_keep_their_parts(cube):
    settings = ot.StepSettings()
    settings.solver.max_iterations = 7
    assert settings.solver.max_iterations == 7


class Wind(ot.ForceCallback):
    """A constant push on the cube."""

    def __init__(self, model_of_three: list[float]) -> None:
        super().__init__()
        self.push = model_of_three

    def add_force(self, model, parameters, q, v, t):
        f = np.zeros(v.size)
        f[:3] = self.push
        return f


def windy(force: ot.ForceCallback) -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("ball", mass=2.0, shapes=[ot.Shape.sphere(0.1)])
    b.set_gravity((0, 0, 0))
    b.add_force("wind", "ball", force)
    return b.build()


def test_force_in_python():
    m = windy(Wind([4.0, 0.0, 0.0]))
    gc.collect()  # the model alone keeps the force alive
    s = ot.rollout(m, m.default_parameters(), ot.StepSettings(h=0.01), m.rest_state(), 50)
    np.testing.assert_allclose(s.v[-1, 0], 1.0, rtol=1e-12)


def test_force_that_raises_comes_out():
    class Broken(ot.ForceCallback):
        def add_force(self, model, parameters, q, v, t):
            raise ZeroDivisionError("the wind")

    m = windy(Broken())
    x = m.rest_state()
    before = x.q.copy()
    with pytest.raises(ZeroDivisionError, match="the wind"):
        ot.step(m, m.default_parameters(), ot.StepSettings(), x)
    np.testing.assert_array_equal(x.q, before)
    with pytest.raises(ZeroDivisionError):
        ot.rollout(m, m.default_parameters(), ot.StepSettings(), x, 5)


def test_force_of_wrong_size_is_named():
    class Short(ot.ForceCallback):
        def add_force(self, model, parameters, q, v, t):
            return [1.0]

    with pytest.raises(ot.Error, match="add_force.*6 values"):
        m = windy(Short())
        ot.step(m, m.default_parameters(), ot.StepSettings(), m.rest_state())


def test_callback_that_raises_comes_out(cube):
    def broken(i, state, report):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ot.rollout(cube, cube.default_parameters(), ot.StepSettings(), cube.rest_state(), 5,
                   callback=broken)


def test_interrupt_stops_a_rollout(cube):
    threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ot.rollout(cube, cube.default_parameters(), ot.StepSettings(h=1e-5), cube.rest_state(),
                   100_000_000, every=1000_000)
    assert time.monotonic() - begin < 10


def test_other_threads_run_during_a_rollout(cube):
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    s = ot.rollout(cube_world(0), cube.default_parameters(), ot.StepSettings(h=1e-4),
                   cube_world(0).rest_state(), 3000)
    end = time.monotonic()
    stop.set()
    thread.join()
    inside = [t for t in ticks if begin < t < end]
    assert s.steps == 3000
    assert len(inside) > 3 or end - begin < 0.02


def test_tangents(cube):
    x = cube.rest_state()
    delta = np.array([0.1, 0.2, 0.3, 0.4, -0.2, 0.1])
    q = ot.boxplus(cube, x.q, delta)
    np.testing.assert_allclose(ot.boxminus(cube, q, x.q), delta, atol=1e-14)


def test_joints_and_motors():
    # a motor turns a planar rod at 2 rad/s
    b = ot.ModelBuilder()
    b.add_body("rod", motion=ot.Motion.Planar, shapes=[ot.Shape.rectangle(0.5, 0.05)])
    b.add_joint("hub", ot.JointKind.Pin, "rod",
                motor=ot.MotorSpec(ot.MotorKind.Velocity, velocity=2.0))
    m = b.build()
    s = ot.rollout(m, m.default_parameters(), ot.StepSettings(h=0.01), m.rest_state(), 50)
    np.testing.assert_allclose(s.of("rod", "omega")[-1], 2.0, rtol=1e-9)
    assert m.joint_names == ["hub"] and m.bilateral_count == 3


def test_plot(block):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    s = ot.rollout(block, block.default_parameters(), ot.StepSettings(), block.rest_state(), 5)
    axes = s.plot("block.vx", "energy")
    assert [line.get_label() for line in axes.lines] == ["block.vx [m/s]", "energy [J]"]
    with pytest.raises(KeyError, match="body.number"):
        s.plot("nonsense")
    with pytest.raises(KeyError, match="planar body has x, y, angle"):
        s.of("block", "vz")


def test_progress_appears_after_two_seconds(monkeypatch):
    from orthant import _simulate
    calls = []
    bar = _simulate._Progress(10)
    monkeypatch.setattr(_simulate.time, "monotonic", lambda: bar._begin + 3)
    bar(4)
    assert bar._bar is not None and bar._bar.n == 4
    bar.close(10)
    fresh = _simulate._Progress(10)
    monkeypatch.setattr(_simulate.time, "monotonic", lambda: fresh._begin + 1)
    fresh(4)
    assert fresh._bar is None and not calls


def test_show_fills_the_page(block, tmp_path):
    import base64
    import json
    import re

    s = ot.rollout(block, block.default_parameters(), ot.StepSettings(), block.rest_state(), 6, every=2)
    page = s.show("<!--<script></script>").save(tmp_path / "run.html").read_text()
    data = json.loads(re.search(r'id="orthant-run">(.*?)</script>', page, re.S)[1])
    assert data["format"] == "orthant-view" and data["frames"] == 4 and data["planar"]
    assert data["name"] == "<!--<script></script>"
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(4, 2, 7)
    np.testing.assert_allclose(poses[:, 1, 0], s.of("block", "x"), rtol=1e-6)
    assert data["bodies"][1]["shapes"][0]["half"] == [0.2, 0.1]
    assert data["bodies"][0]["shapes"][0]["type"] == "half_space"
    assert "srcdoc" in s.show()._repr_html_()


def test_show_knows_every_shape():
    from orthant._view import view_data

    b = ot.ModelBuilder()
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    shapes = [ot.Shape.sphere(0.1), ot.Shape.capsule(0.1, 0.2), ot.Shape.box(1, 2, 3),
              ot.Shape.ellipsoid(1, 2, 3), ot.Shape.torus(1, 0.2), ot.Shape.hull(points)]
    for i, shape in enumerate(shapes):
        b.add_body(f"b{i}", position=(10 * i, 0, 0), shapes=[shape])
    m = b.build()
    run = ot.rollout(m, m.default_parameters(), ot.StepSettings(), m.rest_state(), 1)
    types = [body["shapes"][0]["type"] for body in view_data(run, "x")["bodies"]]
    assert types == ["sphere", "capsule", "box", "ellipsoid", "torus", "hull"]


def test_rods_grow_and_divide():
    builder = ot.ModelBuilder()
    builder.set_law(ot.LawOfMotion.Overdamped)
    builder.set_gravity((0, 0, 0))
    builder.add_material("smooth", friction=0)
    for k, name in enumerate(("left", "right")):
        builder.add_body(name, motion=ot.Motion.Planar, position=(3.0 * k, 0, 0),
                         shapes=[ot.ShapeSpec(ot.Shape.stadium(0.25, 0.75), material="smooth")],
                         length=2.0)
    model = builder.build()
    parameters, state = model.default_parameters(), model.rest_state()
    ot.grow(model, ["left"], 2.0, parameters)
    model, parameters, state, born = builder.divide(model, parameters, state, ["left"], jitter=0.0)
    one, two = born["left"]
    assert set(born) == {"left"} and len(model.bodies) == 3
    place = {name: state.q[model.q_slice(name)] for name in ("right", one, two)}
    np.testing.assert_allclose(place[one], (-1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(place[two], (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(place["right"], (3, 0, 0), atol=1e-15)
    assert builder.build().bodies[0].name == "right"
    with pytest.raises(ot.Error, match="left"):
        builder.divide(model, parameters, state, ["left"])
