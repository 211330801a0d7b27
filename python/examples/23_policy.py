# SPDX-License-Identifier: Apache-2.0
"""23_policy: a policy that balances a pole, learned through the engine in seconds.

16 worlds at once, 10 to 50 steps each; the return is differentiated through every step by every weight of a
small network (short-horizon analytic policy gradients). CMA-ES on the same weights, with as many steps of
the engine, is printed beside it where the package `cma` is there.

Needs: torch
Prints: the policy balances for 10 s from new starts: yes
"""
import importlib.util
import os
import time

import numpy as np
import torch

import orthant as ot
from orthant._tasks import CartPole

QUICK = "ORTHANT_QUICK" in os.environ
torch.manual_seed(0)
torch.set_num_threads(1)
F64 = torch.float64
WORLDS, STEPS = 16, 40
SCALE = torch.tensor([1.0, 1.0, 5.0, 1.0, 2.0], dtype=F64)  # sin(angle) is small while it stands
task = CartPole()
strength = torch.tensor(task.strength)
rng = np.random.default_rng(0)
policy = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1),
                             torch.nn.Tanh()).to(F64)
with torch.no_grad():
    policy[2].weight *= 0.1


def starts(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    states = [task.start(rng) for _ in range(count)]
    return (torch.tensor(np.stack([x.q for x in states])),
            torch.tensor(np.stack([x.v for x in states])) * 3)  # faster starts than the environment's


def episode(q: torch.Tensor, v: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean reward of all worlds with a price on where they end, and the largest lean of the pole."""
    total, lean = q.new_zeros(()), q.new_zeros(())
    for _ in range(steps):
        action = policy(task.observe(q, v) * SCALE)
        q, v = ot.torch.step(task.model, task.settings, q, v, action * strength)
        total = total + task.reward(q, v, action).mean()
        lean = torch.maximum(lean, q[:, 5].detach().abs().max())
    end = q[:, 5] ** 2 + 0.1 * (v[:, 5] ** 2 + q[:, 0] ** 2 + v[:, 0] ** 2)  # in place of a critic
    return (total - 10 * end.mean()) / steps, lean


begin = time.process_time()
rounds = 150 if QUICK else 250
optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
for i in range(rounds):
    value, _ = episode(*starts(WORLDS), 10 + STEPS * i // rounds)  # the horizon grows with skill
    optimiser.zero_grad()
    (-value).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimiser.step()
spent = time.process_time() - begin
with torch.no_grad():
    value, lean = episode(*starts(20), 500)
print(f"gradients: mean reward {float(value):.4f}, lean at most {float(lean):.3f} rad, {spent:.1f} s of learning")
learned = float(value), float(lean)
balances = learned[1] < 0.4
if not QUICK and importlib.util.find_spec("cma") is not None:
    import cma

    begin = time.process_time()
    weights = torch.nn.utils.parameters_to_vector(policy.parameters()).detach()
    search = cma.CMAEvolutionStrategy(np.zeros(weights.numel()), 0.5,
                                      {"seed": 1, "verbose": -9, "maxfevals": rounds * 2})
    with torch.no_grad():
        while not search.stop():
            points = search.ask()
            costs = []
            for x in points:
                torch.nn.utils.vector_to_parameters(torch.tensor(x), policy.parameters())
                costs.append(-float(episode(*starts(WORLDS), STEPS)[0]))
            search.tell(points, costs)
        torch.nn.utils.vector_to_parameters(torch.tensor(search.result.xfavorite), policy.parameters())
        value, lean = episode(*starts(20), 500)
    print(f"CMA-ES: mean reward {float(value):.4f}, lean at most {float(lean):.3f} rad, "
          f"{time.process_time() - begin:.1f} s of learning")
print("the policy balances for 10 s from new starts:", "yes" if balances else "no")
