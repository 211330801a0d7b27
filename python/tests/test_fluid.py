# SPDX-License-Identifier: Apache-2.0
"""Spheres that move each other through a fluid: the formula, sums that are split, steps, errors."""
from __future__ import annotations

import numpy as np
import pytest

import orthant as ot

ETA, RADIUS = 0.5, 0.5


def dense(x: np.ndarray, a: float, eta: float) -> np.ndarray:
    """Rotne, Prager, Yamakawa for equal spheres that do not overlap."""
    n = len(x)
    M = np.zeros((n, 3, n, 3))
    for i in range(n):
        for j in range(n):
            if i == j:
                M[i, :, j, :] = np.eye(3) / (6 * np.pi * eta * a)
                continue
            d = x[i] - x[j]
            r = np.linalg.norm(d)
            M[i, :, j, :] = ((1 + 2 * a * a / (3 * r * r)) * np.eye(3)
                             + (1 - 2 * a * a / (r * r)) * np.outer(d, d) / r**2) / (8 * np.pi * eta * r)
    return M.reshape(3 * n, 3 * n)


def lattice(n: int) -> np.ndarray:
    k = np.arange(n)
    return 1.3 * np.stack([k % 4, k // 4 % 4, k // 16], axis=1) + 0.1 * np.sin(np.outer(k, [1, 2, 3]))


def test_mobility_is_the_formula():
    x = lattice(40)
    f = np.random.default_rng(0).standard_normal((40, 3))
    exact = (dense(x, RADIUS, ETA) @ f.ravel()).reshape(-1, 3)
    mobility = ot.RpyMobility(x, np.full(40, RADIUS), viscosity=ETA)
    assert mobility.is_direct and mobility.count == 40
    np.testing.assert_allclose(mobility.apply(f), exact, rtol=0, atol=1e-12 * np.abs(exact).max())
    split = ot.RpyMobility(x, np.full(40, RADIUS), viscosity=ETA, direct_up_to=0)
    assert not split.is_direct
    np.testing.assert_allclose(split.apply(f), exact, rtol=0, atol=1e-5 * np.abs(exact).max())
    box = ot.RpyMobility(x, np.full(40, RADIUS), box=[[-1, -1, -1], [7, 7, 7]])
    assert np.abs(box.apply(f)).max() > 0


def falling(force: float = 1.0) -> ot.Model:
    b = ot.ModelBuilder()
    b.set_law(ot.LawOfMotion.Overdamped)
    b.set_gravity((0, 0, 0))
    for i, x in enumerate((0.0, 2.0, 5.0)):
        b.add_body(f"s{i}", position=(x, 0, 0), drag=3 * np.pi * ETA, length=2 * RADIUS,
                   shapes=[ot.Shape.sphere(RADIUS)])
    b.add_body_force("pull", "s0", force=(force, 0, 0))
    return b.build()


def test_a_step_moves_all_by_the_mobility():
    model, settings = falling(), ot.StepSettings(h=1e-3, constraints=ot.ConstraintScheme.Relcp)
    state, warm = model.rest_state(), ot.WarmStart()
    report = ot.step_in_fluid(model, model.default_parameters(), settings, state, ETA, warm)
    assert report.outcome == ot.Outcome.Converged
    x = np.array([[0.0, 0, 0], [2, 0, 0], [5, 0, 0]])
    expected = dense(x, RADIUS, ETA) @ np.eye(9)[0]
    np.testing.assert_allclose(state.v.reshape(3, 6)[:, :3].ravel(), expected, rtol=0, atol=1e-12)


def test_bad_input():
    for change, message in (({"viscosity": -1}, "viscosity"), ({"tolerance": 2}, "tolerance"),
                            ({"box": [[0, 0, 0], [1, 1, 0]]}, "box"), ({"box": [1, 2]}, "box")):
        with pytest.raises(ot.Error, match=message):
            ot.RpyMobility([[0, 0, 0]], [1.0], **change)
    with pytest.raises(ot.Error, match="radii: expected 1 values, got 2"):
        ot.RpyMobility([[0, 0, 0]], [1.0, 2.0])
    with pytest.raises(ot.Error, match="radius of sphere 0"):
        ot.RpyMobility([[0, 0, 0]], [0.0])
    with pytest.raises(ot.Error, match="centres"):
        ot.RpyMobility([[0, 0]], [1.0])
    with pytest.raises(ot.Error, match="forces"):
        ot.RpyMobility([[0, 0, 0]], [1.0]).apply([1.0, 0, 0])
    model = falling()
    with pytest.raises(ot.Error, match="viscosity"):
        ot.step_in_fluid(model, model.default_parameters(), ot.StepSettings(), model.rest_state(), 0.0)
    b = ot.ModelBuilder()
    b.add_body("ball", shapes=[ot.Shape.sphere(0.1)])
    inertial = b.build()
    with pytest.raises(ot.Error, match="overdamped"):
        ot.step_in_fluid(inertial, inertial.default_parameters(), ot.StepSettings(), inertial.rest_state(), 1.0)
