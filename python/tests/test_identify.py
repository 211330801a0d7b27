# SPDX-License-Identifier: Apache-2.0
"""ot.identify: formulations of a sliding block, linear programs, two-level losses."""
from __future__ import annotations

import numpy as np
import pytest

import orthant as ot
from orthant import identify as idf

E = np.array([[1.0, -1.0, 0.0]])


def coulomb(v: float, u: float, grip: float) -> float:
    """Velocity of a unit block after a unit step."""
    free = v + u
    return float(np.sign(free) * max(0.0, abs(free) - grip))


def samples(count: int, mu: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Solutions (lambda+, lambda-, gamma), features (v, u, 1) and v' of a block that sticks and slides."""
    rng = np.random.default_rng(seed)
    z, d, after = [], [], []
    for v, u in rng.uniform(-2, 2, (count, 2)):
        x, report = ot.solve(idf.sliding_traditional(idf.Block(mu=mu), v, u), tolerance=1e-12)
        assert report.outcome == ot.Outcome.Converged
        share = rng.uniform(0, 1) * max(0.0, mu - abs(x.lambda_[0] - x.lambda_[1]) ) / 2
        plus = max(0.0, x.lambda_[0] - x.lambda_[1]) + (share if x.lambda_[2] < 1e-9 else 0.0)
        minus = max(0.0, x.lambda_[1] - x.lambda_[0]) + (share if x.lambda_[2] < 1e-9 else 0.0)
        z.append([plus, minus, x.lambda_[2]])  # any of the answers where it sticks
        d.append([v, u, 1.0])
        after.append(v + u + plus - minus)
    return np.maximum(np.array(z), 0.0), np.array(d), np.array(after)


@pytest.mark.parametrize("v, u", [(1.0, 0.2), (-1.0, 0.1), (0.1, 0.2), (0.0, -2.0)])
def test_every_formulation_gives_coulombs_answer(v, u):
    block = idf.Block(mu=0.5)
    expected = coulomb(v, u, 0.5)
    x, _ = ot.solve(idf.sliding_traditional(block, v, u), tolerance=1e-12)
    assert v + u + x.lambda_[0] - x.lambda_[1] == pytest.approx(expected, abs=1e-9)
    x, _ = ot.solve(idf.sliding_direct(block, max(v, 0), max(-v, 0), u), tolerance=1e-12)
    assert x.lambda_[0] - x.lambda_[1] == pytest.approx(expected, abs=1e-9)
    x, _ = ot.solve(idf.sliding_mixed(block, v, u), tolerance=1e-12)
    assert min(abs(np.concatenate([x.v, x.gamma, x.lambda_]) - expected)) < 1e-9
    after, _, converged = idf.planar_direct(block, (v, 0.0), (u, 0.0))
    assert converged and after[0] == pytest.approx(expected, abs=1e-8)
    if v >= 0 and u >= 0:
        x, _ = ot.solve(idf.sliding_forward(block, v, u), tolerance=1e-12)
        assert x.lambda_[0] == pytest.approx(expected, abs=1e-9)


def test_falling_and_bouncing():
    x, _ = ot.solve(idf.falling_block(1.0, -5.0, 10.0, 0.1), tolerance=1e-12)
    assert x.lambda_[0] == pytest.approx(0.4)
    x, _ = ot.solve(idf.falling_block(0.1, -5.0, 10.0, 0.1), tolerance=1e-12)
    assert x.lambda_[0] == pytest.approx(0.0, abs=1e-12)
    x, report = ot.solve(idf.point_mass(idf.Block(mu=0.5), (1.0, -2.0), (0.0, 0.0)), tolerance=1e-12)
    assert report.outcome == ot.Outcome.Converged


def test_matrices_by_linear_programs():
    z, d, _ = samples(300, mu=0.8)
    found = idf.identify_lcp(z, d, names=["along", "against", "speed"], feature_names=["v", "u", "1"])
    assert found.converged and max(row.complementarity for row in found.rows) < 1e-6
    truth = np.hstack([idf.traditional_matrix(), [[1, 1, 0], [-1, -1, 0], [0, 0, 0.8]]])
    mine = np.hstack([found.M, found.W])
    for a, b, row in zip(mine, truth, found.rows):
        if row.freedom == 0:
            np.testing.assert_allclose(a / np.abs(a).max(), b / np.abs(b).max(), atol=1e-5)
    assert any("positive factor" in note for note in found.notes)
    base_M = [np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0.0]]),
              np.array([[0, 0, 1], [0, 0, 1], [-1, -1, 0.0]])]
    base_W = [np.zeros((3, 3)), np.zeros((3, 3))]
    for row, column, value in ((0, 0, 1.0), (0, 1, 1.0), (2, 2, 1.0)):
        w = np.zeros((3, 3))
        w[row, column] = value
        if row == 0:
            w[1, column] = -value
        base_M.append(np.zeros((3, 3)))
        base_W.append(w)
    own = idf.identify_structured(z, d, base_M, base_W)
    c = own.coefficients / own.coefficients[0]
    np.testing.assert_allclose(c, [1, 1, 1, 1, 0.8], atol=1e-5)


def test_loss_of_known_friction():
    z, d, after = samples(40, mu=0.8)
    targets = np.stack([np.maximum(after, 0), np.maximum(-after, 0)], axis=1)
    A, G = np.full((2, 3), 0.3), np.array([[0.2, -0.1], [0.1, 0.4]])
    cost, by_A, by_G = idf.friction_loss(z[:, :2], d, targets, A, G)
    step = 1e-6
    for entry in ((0, 1), (1, 2)):
        up, down = A.copy(), A.copy()
        up[entry] += step
        down[entry] -= step
        slope = (idf.friction_loss(z[:, :2], d, targets, up, G)[0]
                 - idf.friction_loss(z[:, :2], d, targets, down, G)[0]) / (2 * step)
        assert by_A[entry] == pytest.approx(slope, rel=1e-5)
    assert by_G.shape == (2, 2) and cost > 0


@pytest.mark.parametrize("start", [0.1, 0.5, 3.0, 6.9])
def test_friction_of_one_transition(start):
    """The notes' data point v = 1, u = 2, v' = 2: friction 1."""
    assert idf.fit_bilevel_friction([[1, 2, 2]], start).mu == pytest.approx(1.0, abs=0.01)
    W = np.array([[1.0, 1, 0], [-1, -1, 0], [0, 0, start]])
    free = np.zeros((3, 3))
    free[2, 2] = 1
    best, at = idf.Bilevel(E).fit([[-1.0]], [[1.0, 2, 1]], W, idf.traditional_matrix(), free=free,
                                  bounds=(0, 20))
    assert best[2, 2] == pytest.approx(1.0, abs=0.01) and at.converged.all()


def test_too_much_friction_pulls_nowhere():
    fit = idf.fit_bilevel_friction([[1, 2, 2]], 8.0)
    assert fit.mu == 8.0 and "start lower" in fit.note
    assert idf.fit_bilevel_friction([[1, 2, 2]], 8.0, slide_weight=0.1).mu == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("sign", [None, 0.5, 20.0])
def test_derivatives_of_the_two_level_loss(sign):
    rng = np.random.default_rng(4)
    loss = idf.Bilevel(E, sign=sign)
    x, f = rng.uniform(-1, 1, (5, 1)), rng.uniform(-1, 1, (5, 3)) + [0, 0, 1]
    G = idf.traditional_matrix() + 0.2 * np.eye(3)
    v = loss(x, f, G)
    assert v.converged.all() and (v.z >= 0).all()
    step = 1e-6
    for place in ((0, 0), (3, 2)):
        d = np.zeros(f.shape)
        d[place] = step
        assert v.by_f[place] == pytest.approx((loss(x, f + d, G).value - loss(x, f - d, G).value) / (2 * step),
                                              rel=1e-4, abs=1e-6)
    for place in ((0, 1), (2, 0)):
        d = np.zeros(G.shape)
        d[place] = step
        assert v.by_G[place] == pytest.approx((loss(x, f, G + d).value - loss(x, f, G - d).value) / (2 * step),
                                              rel=1e-4, abs=1e-6)


def test_the_soft_loss_is_below_the_hard_one_and_tends_to_it():
    x, f, G = [[-1.0]], [[3.0, -3.0, 2.0]], idf.traditional_matrix()
    hard = idf.Bilevel(E)(x, f, G).value
    soft = [idf.Bilevel(E, sign=s)(x, f, G).value for s in (0.1, 1.0, 10.0, 100.0)]
    assert np.all(np.diff(soft) >= -1e-9) and soft[0] <= hard
    assert soft[-1] == pytest.approx(hard, rel=1e-9)


def test_errors_name_what_is_wrong():
    with pytest.raises(ot.Error, match="not convex"):
        idf.Bilevel(E)([[1.0]], [[0.0, 0, 0]], -np.eye(3))
    with pytest.raises(ot.Error, match=r"expected x \(samples, 1\)"):
        idf.Bilevel(E)([[1.0, 2.0]], [[0.0, 0, 0]], np.eye(3))
    with pytest.raises(ot.Error, match="sign: must be finite"):
        idf.Bilevel(E, sign=-1.0)
    with pytest.raises(ot.Error, match="too few"):
        idf.identify_lcp(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ot.Error, match="features"):
        idf.identify_lcp(np.ones((20, 3)), np.ones((19, 3)))
