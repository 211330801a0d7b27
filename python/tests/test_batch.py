# SPDX-License-Identifier: Apache-2.0
"""Many worlds: the same numbers as one by one, for any number of threads."""
from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from conftest import block_world

import orthant as ot

S = ot.StepSettings(h=2e-3)


def test_parameters_by_name(block):
    mu = np.linspace(0.1, 0.9, 5)
    r = ot.rollout_batch(block, S, block.rest_state(), 50, parameters={"material/wood.friction": mu})
    assert r.q.shape == (5, 51, 6) and r.ok.all() and r.errors == [""] * 5
    vx = r.v[:, -1, 0]
    np.testing.assert_allclose(vx, 2 - mu * 9.81 * 0.1, atol=1e-9)
    for i, m in enumerate(mu):
        p = block.default_parameters()
        p["material/wood.friction"] = m
        one = ot.rollout(block, p, S, block.rest_state(), 50)
        np.testing.assert_array_equal(one.q, r.q[i])


def test_threads_do_not_change_bits(block, rng):
    u = rng.uniform(-20, 20, (8, 40, 1))
    runs = [ot.rollout_batch(block, S, block.rest_state(), 40, u=u, threads=n) for n in (1, 2, 3)]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.q, runs[0].q)
        np.testing.assert_array_equal(other.v, runs[0].v)
    assert ot.thread_count() == 1


@pytest.mark.parametrize("make", [
    lambda: ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")),
    lambda: ThreadPoolExecutor(3),
])
def test_an_executor_does_not_change_bits(block, rng, make):
    u = rng.uniform(-20, 20, (11, 20, 1))
    mu = np.linspace(0.1, 0.9, 11)
    p = {"material/wood.friction": mu, "body/block.mass": np.r_[np.ones(10), -1.0]}  # the last is refused
    here = ot.rollout_batch(block, S, block.rest_state(), 20, parameters=p, u=u, every=6)
    with make() as executor:
        there = ot.rollout_batch(block, S, block.rest_state(), 20, parameters=p, u=u, every=6,
                                 executor=executor)
        with pytest.raises(ot.Error, match="q: expected 6 columns"):
            ot.rollout_batch(block, S, (np.zeros((2, 5)), np.zeros((2, 3))), 5, executor=executor)
    for name in ("t", "q", "v", "outcome", "failed_steps", "residual", "deepest"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    assert there.errors == here.errors and "mass" in there.errors[-1]


def test_one_bad_world_does_not_stop_the_others(block):
    p = [block.default_parameters() for _ in range(3)]
    p[1].values[p[1].index("body/block.mass")] = np.nan
    r = ot.rollout_batch(block, S, block.rest_state(), 20, parameters=p, threads=2)
    assert r.ok.tolist() == [True, False, True]
    assert "body/block.mass" in r.errors[1] and r.errors[0] == ""
    np.testing.assert_array_equal(r.q[0], r.q[2])
    assert np.isfinite(r.q).all() and (r.q[1] == r.q[1, 0]).all()


def test_states_and_shapes(block):
    x = [block.rest_state() for _ in range(4)]
    for i, state in enumerate(x):
        state.v[0] = i
    r = ot.rollout_batch(block, S, x, 10, every=4)
    np.testing.assert_allclose(r.t, [0, 0.008, 0.016, 0.02])
    assert r.q.shape == (4, 4, 6)
    q, v = np.stack([s.q for s in x]), np.stack([s.v for s in x])
    np.testing.assert_array_equal(ot.rollout_batch(block, S, (q, v), 10, every=4).q, r.q)


@pytest.mark.parametrize("change, message", [
    (dict(u=np.zeros((3, 1))), "u: expected shape"),
    (dict(u=np.zeros((2, 5, 2))), "u: expected shape"),
    (dict(parameters={"body/blok.mass": 1.0}), "did you mean 'body/block.mass'"),
    (dict(parameters={"body/block.mass": np.ones((2, 2))}), "expected numbers or arrays"),
    (dict(parameters=np.ones((2, 3))), "parameters: expected"),
    (dict(states=(np.zeros((2, 5)), np.zeros((2, 3)))), "q: expected 6 columns"),
    (dict(states=(np.zeros((2, 6)), np.zeros((3, 3)))), "v: expected 2 rows"),
    (dict(states=[]), "at least one"),
    (dict(every=0), "every"),
    (dict(threads=-5), None),
])
def test_bad_input(block, change, message):
    arguments = dict(states=block.rest_state(), steps=5)
    arguments.update(change)
    states, steps = arguments.pop("states"), arguments.pop("steps")
    if message is None:
        ot.rollout_batch(block, S, states, steps, **arguments)
        return
    with pytest.raises(ot.Error, match=message):
        ot.rollout_batch(block, S, states, steps, **arguments)
