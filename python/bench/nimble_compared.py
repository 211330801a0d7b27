# SPDX-License-Identifier: Apache-2.0
"""nimble_compared.py: the gradient of 50 steps through contact, beside Nimble's, in one run.

A row of n balls on a floor, friction 0.5, no restitution; the first rolls into the second at 2 m/s. The loss is
half the square of all final x; its derivative by the 3 n initial velocities is compared with central
differences of the same engine along eight random directions (the best of three lengths; median and largest
relative error), forward and backward are timed (processor time). Nimble
(PyPI `nimblephysics`, NumPy 1) is left out where it is not installed.
"""
from __future__ import annotations

import importlib.util
import time
from typing import Any, Callable

import numpy as np

import orthant as ot

STEPS, H, RADIUS, SPEED = 50, 0.01, 0.1, 2.0
GAP = 3e-3  # [m] between neighbours


def places(n: int) -> np.ndarray:
    return (2 * RADIUS + GAP) * np.arange(n)


def with_orthant(n: int) -> Callable[[np.ndarray, bool], tuple[float, np.ndarray | None]]:
    b = ot.ModelBuilder()
    b.add_material("wood", friction=0.5)
    b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="wood")])
    for i, x in enumerate(places(n)):
        b.add_body(f"ball{i}", position=(x, 0, RADIUS), mass=1.0,
                   shapes=[ot.ShapeSpec(ot.Shape.sphere(RADIUS), material="wood")])
    model = b.build()
    settings = ot.StepSettings(h=H, solver=ot.SolveSettings(tolerance=1e-12))
    parameters = model.default_parameters()
    at = [model.q_slice(f"ball{i}").start for i in range(n)]
    vat = np.array([model.v_slice(f"ball{i}").start + k for i in range(n) for k in range(3)])

    def run(v0: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None]:
        state = model.rest_state()
        state.v[vat] = v0
        tape = ot.record_rollout(model, parameters, settings, state, STEPS)
        x = tape.q[-1, at]
        if not gradient:
            return 0.5 * float(x @ x), None
        by = np.zeros(model.q_size)
        by[at] = x
        return 0.5 * float(x @ x), tape.pull_back(by).v[vat]

    return run


def with_nimble(n: int) -> Callable[[np.ndarray, bool], tuple[float, np.ndarray | None]]:
    import nimblephysics as nimble
    import torch

    world: Any = nimble.simulation.World()
    world.setGravity([0, -9.81, 0])  # it warns where the normal of a contact is along z
    world.setTimeStep(H)
    floor = nimble.dynamics.Skeleton()
    joint, body = floor.createWeldJointAndBodyNodePair()
    shape = body.createShapeNode(nimble.dynamics.BoxShape([50, 1, 50]))
    shape.createCollisionAspect()
    body.setFrictionCoeff(0.5)
    low = nimble.math.Isometry3()
    low.set_translation([0, -0.5, 0])
    joint.setTransformFromParentBodyNode(low)
    world.addSkeleton(floor)
    for _ in range(n):
        ball = nimble.dynamics.Skeleton()
        _, body = ball.createFreeJointAndBodyNodePair()
        shape = body.createShapeNode(nimble.dynamics.SphereShape(RADIUS))
        shape.createCollisionAspect()
        body.setFrictionCoeff(0.5)
        body.setMass(1.0)
        inertia = 0.4 * RADIUS**2
        body.setMomentOfInertia(inertia, inertia, inertia, 0.0, 0.0, 0.0)
        world.addSkeleton(ball)
    size = world.getNumDofs()
    start = np.zeros(2 * size)
    for i, x in enumerate(places(n)):
        start[6 * i + 3:6 * i + 6] = x, RADIUS - 1e-5, 0.0
    vat = np.array([size + 6 * i + k for i in range(n) for k in (3, 5, 4)])  # z of ours is its y
    xat = [6 * i + 3 for i in range(n)]
    none = torch.zeros(world.getActionSize(), dtype=torch.float64)

    def run(v0: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None]:
        values = start.copy()
        values[vat] = v0
        first = torch.tensor(values, requires_grad=gradient)
        x = first
        for _ in range(STEPS):
            x = nimble.timestep(world, x, none)
        loss = 0.5 * (x[xat] ** 2).sum()
        if not gradient:
            return float(loss.detach()), None
        loss.backward()
        return float(loss.detach()), first.grad.numpy()[vat]

    return run


def main() -> None:
    engines = {"Orthant": with_orthant}
    if importlib.util.find_spec("nimblephysics") is not None:
        engines["Nimble"] = with_nimble
    print("| engine, balls | loss | relative error of the gradient, median / largest | forward and backward |")
    print("| --- | --- | --- | --- |")
    for n in (1, 5, 10, 20):
        for name, make in engines.items():
            run = make(n)
            v0 = np.zeros(3 * n)
            v0[0] = SPEED
            run(v0, True)
            begin = time.process_time()
            loss, g = run(v0, True)
            spent = time.process_time() - begin
            rng = np.random.default_rng(0)
            errors = []
            for _ in range(8):
                d = rng.standard_normal(3 * n) * np.tile([1.0, 1.0, 0.0], n)
                d /= np.linalg.norm(d)
                tried = []
                for step in (1e-4, 1e-5, 1e-6):
                    slope = (run(v0 + step * d, False)[0] - run(v0 - step * d, False)[0]) / (2 * step)
                    tried.append(abs(float(g @ d) - slope) / max(abs(slope), 1e-12))
                errors.append(min(tried))
            print(f"| {name}, {n} | {loss:.4g} | {np.median(errors):.1e} / {max(errors):.1e} | {spent * 1e3:.1f} ms |",
                  flush=True)


if __name__ == "__main__":
    main()
