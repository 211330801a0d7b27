# SPDX-License-Identifier: Apache-2.0
"""25_learn_friction: a block that sticks and slides, written as a complementarity problem and learned from samples.

Three questions of S. Pfrommer's notes (2019): the matrices from measured friction by linear programs, friction that was
not measured by the two-level loss, hard and soft, and whether a block still sticks when what was learned is a
little wrong.

Prints: matrices from 200 samples to 1e-5: yes
Prints: friction from unmeasured forces: hard 1.00, soft 1.00
Prints: noise of 1e-3 on M and q: no block sticks
"""
import numpy as np

import orthant as ot
from orthant import identify

rng = np.random.default_rng(0)
MU = 0.8
M = identify.traditional_matrix()

# Samples of (lambda+, lambda-, gamma) under random v and u. Where a block sticks lambda+ and lambda- share the
# grip in many ways; a measurement shows one of them.
z, features = [], []
for v, u in rng.uniform(-2, 2, (200, 2)):
    x = ot.solve_lcp(M, identify.traditional_vector(identify.Block(mu=MU), v, u)).z
    spare = 0.5 * max(0.0, MU - abs(x[0] - x[1])) * rng.uniform() if x[2] < 1e-9 else 0.0
    z.append([max(x[0] - x[1], 0) + spare, max(x[1] - x[0], 0) + spare, x[2]])
    features.append([v, u, 1.0])
found = identify.identify_lcp(z, features, names=["along", "against", "speed"], feature_names=["v", "u", "1"])
truth = np.hstack([M, np.array([[1, 1, 0], [-1, -1, 0], [0, 0, MU]])])
mine = np.hstack([found.M, found.W])
worst = max(np.abs(a / np.abs(a).max() - b / np.abs(b).max()).max() for a, b in zip(mine, truth))
print(f"largest error of a row, up to its scale: {worst:.1e};", "; ".join(found.notes))
print("matrices from 200 samples to 1e-5:", "yes" if worst < 1e-5 else "no")

# The notes' single transition v = 1, u = 2 => v' = 2; friction is in the third row of q alone.
W = np.array([[1.0, 1, 0], [-1, -1, 0], [0, 0, 5.0]])
free = np.zeros((3, 3))
free[2, 2] = 1
fits = [identify.Bilevel([[1, -1, 0]], sign=sign).fit([[-1.0]], [[1.0, 2, 1]], W, M, free=free, bounds=(0, 20))
        for sign in (None, 10.0)]
print("friction from unmeasured forces: " + ", ".join(
    f"{name} {best[2, 2]:.2f}" for name, (best, _) in zip(("hard", "soft"), fits)))

# 3.2: blocks at rest under half the force they can bear; M and q with normal noise.
print("noise   solved   speed after, median   sticks (below 1e-6)")
for noise in (0.0, 1e-6, 1e-4, 1e-3, 1e-2):
    speeds, solved, tries = [], 0, 200
    for _ in range(tries):
        u = rng.uniform(-0.5, 0.5)
        q = identify.traditional_vector(identify.Block(mu=1.0), 0.0, u)
        answer = ot.solve_lcp(M + noise * rng.standard_normal((3, 3)), q + noise * rng.standard_normal(3))
        if answer.converged:
            solved += 1
            speeds.append(abs(u + answer.z[0] - answer.z[1]))
    stuck = float(np.mean(np.array(speeds) < 1e-6))
    print(f"{noise:7.0e} {solved / tries:6.0%} {np.median(speeds):16.1e} {stuck:16.0%}")
    if noise == 1e-3:
        print("noise of 1e-3 on M and q:", "no block sticks" if stuck == 0 else f"{stuck:.0%} stick")
