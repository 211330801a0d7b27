# SPDX-License-Identifier: Apache-2.0
"""Batch: many worlds at once, against step() and record_rollout(); bad input; no device."""
import math

import numpy as np
import pytest

import orthant as ot


def walker():
    """A torso with one leg on a floor: two bodies, a hinge with limits and a motor."""
    b = ot.ModelBuilder()
    b.add_material("ground", friction=0.8)
    b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="ground", group=2)])
    b.add_body("torso", position=(0, 0, 0.5), shapes=[ot.ShapeSpec(ot.Shape.sphere(0.2), material="ground", mask=2)])
    b.add_body("leg", position=(0.35, 0, 0.5),
               shapes=[ot.ShapeSpec(ot.Shape.capsule(0.05, 0.2), material="ground", mask=2)])
    b.add_joint("hip", ot.JointKind.Revolute, "leg", "torso", anchor=(0.15, 0, 0.5), axis=(0, 1, 0), lower=-0.8,
                upper=0.8, damping=0.1)
    b.add_joint_actuator("hip", "hip", gear=20.0)
    return b.build()


def settings():
    return ot.StepSettings(h=0.01, stabilisation=ot.Stabilisation.Baumgarte, solver=ot.SolveSettings(tolerance=1e-11))


def starts(model, n):
    rng = np.random.default_rng(1)
    x = model.rest_state()
    return np.tile(x.q, (n, 1)), 0.5 * rng.standard_normal((n, len(x.v))), rng.uniform(-1, 1, (30, n, 1))


def test_steps_and_gradients_are_those_of_the_rollout():
    model, n, steps = walker(), 3, 30
    q, v, u = starts(model, n)
    batch = ot.Batch(model, n, settings())
    batch.set_state(q, v)
    tape = batch.rollout(steps, u)
    assert (tape.outcome == 0).all() and tape.residual.max() <= 1e-11
    rng = np.random.default_rng(2)
    by_q, by_v = rng.standard_normal((2, n, v.shape[1]))
    gradient = batch.pull_back(tape, by_q, by_v)
    by_speed, compared = batch.pull_back(tape, by_v=by_v, parameters=False), 0
    for i in range(n):
        x = model.rest_state()
        x.q[:], x.v[:] = q[i], v[i]
        reference = ot.record_rollout(model, model.default_parameters(), settings(), x, steps, u=u[:, i])
        np.testing.assert_allclose(tape.q[-1, i], reference.q[-1], atol=1e-8)
        expected = reference.pull_back(by_v=by_v[i])
        if not expected.certificate.exact or expected.certificate.floating:
            continue
        compared += 1
        scale = 1 + np.abs(expected.v).max()
        np.testing.assert_allclose(by_speed.v[i], expected.v, atol=1e-7 * scale)
        np.testing.assert_allclose(by_speed.u[:, i], expected.u, atol=1e-7 * scale)
    assert compared > 0 and gradient.solve_error.max() < 1e-8
    # Differences along a direction of the controls.
    e, d = 1e-6, rng.standard_normal(u.shape)
    losses = []
    for sign in (1, -1):
        batch.set_state(q, v)
        end = batch.rollout(steps, u + sign * e * d)
        losses.append((end.v[-1] * by_v).sum(1) + _tangent(tape.q[-1], end.q[-1], by_q))
    slope = (losses[0] - losses[1]) / (2 * e)
    exact = (gradient.u * d).sum((0, 2))
    good = gradient.certified
    assert good.any()
    np.testing.assert_allclose(exact[good], slope[good], rtol=1e-5, atol=1e-5)


def _tangent(at, q, by):
    """by . (q boxminus at) to first order, fixed floor first."""
    total = np.zeros(len(q))
    for k, first in enumerate(range(7, q.shape[1], 7)):
        total += ((q[:, first:first + 3] - at[:, first:first + 3]) * by[:, 6 * k:6 * k + 3]).sum(1)
        a, b = q[:, first + 3:first + 7], at[:, first + 3:first + 7]
        w, x, y, z = b[:, 0], b[:, 1], b[:, 2], b[:, 3]
        A, B, C, D = a[:, 0], a[:, 1], a[:, 2], a[:, 3]
        turn = 2 * np.stack([-A * x + B * w - C * z + D * y, -A * y + B * z + C * w - D * x,
                             -A * z - B * y + C * x + D * w], 1)
        total += (turn * by[:, 6 * k + 3:6 * k + 6]).sum(1)
    return total


def test_a_world_has_the_same_bits_alone():
    model, n = walker(), 5
    q, v, u = starts(model, n)
    many, one = ot.Batch(model, n, settings()), ot.Batch(model, 1, settings())
    many.set_state(q, v)
    one.set_state(q[2:3], v[2:3])
    for t in range(30):
        many.step(u[t])
        one.step(u[t, 2:3])
    assert (many.q[2] == one.q[0]).all() and (many.v[2] == one.v[0]).all()


def test_parameters_by_world_and_reports():
    model, n = walker(), 4
    friction = np.array([0.1, 0.3, 0.6, 0.9])
    batch = ot.Batch(model, n, settings(), parameters={"material/ground.friction": friction})
    q, v, _ = starts(model, n)
    v[:] = v[0]
    v[:, 0] = 2
    batch.set_state(q, v)
    for _ in range(60):
        batch.step()
    said = batch.reports()
    assert (said["outcome"] == 0).all() and set(said) >= {"residual", "contacts", "deepest"}
    x = batch.q[:, 7]
    assert (np.diff(x) < 0).all()  # the more friction, the shorter the way
    assert batch.bytes_per_world > 0


def test_bad_input():
    model = walker()
    with pytest.raises(ot.Error, match="must be >= 1"):
        ot.Batch(model, 0)
    with pytest.raises(ot.Error, match='"cpu" or "cuda"'):
        ot.Batch(model, 2, device="tpu")
    batch = ot.Batch(model, 2, settings())
    with pytest.raises(ot.Error, match="q: expected shape"):
        batch.set_state(np.zeros((2, 3)), np.zeros((2, 12)))
    with pytest.raises(ot.Error, match="u: expected shape"):
        batch.step(np.zeros((2, 5)))
    with pytest.raises(ot.Error, match="integrator"):
        ot.Batch(model, 2, ot.StepSettings(integrator=ot.Integrator.Rattle))
    q, v, _ = starts(model, 2)
    v[1, 3] = math.nan
    batch.set_state(q, v)
    batch.step()
    assert list(batch.reports()["outcome"]) == [0, 2]


def test_without_a_device_a_clear_message(monkeypatch):
    monkeypatch.setenv("ORTHANT_CUDA_LIBRARY", "/nowhere/liborthant_cuda.so")
    with pytest.raises(ot.Error, match='use device="cpu"'):
        ot.Batch(walker(), 2, device="cuda")
