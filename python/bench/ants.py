# SPDX-License-Identifier: Apache-2.0
"""ants.py [WORLDS]: steps per second of orthant/Ant-v0 as a vector of worlds, beside Gymnasium's Ant-v5.

Random actions, the same number of worlds, one process after the other, two threads for ours and one
process of Gymnasium's SyncVectorEnv for MuJoCo. The two ants are not the same robot: ours has nine bodies
in hard contact with exact friction, MuJoCo's thirteen with soft contact; the times say what an environment
costs, not which solver is better.
"""
from __future__ import annotations

import sys
import time

import gymnasium
import numpy as np

import orthant.gym  # noqa: F401: registers


def measure(name: str, env: gymnasium.vector.VectorEnv, actions: int, steps_an_action: int) -> None:
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    shape = env.action_space.shape
    env.step(rng.uniform(-1, 1, shape).astype(np.float32))
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(actions):
        env.step(rng.uniform(-1, 1, shape).astype(np.float32))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    done = actions * env.num_envs
    print(f"| {name} | {done / wall:.0f} | {done / processor:.0f} | {done * steps_an_action / processor:.0f} |")


if __name__ == "__main__":
    worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print("| environment | actions/s of the wall clock | per second of processor time | steps of these |")
    print("| --- | --- | --- | --- |")
    ours = gymnasium.make_vec("orthant/Ant-v0", num_envs=worlds, vectorization_mode="vector_entry_point",
                              threads=2)
    measure(f"orthant/Ant-v0, {worlds} worlds, 2 threads", ours, 10, 4)
    try:
        peer = gymnasium.make_vec("Ant-v5", num_envs=worlds, vectorization_mode="sync")
    except Exception as e:  # noqa: BLE001: MuJoCo is no dependency of ours
        print(f"Gymnasium's Ant-v5 is not here: {e}")
    else:
        measure(f"Ant-v5 (MuJoCo), {worlds} worlds, sync", peer, 10, 5)
