# SPDX-License-Identifier: Apache-2.0
"""05_bounce: a ball dropped from 1 m with restitution 0.8, impacts located within the step.

Every bounce is 0.8^2 = 0.64 as high as the last one, at any step length.

Prints: heights 0.6400 0.4096 0.2621 0.1678
"""
import orthant as ot

builder = ot.ModelBuilder()
builder.add_material("rubber", restitution=0.8)
builder.add_body("floor", motion=ot.Motion.Fixed,
                 shapes=[ot.ShapeSpec(ot.Shape.half_space(), material="rubber")])
builder.add_body("ball", position=(0, 0, 1.1),
                 shapes=[ot.ShapeSpec(ot.Shape.sphere(0.1), material="rubber")])
sim = ot.Simulator(builder.build(), h=0.01, impact_events=True)

# Between impacts the ball flies freely: its highest point follows from any height and speed.
heights: list[float] = []
speed = 0.0
while len(heights) < 4 and sim.t < 5:
    sim.step()
    z, vz = sim.state.q[9], sim.state.v[2]
    if vz > speed + 1.0:
        heights.append(z - 0.1 + vz**2 / (2 * 9.81))
    speed = vz
print("heights", " ".join(f"{height:.4f}" for height in heights))
