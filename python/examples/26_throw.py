# SPDX-License-Identifier: Apache-2.0
"""26_throw: a ball is thrown over a wall, bounces once, and comes down on a mark.

Two unknowns, the velocity it leaves the hand with; the derivative goes through the flight, the time of the
located impact and the bounce with friction. Gauss-Newton.

Prints: the ball comes down within 1 mm of the mark: yes
"""
import numpy as np

import orthant as ot

STEPS, MARK = 120, 4.0  # [-], [m]

builder = ot.ModelBuilder()
builder.add_material("rubber", friction=0.4, restitution=0.7)
builder.add_body("floor", motion=ot.Motion.Fixed, planar=True,
                 shapes=[ot.ShapeSpec(ot.Shape.half_plane(), material="rubber")])
builder.add_body("wall", motion=ot.Motion.Fixed, planar=True, position=(1.5, 0.4),
                 shapes=[ot.ShapeSpec(ot.Shape.rectangle(0.05, 0.4), material="rubber")])
builder.add_body("ball", motion=ot.Motion.Planar, position=(0, 1.0), velocity=(2.2, 2.0), mass=0.2,
                 shapes=[ot.ShapeSpec(ot.Shape.disc(0.05), material="rubber")])
model = builder.build()

p = ot.optimise.Problem(model, STEPS, h=0.01, impact_events=True)
p.vary_initial("ball", "vx", 0.5, 6.0)
p.vary_initial("ball", "vy", -2.0, 6.0)
p.track("ball", "x", MARK, weight=100, at="final")
p.track("ball", "y", 0.3, weight=100, at="final")
best = p.solve("gauss_newton", tolerance=1e-14)
miss = float(np.hypot(best.of("ball", "x")[-1] - MARK, best.of("ball", "y")[-1] - 0.3))
wall = np.interp(1.5, best.of("ball", "x"), best.of("ball", "y"))
print(f"thrown with ({best.values['ball.vx']:.3f}, {best.values['ball.vy']:.3f}) m/s, {wall - 0.85:.2f} m above the wall, "
      f"cost {best.history[0, 0]:.3g} => {best.cost:.1e} in {best.iterations} iterations")
print("the ball comes down within 1 mm of the mark:", "yes" if miss < 1e-3 and wall > 0.85 else "no")
