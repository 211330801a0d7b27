# SPDX-License-Identifier: Apache-2.0
"""The PyTorch layers under gradcheck. Skipped where torch is missing."""
from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from layers import CASES, CUBES, EVENTS, FINE, IMPACTS  # noqa: E402

import orthant as ot  # noqa: E402

F64 = torch.float64


def tensor(x, grad=True):
    return torch.tensor(np.asarray(x), dtype=F64, requires_grad=grad)


def rest_q(model):
    """q with the floor constant: the pose of a fixed body is not differentiated."""
    floor = torch.tensor(model.rest_state().q[:3])
    return floor, tensor(model.rest_state().q[3:])


@pytest.mark.parametrize("name", CASES)
def test_step_gradcheck(name):
    model, v0, push = CASES[name]
    floor, q = rest_q(model)
    mu = tensor(0.45)

    def f(q, v, u, mu):
        full = torch.cat([floor, q])
        q1, v1 = ot.torch.step(model, FINE, full, v, u, {"material/wood.friction": mu})
        return q1[3:], v1

    args = (q, tensor(v0), tensor([push]), mu)
    if name == "redundant":  # heights of single bodies contradict redundant contacts: no derivative
        args = (q.detach(), *args[1:])
    assert torch.autograd.gradcheck(f, args, eps=1e-6, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", CUBES)
def test_redundant_contacts_in_space(name):
    model, v0, push = CUBES[name]
    q = torch.tensor(model.rest_state().q)

    def f(vxy, u, mu, mass):
        return ot.torch.step(model, FINE, q, torch.cat([vxy, vxy.new_zeros(4)]), u,
                             {"material/wood.friction": mu, "body/cube.mass": mass})

    args = (tensor(v0[:2]), tensor([push]), tensor(0.45), tensor(1.7))
    assert torch.autograd.gradcheck(f, args, eps=1e-6, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", IMPACTS)
def test_located_impact_gradcheck(name):
    model, v0, push = IMPACTS[name]
    floor, q = rest_q(model)

    def f(q, v, u, mu, bounce):
        return ot.torch.step(model, EVENTS, torch.cat([floor, q]), v, u,
                             {"material/wood.friction": mu, "material/wood.restitution": bounce})

    args = (q, tensor(v0), tensor([push]), tensor(0.2), tensor(0.5))
    assert torch.autograd.gradcheck(f, args, eps=1e-6, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["stick", "slide", "impact", "redundant"])
def test_rollout_gradcheck(name):
    model, v0, push = CASES[name]
    floor, q = rest_q(model)

    def f(v, u, mu, mass):
        body = "block" if name != "redundant" else "plank"
        return ot.torch.rollout(model, FINE, torch.cat([floor, q.detach()]), v, u,
                                {"material/wood.friction": mu, f"body/{body}.mass": mass})

    args = (tensor(v0), tensor(np.full((4, 1), push)), tensor(0.45), tensor(1.7))
    assert torch.autograd.gradcheck(f, args, eps=1e-6, atol=2e-5, rtol=1e-4)


def test_batch_broadcasts():
    model = CASES["slide"][0]
    q, v = tensor(model.rest_state().q), tensor(model.rest_state().v)
    mu = tensor(np.linspace(0.2, 0.6, 3))
    u = tensor(np.zeros((2, 1, 5, 1)))
    qs, vs = ot.torch.rollout(model, FINE, q, v, u, {"material/wood.friction": mu})
    assert qs.shape == (2, 3, 6, 6) and vs.shape == (2, 3, 6, 3)
    vs[..., -1, 0].sum().backward()
    np.testing.assert_allclose(mu.grad, np.full(3, -2 * 9.81 * 0.05), rtol=1e-7)
    np.testing.assert_allclose(v.grad[0], 6.0, rtol=1e-7)
    assert u.grad.shape == (2, 1, 5, 1)


def test_single_precision_and_no_grad():
    model = CASES["slide"][0]
    q = torch.tensor(model.rest_state().q, dtype=torch.float32)
    v = torch.tensor(model.rest_state().v, dtype=torch.float32, requires_grad=True)
    q1, v1 = ot.torch.step(model, FINE, q, v)
    assert v1.dtype == torch.float32
    v1.sum().backward()
    assert v.grad.dtype == torch.float32
    with torch.no_grad():
        assert not ot.torch.step(model, FINE, q, v)[0].requires_grad


def test_quaternions_are_normalised():
    b = ot.ModelBuilder()
    b.add_body("top", shapes=[ot.Shape.box(0.1, 0.2, 0.3)], angular_velocity=(1.0, 2.0, 3.0))
    model = b.build()
    x = model.rest_state()
    q = x.q.copy()
    q[3:] = [0.8, 0.3, -0.4, 0.5]

    def f(q, v):
        return ot.torch.rollout(model, FINE, q, v, steps=3)

    assert torch.autograd.gradcheck(f, (tensor(q), tensor(x.v)), eps=1e-6, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("equations", [0, 2])
def test_lcp_gradcheck(rng, equations):
    A = rng.standard_normal((3, 5, 5))
    M = tensor(A @ A.transpose(0, 2, 1) + np.eye(5))
    q = tensor(rng.standard_normal(5))
    assert torch.autograd.gradcheck(lambda M, q: ot.torch.lcp(M, q, equations=equations), (M, q),
                                    eps=1e-6, atol=1e-6)


def test_failures():
    model = CASES["slide"][0]
    q, v = tensor(model.rest_state().q), tensor(model.rest_state().v)
    with pytest.raises(KeyError, match="did you mean"):
        ot.torch.step(model, FINE, q, v, parameters={"body/blok.mass": tensor(1.0)})
    with pytest.raises(ot.Error, match="q: expected"):
        ot.torch.step(model, FINE, q[:4], v)
    with pytest.raises(ot.Error, match="steps"):
        ot.torch.rollout(model, FINE, q, v)
    with pytest.raises(TypeError, match="q: expected a floating-point tensor"):
        ot.torch.step(model, FINE, torch.zeros(6, dtype=torch.int64), v)
    with pytest.raises(ot.Error, match="finite"):
        ot.torch.step(model, FINE, q * float("nan"), v)
    with pytest.raises(ot.Error, match="not solved"):
        ot.torch.lcp(tensor([[-1.0]]), tensor([-1.0]))
    z = ot.torch.lcp(tensor([[[-1.0]], [[1.0]]]), tensor([-1.0]), failure="nan")
    assert torch.isnan(z[0]).all() and z[1] == 1
    mu = tensor([0.3, float("nan")])
    _, vs = ot.torch.rollout(model, FINE, q, v, steps=2, failure="nan",
                             parameters={"material/wood.friction": mu})
    vs[:, -1, 0].sum().backward()
    assert torch.isfinite(mu.grad[0]) and torch.isnan(mu.grad[1])


def test_double_backward_is_refused():
    model = CASES["slide"][0]
    q, v = tensor(model.rest_state().q), tensor(model.rest_state().v)
    (g,) = torch.autograd.grad(ot.torch.step(model, FINE, q, v)[1].pow(2).sum(), v, create_graph=True)
    with pytest.raises(ot.Error, match="second derivatives"):
        g.sum().backward()
    # A linear loss beside another term: PyTorch would take the layer's part for constant.
    (g,) = torch.autograd.grad(ot.torch.step(model, FINE, q, v)[1].sum(), v, create_graph=True)
    with pytest.raises(ot.Error, match="second derivatives"):
        (g.sum() + v.pow(2).sum()).backward()
    M, a = tensor([[2.0]]), tensor([-1.0])
    (g,) = torch.autograd.grad(ot.torch.lcp(M, a).sum(), a, create_graph=True)
    with pytest.raises(ot.Error, match="second derivatives"):
        (g.sum() + a.pow(2).sum()).backward()
