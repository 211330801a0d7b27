# SPDX-License-Identifier: Apache-2.0
"""Mixed and cone problems as layers: derivatives by every datum beside differences."""
from __future__ import annotations

import numpy as np
import pytest

import orthant as ot
from orthant._contact_layer import ContactLayer

LAWS = [ot.Law.coulomb(3, 0.4), ot.Law.orthant(1), ot.Law.coulomb(2, 0.3)]


def data(rng, batch=3):
    n, m, r = 6, 1, 6
    A = rng.standard_normal((batch, n, n))
    return {"H": A @ A.transpose(0, 2, 1) + n * np.eye(n), "k": 3 * rng.standard_normal((batch, n)),
            "D": rng.standard_normal((batch, r, n)), "b": rng.standard_normal((batch, r)),
            "C": rng.standard_normal((batch, m, n)), "e": 0.1 * rng.standard_normal((batch, m)),
            "F": np.tile(0.05 * np.eye(r), (batch, 1, 1)),
            "mu": np.tile([0.4, 0.0, 0.3], (batch, 1))}


def test_pull_back_against_differences(rng):
    layer = ContactLayer(LAWS)
    given = data(rng)
    answer = layer.solve(given)
    by = tuple(rng.standard_normal(x.shape) for x in answer)
    found = layer.pull_back(given, answer, by)

    def loss(change):
        return sum((a * x).sum(axis=1) for a, x in zip(by, layer.solve(change)))

    for name, x in given.items():
        d = rng.standard_normal(x.shape)
        if name == "H":  # stays symmetric
            d = d + d.transpose(0, 2, 1)
        if name == "mu":
            d[:, 1] = 0
        size = 1e-6
        slope = (loss({**given, name: x + size * d}) - loss({**given, name: x - size * d})) / (2 * size)
        mine = (found[name] * d).reshape(len(x), -1).sum(axis=1)
        np.testing.assert_allclose(mine, slope, rtol=2e-5, atol=2e-6, err_msg=name)


def test_push_forward_is_the_transpose(rng):
    given = data(rng, 1)
    problem = ContactLayer(LAWS).problems(given)[0]
    x, _ = ot.solve(problem, tolerance=1e-13)
    gradient = ot.SolutionGradient(problem, x)
    by = {"v": rng.standard_normal(6), "lambda_": rng.standard_normal(6)}
    change = {"k": rng.standard_normal(6), "b": rng.standard_normal(6), "mu": np.array([0.1, 0, -0.1]),
              "e": rng.standard_normal(1)}
    back = gradient.pull_back(**by)
    change["H_values"] = rng.standard_normal(back["H_values"].size)
    change["D_values"] = rng.standard_normal(back["D_values"].size)
    d = gradient.push_forward(**change)
    forward = d.v @ by["v"] + d.lambda_ @ by["lambda_"]
    assert forward == pytest.approx(sum(back[k] @ change[k] for k in change), rel=1e-8)
    with pytest.raises(ot.Error, match="k: expected 6"):
        gradient.push_forward(k=np.zeros(3))


def test_torch_layer(rng):
    torch = pytest.importorskip("torch")
    given = {k: torch.tensor(x, requires_grad=k not in ("F",)) for k, x in data(rng, 2).items()}

    def f(k, D, b, mu):
        return ot.torch.contact(given["H"].detach(), k, LAWS, D, b, C=given["C"].detach(),
                                e=given["e"].detach(), F=given["F"], mu=mu)

    mu = torch.tensor([0.4, 0.2, 0.3], dtype=torch.float64, requires_grad=True)  # broadcasts
    assert torch.autograd.gradcheck(f, (given["k"], given["D"], given["b"], mu), eps=1e-6,
                                    atol=1e-5, rtol=1e-4)
    v, gamma, lam, w = f(given["k"], given["D"], given["b"], mu)
    assert v.shape == (2, 6) and gamma.shape == (2, 1) and lam.shape == w.shape == (2, 6)
    with pytest.raises(ot.Error, match="D: expected"):
        ot.torch.contact(given["H"], given["k"], LAWS, given["D"][:, :3], given["b"])


def test_jax_layer(rng):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    given = data(rng, 2)
    more = {name: given[name] for name in ("C", "e", "F", "mu")}

    def loss(k, D):
        v, _, lam, _ = ot.jax.contact(given["H"], k, LAWS, D, given["b"], **more)
        return (v**2).sum() + (lam**3).sum()

    layer = ContactLayer(LAWS)
    v, gamma, lam, w = layer.solve(given)
    found = layer.pull_back(given, (v, gamma, lam, w), (2 * v, 0 * gamma, 3 * lam**2, 0 * w))
    by_k, by_D = jax.jit(jax.grad(loss, argnums=(0, 1)))(given["k"], given["D"])
    np.testing.assert_allclose(by_k, found["k"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_D, found["D"], rtol=1e-9, atol=1e-12)


def test_failures(rng):
    layer = ContactLayer([ot.Law.orthant(1), ot.Law.orthant(1)])
    bad = {"H": np.ones((1, 1, 1)), "k": np.zeros((1, 1)), "D": np.array([[[1.0], [-1.0]]]),
           "b": -np.ones((1, 2))}  # v >= 1 and v <= -1
    with pytest.raises(ot.Error, match="problem 0 was not solved"):
        layer.solve(bad)
    layer.nan_where_failed = True
    assert np.isnan(layer.solve(bad)[0]).all()
