# SPDX-License-Identifier: Apache-2.0
"""Everything one can get wrong: a Python exception that names the culprit, never a crash."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import orthant as ot


@pytest.mark.parametrize("M, q, error, message", [
    ([[1, 2]], [1], ot.Error, "1 x 2"),
    (np.eye(2), [1, 2, 3], ot.Error, "."),
    (np.eye(2), [1, np.nan], ot.Error, "finite"),
    ([[np.inf, 0], [0, 1]], [1, 2], ot.Error, "finite"),
    (np.eye(2), [[1], [2]], ot.Error, r"q: expected 1 dimension\(s\), got shape \(2, 1\)"),
    (np.zeros(4), [1, 2], ot.Error, "M: expected 2 dimension"),
    (np.eye(2) * 1j, [1, 2], TypeError, "M: expected real numbers, got complex128"),
    (np.eye(2), ["a", "b"], TypeError, "q: expected real numbers"),
    (np.eye(2), None, TypeError, "."),
    (np.eye(2), [None, 1], TypeError, "q: expected real numbers"),
    (scipy.sparse.eye(3), [1, 2], ot.Error, "."),
])
def test_lcp(M, q, error, message):
    with pytest.raises(error, match=message):
        ot.solve_lcp(M, q)


def test_an_answer_says_whether_it_is_one():
    assert "outcome=Converged" in repr(ot.solve_lcp(np.eye(2), [-1, 1]))
    without = ot.solve_lcp(-np.eye(2), [-1, -1])
    assert not without.converged and "Converged" not in repr(without)


def test_damaged_sparse_matrix():
    A = scipy.sparse.csc_matrix(np.eye(3))
    A.indices[1] = 77
    with pytest.raises((ot.Error, ValueError)):
        ot.solve_lcp(A, [1, 2, 3])


def test_arrays_of_any_layout_are_read():
    big = np.arange(12.0).reshape(6, 2)
    q = big[::2, 1] - 6.0  # strided
    frozen = q.copy()
    frozen.flags.writeable = False
    M = np.asfortranarray(np.eye(3) + 0.1)
    expected = ot.solve_lcp(np.ascontiguousarray(M), q.copy()).z
    np.testing.assert_array_equal(ot.solve_lcp(M, q).z, expected)
    np.testing.assert_array_equal(ot.solve_lcp(M, frozen).z, expected)
    np.testing.assert_allclose(ot.solve_lcp(M.astype(np.float32), q).z, expected, rtol=1e-5)
    np.testing.assert_array_equal(ot.solve_lcp(np.eye(3, dtype=int), [-1, -2, 3]).z, [1, 2, 0])


def test_empty_problem():
    assert ot.solve_lcp(np.zeros((0, 0)), np.zeros(0)).z.size == 0


def test_problem_shapes():
    law = [ot.Law.coulomb(2, 0.5)]
    with pytest.raises(ot.Error, match=r"D: expected shape \(2, 2\), got \(2, 3\)"):
        ot.CanonicalProblem(H=np.eye(2), laws=law, D=np.zeros((2, 3)), b=[0, 0])
    with pytest.raises(ot.Error, match="b: expected 2 values, got 1"):
        ot.CanonicalProblem(H=np.eye(2), laws=law, D=np.eye(2), b=[0])
    with pytest.raises(ot.Error, match="velocity_blocks"):
        ot.CanonicalProblem(H=np.eye(2), laws=law, D=np.eye(2), b=[0, 0], velocity_blocks=[3])
    with pytest.raises(ot.Error, match="mu|friction"):
        ot.CanonicalProblem(H=np.eye(2), laws=[ot.Law.coulomb(2, -1)], D=np.eye(2), b=[0, 0])
    p = ot.CanonicalProblem(H=np.eye(2), laws=law, D=np.eye(2), b=[0, 0])
    with pytest.raises(ot.Error, match="solution.v: expected 2"):
        ot.judge(p, ot.Solution(v=[1.0]))
    with pytest.raises(ot.Error, match="size"):
        ot.SolutionGradient(p, ot.Solution())
    p.b[0] = np.nan  # through the view
    with pytest.raises(ot.Error, match="finite"):
        ot.solve(p)


def test_names(block):
    p = block.default_parameters()
    with pytest.raises(KeyError, match="did you mean 'body/block.mass'"):
        p["body/blok.mass"]
    with pytest.raises(ot.Error, match="no such name"):
        p["zzz"] = 1.0
    with pytest.raises(KeyError, match="did you mean 'block'|block"):
        block.q_slice("blok")
    with pytest.raises(ot.Error, match="fixed"):
        block.v_slice("floor")
    with pytest.raises(KeyError):
        block.control_index("pull")
    with pytest.raises(TypeError, match="did you mean 'impact_events'"):
        ot.StepSettings(impact_event=True)
    with pytest.raises(TypeError, match="StepSettings.h: expected float, got str"):
        ot.StepSettings(h="fast")
    with pytest.raises(TypeError, match="SolveSettings.method: expected .*Method, got str"):
        ot.solve_lcp(np.eye(1), [1], method="lemke")
    with pytest.raises(AttributeError):
        ot.nonsense


def test_parameters_values(block):
    p = block.default_parameters()
    with pytest.raises(TypeError):
        p["body/block.mass"] = "heavy"
    with pytest.raises(ot.Error, match="parameters.values: expected"):
        p.values = [1.0, 2.0]
    p["body/block.mass"] = -1
    with pytest.raises(ot.Error, match="body/block.mass|mass"):
        ot.validate(block, p)


def test_state_shapes(block, cube):
    x = block.rest_state()
    with pytest.raises(ot.Error, match="state.q: expected 6 values, got 2"):
        x.q = [1, 2]
    with pytest.raises(TypeError, match="state.v: expected real numbers"):
        x.v = ["a", "b", "c"]
    p, s = block.default_parameters(), ot.StepSettings()
    with pytest.raises(ot.Error, match="state"):
        ot.step(block, p, s, cube.rest_state())
    with pytest.raises(ot.Error, match="belong to another model"):
        ot.step(block, cube.default_parameters(), s, x)
    with pytest.raises(ot.Error, match="u: expected 1 values, got 2"):
        ot.step(block, p, s, x, u=[1, 2])
    with pytest.raises(ot.Error, match="controls: must be finite"):
        ot.step(block, p, s, x, u=[np.nan])
    x.q[3] = np.nan
    before = x.v.copy()
    with pytest.raises(ot.Error, match="finite"):
        ot.step(block, p, s, x)
    np.testing.assert_array_equal(x.v, before)
    with pytest.raises(ot.Error, match="finite"):
        ot.rollout(block, p, s, x, 3)
    with pytest.raises(ot.Error, match="expected 6|sizes|q"):
        ot.step(block, p, s, ot.State(q=[1.0], v=[1.0]))


def test_settings_values(block):
    p, x = block.default_parameters(), block.rest_state()
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ot.Error, match="step settings.h"):
            ot.step(block, p, ot.StepSettings(h=bad), x)
    with pytest.raises(ot.Error, match="steps"):
        ot.rollout(block, p, ot.StepSettings(), x, -1)
    with pytest.raises(ot.Error, match="u: expected 4 rows"):
        ot.rollout(block, p, ot.StepSettings(), x, 4, u=np.zeros((3, 1)))


@pytest.mark.parametrize("build, message", [
    (lambda b: b.add_body("a", shapes=[ot.Shape.sphere(-1.0)]), "radius"),
    (lambda b: b.add_body("a", position=[1, 2, 3, 4]), "body position: expected 3 values"),
    (lambda b: b.add_body("a", orientation=[1, 0]), "body orientation: expected 4 values"),
    (lambda b: b.add_body("a", mass=-1.0, shapes=[ot.Shape.sphere(1.0)]), "mass"),
    (lambda b: b.add_body("a"), "mass|shape"),
    (lambda b: b.add_joint("j", ot.JointKind.Ball, "nobody"), "nobody"),
    (lambda b: b.add_material("m", friction=-1), "friction"),
    (lambda b: b.add_body("a", shapes=[ot.ShapeSpec(ot.Shape.sphere(1), material="gold")]), "gold"),
    (lambda b: ot.Shape.hull(np.zeros((4, 3))), "hull"),
    (lambda b: ot.Shape.hull(np.zeros((4, 2))), "hull points: expected 3 columns"),
])
def test_builder(build, message):
    b = ot.ModelBuilder()
    with pytest.raises(ot.Error, match=message):
        build(b)
        b.build()


def test_wrong_types_are_type_errors(block):
    with pytest.raises(TypeError):
        ot.step(block, None, ot.StepSettings(), block.rest_state())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ot.ModelBuilder().add_body(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ot.rollout(block, block.default_parameters(), ot.StepSettings(), block.rest_state(), "ten")  # type: ignore[arg-type]


def test_missing_file(tmp_path):
    with pytest.raises(ot.Error, match="nowhere"):
        ot.read_fclib(tmp_path / "nowhere.hdf5")
    broken = tmp_path / "broken.hdf5"
    broken.write_bytes(b"\x89HDF\r\n\x1a\n" + b"x" * 50)
    with pytest.raises(ot.Error, match="broken"):
        ot.read_fclib(broken)


def test_damaged_pickle(block):
    with pytest.raises((ot.Error, TypeError, IndexError, RuntimeError, ValueError)):
        ot.WarmStart.__new__(ot.WarmStart).__setstate__(([1, 2], [1.0], [0.0]))
