# SPDX-License-Identifier: Apache-2.0
"""Multiple shooting on IPOPT, which the package `casadi` brings along.

    min  sum of l_i(x_i, u_i)   over x_0 … x_T, u, parameters   with  step(x_i, u_i, p) - x_{i+1} = 0

States are the numbers of q and v; the Jacobian of the equations is exact, sparse and made in threads. The
Hessian is IPOPT's quasi-Newton one, or that of the cost (Gauss-Newton: the curvature of the steps, large where
joints bend the way, is left out). Bounds of states are bounds of variables here. The unknowns are laid out stage by stage: x_0, u_0, x_1, u_1, …, x_T, p.
"""
from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Callable, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._core import Error, TrajectoryOptions, TrajectoryStop

if TYPE_CHECKING:
    from .optimise import Problem

Floats = NDArray[np.float64]


class _Pattern:
    """A sparse matrix of fixed places: values in the order they were named => those of a CSC."""

    def __init__(self, rows: NDArray[Any], cols: NDArray[Any], shape: tuple[int, int]) -> None:
        numbered = sp.csc_matrix((np.arange(1, rows.size + 1), (rows, cols)), shape=shape)
        numbered.sort_indices()
        self.order = numbered.data - 1
        self.indptr, self.indices, self.shape = numbered.indptr, numbered.indices, shape

    def casadi(self, module: Any) -> Any:
        return module.Sparsity(*self.shape, self.indptr.tolist(), self.indices.tolist())


def _blocks(rows: int, cols: int, at_row: NDArray[Any], at_col: NDArray[Any]) -> tuple[Any, Any]:
    """Places of dense blocks whose corners are given."""
    r = at_row[:, None, None] + np.arange(rows)[None, :, None] + np.zeros((1, 1, cols), dtype=int)
    c = at_col[:, None, None] + np.arange(cols)[None, None, :] + np.zeros((1, rows, 1), dtype=int)
    return r.ravel(), c.ravel()


class Program:
    """The nonlinear program of a problem: functions of one vector."""

    def __init__(self, problem: Problem, options: TrajectoryOptions, threads: int) -> None:
        self.problem, self.options, self.threads = problem, options, threads
        self.spec = problem._spec()
        self.parameters = problem.parameters.copy()
        m = problem.model
        self.nq, self.nv, self.nu = m.q_size, m.v_size, m.control_count
        self.n, self.T, self.np = self.nq + self.nv, problem.steps, len(problem._varied)
        self.stage = self.n + self.nu
        self.size = self.T * self.stage + self.n + self.np
        # Functions of the path that are bounded: (frame, which), each a row after those of the steps.
        low, high = ((np.zeros((self.T + 1, 0)),) * 2 if problem._path is None
                     else (problem._path.lower, problem._path.upper))
        self.bounded = np.argwhere(np.isfinite(low) | np.isfinite(high))
        chosen = tuple(self.bounded.T)
        self.rows = self.T * self.n + len(self.bounded)
        zero = np.zeros(self.T * self.n)
        self.lower, self.upper = np.concatenate([zero, low[chosen]]), np.concatenate([zero, high[chosen]])
        self._seen: dict[str, tuple[bytes, Any]] = {}
        first = np.arange(self.T) * self.stage
        rows = np.arange(self.T) * self.n
        parts = [_blocks(self.n, self.n, rows, first), _blocks(self.n, self.nu, rows, first + self.n),
                 _blocks(self.n, self.np, rows, np.full(self.T, self.size - self.np)),
                 (np.arange(self.T * self.n), (first[:, None] + self.stage + np.arange(self.n)).ravel())]
        for i, (frame, _) in enumerate(self.bounded):
            width = self._width(frame)
            parts.append((np.full(width, self.T * self.n + i), frame * self.stage + np.arange(width)))
        self.jacobian_pattern = _Pattern(np.concatenate([p[0] for p in parts]),
                                         np.concatenate([p[1] for p in parts]), (self.rows, self.size))
        r, c = np.triu_indices(self.stage)
        self._upper = r, c
        last_r, last_c = np.triu_indices(self.n)
        self._last = last_r, last_c
        end = np.arange(self.size - self.np, self.size)
        self.hessian_pattern = _Pattern(
            np.concatenate([(first[:, None] + r).ravel(), self.T * self.stage + last_r, end]),
            np.concatenate([(first[:, None] + c).ravel(), self.T * self.stage + last_c, end]),
            (self.size, self.size))

    def _width(self, frame: int) -> int:
        """Numbers of a stage: the last has no controls."""
        return self.stage if frame < self.T else self.n

    def split(self, z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """q (T + 1, nq), v (T + 1, nv), u (T, nu), parameters varied."""
        body = z[:self.T * self.stage].reshape(self.T, self.stage)
        end = z[self.T * self.stage:]
        x = np.vstack([body[:, :self.n], end[:self.n]])
        return x[:, :self.nq], x[:, self.nq:], body[:, self.n:], end[self.n:]

    def join(self, q: Floats, v: Floats, u: Floats, p: Floats) -> Floats:
        x = np.hstack([q, v])
        return np.concatenate([np.hstack([x[:-1], u]).ravel(), x[-1], p])

    def start(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """The guess and the bounds of all unknowns."""
        p = self.problem
        low = [np.full((self.T + 1, k), -np.inf) for k in (self.nq, self.nv)]
        high = [-x for x in low]
        for i, kind in enumerate(("q", "v")):
            if kind in p._bounds:
                low[i][1:], high[i][1:] = (x[1:] for x in p._bounds[kind])
        low[0][0], low[1][0] = p.state.q, p.state.v
        high[0][0], high[1][0] = p.state.q, p.state.v
        for _, velocity, place, lower, upper in p._initial:
            low[velocity][0, place], high[velocity][0, place] = lower, upper
        held = p._control_bounds()
        ulow, uhigh = (p.u if x is None else x for x in held)
        values = np.array([p.parameters[name] for name, *_ in p._varied])
        lowest = self.join(low[0], low[1], ulow, np.array([row[2] for row in p._varied]))
        highest = self.join(high[0], high[1], uhigh, np.array([row[3] for row in p._varied]))
        guess = self.join(np.vstack([p.state.q, q[1:]]), np.vstack([p.state.v, v[1:]]), p.u, values)
        return np.clip(guess, lowest, highest), lowest, highest

    def _once(self, kind: str, z: Floats, make: Callable[[], Any]) -> Any:
        """IPOPT asks the same question several times over."""
        key = z.tobytes()
        if self._seen.get(kind, (b"", None))[0] != key:
            self._seen[kind] = (key, make())
        return self._seen[kind][1]

    def cost(self, z: Floats) -> float:
        q, v, u, values = self.split(z)
        own = sum(0.5 * w * (x - goal) ** 2 for x, (*_, w, goal) in zip(values, self.problem._varied))
        return float(self.problem.costs(q[None], v[None], u[None])[0] + own)

    def expand(self, z: Floats) -> tuple[Floats, Floats]:
        """Gradient of the cost, and its Hessian's values in the order of the pattern."""
        def make() -> tuple[Floats, Floats]:
            q, v, u, values = self.split(z)
            g = np.zeros((self.T + 1, self.stage))
            H = np.zeros((self.T + 1, self.stage, self.stage))
            if self.problem._own is not None:
                _, own, curve = self.problem._own(q, v, u, True)
                g += own
                H += curve.reshape(H.shape)
            for kind, x, begin in (("q", q, 0), ("v", v, self.nq), ("u", u, self.n)):
                if kind in self.problem._weights:
                    weight, target = self.problem._weights[kind]
                    columns = np.arange(begin, begin + x.shape[1])
                    g[:len(x), columns] += weight * (x - target)
                    H[:len(x), columns, columns] += weight
            weights = np.array([row[4] for row in self.problem._varied])
            goals = np.array([row[5] for row in self.problem._varied])
            gradient = np.concatenate([g[:-1].ravel(), g[-1, :self.n], weights * (values - goals)])
            return gradient, np.concatenate([H[:-1, self._upper[0], self._upper[1]].ravel(),
                                             H[-1, self._last[0], self._last[1]], weights])
        return self._once("expand", z, make)

    def steps(self, z: Floats, jacobians: bool) -> tuple[Floats, Any]:
        """Defects (T, n), and Jacobians where asked for."""
        def make() -> tuple[Floats, Any]:
            q, v, u, values = self.split(z)
            for (name, *_), x in zip(self.problem._varied, values):
                self.parameters[name] = float(x)
            p = self.problem
            after, linear = _core.node_steps(p.model, self.parameters, p.settings, p.state, self.T, self.spec,
                                             q, v, u, jacobians, self.options.gradient, self.threads)
            return after - np.hstack([q, v])[1:], linear
        if not jacobians and self._seen.get("linear", (b"", None))[0] == z.tobytes():
            return self._seen["linear"][1]
        return self._once("linear" if jacobians else "steps", z, make)

    def constraints(self, z: Floats) -> Floats:
        """Defects, then the functions of the path."""
        defects = self.steps(z, False)[0].ravel()
        if self.problem._path is None:
            return defects
        value = self.problem._path(*self.split(z)[:3], False)
        return np.concatenate([defects, value[tuple(self.bounded.T)]])

    def jacobian(self, z: Floats) -> Floats:
        """Values in the order of the pattern."""
        A, B, P = self.steps(z, True)[1]
        values = [A.ravel(), B.ravel(), P.ravel(), np.full(self.T * self.n, -1.0)]
        if self.problem._path is not None:
            value, by = self.problem._path(*self.split(z)[:3], True)
            by = by.reshape(*value.shape, self.stage)
            values += [by[frame, which, :self._width(frame)] for frame, which in self.bounded]
        return np.concatenate(values)


def _function(casadi: Any, name: str, inputs: list[Any], outputs: list[Any],
              f: Callable[..., list[Any]]) -> Any:
    class Function(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(inputs)

        def get_n_out(self) -> int:
            return len(outputs)

        def get_name_in(self, i: int) -> str:
            return str(inputs[i][0])

        def get_name_out(self, i: int) -> str:
            return str(outputs[i][0])

        def get_sparsity_in(self, i: int) -> Any:
            return inputs[i][1]

        def get_sparsity_out(self, i: int) -> Any:
            return outputs[i][1]

        def eval(self, arguments: Any) -> Any:
            return f(*arguments)

    return Function()


def search(problem: Problem, options: TrajectoryOptions, progress: Callable[..., Any], threads: int,
           own: Mapping[str, Any], q: Floats, v: Floats) -> dict[str, Any]:
    """IPOPT from the guess on: unknowns, history, defect, stop."""
    try:
        import casadi
    except ImportError:
        raise Error("method 'ipopt': needs the package casadi: pip install casadi") from None
    program = Program(problem, options, threads)
    z, lower, upper = program.start(q, v)
    dense = casadi.Sparsity.dense
    x, none, g = ("x", dense(program.size)), ("p", dense(0, 0)), ("g", dense(program.rows))
    f = ("f", dense(1))
    jacobian, hessian = program.jacobian_pattern, program.hessian_pattern
    jacobian_places, hessian_places = jacobian.casadi(casadi), hessian.casadi(casadi)
    failure: list[BaseException] = []
    history: list[tuple[float, ...]] = []

    def safe(make: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def call(at: Any, *rest: Any) -> list[Any]:
            try:
                return make(np.asarray(at).ravel(), *rest)
            except BaseException as e:  # casadi would keep its text alone
                failure.append(e)
                raise
        return call

    def hess(at: Floats, _p: Any, scale: Any, _multipliers: Any) -> list[Any]:
        values = float(scale) * program.expand(at)[1]
        return [casadi.DM(hessian_places, values[hessian.order])]

    def slopes(at: Floats, *rest: Any) -> list[Any]:
        values = program.jacobian(at)[jacobian.order]  # first: it has the defects as well
        return [program.constraints(at), casadi.DM(jacobian_places, values)]

    functions = {
        "nlp": _function(casadi, "nlp", [x, none], [f, g], safe(
            lambda at, *rest: [program.cost(at), program.constraints(at)])),
        "grad_f": _function(casadi, "grad_f", [x, none], [f, ("grad", dense(program.size))], safe(
            lambda at, *rest: [program.cost(at), program.expand(at)[0]])),
        "jac_g": _function(casadi, "jac_g", [x, none], [g, ("jac", jacobian_places)], safe(slopes)),
        "hess_lag": _function(casadi, "hess_lag", [x, none, ("lam_f", dense(1)), ("lam_g", g[1])],
                              [("hess", hessian_places)], safe(hess))}

    def watch(*arguments: Any) -> list[Any]:
        g_now = np.asarray(arguments[2]).ravel()[:program.T * program.n]
        cost, defect = float(arguments[1]), float(np.abs(g_now).max())
        history.append((cost, 0.0, defect, 1.0, 0.0))
        try:
            return [1 if progress(len(history) - 1, cost, defect, 0.0) is False else 0]
        except BaseException as e:
            failure.append(e)
            return [1]

    names = [("x", program.size), ("f", 1), ("g", program.rows), ("lam_x", program.size),
             ("lam_g", program.rows), ("lam_p", 0)]
    callback = _function(casadi, "watch", [(name, dense(size, 1 if size else 0)) for name, size in names],
                         [("ret", dense(1))], watch)
    given: dict[str, Any] = {
        "max_iter": options.max_iterations, "tol": max(options.tolerance, 1e-12),
        "constr_viol_tol": options.feasibility, "bound_relax_factor": 0.0, "print_level": 0, "sb": "yes",
        "hessian_approximation": "limited-memory", "limited_memory_max_history": 20,
        "nlp_scaling_method": "none", **own}
    if options.time_limit > 0:
        given["max_wall_time"] = options.time_limit
    derivatives = {name: functions[name] for name in ("grad_f", "jac_g")}
    if given["hessian_approximation"] == "exact":
        derivatives["hess_lag"] = functions["hess_lag"]
    try:
        solver = casadi.nlpsol("solver", "ipopt", functions["nlp"], {
            **derivatives, "iteration_callback": callback, "print_time": False, "error_on_fail": False,
            "no_nlp_grad": True, **{f"ipopt.{name}": value for name, value in given.items()}})
    except RuntimeError as e:
        raise Error(f"ipopt: {str(e).strip().splitlines()[-1]}") from None
    try:
        found = solver(x0=z, lbx=lower, ubx=upper, lbg=program.lower, ubg=program.upper)
    except RuntimeError:
        if failure:
            raise failure[0] from None
        raise
    if failure:
        raise failure[0]
    best = np.clip(np.asarray(found["x"]).ravel(), lower, upper)
    status = str(solver.stats()["return_status"])
    stops = {"Solve_Succeeded": TrajectoryStop.Converged,
             "Solved_To_Acceptable_Level": TrajectoryStop.Converged,
             "Maximum_Iterations_Exceeded": TrajectoryStop.IterationLimit,
             "Maximum_WallTime_Exceeded": TrajectoryStop.TimeLimit,
             "Maximum_CpuTime_Exceeded": TrajectoryStop.TimeLimit,
             "User_Requested_Stop": TrajectoryStop.Interrupted,
             "Infeasible_Problem_Detected": TrajectoryStop.NotFeasible}
    q_found, v_found, u, values = program.split(best)
    return {"q": q_found, "v": v_found, "u": u, "values": values, "history": np.array(history).reshape(-1, 5),
            "defect": float(np.abs(program.steps(best, False)[0]).max()),
            "stop": stops.get(status, TrajectoryStop.NoDescent)}


def ipopt_round(problem: Problem, options: TrajectoryOptions, progress: Callable[..., Any],
                threads: int, own: Mapping[str, Any]) -> dict[str, Any]:
    """One search by IPOPT; what is handed out is the rollout of the controls found."""
    def motion(of: Problem) -> dict[str, Any]:
        return _core.optimise(of.model, of.parameters, of.settings, of.state, of.steps, of._spec(),
                              options.replace(max_iterations=0, time_limit=0.0), None, threads)

    guess = motion(problem)  # says what is wrong with a bad problem
    q, v = (guess["q"], guess["v"]) if problem._guess is None else problem._guess
    found = search(problem, options, progress, threads, own, q, v)
    now = copy(problem)
    now._guess = None
    now.state, now.parameters = problem.state.copy(), problem.parameters.copy()
    now.state.q[:], now.state.v[:] = found["q"][0], found["v"][0]
    for (name, *_), value in zip(problem._varied, found["values"]):
        now.parameters[name] = float(value)
    if problem._limits is not None:
        now.u = found["u"]
    out = motion(now)
    if found["stop"] != TrajectoryStop.Converged and out["cost"] > guess["cost"] and \
            out["violation"] >= guess["violation"]:
        out = guess  # an iterate that was cut short need not be a motion yet
    first = (guess["cost"], guess["violation"], 0.0, 0.0, 0.0)
    history = found["history"] if len(found["history"]) else np.array([first])
    return {**out, "history": history, "evaluations": len(history), "defect": found["defect"],
            "stop": found["stop"]}
