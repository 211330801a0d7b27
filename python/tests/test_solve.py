# SPDX-License-Identifier: Apache-2.0
"""Problems in, answers out; every answer is checked against its own equations."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import orthant as ot

ROOT = Path(__file__).resolve().parents[2]


def random_lcp(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_lcp(rng, n):
    M, q = random_lcp(rng, n)
    x = ot.solve_lcp(M, q)
    assert x.converged
    assert (x.z >= 0).all()
    assert (M @ x.z + q >= -1e-9).all()
    assert abs(x.z @ (M @ x.z + q)) < 1e-9
    np.testing.assert_allclose(x.w, M @ x.z + q, atol=1e-9)


def test_lcp_by_hand():
    # M = [[2, 1], [1, 2]], q = (-5, -6): z = M^-1 (5, 6) = (4/3, 7/3)
    x = ot.solve_lcp([[2, 1], [1, 2]], [-5, -6], method=ot.Method.Lemke)
    np.testing.assert_allclose(x.z, [4 / 3, 7 / 3], rtol=1e-12)


def test_sparse_and_dense_agree(rng):
    M, q = random_lcp(rng, 12)
    M[np.abs(M) < 1] = 0
    M += 20 * np.eye(12)
    dense = ot.solve_lcp(M, q).z
    for form in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.coo_matrix):
        np.testing.assert_allclose(ot.solve_lcp(form(M), q).z, dense, atol=1e-10)


def test_sparse_matrix_comes_back(rng):
    M, q = random_lcp(rng, 5)
    p = ot.make_lcp(scipy.sparse.csr_matrix(M), q)
    np.testing.assert_array_equal(p.F.toarray(), M)
    np.testing.assert_array_equal(p.b, q)
    assert p.is_local and p.row_count == 5


def test_mlcp(rng):
    M, q = random_lcp(rng, 6)
    x = ot.solve_mlcp(M, q, 2)
    w = M @ x.z + q
    np.testing.assert_allclose(w[:2], 0, atol=1e-9)
    assert (x.z[2:] >= 0).all() and (w[2:] >= -1e-9).all() and abs(x.z[2:] @ w[2:]) < 1e-9


def test_lcp_without_solution_is_an_outcome():
    x = ot.solve_lcp([[-1.0]], [-1.0], method=ot.Method.Lemke)
    assert not x.converged
    assert x.report.outcome in (ot.Outcome.RayTermination, ot.Outcome.Infeasible, ot.Outcome.Stalled)


def test_pushed_block():
    # 2 kg, mu 0.5, pushed with 15 N for 0.1 s: v = 0.1 (15 - 0.5 * 2 * 9.81) / 2
    p = ot.CanonicalProblem(H=np.diag([2.0, 2.0]), k=[1.5, -0.2 * 9.81],
                            laws=[ot.Law.coulomb(2, 0.5)], D=[[0, 1], [1, 0]], b=[0, 0])
    x, report = ot.solve(p, tolerance=1e-12)
    assert report.outcome == ot.Outcome.Converged
    np.testing.assert_allclose(x.v, [0.1 * (15 - 0.5 * 2 * 9.81) / 2, 0], atol=1e-10)
    np.testing.assert_allclose(x.lambda_[0], 0.2 * 9.81, rtol=1e-9)
    assert ot.judge(p, x).value <= 1e-12
    x.v[0] += 1  # views are the solution's own memory
    assert ot.judge(p, x).value > 1e-3
    assert "mu=0.5" in repr(p.laws[0])


def test_fclib_file():
    files = sorted((ROOT / "tests/data/fclib").glob("*.hdf5")) or sorted(
        p for p in (ROOT / "tests/data/fclib").iterdir() if p.is_file())
    p = ot.read_fclib(files[0])
    x, report = ot.solve(p)
    assert report.outcome == ot.Outcome.Converged
    assert report.residual.value <= 1e-8
    assert p.D.shape[0] == p.row_count or p.is_local


def test_problem_file_round_trip(tmp_path, rng):
    M, q = random_lcp(rng, 4)
    path = tmp_path / "p.hdf5"
    ot.save_problem(str(path), ot.make_lcp(M, q))
    np.testing.assert_array_equal(ot.read_problem(str(path)).F.toarray(), M)


@pytest.mark.parametrize("kink", [ot.KinkChoice.Clamp, ot.KinkChoice.Separate])
def test_solution_gradient(rng, kink):
    M, q = random_lcp(rng, 6)
    p = ot.make_lcp(M, q)
    x, _ = ot.solve(p, tolerance=1e-13)
    g = ot.SolutionGradient(p, x, ot.SolutionGradientSettings(kink=kink))
    c = rng.standard_normal(6)
    by_q = g.pull_back(lambda_=c)["b"]
    active = x.lambda_ > 0  # z_A = -M_AA^-1 q_A
    expected = np.zeros(6)
    expected[active] = -np.linalg.solve(M[np.ix_(active, active)].T, c[active])
    np.testing.assert_allclose(by_q, expected, atol=1e-9)
    assert g.certificate.floating == 0 and g.certificate.margin > 0
