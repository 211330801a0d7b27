# SPDX-License-Identifier: Apache-2.0
"""ot.optimise: motions chosen through the gradient of contact.

    problem = ot.optimise.Problem(model, steps=100, h=0.01)
    problem.vary_controls(-10, 10)
    problem.track("cart", "x", 1.0, weight=10, at="final")
    problem.effort(1e-3)
    best = problem.solve("ilqr")

What may vary: controls, numbers of the initial state, parameters, each within bounds. Costs: weighted
squares by name, or functions of NumPy, torch or JAX. docs/optimise.md has the methods.
"""
from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._bar import Bar, Progress
from ._baselines import adam, cma_es, randomised_gradient, smoothed
from ._core import (Error, Model, Parameters, RolloutCertificate, ShootingMethod, State, StepSettings,
                    TrajectoryOptions, TrajectoryStop)
from ._cost import OwnCost, PathFunctions
from ._ipopt import ipopt_round
from ._scene import save_scene, step_times
from ._simulate import rollout
from ._trajectory import Trajectory, number_of

__all__ = ["Gradient", "Mpc", "Problem", "Result", "adam", "cma_es",
           "randomised_gradient"]

Floats = NDArray[np.float64]
#: "all", "final", one frame, a slice, or frames; frame i is the state after i steps.
Frames = Union[str, int, slice, Sequence[int]]

_METHODS = {"lbfgs": ShootingMethod.Lbfgs, "gauss_newton": ShootingMethod.GaussNewton,
            "ilqr": ShootingMethod.Ilqr, "multiple_shooting": ShootingMethod.MultipleShooting,
            "ipopt": ShootingMethod.Lbfgs}  # which evaluates what IPOPT found


@dataclass(eq=False)
class Result:
    """What an optimisation found."""

    model: Model = field(repr=False)
    settings: StepSettings = field(repr=False)
    state: State = field(repr=False)  #: the initial state, with what was varied
    parameters: Parameters = field(repr=False)  #: all of them, with what was varied
    u: Floats = field(repr=False)  #: (steps, control_count)
    q: Floats = field(repr=False)  #: (steps + 1, q_size)
    v: Floats = field(repr=False)  #: (steps + 1, v_size)
    values: dict[str, float]  #: initial numbers ("ball.vx") and parameters that were varied
    cost: float
    violation: float  #: largest, of the bounds of states and of constraints
    defect: float  #: largest, of multiple shooting
    iterations: int
    evaluations: int  #: motions or sets of steps
    failed_steps: int  #: of the motion, whose solves missed their tolerance
    stop: TrajectoryStop
    history: Floats = field(repr=False)  #: (iterations + 1, 5): cost, violation, defect, step, damping

    @property
    def converged(self) -> bool:
        """The search ended because nothing was left to gain."""
        return self.stop == TrajectoryStop.Converged

    def of(self, body: str, what: str) -> Floats:
        """One number of a body in every frame, by name: "x", "angle", "vz", …"""
        kind, place = number_of(self.model, body, what)
        return (self.q if kind == "q" else self.v)[:, place]

    def run(self) -> Trajectory:
        """The motion once more as a run: `.show()` plays it, `.plot()` draws it."""
        u = self.u if self.model.control_count else None
        return rollout(self.model, self.parameters, self.settings, self.state, len(self.u), u=u,
                       progress=False)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a scene file that is this motion: `orthant run FILE` replays it, `orthant view` shows it.

        The model must be one that ModelBuilder made; what a scene file cannot say is an Error.
        """
        save_scene(path, self.model, self.u, state=self.state, parameters=self.parameters, settings=self.settings)

    def tables(self) -> dict[str, dict[str, list[float]]]:
        """Controls as `times` and `values` of each actuator, for a scene file: `orthant run` replays them."""
        times = step_times(self.state.t, self.settings.h, len(self.u))
        return {name: {"times": times, "values": [float(x) for x in self.u[:, i]]}
                for i, name in enumerate(self.model.actuator_names)}

    def plot(self, ax: Any = None) -> Any:
        """Cost and, where there are any, defects over the iterations. Needs matplotlib."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        axes.semilogy(np.maximum(self.history[:, 0], 1e-300), label="cost")
        if self.history[:, 2].any():
            axes.semilogy(np.maximum(self.history[:, 2], 1e-16), label="largest defect")
        axes.set_xlabel("iteration")
        axes.legend()
        return axes


@dataclass(eq=False)
class Gradient:
    """The derivative of the cost at the guess."""

    cost: float
    initial: Floats  #: in the order of vary_initial()
    parameters: Floats  #: in the order of vary_parameter()
    u: Floats  #: (steps, control_count)
    certificate: RolloutCertificate | None  #: read it before trusting the numbers


class Problem:
    """A motion to be chosen: model, horizon, what may vary, what it costs."""

    def __init__(self, model: Model, steps: int, *, state: State | None = None,
                 parameters: Parameters | None = None, settings: StepSettings | None = None,
                 **changes: Any) -> None:
        if steps < 1:
            raise Error(f"steps: must be >= 1, got {steps}")
        self.model = model
        self.steps = steps
        self.state = model.rest_state() if state is None else state.copy()
        self.parameters = (model.default_parameters() if parameters is None
                           else parameters.copy())
        self.settings = (StepSettings() if settings is None else settings).replace(**changes)
        self.u: Floats = np.zeros((steps, model.control_count))  #: the guess
        # Bounds of the controls; None: all are held, NaN: this one is.
        self._limits: tuple[Floats, Floats] | None = None
        self._initial: list[tuple[str, bool, int, float, float]] = []
        self._varied: list[tuple[str, int, float, float, float, float]] = []
        self._weights: dict[str, tuple[Floats, Floats]] = {}
        self._bounds: dict[str, tuple[Floats, Floats]] = {}
        self._guess: tuple[Floats, Floats] | None = None
        self._own: OwnCost | None = None
        self._path: PathFunctions | None = None

    # What may vary.

    def vary_controls(self, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf,
                      names: Sequence[str] | None = None) -> None:
        """Controls may vary within bounds (numbers, or shaped like u); names: of the actuators."""
        if self.model.control_count == 0:
            raise Error("vary_controls: the model has no actuators")
        if self._limits is None:
            self._limits = np.full(self.u.shape, np.nan), np.full(self.u.shape, np.nan)
        columns = self._columns(names)
        for limit, given, side in zip(self._limits, (lower, upper), ("lower", "upper")):
            bound = self._shaped(given, limit[:, columns].shape, f"{side} bounds of the controls")
            if np.isnan(bound).any():
                raise Error(f"{side} bounds of the controls: must be numbers, got nan")
            limit[:, columns] = bound

    def vary_initial(self, body: str, what: str, lower: float = -np.inf,
                     upper: float = np.inf) -> None:
        """A number of the initial state may vary: ("ball", "vx")."""
        kind, place = number_of(self.model, body, what)
        self._ordered(f"{body}.{what}", lower, upper)
        self._initial.append((f"{body}.{what}", kind == "v", place, float(lower), float(upper)))

    def vary_parameter(self, name: str, lower: float = -np.inf, upper: float = np.inf, *,
                       weight: float = 0.0, target: float | None = None) -> None:
        """A parameter may vary; weight: adds weight (value - target)^2 / 2."""
        place = self.parameters.index(name)
        self._ordered(name, lower, upper)
        goal = self.parameters[name] if target is None else target
        self._varied.append((name, place, float(lower), float(upper), float(weight), float(goal)))

    # What it costs.

    def track(self, body: str, what: str, target: ArrayLike = 0.0, weight: float = 1.0,
              at: Frames = "all") -> None:
        """Adds weight (number - target)^2 / 2 at the frames `at`; target: a number or one per frame."""
        kind, place = number_of(self.model, body, what)
        self._square(kind, self._frames(at), place, target, weight, f"target of {body}.{what}")

    def effort(self, weight: float = 1.0, target: ArrayLike = 0.0,
               names: Sequence[str] | None = None) -> None:
        """Adds weight (u - target)^2 / 2 at every step; names: of the actuators."""
        for column in self._columns(names):
            self._square("u", np.arange(self.steps), column, target, weight, "target of the effort")

    def cost(self, running: Callable[..., Any] | None = None,
             final: Callable[..., Any] | None = None, *, backend: str = "numpy") -> None:
        """A cost of your own: running(q, v, u) at every step, final(q, v) at the end.

        One number is the cost, a vector r costs r'r / 2. backend: "numpy" (the function is
        differentiated by differences), "jax" or "torch" (by themselves).
        """
        if running is None and final is None:
            raise Error("cost: expected a running or a final function")
        self._own = OwnCost(running, final, backend, self.model.q_size, self.model.v_size,
                            self.model.control_count)

    def bound(self, body: str, what: str, lower: float = -np.inf, upper: float = np.inf,
              at: Frames = "all") -> None:
        """The number stays within bounds at the frames `at`; equal ones: an equation."""
        kind, place = number_of(self.model, body, what)
        self._ordered(f"{body}.{what}", lower, upper)
        frames = self._frames(at)
        shape = (self.steps + 1, self.model.q_size if kind == "q" else self.model.v_size)
        low, high = self._bounds.setdefault(
            kind, (np.full(shape, -np.inf), np.full(shape, np.inf)))
        low[frames, place], high[frames, place] = lower, upper

    def constrain(self, function: Callable[..., Any], lower: ArrayLike = -np.inf,
                  upper: ArrayLike = np.inf, at: Frames = "all", *, backend: str = "numpy") -> None:
        """What function(q, v, u) returns, a number or a vector, stays within bounds at the frames `at`.

        Equal bounds: an equation. u is zero at the last frame. backend: as in cost().
        """
        m = self.model
        if self._path is None:
            self._path = PathFunctions(m.q_size, m.v_size, m.control_count, self.steps + 1)
        self._path.add(function, backend, self._frames(at), lower, upper, self.state.q, self.state.v)

    def guess(self, u: ArrayLike | None = None, q: ArrayLike | None = None,
              v: ArrayLike | None = None) -> None:
        """Where the search begins: controls, and for multiple shooting the states."""
        if u is not None:
            self.u = self._shaped(u, self.u.shape, "guess of u").copy()
        if (q is None) != (v is None):
            raise Error("guess: expected both q and v, or neither")
        if q is not None and v is not None:
            self._guess = (self._shaped(q, (self.steps + 1, self.model.q_size), "guess of q"),
                           self._shaped(v, (self.steps + 1, self.model.v_size), "guess of v"))

    # Answers.

    def solve(self, method: str = "ilqr", *, smoothing: Sequence[float] = (),
              options: TrajectoryOptions | None = None, progress: bool | Progress = True,
              threads: int | None = None, ipopt: Mapping[str, Any] | None = None,
              **changes: Any) -> Result:
        """The best motion from the guess on.

        method: "ilqr", "gauss_newton", "multiple_shooting", "lbfgs", or "ipopt" (multiple shooting
        on the solver that the package casadi brings); smoothing: values of kappa, one search each
        from the last one's result, 0 means exact; `changes` are fields of TrajectoryOptions. progress: a bar, or a function (iteration, cost, defect, violation) that may
        return False. ctrl-C returns the best so far. ipopt: options of IPOPT by name; with
        {"hessian_approximation": "exact"} it has the curvature of the cost alone, good for few unknowns.
        """
        if method not in _METHODS:
            raise Error(f"method: expected one of {', '.join(_METHODS)}, got '{method}'")
        given = (TrajectoryOptions() if options is None else options).replace(
            **{"method": _METHODS[method], **changes})
        bar = Bar(given.max_iterations * max(1, len(smoothing)),
                   None if isinstance(progress, bool) else progress, progress is True)
        now = copy(self)  # what the next search begins at
        histories: list[Floats] = []
        evaluations = 0
        found: dict[str, Any] = {}
        with bar:
            for kappa in smoothing or (None,):
                if kappa is not None:
                    given = given.replace(gradient=smoothed(given.gradient, kappa))
                use = -1 if threads is None else threads
                found = (ipopt_round(now, given, bar, use, ipopt or {}) if method == "ipopt"
                         else _round(now, given, bar, use))
                histories.append(found["history"][bool(histories):])
                evaluations += found["evaluations"]
                now.state, now.parameters, now.u = found["start"], found["parameters"], found["u"]
                now._guess = None
                if found["stop"] == TrajectoryStop.Interrupted:
                    break
        found["history"] = np.concatenate(histories)
        found["iterations"], found["evaluations"] = len(found["history"]) - 1, evaluations
        final: State = found.pop("start")
        values = {name: float((final.v if v else final.q)[place])
                  for name, v, place, *_ in self._initial}
        values.update({name: found["parameters"][name] for name, *_ in self._varied})
        return Result(model=self.model, settings=self.settings, state=final, values=values, **found)

    def gradient(self, *, options: TrajectoryOptions | None = None, **changes: Any) -> Gradient:
        """Cost and derivative at the guess, for optimisers of your own.

        `changes` are fields of TrajectoryOptions: gradient=…, loss_aware=True.
        """
        given = (TrajectoryOptions() if options is None else options).replace(**changes)
        cost, initial, parameters, u, certificate = _core.trajectory_gradient(
            self.model, self.parameters, self.settings, self.state, self.steps, self._spec(), given)
        return Gradient(cost, initial, parameters, u, certificate)

    def costs(self, q: Floats, v: Floats, u: Floats) -> Floats:
        """Costs of B motions at once, (B, steps + 1, …) and (B, steps, …); without that of parameters."""
        total = np.zeros(len(q))
        for kind, x in (("q", q), ("v", v), ("u", u)):
            if kind in self._weights:
                weight, target = self._weights[kind]
                total += 0.5 * np.einsum("fi,bfi->b", weight, (x - target) ** 2)
        if self._own is not None:
            total += [self._own(*one, False).sum() for one in zip(q, v, u)]
        return total

    def vector(self) -> tuple[Floats, Floats, Floats]:
        """All unknowns in one vector and their bounds: initial numbers, parameters, controls."""
        initial = [(self.state.v if v else self.state.q)[place] for _, v, place, *_ in self._initial]
        x = np.concatenate([initial, [self.parameters[name] for name, *_ in self._varied],
                            self.u.ravel() if self._limits is not None else []])
        lower = [r[3] for r in self._initial] + [r[2] for r in self._varied]
        upper = [r[4] for r in self._initial] + [r[3] for r in self._varied]
        low, high = self._control_bounds()
        if low is not None and high is not None:
            return (x, np.concatenate([lower, low.ravel()]), np.concatenate([upper, high.ravel()]))
        return x, np.array(lower), np.array(upper)

    def set_vector(self, x: ArrayLike) -> None:
        """Makes the unknowns of vector() the guess."""
        y = np.asarray(x, dtype=float)
        if y.shape != self.vector()[0].shape:
            raise Error(f"x: expected {self.vector()[0].size} unknowns, got shape {y.shape}")
        for number, (_, velocity, place, *_more) in zip(y, self._initial):
            (self.state.v if velocity else self.state.q)[place] = number
        rest = y[len(self._initial):]
        for number, (name, *_) in zip(rest, self._varied):
            self.parameters[name] = number
        if self._limits is not None:
            self.u = rest[len(self._varied):].reshape(self.u.shape).copy()

    # Parts.

    def _frames(self, at: Frames) -> NDArray[np.int64]:
        every = np.arange(self.steps + 1)
        if isinstance(at, str):
            if at not in ("all", "final"):
                raise Error(f"at: expected 'all', 'final' or frames, got '{at}'")
            return every if at == "all" else every[-1:]
        try:
            return np.atleast_1d(every[at])
        except IndexError:
            raise Error(f"at: frames are 0 … {self.steps}, got {at}") from None

    def _control_bounds(self) -> tuple[Floats | None, Floats | None]:
        """Those of the controls; what is held is held where the guess has it."""
        if self._limits is None:
            return None, None
        low, high = (np.where(np.isnan(x), self.u, x) for x in self._limits)
        return low, high

    def _columns(self, names: Sequence[str] | None) -> list[int]:
        if names is None:
            return list(range(self.model.control_count))
        return [self.model.control_index(n) for n in ([names] if isinstance(names, str) else names)]

    @staticmethod
    def _ordered(name: str, lower: float, upper: float) -> None:
        if not lower <= upper:
            raise Error(f"bounds of {name}: are empty: {lower:g} … {upper:g}")

    @staticmethod
    def _shaped(x: ArrayLike, shape: tuple[int, ...], where: str) -> Floats:
        try:
            return np.broadcast_to(np.asarray(x, dtype=float), shape)
        except ValueError:
            raise Error(f"{where}: expected a number or shape {shape}, got {np.shape(x)}") from None

    def _square(self, kind: str, frames: NDArray[np.int64], place: int, target: ArrayLike,
                weight: float, where: str) -> None:
        if not (np.isfinite(weight) and weight >= 0):
            raise Error(f"weight: must be finite and >= 0, got {weight}")
        sizes = {"q": self.model.q_size, "v": self.model.v_size, "u": self.model.control_count}
        shape = (self.steps + (kind != "u"), sizes[kind])
        weights, targets = self._weights.setdefault(kind, (np.zeros(shape), np.zeros(shape)))
        goal = self._shaped(target, frames.shape, where)
        if not np.isfinite(goal).all():
            raise Error(f"{where}: must be finite")
        old = weights[frames, place]
        total = old + weight  # two squares on one number are one, up to a constant
        targets[frames, place] = np.divide(old * targets[frames, place] + weight * goal, total,
                                           out=goal.copy(), where=total > 0)
        weights[frames, place] = total

    @staticmethod
    def _or_none(x: Floats | None) -> Floats | None:
        return x if x is not None and x.size else None

    def _spec(self) -> dict[str, Any]:
        low, high = self._control_bounds()
        spec: dict[str, Any] = {
            "controls": self._or_none(self.u), "vary_controls": self._limits is not None,
            "u_lower": self._or_none(low), "u_upper": self._or_none(high),
            "initial": [row[1:] for row in self._initial],
            "varied": [row[1:] for row in self._varied], "cost": self._own}
        for kind in ("q", "v", "u"):
            spec[f"{kind}_weight"], spec[f"{kind}_target"] = self._weights.get(kind, (None, None))
        for kind in ("q", "v"):
            spec[f"{kind}_lower"], spec[f"{kind}_upper"] = self._bounds.get(kind, (None, None))
        spec["path"] = self._path
        spec["path_lower"], spec["path_upper"] = (
            (None, None) if self._path is None else (self._path.lower, self._path.upper))
        spec["q_guess"], spec["v_guess"] = (None, None) if self._guess is None else self._guess
        return spec


def _round(problem: Problem, options: TrajectoryOptions, progress: Any, threads: int) -> dict[str, Any]:
    """One search of the library."""
    return _core.optimise(problem.model, problem.parameters, problem.settings, problem.state,
                          problem.steps, problem._spec(), options, progress, threads)


class Mpc:
    """Receding horizon: solves the problem from the state it is shown, returns the first control.

    The last solution, moved on by one step, is the next guess. Bounds, costs and horizon are those of
    the problem.
    """

    def __init__(self, problem: Problem, method: str = "ilqr", *, max_iterations: int = 3,
                 time_limit: float = 0.0, threads: int | None = None, **changes: Any) -> None:
        self.problem = problem
        self.result: Result | None = None  #: of the last call
        self._solve: dict[str, Any] = {"method": method, "max_iterations": max_iterations,
                                       "time_limit": time_limit, "threads": threads,
                                       "progress": False, **changes}

    def __call__(self, state: State) -> Floats:
        """The control for the step from `state` on, (control_count,)."""
        p = self.problem
        p.state = state.copy()
        if self.result is not None:
            p.u = np.concatenate([self.result.u[1:], self.result.u[-1:]])
        self.result = p.solve(**self._solve)
        return np.array(self.result.u[0])
