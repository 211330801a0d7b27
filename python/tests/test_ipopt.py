# SPDX-License-Identifier: Apache-2.0
"""Multiple shooting on IPOPT: the same motions as the methods of the library."""
from __future__ import annotations

import importlib.util
import runpy
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import block_world
from test_optimise import slide, spinner

import orthant as ot
from orthant._ipopt import Program

needs_ipopt = pytest.mark.skipif(importlib.util.find_spec("casadi") is None, reason="needs casadi")


@needs_ipopt
@pytest.mark.parametrize("hessian", ["limited-memory", "exact"])
def test_agrees_with_the_methods_of_the_library(hessian):
    best = slide().solve("ipopt", tolerance=1e-9, max_iterations=300, ipopt={"hessian_approximation": hessian})
    assert best.converged and best.defect < 1e-6
    assert best.cost == pytest.approx(slide().solve("gauss_newton").cost, rel=1e-4)
    np.testing.assert_array_equal(best.run().q[-1], best.q[-1])
    assert best.history.shape == (best.iterations + 1, 5)


@needs_ipopt
def test_constraints_are_rows_of_the_program():
    free = slide().solve("gauss_newton")
    most = 0.8 * (free.u[:, 0] * free.v[:-1, 0]).max()
    p = slide()
    p.constrain(lambda q, v, u: np.array([u[0] * v[0]]), upper=most)
    best = p.solve("ipopt", tolerance=1e-8, max_iterations=300, progress=False)
    assert best.converged and (best.u[:, 0] * best.v[:-1, 0]).max() <= most + 1e-5
    assert best.cost == pytest.approx(p.solve("ilqr", max_iterations=300, progress=False).cost, rel=1e-2)


@needs_ipopt
def test_a_second_opinion_on_the_catapult(monkeypatch):
    """From its stated start IPOPT ends at a kink; iLQR's answer fulfils its conditions too."""
    monkeypatch.setenv("ORTHANT_QUICK", "1")
    example = Path(__file__).resolve().parents[1] / "examples/19_catapult.py"
    found = runpy.run_path(str(example))
    p, best = found["p"], found["best"]
    p.guess(u=best.u)
    again = p.solve("ipopt", tolerance=1e-6, max_iterations=60, progress=False)
    assert again.converged and again.cost == pytest.approx(best.cost, rel=1e-4)


def test_functions_of_the_program_against_differences():
    p = ot.optimise.Problem(spinner(), 4, h=0.05)
    p.vary_controls(-5, 5)
    p.vary_initial("top", "wz")
    p.vary_parameter("body/top.mass", 1.0, 20.0, weight=0.3)
    p.track("top", "qx", 0.3, weight=10)
    p.effort(1e-2)
    p.cost(lambda q, v, u: v[0] ** 2 * u[1])
    p.guess(u=np.random.default_rng(0).uniform(-1, 1, (4, 3)))
    run = ot.rollout(p.model, p.parameters, p.settings, p.state, 4, u=p.u)
    p.constrain(lambda q, v, u: np.array([q[0] * v[3], u[0] * v[4]]), -3.0, [1.0, np.inf])
    program = Program(p, ot.TrajectoryOptions(), 1)
    z, lower, upper = program.start(run.q, run.v)
    z = z + 0.01 * np.random.default_rng(1).standard_normal(z.size)  # no motion, quaternions not of length 1
    dense = np.zeros((program.rows, program.size))
    pattern = program.jacobian_pattern
    for j in range(program.size):
        for k in range(pattern.indptr[j], pattern.indptr[j + 1]):
            dense[pattern.indices[k], j] = program.jacobian(z)[pattern.order[k]]
    step = 1e-6
    for j in range(program.size):
        d = np.zeros(z.size)
        d[j] = step
        slope = (program.cost(z + d) - program.cost(z - d)) / (2 * step)
        assert program.expand(z)[0][j] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        column = (program.constraints(z + d) - program.constraints(z - d)) / (2 * step)
        np.testing.assert_allclose(dense[:, j], column, rtol=1e-5, atol=1e-6)


@needs_ipopt
def test_bounds_of_states_initial_numbers_and_parameters():
    p = slide()
    p.bound("block", "vx", upper=0.9)
    best = p.solve("ipopt")
    assert best.converged and best.of("block", "vx").max() <= 0.9 + 1e-5
    model = block_world(velocity=(2.0, 0.0))
    truth = model.default_parameters()
    truth["material/wood.friction"] = 0.37
    seen = ot.rollout(model, truth, ot.StepSettings(h=0.02), model.rest_state(), 15)
    p = ot.optimise.Problem(model, 15, h=0.02)
    p.vary_parameter("material/wood.friction", 0.0, 1.0)
    p.vary_initial("block", "vx", 0.5, 5.0)
    p.state.v[0] = 1.5
    p.track("block", "x", seen.of("block", "x"))
    best = p.solve("ipopt", tolerance=1e-12, ipopt={"hessian_approximation": "exact"})
    assert best.values["material/wood.friction"] == pytest.approx(0.37, abs=1e-4)
    assert best.values["block.vx"] == pytest.approx(2.0, abs=1e-4)


@needs_ipopt
def test_begins_at_a_guess_of_the_states_and_smooths():
    p = slide(20)
    rest = p.model.rest_state()
    q, v = np.tile(rest.q, (21, 1)), np.tile(rest.v, (21, 1))
    q[:, 3] = np.linspace(0, 0.5, 21)
    v[1:, 0] = 0.5 / 0.4
    p.guess(q=q, v=v)
    best = p.solve("ipopt", smoothing=(1e-2, 0.0))
    assert best.history[0, 2] > 0.1  # the guess is no motion
    assert best.defect < 1e-6 and abs(best.of("block", "x")[-1] - 0.5) < 0.02


@needs_ipopt
def test_stops_and_errors():
    def press(iteration, *rest):
        if iteration == 2:
            signal.raise_signal(signal.SIGINT)

    best = slide().solve("ipopt", progress=press)
    assert best.stop == ot.TrajectoryStop.Interrupted and best.iterations == 2
    assert best.cost <= slide().gradient().cost
    assert slide().solve("ipopt", max_iterations=1).stop == ot.TrajectoryStop.IterationLimit
    p = slide(5)
    p.cost(lambda q, v, u: float("nan"))
    with pytest.raises(ot.Error, match="cost: is not finite at the first guess"):
        p.solve("ipopt", progress=False)
    p = slide(5)
    p.vary_controls(2.0, 1.0)
    with pytest.raises(ot.Error, match="bounds of the controls: are empty"):
        p.solve("ipopt")

    with pytest.raises(ot.Error, match="ipopt: .*no_such_option"):
        slide().solve("ipopt", ipopt={"no_such_option": 1})

    def broken(iteration, *rest):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        slide().solve("ipopt", progress=broken)


def test_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)  # as if it were not installed
    with pytest.raises(ot.Error, match="needs the package casadi"):
        slide().solve("ipopt")
