# SPDX-License-Identifier: Apache-2.0
"""Mixed and cone problems as layers: what the torch and JAX functions share.

H v - C'gamma - D'lambda = k, C v + e = 0, w = D v + F lambda + b, a law block by block. The derivative
by a matrix is an outer product of the adjoint a of the equations with the answer, entries that are
zero included:

    dl = a_k (dk - dH v + dC'gamma + dD'lambda) + a_e (dC v + de) + a_b (dD v + dF lambda + db)
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import (CanonicalProblem, Error, Law, LawKind, Outcome, SolutionGradientSettings,
                    SolveSettings)

Floats = NDArray[np.float64]
#: Data of a problem, in the order the layers pass them on.
DATA = ("H", "k", "D", "b", "C", "e", "F", "mu")


def with_friction(law: Law, mu: float) -> Law:
    """The same law with another coefficient of friction."""
    if law.kind == LawKind.Coulomb:
        return Law.coulomb(law.dim, mu)
    if law.kind == LawKind.Soc:
        return Law.soc(law.dim, mu)
    if law.kind == LawKind.Rolling:
        return Law.rolling(law.dim, mu, law.mu_r)
    if law.kind == LawKind.RollingSoc:
        return Law.rolling_soc(law.dim, mu, law.mu_r)
    return law


@dataclass(eq=False)
class ContactLayer:
    """The constants of a differentiable contact problem; arrays have one leading batch dimension."""

    laws: Sequence[Law]
    settings: SolveSettings = field(default_factory=lambda: SolveSettings(tolerance=1e-12))
    gradient: SolutionGradientSettings = field(default_factory=SolutionGradientSettings)
    threads: int = -1
    nan_where_failed: bool = False

    @property
    def rows(self) -> int:
        return sum(law.dim for law in self.laws)

    def cores(self, n: int, m: int) -> dict[str, tuple[int, ...]]:
        """Shape of each datum without the batch: n velocities, m bilateral rows."""
        r = self.rows
        return {"H": (n, n), "k": (n,), "D": (r, n), "b": (r,), "C": (m, n), "e": (m,), "F": (r, r),
                "mu": (len(self.laws),)}

    def problems(self, data: dict[str, Floats]) -> list[CanonicalProblem]:
        made = []
        for i in range(len(data["H"])):
            one = {name: x[i] for name, x in data.items()}
            mu = one.pop("mu", None)
            laws = list(self.laws)
            if mu is not None:
                laws = [with_friction(law, float(x)) for law, x in zip(laws, mu)]
            made.append(CanonicalProblem(laws=laws, **one))
        return made

    def solve(self, data: dict[str, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
        """v, gamma, lambda, w; one row each."""
        v, gamma, lam, w, outcome, residual = _core.solve_problems(self.problems(data), self.settings,
                                                                   self.threads)
        bad = np.flatnonzero(outcome != Outcome.Converged.value)
        if bad.size and not self.nan_where_failed:
            name = Outcome(int(outcome[bad[0]])).name
            raise Error(f"contact: problem {bad[0]} was not solved: {name}, residual "
                        f"{residual[bad[0]]:.2g} ({bad.size} of {len(outcome)})")
        for x in (v, gamma, lam, w):
            x[bad] = np.nan
        return v, gamma, lam, w

    def pull_back(self, data: dict[str, Floats], answer: tuple[Floats, Floats, Floats, Floats],
                  by: tuple[Floats, Floats, Floats, Floats]) -> dict[str, Floats]:
        """By the answer in, by every datum that was given out."""
        good = np.isfinite(answer[0]).all(axis=1) & np.isfinite(answer[2]).all(axis=1)
        out = {name: np.full(x.shape, np.nan) for name, x in data.items()}
        if not good.any():
            return out
        part = {name: x[good] for name, x in data.items()}
        v, gamma, lam, w = (x[good] for x in answer)
        a_k, a_e, a_b, a_mu = _core.adjoint_problems(
            self.problems(part), v, gamma, lam, w, by[0][good], by[1][good], by[2][good],
            by[3][good], self.gradient, self.threads)

        def outer(a: Any, x: Any) -> Any:
            return np.einsum("bi,bj->bij", a, x)

        found = {"H": -outer(a_k, v), "k": a_k, "D": outer(lam, a_k) + outer(a_b, v), "b": a_b,
                 "F": outer(a_b, lam), "mu": a_mu}
        if "C" in data:
            found["C"], found["e"] = outer(gamma, a_k) + outer(a_e, v), a_e
        for name in data:
            out[name][good] = found[name]
        return out


def check_data(given: dict[str, Any], layer: ContactLayer) -> None:
    """Throws Error unless every shape fits; `given` has arrays or tensors."""
    n = given["H"].shape[-1]
    m = given["C"].shape[-2] if "C" in given else 0
    for name, core in layer.cores(n, m).items():
        if name in given and tuple(given[name].shape[-len(core):]) != core:
            raise Error(f"{name}: expected (…, {', '.join(map(str, core))}), got "
                        f"{tuple(given[name].shape)}")
