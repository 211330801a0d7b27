# SPDX-License-Identifier: Apache-2.0
"""Plain descents with four kinds of gradient, and searches that need none."""
from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import numpy as np
from numpy.typing import NDArray

from ._batch import rollout_batch
from ._core import (Error, GradientMode, ShootingMethod, SolutionGradientSettings,
                    StepGradientSettings)

if TYPE_CHECKING:
    from .optimise import Problem

Floats = NDArray[np.float64]


def smoothed(base: StepGradientSettings, kappa: float) -> StepGradientSettings:
    """The same settings along the central path of kappa [J]; 0: exact."""
    if kappa < 0:
        raise Error(f"smoothing: kappa must be >= 0, got {kappa}")
    mode = GradientMode.Smoothed if kappa > 0 else GradientMode.Exact
    return base.replace(solution=base.solution.replace(mode=mode, kappa=kappa or base.solution.kappa))


def _scale(x: Floats, lower: Floats, upper: Floats) -> Floats:
    """Width of the bounds, or the size of a number without."""
    width = upper - lower
    return np.asarray(np.where(np.isfinite(width) & (width > 0), width, np.maximum(1.0, np.abs(x))))


def _costs_at(problem: Problem, points: Floats, threads: int | None) -> Floats:
    """Costs of many unknowns at once, infinite where a world failed."""
    keep = problem.vector()[0]
    states, rows, controls, own = [], [], [], []
    for x in points:
        problem.set_vector(x)
        states.append(problem.state.copy())
        rows.append(problem.parameters.copy())
        controls.append(problem.u.copy())
        own.append(sum(0.5 * weight * (problem.parameters[name] - target) ** 2
                       for name, _, _, _, weight, target in problem._varied))
    problem.set_vector(keep)
    u = np.stack(controls)
    runs = rollout_batch(problem.model, problem.settings, states, problem.steps, parameters=rows,
                         u=u if u.size else None, threads=threads)
    costs = problem.costs(runs.q, runs.v, u) + np.array(own)
    costs[[bool(e) for e in runs.errors]] = np.inf
    return np.asarray(costs)


def cma_es(problem: Problem, *, evaluations: int = 2000, sigma: float = 0.1, seed: int = 1,
           threads: int | None = None) -> tuple[Floats, Floats]:
    """CMA-ES (the package `cma`) on the same unknowns: the baseline that needs no gradient.

    sigma: first standard deviation, relative to the width of the bounds or the size of the numbers.
    Returns the best cost after each generation and the best unknowns, which become the guess.
    """
    import cma

    x, lower, upper = problem.vector()
    scale = _scale(x, lower, upper)
    search = cma.CMAEvolutionStrategy(x / scale, sigma, {
        "seed": seed, "verbose": -9, "maxfevals": evaluations,
        "bounds": [list(lower / scale), list(upper / scale)]})
    best, costs = (np.inf, x), []
    while not search.stop():
        points = search.ask()
        found = _costs_at(problem, np.clip(np.stack(points) * scale, lower, upper), threads)
        search.tell(points, list(found))
        i = int(np.argmin(found))
        if found[i] < best[0]:
            best = (float(found[i]), np.clip(points[i] * scale, lower, upper))
        costs.append(best[0])
    problem.set_vector(best[1])
    return np.array(costs), best[1]


def randomised_gradient(problem: Problem, *, sigma: float = 0.05, samples: int = 32,
                        seed: int = 0, threads: int | None = None) -> tuple[float, Floats]:
    """Cost and its derivative by vector(), smoothed by chance: pairs of rollouts, no gradients.

    sigma: of the normal changes, relative to the width of the bounds or the size of the numbers.
    """
    x, lower, upper = problem.vector()
    scale = _scale(x, lower, upper)
    noise = np.random.default_rng(seed).standard_normal((samples, x.size))
    points = np.concatenate([x[None], x + sigma * scale * noise, x - sigma * scale * noise])
    costs = _costs_at(problem, np.clip(points, lower, upper), threads)
    slope = (costs[1:samples + 1] - costs[samples + 1:]) / (2 * sigma)
    return float(costs[0]), np.asarray((slope[:, None] * noise).mean(axis=0) / scale)


def adam(problem: Problem, *, gradient: str = "exact", iterations: int = 100, rate: float = 0.02,
         kappa: Sequence[float] = (1e-2, 1e-3, 1e-4), sigma: float = 0.05, samples: int = 32,
         probe: float = 1e-3, floating_tolerance: float = 1e-8,
         seed: int = 0) -> tuple[Floats, Floats]:
    """Plain gradient descent (Adam) on the problem's unknowns, to compare gradients.

    gradient: "exact", "smoothed" (kappa: its values, in equal shares of the iterations), "loss_aware"
    or "randomised". rate: relative to the width of the bounds or the size of the numbers. Returns the
    costs before each iteration and at the end, and the best unknowns, which become the guess.
    """
    kinds = ("exact", "smoothed", "loss_aware", "randomised")
    if gradient not in kinds:
        raise Error(f"gradient: expected one of {', '.join(kinds)}, got '{gradient}'")
    x, lower, upper = problem.vector()
    scale = _scale(x, lower, upper)
    first: Floats = np.zeros(x.size)
    second: Floats = np.zeros(x.size)
    costs, best = [], (np.inf, x)
    base = StepGradientSettings(solution=SolutionGradientSettings(
        floating_tolerance=floating_tolerance))
    for i in range(iterations + 1):
        problem.set_vector(x)
        if gradient == "randomised":
            value, g = randomised_gradient(problem, sigma=sigma, samples=samples, seed=seed + i)
        else:
            settings = base
            if gradient == "smoothed":
                settings = smoothed(base, kappa[min(i * len(kappa) // max(iterations, 1),
                                                     len(kappa) - 1)])
            found = problem.gradient(gradient=settings, loss_aware=gradient == "loss_aware",
                                     method=ShootingMethod.Lbfgs, probe=probe)
            value = found.cost
            g = np.concatenate([found.initial, found.parameters,
                                found.u.ravel() if problem._limits is not None else []])
        costs.append(value)
        if value < best[0]:
            best = (value, x.copy())
        step = g * scale
        first = 0.9 * first + 0.1 * step
        second = 0.999 * second + 0.001 * step**2
        move = first / (1 - 0.9 ** (i + 1)) / (np.sqrt(second / (1 - 0.999 ** (i + 1))) + 1e-12)
        x = np.clip(x - rate * scale * move, lower, upper)
    problem.set_vector(best[1])
    return np.array(costs), best[1]
