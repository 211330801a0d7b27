# SPDX-License-Identifier: Apache-2.0
"""Gradients of steps and rollouts against central differences of the forward."""
from __future__ import annotations

import pickle

import numpy as np
import pytest
from conftest import block_world, cube_world
from layers import CASES, CUBES, EVENTS, IMPACTS
from layers import FINE as FINE_STEP

import orthant as ot

FINE = ot.SolveSettings(tolerance=1e-13)
S = ot.StepSettings(h=0.01, solver=FINE)


def differences(f, x, eps=1e-6):
    g = np.zeros(x.size)
    for i in range(x.size):
        a, b = x.copy(), x.copy()
        a[i] += eps
        b[i] -= eps
        g[i] = (f(a) - f(b)) / (2 * eps)
    return g


def test_sliding_block_by_hand(block):
    # x(T) for a block that slides all the time: dv/dmu = -g T, dx/dmu = -g h^2 N(N+1)/2
    n, h = 10, 0.01
    tape = ot.record_rollout(block, block.default_parameters(), S, block.rest_state(), n)
    by_q, by_v = np.zeros(6), np.zeros(3)
    by_v[0] = 1
    g = tape.pull_back(by_v=by_v)
    assert g.certificate.exact and g.certificate.floating == 0 and g.certificate.margin > 0
    np.testing.assert_allclose(g["material/wood.friction"], -9.81 * n * h, rtol=1e-8)
    np.testing.assert_allclose(g["body/block.mass"], 0, atol=1e-9)
    by_q[3] = 1
    g = tape.pull_back(by_q)
    np.testing.assert_allclose(g["material/wood.friction"], -9.81 * h**2 * n * (n + 1) / 2, rtol=1e-8)
    np.testing.assert_allclose(g.v[0], n * h, rtol=1e-8)
    np.testing.assert_allclose(g.q[3], 1, rtol=1e-8)
    np.testing.assert_allclose(g.u[:, 0], h**2 * (n - np.arange(n)) / 2.0, rtol=1e-8)


def test_unknown_parameter(block):
    g = ot.record_rollout(block, block.default_parameters(), S, block.rest_state(), 1).pull_back()
    with pytest.raises(KeyError, match="did you mean"):
        g["body/blok.mass"]


@pytest.mark.parametrize("store", [True, False])
def test_spatial_rollout_against_differences(store, rng):
    """A cube thrown onto the floor with spin, until it slides on all four corners."""
    m = cube_world(0.03)
    p, n = m.default_parameters(), 6
    x = m.rest_state()
    x.q[m.q_slice("cube")][3:] = [0.995, 0.06, 0.05, 0.06]
    x.q[10:14] /= np.linalg.norm(x.q[10:14])
    x.v[:] = [1.0, 0.3, -1.5, 0.3, -0.2, 0.4]
    wq, wv = rng.standard_normal(14), rng.standard_normal(6)

    def loss(q, v, values=None):
        q = q.copy()
        q[10:14] /= np.linalg.norm(q[10:14])
        p2 = p.copy()
        if values is not None:
            p2.values = values
        end = ot.rollout(m, p2, S, ot.State(q, v), n)
        return end.q[-1] @ wq + end.v[-1] @ wv

    tape = ot.record_rollout(m, p, S, x, n, store_records=store)
    np.testing.assert_array_equal(tape.q[-1], ot.rollout(m, p, S, x, n).q[-1])
    g = tape.pull_back(wq, wv)
    # Four sliding corners leave the motion open; the gradient is that of the answer found.
    assert "step 5" in g.certificate.reason and "answer found" in g.certificate.reason
    np.testing.assert_allclose(g.v, differences(lambda v: loss(x.q, v), x.v), rtol=2e-5, atol=2e-5)
    by_q = differences(lambda q: loss(np.r_[x.q[:7], q], x.v), x.q[7:])
    np.testing.assert_allclose(g.q[7:], by_q, rtol=2e-5, atol=2e-5)
    for name in ("shape/cube.half_x", "force/gravity.z"):
        i = p.index(name)
        near = differences(lambda y: loss(x.q, x.v, np.r_[p.values[:i], y, p.values[i + 1:]]),
                           p.values[i:i + 1])
        np.testing.assert_allclose(g[name], near[0], rtol=2e-4, atol=2e-5)


def test_frames_in_between(block, rng):
    n = 5
    tape = ot.record_rollout(block, block.default_parameters(), S, block.rest_state(), n,
                             u=np.full((n, 1), 3.0))
    w = rng.standard_normal((n + 1, 3))
    g = tape.pull_back(by_v=w)
    x = block.rest_state()
    near = differences(
        lambda v: float(np.sum(w * ot.rollout(block, block.default_parameters(), S,
                                              ot.State(x.q, v), n, u=np.full((n, 1), 3.0)).v)), x.v)
    np.testing.assert_allclose(g.v, near, rtol=1e-5, atol=1e-6)


def test_forward_and_reverse_agree(block):
    tape = ot.record_rollout(block, block.default_parameters(), S, block.rest_state(), 6)
    dq, dv = tape.push_forward(parameters={"material/wood.friction": 1.0})
    assert dq.shape == tape.q.shape
    np.testing.assert_allclose(dv[:, 0], -9.81 * S.h * np.arange(7), atol=1e-9)
    by_q = np.zeros(6)
    by_q[3] = 1
    np.testing.assert_allclose(tape.pull_back(by_q)["material/wood.friction"], dq[-1, 3], rtol=1e-9)
    dq, _ = tape.push_forward(v=[1, 0, 0], u=np.ones((6, 1)))
    g = tape.pull_back(by_q)
    np.testing.assert_allclose(dq[-1, 3], g.v[0] + g.u.sum(), rtol=1e-9)


SOFT = """orthant: 1
bodies: [{name: floor, motion: fixed, shapes: {type: half_space}},
         {name: ball, position: [1, 0, 0.12], rotation: [0.1, 0.2, 0.3], velocity: [0.2, 0, -1],
          angular_velocity: [1, 2, 3], shapes: {type: sphere, radius: 0.1}}]
flexible: {type: box, name: soft, size: [0.2, 0.1, 0.1], cells: [2, 1, 1], young: 2e4, position: [0, 0, 0.003],
           velocity: [0.1, 0, -0.5], fixed: {lower: [0.2, 0, 0]}}
step: {h: 0.005, solver: {tolerance: 1e-13}}
"""


def test_both_products_speak_the_numbers_of_q(rng):
    # Bodies in space, fixed ones, nodes that move and nodes that do not.
    scene = ot.parse_scene(SOFT)
    tape = ot.record_rollout(scene.model, scene.parameters, scene.settings, scene.state, 4)
    by_q, by_v = rng.standard_normal(tape.q.shape), rng.standard_normal(tape.v.shape)
    g = tape.pull_back(by_q, by_v)
    q, v = rng.standard_normal(tape.q.shape[1]), rng.standard_normal(tape.v.shape[1])
    dq, dv = tape.push_forward(q=q, v=v)
    assert dq.shape == tape.q.shape and dv.shape == tape.v.shape
    np.testing.assert_allclose(g.q @ q + g.v @ v, np.sum(by_q * dq) + np.sum(by_v * dv), rtol=1e-8)


def test_nodes_of_flexible_parts(rng):
    scene = ot.parse_scene(SOFT.replace("[0, 0, 0.003]", "[0, 0, 0.05]"))  # in the air
    n, model, start = 3, scene.model, scene.state
    tape = ot.record_rollout(model, scene.parameters, scene.settings, start, n)
    w = np.zeros(tape.q.shape[1])
    part = model.flexible_parts[0]
    nodes = slice(part.q_begin, part.q_begin + 3 * part.node_count)
    w[nodes] = rng.standard_normal(3 * part.node_count)
    g = tape.pull_back(by_q=w)
    run = lambda q: float(w @ ot.rollout(model, scene.parameters, scene.settings,  # noqa: E731
                                         ot.State(q, start.v), n).q[-1])
    free = [i for i in range(nodes.start, nodes.stop)
            if start.q[i - (i - nodes.start) % 3] < 0.19]  # the nodes at x = 0.2 are fixed
    for i in rng.choice(free, 6, replace=False):
        a, b = start.q.copy(), start.q.copy()
        a[i] += 1e-6
        b[i] -= 1e-6
        np.testing.assert_allclose(g.q[i], (run(a) - run(b)) / 2e-6, rtol=1e-5, atol=1e-6)
    assert np.abs(g.q[nodes]).max() > 0.1


def test_numbers_out_of_range_are_refused_where_they_are_used(block):
    for name, value in [("body/block.mass", -1.0), ("material/wood.friction", -0.1),
                        ("material/wood.friction", 1e8), ("material/wood.restitution", 1.5),
                        ("shape/block.half_x", 0.0)]:
        p = block.default_parameters()
        p[name] = value
        with pytest.raises(ot.Error):
            ot.rollout(block, p, S, block.rest_state(), 2)


def test_step_gradient(block):
    record, x = ot.StepRecord(), block.rest_state()
    p = block.default_parameters()
    ot.step(block, p, S, x, u=[1.0], record=record)
    g = ot.StepGradient(block, p, S, record)
    A, B = g.jacobian()
    assert A.shape == (6, 6) and B.shape == (6, 1)
    np.testing.assert_allclose(B[3, 0], S.h / 2, rtol=1e-9)  # h / m
    back = g.pull_back(v=[1, 0, 0])
    np.testing.assert_allclose(back["v"], A[3, 3:], atol=1e-12)
    dq, dv = g.push_forward(u=[1.0])
    np.testing.assert_allclose(np.r_[dq, dv], B[:, 0], atol=1e-12)
    assert g.certificate.converged and g.certificate.exact
    del record, x, p
    np.testing.assert_allclose(g.jacobian()[0], A)
    with pytest.raises(ot.Error):
        ot.StepGradient(block, block.default_parameters(), S, ot.StepRecord())


def test_batch_gradient(block):
    mu = np.array([0.2, 0.4, np.nan, 0.6])
    tape = ot.record_rollout_batch(block, S, block.rest_state(), 8, threads=2,
                                   parameters={"material/wood.friction": mu})
    by_v = np.zeros((4, 3))
    by_v[:, 0] = 1
    g = tape.pull_back(by_v=by_v)
    good = np.array([0, 1, 3])
    np.testing.assert_allclose(g["material/wood.friction"][good], -9.81 * 0.08, rtol=1e-8)
    assert np.isnan(g.v[2]).all() and "friction" in g.errors[2] and g.errors[0] == ""
    one = ot.record_rollout_batch(block, S, block.rest_state(), 8, threads=1,
                                  parameters={"material/wood.friction": mu}).pull_back(by_v=by_v)
    np.testing.assert_array_equal(one.parameters[good], g.parameters[good])


def test_bad_input(block):
    p, x = block.default_parameters(), block.rest_state()
    tape = ot.record_rollout(block, p, S, x, 3)
    with pytest.raises(ot.Error, match=r"by_q: expected shape \(4, 6\)"):
        tape.pull_back(np.zeros(5))
    with pytest.raises(ot.Error, match="finite"):
        tape.pull_back(np.full(6, np.nan))
    with pytest.raises(ot.Error, match="u: expected shape"):
        ot.record_rollout(block, p, S, x, 3, u=np.zeros((2, 1)))
    with pytest.raises(ot.Error, match="steps"):
        ot.record_rollout(block, p, S, x, 0)
    x.q[4] = np.nan
    with pytest.raises(ot.Error, match="finite"):
        ot.record_rollout(block, p, S, x, 3)


def test_smoothed_gradient_sees_what_is_about_to_slide():
    """A block held by friction: exactly, a push does not move it; smoothed, a little."""
    m = block_world(velocity=(0.0, 0.0))
    p, x, record = m.default_parameters(), m.rest_state(), ot.StepRecord()
    ot.step(m, p, S, x, u=[9.0], record=record)  # it holds up to 9.81 N
    slopes = {}
    for kappa in (0.0, 1e-6, 1e-3):
        how = ot.SolutionGradientSettings()
        if kappa > 0:
            how = ot.SolutionGradientSettings(mode=ot.GradientMode.Smoothed, kappa=kappa)
        g = ot.StepGradient(m, p, S, record, ot.StepGradientSettings(solution=how))
        slopes[kappa] = float(g.pull_back(v=[1, 0, 0])["u"][0])
    assert abs(slopes[0.0]) < 1e-9
    assert 1e-9 < slopes[1e-6] < slopes[1e-3] <= S.h / 2 + 1e-9


STILL, MOVING = {ot.ContactState.Stick, ot.ContactState.Floating}, {ot.ContactState.Slide}


@pytest.mark.parametrize("name, states, count", [
    ("stick", STILL, 2), ("slide", MOVING, 2), ("impact", STILL, 2), ("flight", set(), 0),
    ("redundant", {ot.ContactState.Stick, ot.ContactState.Slide}, 5), ("cube sticks", STILL, 4),
    ("cube slides", MOVING, 4)])
def test_cases_of_the_layers_are_what_they_say(name, states, count):
    """Where impulses are not unique (two feet that stick) one of them may lie on a border."""
    model, v, push = {**CASES, **CUBES}[name]
    x, record, p = model.rest_state(), ot.StepRecord(), model.default_parameters()
    x.v = v
    ot.step(model, p, FINE_STEP, x, u=[push], record=record)
    certificate = ot.StepGradient(model, p, FINE_STEP, record).certificate
    touching = [c.state for c in certificate.contacts if c.state != ot.ContactState.Separate]
    assert len(touching) == count and set(touching) <= states and certificate.exact
    if "stick" in name:
        assert abs(x.v[0]) < 1e-12
    if name == "impact":
        assert x.v[1] == pytest.approx(0.5)  # thrown back with half of 1 m/s


@pytest.mark.parametrize("name, state", [("rolls off", ot.ContactState.Stick),
                                         ("slides off", ot.ContactState.Slide)])
def test_located_impact_is_certified(name, state):
    model, v, push = IMPACTS[name]
    x, record, p = model.rest_state(), ot.StepRecord(), model.default_parameters()
    x.v = v
    report = ot.step(model, p, EVENTS, x, u=[push], record=record)
    certificate = ot.StepGradient(model, p, EVENTS, record).certificate
    assert report.events == 1 == certificate.impacts and certificate.floating == 0
    assert [c.state for c in certificate.contacts if c.impact] == [state]
    assert pickle.loads(pickle.dumps(certificate)).contacts == certificate.contacts
