# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environments: its own checker, vectors, seeds, gradients beside them."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import orthant as ot  # noqa: E402

NAMES = ["CartPole", "PlanarPush", "Ant", "Stand"]


def make(name, **options):
    assert ot.gym.task(name)  # the import registers
    return gymnasium.make(f"orthant/{name}-v0", **options)


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_passes(name):
    env = make(name).unwrapped
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*infinity.*")  # as in Gymnasium's own worlds
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_is_many_single_ones(name):
    many = gymnasium.make_vec(f"orthant/{name}-v0", num_envs=3, vectorization_mode="vector_entry_point")
    first, _ = many.reset(seed=4)
    singles = [make(name).unwrapped for _ in range(3)]
    for i, env in enumerate(singles):
        env.reset(seed=4 + i)
        env.state = ot.State(many.unwrapped.q[i], many.unwrapped.v[i])
    assert first.shape == many.observation_space.shape
    rng = np.random.default_rng(0)
    for _ in range(3):
        actions = rng.uniform(-1, 1, many.action_space.shape).astype(np.float32)
        seen, reward, over, late, _ = many.step(actions)
        for i, env in enumerate(singles):
            o, r, done, _, _ = env.step(actions[i])
            # warm starts are another: the same motion to the tolerance of the solver
            np.testing.assert_allclose(o, seen[i], atol=1e-4)
            assert r == pytest.approx(reward[i], abs=1e-4) and done == over[i]
    again, _ = many.reset(seed=4)
    np.testing.assert_array_equal(first, again)


def test_worlds_begin_anew_and_threads_do_not_matter():
    runs = []
    for threads in (1, 2):
        many = ot.gym.VectorEnvironment("CartPole", 4, threads=threads)
        many.reset(seed=0)
        ends, out = 0, []
        for _ in range(120):
            seen, reward, over, late, _ = many.step(np.ones((4, 1)))
            ends += int(over.sum())
            out.append(seen)
        assert ends >= 4 and abs(seen[:, 0]).max() < 2.6
        runs.append(np.array(out))
    np.testing.assert_array_equal(*runs)


def test_legs_carry_their_torso():
    for name in ("Ant", "Stand"):
        env = ot.gym.Environment(name)
        env.reset(seed=3)
        env.state.v[:] = 0
        for _ in range(40):
            seen, _, over, _, info = env.step(np.zeros(8))
        assert not over and seen[0] > 0.8 * env.task.height, name


def test_errors():
    with pytest.raises(ot.Error, match="task: expected one of"):
        ot.gym.task("Walker")
    with pytest.raises(ot.Error, match="num_envs"):
        ot.gym.VectorEnvironment("Ant", 0)


def test_gradients_beside_the_environment():
    torch = pytest.importorskip("torch")
    task = ot.gym.task("CartPole")
    x = task.start(np.random.default_rng(1))
    action = torch.tensor([[0.1]] * 5, dtype=torch.float64, requires_grad=True)
    q, v = ot.torch.rollout(task.model, task.settings, torch.tensor(x.q), torch.tensor(x.v),
                            action * torch.tensor(task.strength))
    task.reward(q[1:], v[1:], action).sum().backward()
    assert torch.isfinite(action.grad).all() and action.grad.abs().max() > 0
