# SPDX-License-Identifier: Apache-2.0
"""01_pushed_block: a contact problem by hand: 15 N on a block of 2 kg for 0.1 s, friction 0.5.

Prints: Converged: 0.2595 m/s
"""
import numpy as np

import orthant as ot

problem = ot.CanonicalProblem(
    H=2.0 * np.eye(2),  # mass; velocities are (along, up)
    k=[0.1 * 15.0, -0.1 * 2.0 * 9.81],  # impulse of push and weight
    laws=[ot.Law.coulomb(2, 0.5)],  # one contact: normal, tangent
    D=[[0, 1], [1, 0]],  # normal is up, tangent is along
    b=[0, 0])  # the gap is closed
x, report = ot.solve(problem)
print(f"{report.outcome.name}: {x.v[0]:.4f} m/s")
