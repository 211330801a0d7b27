# SPDX-License-Identifier: Apache-2.0
"""ot.identify: complementarity problems from samples, and blocks that slide written in every way.

    z = ot.solve(ot.identify.sliding_traditional(ot.identify.Block(mu=0.5), v=1.0, u=0.2))
    found = ot.identify.identify_lcp(solutions, features)     # M and W of 0 <= z, M z + W d >= 0, z'w = 0
    loss = ot.identify.Bilevel([[1, -1, 0]])                  # friction that was not measured

After S. Pfrommer's notes (2019); docs/learning.md has what each can and cannot do. Samples are rows.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import (BilevelFit, Block, Error, IdentifiedRow, Outcome, SolveSettings, falling_block,
                    fit_bilevel_friction, planar_direct, point_mass, sliding_direct, sliding_direct2,
                    sliding_forward, sliding_mixed, sliding_traditional, traditional_matrix,
                    traditional_vector)

__all__ = ["Bilevel", "BilevelFit", "BilevelValue", "Block", "IdentifiedLcp", "IdentifiedRow", "StructuredLcp",
           "falling_block", "fit_bilevel_friction", "friction_loss", "identify_lcp", "identify_structured",
           "planar_direct", "point_mass", "sliding_direct", "sliding_direct2", "sliding_forward",
           "sliding_mixed", "sliding_traditional", "traditional_matrix", "traditional_vector"]

Floats = NDArray[np.float64]


@dataclass(eq=False)
class IdentifiedLcp:
    """M and W of 0 <= z, w = M z + W d >= 0, z'w = 0, each row up to a positive factor."""

    M: Floats = field(repr=False)  #: (n, n)
    W: Floats = field(repr=False)  #: (n, features)
    rows: list[IdentifiedRow]  #: what the samples tell about each row
    converged: bool  #: all linear programs
    notes: list[str]  #: what the samples leave open


@dataclass(eq=False)
class StructuredLcp:
    """M and W as combinations of given matrices; one scale is left open."""

    coefficients: Floats  #: c, in the order of the basis
    M: Floats = field(repr=False)  #: (n, n)
    W: Floats = field(repr=False)  #: (n, features)
    complementarity: float  #: mean of z_i w_i, that of w_i being 1
    freedom: int  #: dimensions that the samples leave open, besides the scale
    converged: bool  #: the linear program


def identify_lcp(z: ArrayLike, features: ArrayLike, *, names: Sequence[str] = (),
                 feature_names: Sequence[str] = (), l1: float = 0.0, tolerance: float = 1e-8,
                 allowed: ArrayLike | None = None) -> IdentifiedLcp:
    """M and W from solutions z (samples, n) and features d (samples, m), one linear program per row.

    l1: weight of the entries' sizes; tolerance: relative singular value that counts as zero; allowed: (n,
    n + m), where entries may differ from zero; names: for the notes.
    """
    return IdentifiedLcp(**_core.identify_lcp(z, features, list(names), list(feature_names), l1, tolerance,
                                              allowed))


def identify_structured(z: ArrayLike, features: ArrayLike, basis_M: Sequence[ArrayLike],
                        basis_W: Sequence[ArrayLike], *, l1: float = 0.0) -> StructuredLcp:
    """Coefficients c of M = sum c_j M_j and W = sum c_j W_j from samples, one linear program."""
    return StructuredLcp(**_core.identify_structured(z, features, list(basis_M), list(basis_W), l1))


def friction_loss(friction: ArrayLike, features: ArrayLike, targets: ArrayLike, A: ArrayLike,
                  G: ArrayLike, *, prediction: float = 1.0, complementarity: float = 1.0,
                  sign: float = 1.0) -> tuple[float, Floats, Floats]:
    """The loss of x = A d + G friction with known friction: its value, and its derivative by A and by G.

    sum of prediction |x - target|^2 + complementarity |friction * x|_1 + sign |max(0, -x)|_1 over samples.
    """
    cost, by_A, by_G = _core.friction_loss(friction, features, targets, A, G, prediction, complementarity,
                                           sign)
    return float(cost), by_A, by_G


@dataclass(eq=False)
class BilevelValue:
    """A two-level loss, its derivatives, and the inner answers."""

    value: float  #: sum over the samples
    by_f: Floats = field(repr=False)  #: (samples, n)
    by_G: Floats = field(repr=False)  #: (n, n)
    z: Floats = field(repr=False)  #: (samples, n)
    converged: NDArray[np.bool_] = field(repr=False)  #: (samples,)


class Bilevel:
    """The two-level loss of f and G where friction z was not measured (document 003, 3.2.4).

        V(f, G) = sum over samples of  min over z >= 0 of
                  prediction |x - E z|^2 + complementarity z'(G z + f) + sign |max(0, -(G z + f))|_1

    x is what the samples show of z through E (for a block: x = v' - v - u, E = [1, -1, 0]). sign=None: the hard
    variant, G z + f >= 0. The inner problem must be convex: the symmetric part of prediction E'E +
    complementarity G must have no negative eigenvalue. Derivatives are those of the envelope.
    """

    def __init__(self, E: ArrayLike, *, prediction: float = 1.0, complementarity: float = 1.0,
                 sign: float | None = None, threads: int | None = None) -> None:
        self.E = np.atleast_2d(np.asarray(E, dtype=float))
        for name, weight in (("prediction", prediction), ("complementarity", complementarity),
                             ("sign", 1.0 if sign is None else sign)):
            if not (np.isfinite(weight) and weight > 0):
                raise Error(f"{name}: must be finite and > 0, got {weight}")
        self.prediction, self.complementarity, self.sign = prediction, complementarity, sign
        self._threads = -1 if threads is None else threads

    def __call__(self, x: ArrayLike, f: ArrayLike, G: ArrayLike) -> BilevelValue:
        """x: (samples, rows of E); f: (samples, n); G: (n, n)."""
        k, n = self.E.shape
        X = np.asarray(x, dtype=float).reshape(-1, k) if np.ndim(x) < 2 else np.asarray(x, dtype=float)
        F, g = np.atleast_2d(np.asarray(f, dtype=float)), np.asarray(G, dtype=float)
        if X.shape[1:] != (k,) or F.shape != (len(X), n) or g.shape != (n, n):
            raise Error(f"bilevel: expected x (samples, {k}), f (samples, {n}) and G ({n}, {n}), "
                        f"got {X.shape}, {F.shape} and {g.shape}")
        Q = self.prediction * self.E.T @ self.E + self.complementarity * g
        S = Q + Q.T
        lowest = float(np.linalg.eigvalsh(S)[0])
        if lowest < -1e-9 * max(1.0, float(np.abs(S).max())):
            raise Error(f"bilevel: the inner problem is not convex: an eigenvalue of its matrix is {lowest:.3g}")
        zero, one = np.zeros((n, n)), np.eye(n)
        M = np.block([[S, -g.T], [g, zero]])
        q = np.hstack([self.complementarity * F - 2 * self.prediction * X @ self.E, F])
        if self.sign is not None:  # y <= sign, the price of a negative row
            M = np.block([[M, np.vstack([zero, one])], [np.hstack([zero, -one, zero])]])
            q = np.hstack([q, np.full(F.shape, self.sign)])
        found, _, outcome, _ = _core.solve_lcp_batch(
            np.repeat(M.reshape(1, -1), len(X), axis=0), q, 0, SolveSettings(tolerance=1e-11),
            self._threads)
        z, y = found[:, :n], found[:, n:2 * n]
        w = z @ g.T + F
        value = (self.prediction * ((X - z @ self.E.T) ** 2).sum() + self.complementarity * (z * w).sum()
                 + (0.0 if self.sign is None else self.sign * np.maximum(0.0, -w).sum()))
        pull = self.complementarity * z - y
        converged = outcome == float(Outcome.Converged.value)
        return BilevelValue(float(value), pull, pull.T @ z, z, converged)

    def fit(self, x: ArrayLike, features: ArrayLike, W: ArrayLike, G: ArrayLike, *,
            free: ArrayLike | None = None, bounds: tuple[float, float] = (-np.inf, np.inf),
            max_iterations: int = 200) -> tuple[Floats, BilevelValue]:
        """f = W d by L-BFGS from W on, G held; free: which entries of W may change (all).

        Returns W and the loss there. f = 0 and G = 0 fit everything: G, or some of W, has to be known.
        """
        from scipy.optimize import minimize

        start, d = np.array(W, dtype=float), np.asarray(features, dtype=float)
        mask = np.ones(start.shape, dtype=bool) if free is None else np.asarray(free, dtype=bool)
        if mask.shape != start.shape or d.ndim != 2 or d.shape[1] != start.shape[1]:
            raise Error(f"bilevel: expected free like W {start.shape} and features (samples, "
                        f"{start.shape[-1]}), got {mask.shape} and {d.shape}")

        def at(theta: Any) -> Floats:
            now = start.copy()
            now[mask] = theta
            return now

        def loss(theta: Any) -> tuple[float, Any]:
            v = self(x, d @ at(theta).T, G)
            return v.value, (v.by_f.T @ d)[mask]

        found = minimize(loss, start[mask], jac=True, method="L-BFGS-B", bounds=[bounds] * int(mask.sum()),
                         options={"maxiter": max_iterations, "ftol": 1e-15, "gtol": 1e-10})
        best = at(found.x)
        return best, self(x, d @ best.T, G)
