# SPDX-License-Identifier: Apache-2.0
"""The JAX layers under check_grads, jit and vmap. Skipped where jax is missing."""
from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402
from layers import CASES, CUBES, EVENTS, FINE, IMPACTS  # noqa: E402

import orthant as ot  # noqa: E402


def step_of(model, v0, push, mu=0.45, *, settings=FINE, by_q=True):
    """(v, u, mu[, q]) => (q, v) after a step, and where to take the derivative."""
    rest = jnp.asarray(model.rest_state().q)
    fixed = model.bodies[0].q_size  # the floor's pose is not differentiated

    def f(v, u, mu, q=rest[fixed:]):
        full = jnp.concatenate([rest[:fixed], q])
        q1, v1 = ot.jax.step(model, settings, full, v, u, {"material/wood.friction": mu})
        return q1[fixed:], v1

    args = (jnp.asarray(v0), jnp.asarray([push]), jnp.asarray(mu))
    return f, (*args, rest[fixed:]) if by_q else args


def step_case(name):
    # heights of single bodies contradict redundant contacts: no derivative by q
    return step_of(*CASES[name], by_q=name != "redundant")


def check(f, args):
    check_grads(f, args, order=1, modes=["rev"], eps=1e-6, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_step_check_grads(name):
    f, args = step_case(name)
    check(f, args)
    check(jax.jit(f), args)


@pytest.mark.parametrize("name", CUBES)
def test_redundant_contacts_in_space(name):
    f, (v, *rest) = step_of(*CUBES[name], by_q=False)
    check(jax.jit(lambda vxy, *a: f(jnp.concatenate([vxy, v[2:]]), *a)), (v[:2], *rest))


@pytest.mark.parametrize("name", IMPACTS)
def test_located_impact_check_grads(name):
    check(*step_of(*IMPACTS[name], 0.2, settings=EVENTS))


@pytest.mark.parametrize("name", ["stick", "slide", "impact", "redundant"])
def test_step_under_jit_and_vmap(name):
    f, (v, *rest) = step_case(name)
    shift = jnp.linspace(0.0, 1e-3, 3)[:, None]

    def loss(dv):
        q1, v1 = f(v + dv, *rest)
        return (q1 ** 2).sum() + v1 @ jnp.arange(1.0, v1.size + 1)

    both = jax.jit(jax.vmap(jax.value_and_grad(loss)))(shift * jnp.ones_like(v))
    for i in range(3):
        one = jax.value_and_grad(loss)(shift[i] * jnp.ones_like(v))
        np.testing.assert_allclose(both[0][i], one[0], rtol=1e-12)
        np.testing.assert_allclose(both[1][i], one[1], rtol=1e-12, atol=1e-14)
    check(jax.jit(jax.vmap(lambda dv: f(v + dv, *rest))), (shift * jnp.ones_like(v),))


def test_rollout_jit_grad():
    model, v0, push = CASES["slide"]
    q, u = jnp.asarray(model.rest_state().q), jnp.full((6, 1), push)

    @jax.jit
    def loss(v, mu):
        _, vs = ot.jax.rollout(model, FINE, q, v, u, {"material/wood.friction": mu})
        return vs[-1, 0]

    by_v, by_mu = jax.jit(jax.grad(loss, argnums=(0, 1)))(jnp.asarray(v0), 0.45)
    np.testing.assert_allclose(by_v[0], 1.0, rtol=1e-8)
    np.testing.assert_allclose(by_mu, -9.81 * 0.06, rtol=1e-8)
    end = ot.rollout_batch(model, FINE, model.rest_state(), 6, u=np.full((6, 1), push),
                           parameters={"material/wood.friction": 0.45})
    np.testing.assert_allclose(loss(jnp.asarray(v0), 0.45), end.v[0, -1, 0], atol=1e-12)


def test_vmap_agrees_with_a_loop():
    model, v0, _ = CASES["slide"]
    q, v = jnp.asarray(model.rest_state().q), jnp.asarray(v0)

    def loss(mu, v):
        return ot.jax.rollout(model, FINE, q, v, steps=4,
                              parameters={"material/wood.friction": mu})[0][-1, 3]

    mus = jnp.linspace(0.1, 0.7, 5)
    both = jax.vmap(jax.value_and_grad(loss), in_axes=(0, None))(mus, v)
    for i, mu in enumerate(mus):
        value, grad = jax.value_and_grad(loss)(mu, v)
        np.testing.assert_allclose(both[0][i], value, rtol=1e-12)
        np.testing.assert_allclose(both[1][i], grad, rtol=1e-12)
    jitted = jax.jit(jax.vmap(jax.grad(loss), in_axes=(0, None)))(mus, v)
    np.testing.assert_allclose(jitted, both[1], rtol=1e-12)


@pytest.mark.parametrize("equations", [0, 2])
def test_lcp(rng, equations):
    A = rng.standard_normal((3, 5, 5))
    M, q = jnp.asarray(A @ A.transpose(0, 2, 1) + np.eye(5)), jnp.asarray(rng.standard_normal(5))

    def f(M, q):
        return ot.jax.lcp(M, q, equations=equations)

    check_grads(f, (M, q), order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-5)
    z = jax.jit(jax.vmap(f, in_axes=(0, None)))(M, q)
    np.testing.assert_allclose(z, f(M, q), atol=1e-12)


def test_failures():
    model, v0, _ = CASES["slide"]
    q, v = jnp.asarray(model.rest_state().q), jnp.asarray(v0)
    with pytest.raises(ot.Error, match="steps"):
        ot.jax.rollout(model, FINE, q, v)
    with pytest.raises(ot.Error, match="expected q"):
        ot.jax.step(model, FINE, q[:3], v)
    with pytest.raises(KeyError):
        ot.jax.step(model, FINE, q, v, parameters={"nonsense": 1.0})
    with pytest.raises(Exception, match="not solved"):  # JAX wraps what a callback raises
        ot.jax.lcp(jnp.asarray([[-1.0]]), jnp.asarray([-1.0])).block_until_ready()
