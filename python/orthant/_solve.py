# SPDX-License-Identifier: Apache-2.0
"""Contact and complementarity problems: one call each."""
from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import (CanonicalProblem, Method, Outcome, Solution, SolveReport, SolveSettings)


def _settings(base: SolveSettings | None, changes: dict[str, Any]) -> SolveSettings:
    return (SolveSettings() if base is None else base).replace(**changes)


def solve(problem: CanonicalProblem, settings: SolveSettings | None = None, *,
          start: Solution | None = None, **changes: Any) -> tuple[Solution, SolveReport]:
    """The answer of a contact problem and what an independent judge makes of it.

    `changes` are fields of SolveSettings: `solve(problem, tolerance=1e-12)`. A solve that misses its
    tolerance is an outcome in the report, not an exception.
    """
    solution, report, _ = _core.solve(problem, _settings(settings, changes), start)
    return solution, report


@dataclass(repr=False)
class LcpSolution:
    """w = M z + q with 0 <= z, 0 <= w, z w = 0 (equations: w = 0, z free)."""

    z: NDArray[np.float64]
    w: NDArray[np.float64]
    report: SolveReport

    @property
    def converged(self) -> bool:
        """The judge accepts it."""
        return self.report.outcome == Outcome.Converged

    def __repr__(self) -> str:
        return f"LcpSolution(z={self.z!r}, w={self.w!r}, outcome={self.report.outcome.name})"


def _solve_made(problem: CanonicalProblem, settings: SolveSettings | None,
                changes: dict[str, Any]) -> LcpSolution:
    # Complementarity is read entry by entry, so the answer is wanted to the last digits.
    base = SolveSettings(tolerance=1e-12) if settings is None else settings
    solution, report, _ = _core.solve(problem, _settings(base, changes))
    return LcpSolution(solution.lambda_, solution.w, report)


def solve_lcp(M: Any, q: ArrayLike, settings: SolveSettings | None = None,
              **changes: Any) -> LcpSolution:
    """0 <= z, w = M z + q >= 0, z w = 0. M: dense or SciPy sparse, (n, n); q: (n,).

    `changes` are fields of SolveSettings, e.g. `method=ot.Method.Lemke`; tolerance 1e-12 by default.
    """
    return _solve_made(_core.make_lcp(M, q), settings, changes)


def solve_mlcp(M: Any, q: ArrayLike, n: int, settings: SolveSettings | None = None,
               **changes: Any) -> LcpSolution:
    """w = M z + q, the first n rows equations (w = 0, z free), the rest complementary."""
    return _solve_made(_core.make_mlcp(M, q, n), settings, changes)


def solve_with_history(problem: CanonicalProblem, settings: SolveSettings | None = None,
                       **changes: Any) -> tuple[Solution, SolveReport,
                                                list[tuple[Method, int, float]]]:
    """As solve(), with (method, iteration, residual) of every look of the judge."""
    return _core.solve(problem, _settings(settings, changes), None, True)


def explain(problem: CanonicalProblem, settings: SolveSettings | None = None, **changes: Any) -> str:
    """Solves from zero and tells which plan was made, what ran with its residual and time, why it ended."""
    return _core.explain(problem, _settings(settings, changes))


def read_fclib(path: str | PathLike[str], *, exact: bool = True) -> CanonicalProblem:
    """A friction problem from an FCLIB file (HDF5). `exact`: Coulomb's law, False: its relaxation."""
    return _core.read_problem(fspath(path), None, exact)
