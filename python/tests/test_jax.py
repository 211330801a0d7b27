# SPDX-License-Identifier: Apache-2.0
"""The JAX layers under check_grads, jit and vmap. Skipped where jax is missing."""
from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402
from layers import CASES, FINE  # noqa: E402

import orthant as ot  # noqa: E402


@pytest.mark.parametrize("name", CASES)
def test_step_check_grads(name):
    model, v0, push = CASES[name]
    rest = jnp.asarray(model.rest_state().q)

    def f(q, v, u, mu):
        full = jnp.concatenate([rest[:3], q])
        q1, v1 = ot.jax.step(model, FINE, full, v, u, {"material/wood.friction": mu})
        return q1[3:], v1

    args = (rest[3:], jnp.asarray(v0), jnp.asarray([push]), jnp.asarray(0.45))
    if name == "redundant":
        check_grads(lambda *a: f(rest[3:], *a), args[1:], order=1, modes=["rev"], eps=1e-6,
                    atol=2e-5, rtol=1e-4)
    else:
        check_grads(f, args, order=1, modes=["rev"], eps=1e-6, atol=2e-5, rtol=1e-4)


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
