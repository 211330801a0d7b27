# SPDX-License-Identifier: Apache-2.0
"""15_cartpole: swing a pole up from below and keep it there.

iLQR finds the force on the cart, two seconds of at most 10 N; then a receding horizon of half a second
holds the pole against a knock.

Prints: the pole stands: yes
Prints: after the knock it stands again: yes
"""
import os

import numpy as np

import orthant as ot

QUICK = "ORTHANT_QUICK" in os.environ


def cartpole() -> ot.Model:
    builder = ot.ModelBuilder()
    builder.add_body("cart", motion=ot.Motion.Planar, mass=1.0,
                     shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.2, 0.1))])
    builder.add_body("pole", motion=ot.Motion.Planar, position=(0, -0.25), mass=0.2,
                     shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.02, 0.25))])
    builder.add_joint("rail", ot.JointKind.Prismatic, "cart", axis=(1, 0))
    builder.add_joint("pivot", ot.JointKind.Revolute, "pole", "cart")
    builder.add_joint_actuator("drive", "rail")
    return builder.build()


def problem(model: ot.Model, steps: int, along: float) -> ot.optimise.Problem:
    p = ot.optimise.Problem(model, steps, h=0.02)
    p.vary_controls(-10, 10)
    p.effort(1e-3)
    p.track("pole", "angle", np.pi, weight=along)
    p.track("pole", "angle", np.pi, weight=100, at="final")
    p.track("pole", "omega", 0.0, weight=10, at="final")
    p.track("cart", "x", 0.0, weight=10, at="final")
    p.track("cart", "vx", 0.0, weight=10, at="final")
    return p


model = cartpole()
p = problem(model, 100, 0.1)
best = p.solve("ilqr", progress=False)
angle, omega = best.of("pole", "angle")[-1], best.of("pole", "omega")[-1]
print(f"angle {angle:.3f} rad, {omega:.3f} rad/s, cart at {best.of('cart', 'x')[-1]:.3f} m after "
      f"{best.iterations} iterations")
print("the pole stands:", "yes" if abs(angle - np.pi) < 0.02 and abs(omega) < 0.05 else "no")

sim = ot.Simulator(model, settings=best.settings, state=best.run().final_state)
sim.state.v[model.v_slice("cart")][0] += 1.0  # the knock [m/s]; the joint hands it on
mpc = ot.optimise.Mpc(problem(model, 25, 1.0), "ilqr", max_iterations=3)
worst = 0.0
for _ in range(100 if QUICK else 250):
    sim.step(mpc(sim.state))
    worst = max(worst, abs(sim.of("pole", "angle") - np.pi))
stands = abs(sim.of("pole", "angle") - np.pi) < 0.05
print(f"leaned by {worst:.2f} rad at most, now {sim.of('pole', 'angle') - np.pi:+.3f} rad, cart at "
      f"{sim.of('cart', 'x'):.2f} m")
print("after the knock it stands again:", "yes" if stands else "no")
