# SPDX-License-Identifier: Apache-2.0
"""24_push_recovery: a quadruped is knocked twice and stays on its feet, planned anew at every step.

The robot is that of `orthant/Stand-v0`: nine bodies, eight motors of 20 N m, springs in the joints that alone
do not hold it up. Each knock changes the speed of the torso at once; a receding horizon of 0.4 s, warm
started, finds the torques.

Prints: stands after both knocks: yes
Prints: falls without control: yes
"""
import os

import orthant as ot
from orthant._tasks import Stand

QUICK = "ORTHANT_QUICK" in os.environ
KNOCKS = {0: 1.0, 25: -1.0}  # step: change of the torso's speed along x [m/s], 8 N s

task = Stand()
settings = task.settings.replace(h=0.02)
model, torso = task.model, task.model.v_slice("torso")

p = ot.optimise.Problem(model, 20, settings=settings)
p.vary_controls(-20, 20)  # [N m]
p.effort(2e-4)
for what, goal, weight in (("z", task.height, 100), ("qx", 0, 40), ("qy", 0, 40), ("vx", 0, 2), ("vz", 0, 1), ("wy", 0, 0.3)):
    p.track("torso", what, goal, weight)
    p.track("torso", what, goal, 10 * weight, at="final")
for leg in range(4):
    p.track(f"thigh{leg}", "wy", 0, 0.003)
    p.track(f"shin{leg}", "wy", 0, 0.003)


def run(controlled: bool) -> ot.Simulator:
    sim = ot.Simulator(model, settings=settings)
    mpc = ot.optimise.Mpc(p, "ilqr", max_iterations=2)
    for i in range(45 if QUICK else 75):
        sim.state.v[torso][0] += KNOCKS.get(i, 0.0)
        sim.step(mpc(sim.state) if controlled else [0.0] * 8)
        if mpc.result is not None and not QUICK and i % 5 == 0:
            print(f"{sim.t:.2f} s: height {sim.of('torso', 'z'):.3f} m, speed {sim.of('torso', 'vx'):+.2f} m/s, "
                  f"largest torque {abs(mpc.result.u[0]).max():.0f} N m")
    return sim


end, fallen = run(True), run(False)
still = abs(end.of("torso", "vx")) < 0.1 and abs(end.of("torso", "z") - task.height) < 0.02
print(f"height {end.of('torso', 'z'):.3f} m, moved {end.of('torso', 'x') * 100:.0f} cm; "
      f"without control {fallen.of('torso', 'z'):.2f} m")
print("stands after both knocks:", "yes" if still and task.up(end.state.q) > 0.99 else "no")
print("falls without control:", "yes" if task.fallen(fallen.state.q, fallen.state.v) else "no")
