# SPDX-License-Identifier: Apache-2.0
"""ot.optimise: methods, costs, bounds, errors, threads, MPC."""
from __future__ import annotations

import csv
import importlib.util
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import block_world

import orthant as ot

METHODS = ["lbfgs", "gauss_newton", "ilqr", "multiple_shooting"]


def slide(steps: int = 30) -> ot.optimise.Problem:
    """A block that is to stop half a metre on."""
    p = ot.optimise.Problem(block_world(velocity=(0.0, 0.0)), steps, h=0.02,
                            solver=ot.SolveSettings(tolerance=1e-12))
    p.vary_controls(-40, 40)
    p.track("block", "x", 0.5, weight=100, at="final")
    p.track("block", "vx", 0.0, weight=10, at="final")
    p.effort(1e-4)
    p.guess(u=np.full((steps, 1), 12.0))
    return p


def swing() -> ot.Model:
    """An arm of three bodies on hinges about three axes: 36 numbers of a state, 6 of which can change."""
    b = ot.ModelBuilder()
    for i, (name, above, axis) in enumerate((("upper", "world", (0, 1, 0)), ("fore", "upper", (1, 0, 0)),
                                             ("hand", "fore", (0, 1, 0)))):
        b.add_body(name, position=(0, 0, -0.2 - 0.4 * i), mass=1.0 - 0.2 * i, shapes=[ot.Shape.box(0.03, 0.05, 0.2)])
        b.add_joint(name, ot.JointKind.Revolute, name, above, anchor=(0, 0, -0.4 * i), axis=axis)
        b.add_joint_actuator(name, name)
    return b.build()


def stand(steps: int) -> ot.optimise.Problem:
    """A quadruped of nine bodies is to stay where it is after a knock."""
    from orthant._tasks import Stand

    task = Stand()
    p = ot.optimise.Problem(task.model, steps, settings=task.settings.replace(h=0.02))
    p.vary_controls(-20, 20)
    p.effort(2e-4)
    p.state.v[task.model.v_slice("torso")][0] = 0.5
    for what, goal, weight in (("z", task.height, 100), ("vx", 0, 2), ("wy", 0, 0.3)):
        p.track("torso", what, goal, weight)
    return p


def test_the_exact_gradient_is_zero_where_ilqr_ends():
    """It linearises along what can come about, not along every number of a state: nothing is left out."""
    p = ot.optimise.Problem(swing(), 20, h=0.02, solver=ot.SolveSettings(tolerance=1e-13))
    p.vary_controls()
    p.effort(1e-2)
    for what, goal in (("x", 0.6), ("y", 0.3), ("z", -0.5), ("vx", 0.0)):
        p.track("hand", what, goal, 10, at="final")
    first = np.abs(p.gradient().u).max()
    best = p.solve("ilqr", tolerance=1e-16, max_iterations=100, progress=False)
    p.guess(u=best.u)
    assert np.abs(p.gradient().u).max() < 1e-6 * first


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_and_replay(method):
    best = slide().solve(method, tolerance=1e-10, max_iterations=200)
    assert best.cost == pytest.approx(slide().solve("gauss_newton").cost, rel=1e-3)
    assert abs(best.of("block", "x")[-1] - 0.5) < 0.01
    run = best.run()
    np.testing.assert_array_equal(run.q[-1], best.q[-1])  # the very same motion
    assert best.history.shape == (best.iterations + 1, 5)
    assert best.history[-1, 0] < best.history[0, 0]


def test_costs_of_ones_own():
    reference = slide().solve("gauss_newton")
    x, vx = 3, 0

    def final(q, v):
        return np.array([10 * (q[x] - 0.5), np.sqrt(10) * v[vx]])

    def running(q, v, u):
        return 0.5e-4 * u[0] ** 2

    own = ot.optimise.Problem(block_world(velocity=(0.0, 0.0)), 30, h=0.02,
                              solver=ot.SolveSettings(tolerance=1e-12))
    own.vary_controls(-40, 40)
    own.guess(u=np.full((30, 1), 12.0))
    own.cost(running, final)
    assert own.solve("gauss_newton").cost == pytest.approx(reference.cost, rel=1e-6)
    if importlib.util.find_spec("jax") is not None:
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)
        own.cost(running, lambda q, v: jnp.stack([10 * (q[x] - 0.5), jnp.sqrt(10.0) * v[vx]]),
                 backend="jax")
        assert own.solve("gauss_newton").cost == pytest.approx(reference.cost, rel=1e-6)
    if importlib.util.find_spec("torch") is not None:
        import torch

        own.cost(running, lambda q, v: torch.stack([10 * (q[x] - 0.5), 10**0.5 * v[vx]]),
                 backend="torch")
        assert own.solve("gauss_newton").cost == pytest.approx(reference.cost, rel=1e-6)


def test_initial_numbers_and_parameters():
    model = block_world(velocity=(2.0, 0.0))
    truth = model.default_parameters()
    truth["material/wood.friction"] = 0.37
    seen = ot.rollout(model, truth, ot.StepSettings(h=0.02), model.rest_state(), 15)
    p = ot.optimise.Problem(model, 15, h=0.02)
    p.vary_parameter("material/wood.friction", 0.0, 1.0)
    p.vary_initial("block", "vx", 0.5, 5.0)
    p.state.v[0] = 1.5
    p.track("block", "x", seen.of("block", "x"))
    best = p.solve("ilqr", tolerance=1e-14)
    assert best.values["material/wood.friction"] == pytest.approx(0.37, abs=1e-5)
    assert best.values["block.vx"] == pytest.approx(2.0, abs=1e-5)


def test_gradient_against_differences():
    p = slide(10)
    p.vary_parameter("body/block.mass", 1.0, 5.0)
    p.vary_initial("block", "vx")
    x, lower, upper = p.vector()
    g = p.gradient()
    mine = np.concatenate([g.initial, g.parameters, g.u.ravel()])

    def cost(y):
        p.set_vector(y)
        return p.gradient().cost

    for i in (0, 1, 2, 7):
        d = np.zeros(x.size)
        d[i] = 1e-5
        assert mine[i] == pytest.approx((cost(x + d) - cost(x - d)) / 2e-5, rel=1e-4, abs=1e-7)
    assert lower[1] == 1.0 and np.isinf(upper[0])


def test_bounds_of_states():
    p = slide()
    p.bound("block", "vx", upper=0.9)
    best = p.solve("ilqr", max_iterations=200)
    assert best.converged and best.of("block", "vx").max() <= 0.9 + 1e-6
    assert slide().solve("ilqr").of("block", "vx").max() > 1.0


@pytest.mark.parametrize("method", ["ilqr", "gauss_newton", "multiple_shooting"])
def test_constraints_are_functions_of_ones_own(method):
    """A power that may not be exceeded, of state and control; and two numbers that must be equal."""
    free = slide().solve("ilqr")
    most = 0.8 * (free.u[:, 0] * free.v[:-1, 0]).max()
    p = slide()
    p.constrain(lambda q, v, u: u[0] * v[0], upper=most)
    best = p.solve(method, max_iterations=300, progress=False)
    assert best.violation < 1e-5 and (best.u[:, 0] * best.v[:-1, 0]).max() <= most + 1e-5
    assert best.cost > free.cost and abs(best.of("block", "x")[-1] - 0.5) < 0.05


def test_constraints_at_frames_and_by_other_backends():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    results = []
    for backend in ("numpy", "jax"):
        p = slide()
        p.constrain(lambda q, v, u: q[3:4] - 0.2, 0.0, 0.0, at=20, backend=backend)
        best = p.solve("gauss_newton", max_iterations=100)
        assert best.violation < 1e-6 and best.of("block", "x")[20] == pytest.approx(0.2, abs=1e-6)
        results.append(best.cost)
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_constraints_that_are_wrong_are_named():
    p = slide(5)
    with pytest.raises(ot.Error, match=r"lower bounds of the constraint: expected a number or shape \(2,\)"):
        p.constrain(lambda q, v, u: q[:2], np.zeros(3))
    with pytest.raises(ot.Error, match="bounds of the constraint: are empty"):
        p.constrain(lambda q, v, u: q[0], 1.0, 0.0)
    with pytest.raises(ot.Error, match="constraint: a function must return one number or a vector"):
        p.constrain(lambda q, v, u: np.zeros((2, 2)), 0.0)
    p.constrain(lambda q, v, u: float("nan"), 0.0)
    with pytest.raises(ot.Error, match="path: a function that is bounded is not finite"):
        p.solve(progress=False)


def test_smoothing_moves_a_block_that_sticks():
    p = slide()
    p.guess(u=np.full((30, 1), 5.0))  # sticks: the exact gradient says nothing
    assert p.solve("lbfgs", max_iterations=20).of("block", "x")[-1] < 1e-6
    best = p.solve("lbfgs", smoothing=(1e-1, 1e-2, 1e-3, 0.0), max_iterations=60)
    assert abs(best.of("block", "x")[-1] - 0.5) < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_same_bits_on_any_number_of_threads(method):
    one, two = (slide().solve(method, threads=n, max_iterations=8) for n in (1, 2))
    np.testing.assert_array_equal(one.u, two.u)
    np.testing.assert_array_equal(one.history, two.history)


def test_same_bits_where_a_step_takes_many_products():
    """A quadruped: the products of one step are shared out over the threads."""
    results = []
    for threads in (1, 2):
        p = stand(6)
        results.append(p.solve("ilqr", threads=threads, max_iterations=2, progress=False))
    np.testing.assert_array_equal(results[0].u, results[1].u)
    assert results[0].cost < results[0].history[0, 0]


def test_errors_name_what_is_wrong():
    p = slide(5)
    with pytest.raises(ot.UnknownName, match="did you mean 'block'"):
        p.track("blok", "x")
    with pytest.raises(ot.UnknownName, match="a planar body has"):
        p.vary_initial("block", "z")
    with pytest.raises(ot.UnknownName, match="did you mean"):
        p.vary_parameter("body/block.mas")
    with pytest.raises(ot.Error, match=r"guess of u: expected a number or shape \(5, 1\)"):
        p.guess(u=np.zeros((4, 1)))
    with pytest.raises(ot.Error, match="target of block.x: expected"):
        p.track("block", "x", np.zeros(3))
    with pytest.raises(ot.Error, match="bounds of block.x: are empty"):
        p.bound("block", "x", 2, 1)
    with pytest.raises(ot.Error, match="method: expected one of"):
        p.solve("newton")
    with pytest.raises(ot.Error, match="frames are 0 … 5"):
        p.track("block", "x", at=9)
    with pytest.raises(ot.Error, match="backend"):
        p.cost(lambda q, v, u: 0.0, backend="tensorflow")
    p.vary_controls(2.0, 1.0)
    with pytest.raises(ot.Error, match="bounds of the controls: are empty"):
        p.solve()
    p.vary_controls(20.0, 30.0)
    with pytest.raises(ot.Error, match="control 'push' at step 0: the start 12 is outside"):
        p.solve()
    p = slide(5)
    p.cost(lambda q, v, u: float("nan"))
    with pytest.raises(ot.Error, match="cost: is not finite at the first guess: stage 0"):
        p.solve(progress=False)
    for answer, error, words in (
            (np.zeros((2, 2)), ot.Error, r"one number or a vector, got shape \(2, 2\)"),
            ("cheap", TypeError, "one number or a vector, got str")):
        p.cost(lambda q, v, u, answer=answer: answer)
        with pytest.raises(error, match=words):
            p.solve(progress=False)
    p.cost(lambda q, v, u: np.ones(1 + (q[3] > 0)))
    with pytest.raises(ot.Error, match="the same shape at every step"):
        p.solve(progress=False)
    with pytest.raises(ot.Error, match="bounds of block.vx: are empty"):
        p.vary_initial("block", "vx", 2, 1)
    with pytest.raises(ot.Error, match="bounds of body/block.mass: are empty"):
        p.vary_parameter("body/block.mass", 2, 1)
    p.vary_initial("block", "vx")
    p.vary_initial("block", "vx")
    with pytest.raises(ot.Error, match="varies twice"):
        p.solve(progress=False)
    held = ot.optimise.Problem(block_world(), 5)
    with pytest.raises(ot.Error, match="nothing varies"):
        held.solve()
    p = slide(5)
    p.cost(lambda q, v, u: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        p.solve(progress=False)


def test_bounds_that_cannot_be_met_are_said_to_be():
    p = slide(5)
    p.bound("block", "x", 3.0, 4.0, at="final")  # 40 N for 0.1 s move it by centimetres
    best = p.solve("ilqr", progress=False)
    assert best.stop == ot.TrajectoryStop.NotFeasible and not best.converged and best.violation > 2.0


def test_results_and_problems_are_pickled():
    p = slide(10)
    best = p.solve("ilqr", progress=False)
    again = pickle.loads(pickle.dumps(best))
    assert again.cost == best.cost
    np.testing.assert_array_equal(again.run().q[-1], best.q[-1])
    assert pickle.loads(pickle.dumps(p)).solve("ilqr", progress=False).cost == best.cost


def test_stops_when_asked():
    best = slide().solve("lbfgs", progress=lambda i, *rest: i < 3)
    assert best.stop == ot.TrajectoryStop.Interrupted and best.iterations == 3
    assert best.cost < best.history[0, 0]


def test_ctrl_c_returns_the_best_so_far():
    def press(iteration, *rest):
        if iteration == 2:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    best = slide().solve("lbfgs", progress=press)
    assert best.stop == ot.TrajectoryStop.Interrupted and best.iterations == 2
    assert best.cost < best.history[0, 0]
    assert signal.getsignal(signal.SIGINT) is before


CTRL_C = """
import sys, time
sys.path[:0] = {path!r}
from test_optimise import slide
p = slide(60)
def slowly(*now):
    print("goes", flush=True)
    time.sleep(0.3)
best = p.solve("lbfgs", max_iterations=100000, tolerance=0.0, progress=slowly)
print(best.stop.name, best.iterations > 0, best.cost < best.history[0, 0], best.run().steps)
"""


def test_ctrl_c_from_the_keyboard_returns_the_best_so_far():
    """A real signal, to a process of its own."""
    code = CTRL_C.format(path=[str(Path(ot.__file__).parents[1]), str(Path(__file__).parent)])
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline().strip() == "goes"
        child.send_signal(signal.SIGINT)
        words = [w for w in child.stdout.read().split() if w != "goes"]
        assert child.wait(timeout=60) == 0 and words == ["Interrupted", "True", "True", "60"]


def test_mpc_holds_a_block_on_its_mark():
    p = slide(12)
    p.guess(u=np.zeros((12, 1)))
    sim = ot.Simulator(p.model, settings=p.settings)
    sim.state.v[0] = 1.0
    mpc = ot.optimise.Mpc(p, "gauss_newton", max_iterations=5)
    for _ in range(60):
        sim.step(mpc(sim.state))
    assert abs(sim.of("block", "x") - 0.5) < 0.05 and abs(sim.of("block", "vx")) < 0.1


def test_randomised_gradient_points_downhill():
    p = slide(8)
    g = p.gradient().u.ravel()
    cost, r = ot.optimise.randomised_gradient(p, sigma=0.002, samples=200, seed=3)
    assert cost == pytest.approx(p.gradient().cost, rel=1e-9)
    assert g @ r / np.linalg.norm(g) / np.linalg.norm(r) > 0.9


def test_plots():
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    best = slide().solve("multiple_shooting")
    assert len(best.plot().lines) == 2


def test_baselines():
    pytest.importorskip("cma")
    p = slide(6)
    p.track("block", "x", 0.5, weight=100, at="final")
    before = p.gradient().cost
    costs, x = ot.optimise.cma_es(p, evaluations=200, seed=2)
    assert costs[-1] < before and (np.diff(costs) <= 0).all()
    p.set_vector(x)
    assert p.gradient().cost == pytest.approx(costs[-1], rel=1e-6)
    for kind in ("exact", "smoothed", "loss_aware", "randomised"):
        p = slide(6)
        costs, _ = ot.optimise.adam(p, gradient=kind, iterations=5, samples=8)
        assert len(costs) == 6 and costs.min() < costs[0], kind


def test_multiple_shooting_begins_at_a_guess_of_the_states():
    p = slide(20)
    rest = p.model.rest_state()
    q, v = np.tile(rest.q, (21, 1)), np.tile(rest.v, (21, 1))
    q[:, 3] = np.linspace(0, 0.5, 21)  # straight to the mark, whatever it takes
    v[1:, 0] = 0.5 / 0.4
    p.guess(q=q, v=v)
    best = p.solve("multiple_shooting", max_iterations=100)
    assert best.history[0, 2] > 0.1  # the guess is no motion
    assert best.defect < 1e-6 and abs(best.of("block", "x")[-1] - 0.5) < 0.02


SCENE = """orthant: 1
materials:
  - {name: wood, friction: 0.4}
bodies:
  - {name: floor, motion: fixed, planar: true, shapes: {type: half_plane, material: wood}}
  - {name: box, planar: true, position: [0, 0.1], mass: 2.0,
     shapes: {type: rectangle, half: [0.2, 0.1], material: wood}}
actuators:
  - {type: body, name: push, body: box, force: [1, 0]TABLE}
step: {h: 0.02}
run: {time: 0.6}
"""


def command() -> str:
    """The program `orthant` that belongs to the package: of the same build, of the same wheel, or of the
    environment."""
    package = Path(ot.__file__).parent
    here = [package.parents[1] / "bin/orthant", package.parent / "orthant_command/orthant",
            Path(sys.executable).parent / "orthant"]
    found = [str(path) for path in here if path.is_file()]
    assert found, f"no program orthant at {', '.join(map(str, here))}: build the target orthant_command"
    return found[0]


def export(scene: Path, folder: Path) -> list[dict[str, str]]:
    """The rows of the table that `orthant run` and `orthant export` make of a scene."""
    out, table = folder / "run", folder / "run.csv"
    for call in (["run", str(scene), "-o", str(out), "--quiet"], ["export", str(out), "--csv", str(table)]):
        done = subprocess.run([command(), *call], text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr
    with table.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_replayed_from_a_scene_file(tmp_path):
    path = tmp_path / "push.yaml"
    path.write_text(SCENE.replace("TABLE", ""), encoding="utf-8")
    scene = ot.load(path)
    p = ot.optimise.Problem(scene.model, scene.steps, state=scene.state, parameters=scene.parameters,
                            settings=scene.settings)
    p.vary_controls(-30, 30)
    p.guess(u=np.full((scene.steps, 1), 12.0))
    p.track("box", "x", 0.3, weight=100, at="final")
    p.effort(1e-4)
    best = p.solve("ilqr")
    table = best.tables()["push"]
    path.write_text(SCENE.replace("TABLE", f", times: {table['times']}, values: {table['values']}"),
                    encoding="utf-8")
    again = ot.Simulator.load(path).run()
    np.testing.assert_allclose(again.q[-1], best.q[-1], rtol=0, atol=1e-12)
    for last in [row for row in export(path, tmp_path) if row["body"] == "box"][-1:]:
        assert float(last["time"]) == pytest.approx(0.6)
        for what in ("x", "y", "vx"):
            assert float(last[what]) == pytest.approx(best.of("box", what)[-1], abs=1e-12)


ARM = """orthant: 1
materials:
  - {name: rubber, friction: 0.6}
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_space, material: rubber}}
  - {name: upper, position: [0.25, 0, 0.6], mass: 1.0, shapes: {type: capsule, radius: 0.04, half_length: 0.2, mask: 0}}
  - {name: hand, position: [0.7, 0, 0.6], mass: 0.5, shapes: {type: sphere, radius: 0.05, material: rubber}}
joints:
  - {name: shoulder, type: revolute, a: upper, anchor: [0, 0, 0.6], axis: [0, 1, 0]}
  - {name: elbow, type: revolute, a: hand, b: upper, anchor: [0.5, 0, 0.6], axis: [0, 1, 0]}
actuators:
  - {type: joint, name: shoulder, joint: shoulderFIRST}
  - {type: joint, name: elbow, joint: elbowSECOND}
step: {h: 0.01}
run: {time: 0.8}
"""


def test_a_spatial_arm_replayed_through_the_program(tmp_path):
    """Joints, two actuators and a hand that comes to the floor."""
    path = tmp_path / "arm.yaml"
    path.write_text(ARM.replace("FIRST", "").replace("SECOND", ""), encoding="utf-8")
    scene = ot.load(path)
    p = ot.optimise.Problem(scene.model, scene.steps, state=scene.state, parameters=scene.parameters,
                            settings=scene.settings)
    p.vary_controls(-8, 8)
    p.track("hand", "x", 0.45, weight=50, at="final")
    p.track("hand", "vx", 0.0, weight=1, at="final")
    p.effort(1e-3)
    best = p.solve("ilqr", max_iterations=15, progress=False)
    assert best.cost < best.history[0, 0] and best.of("hand", "z").min() < 0.06  # it touches
    tables = best.tables()
    text = ARM
    for mark, name in (("FIRST", "shoulder"), ("SECOND", "elbow")):
        text = text.replace(mark, f", times: {tables[name]['times']}, values: {tables[name]['values']}")
    path.write_text(text, encoding="utf-8")
    again = ot.Simulator.load(path).run()
    np.testing.assert_allclose(again.q[-1], best.q[-1], rtol=0, atol=1e-10)
    for last in [row for row in export(path, tmp_path) if row["body"] == "hand"][-1:]:
        for what in ("x", "z", "vx", "wy"):
            assert float(last[what]) == pytest.approx(best.of("hand", what)[-1], abs=1e-10)


def spinner() -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("top", shapes=[ot.ShapeSpec(ot.Shape.box(0.1, 0.2, 0.3), density=100.0)],
               angular_velocity=(0.3, -0.2, 0.5))
    for i, name in enumerate("xyz"):
        b.add_body_actuator(name, "top", torque=np.eye(3)[i])
    b.set_gravity((0, 0, 0))
    return b.build()


def test_costs_of_quaternions():
    p = ot.optimise.Problem(spinner(), 20, h=0.02)
    p.vary_controls(-5, 5)  # with 1 N m it cannot turn that far in 0.4 s
    p.vary_initial("top", "wz")
    goal = np.array([0.9, 0.3, -0.2, 0.2])
    goal /= np.linalg.norm(goal)
    for what, x in zip(("qw", "qx", "qy", "qz"), goal):
        p.track("top", what, x, weight=10, at="final")
    p.effort(1e-4)
    x = p.vector()[0]
    g = p.gradient()
    mine = np.concatenate([g.initial, g.u.ravel()])

    def cost(y):
        p.set_vector(y)
        return p.gradient().cost

    for i in (0, 1, 5, 30, 60):
        d = np.zeros(x.size)
        d[i] = 1e-5
        assert mine[i] == pytest.approx((cost(x + d) - cost(x - d)) / 2e-5, rel=1e-5, abs=1e-9)
    p.set_vector(x)
    best = p.solve("ilqr")
    end = best.q[-1, p.model.q_slice("top")][3:]
    assert abs(end @ goal) > 0.999
    with pytest.raises(ot.Error, match="not free one by one"):
        p.vary_initial("top", "qx")
        p.solve()


def test_controls_that_are_held_stay_where_the_guess_has_them():
    p = ot.optimise.Problem(spinner(), 10, h=0.02)
    p.vary_controls(-1, 1, names=["x"])
    u = np.tile([0.0, 0.1, -0.2], (10, 1))
    p.guess(u=u)
    p.track("top", "wx", 1.0, weight=10, at="final")
    best = p.solve("gauss_newton")
    np.testing.assert_array_equal(best.u[:, 1:], u[:, 1:])
    assert np.abs(best.u[:, 0]).max() > 0.1
    with pytest.raises(ot.UnknownName, match="did you mean"):
        p.vary_controls(names=["xx"])
    with pytest.raises(ot.Error, match="must be numbers"):
        p.vary_controls(np.nan, 1)


def test_a_budget_of_time_ends_the_search():
    free = slide().solve("lbfgs", tolerance=1e-12)
    best = slide().solve("lbfgs", tolerance=1e-12, time_limit=0.05,
                         progress=lambda *now: time.sleep(0.03))
    assert best.stop == ot.TrajectoryStop.TimeLimit
    assert best.iterations <= 2 < free.iterations and best.cost < best.history[0, 0]
