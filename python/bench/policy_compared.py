# SPDX-License-Identifier: Apache-2.0
"""policy_compared.py: a pole balanced by a policy: analytic gradients (example 23) beside PPO, in one run.

PPO is Stable-Baselines3's on eight worlds of orthant/CartPole-v0 with 256 steps per round and the same size of network,
all else as it comes. Both learn from and are judged by starts three times as fast as those of the environment:
mean reward and largest lean over 500 steps from 20 new ones. Processor and wall time of learning, one thread.
"""
from __future__ import annotations

import contextlib
import io
import os
import runpy
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import orthant as ot
import orthant.gym  # registers the environments

torch.set_num_threads(1)
EXAMPLE = Path(__file__).resolve().parents[1] / "examples/23_policy.py"
CHUNK, CHUNKS = 10_000, 12


class Fast(gymnasium.Wrapper):  # type: ignore[type-arg]
    """Starts of example 23."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        info = self.env.reset(**options)[1]
        world: Any = self.env.unwrapped
        world.state.v[:] = 3 * world.state.v
        return world.task.observe(world.state.q, world.state.v), info


def judge(model: PPO) -> tuple[float, float]:
    task = ot.gym.task("CartPole")
    rng = np.random.default_rng(5)
    states = [task.start(rng) for _ in range(20)]
    q, v = np.stack([x.q for x in states]), 3 * np.stack([x.v for x in states])
    total, lean = 0.0, 0.0
    for _ in range(500):
        action = model.predict(task.observe(q, v), deterministic=True)[0]
        a = np.clip(action, -1, 1)
        run = ot.rollout_batch(task.model, task.settings, (q, v), 1, u=(a * task.strength)[:, None, :])
        q, v = run.q[:, -1], run.v[:, -1]
        total += float(task.reward(q, v, a).mean())
        lean = max(lean, float(np.abs(q[:, 5]).max()))
    return total / 500, lean


def main() -> None:
    print("| learner | steps of the engine | mean reward | largest lean [rad] | processor time | wall |")
    print("| --- | --- | --- | --- | --- | --- |")
    os.environ.pop("ORTHANT_QUICK", None)
    wall, begin = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        found = runpy.run_path(str(EXAMPLE))
    steps = sum(10 + found["STEPS"] * i // found["rounds"] for i in range(found["rounds"])) * found["WORLDS"]
    print(f"| gradients | {steps} | {found['learned'][0]:.4f} | {found['learned'][1]:.3f} | {found['spent']:.1f} s | "
          f"{found['spent'] / (time.process_time() - begin) * (time.perf_counter() - wall):.1f} s |", flush=True)
    worlds = DummyVecEnv([lambda: Fast(gymnasium.make("orthant/CartPole-v0")) for _ in range(8)])
    model = PPO("MlpPolicy", worlds, seed=0, n_steps=256, device="cpu", policy_kwargs={"net_arch": [16]})
    spent, clock = 0.0, 0.0
    for i in range(CHUNKS):
        begin, wall = time.process_time(), time.perf_counter()
        model.learn(CHUNK, reset_num_timesteps=i == 0)
        spent += time.process_time() - begin
        clock += time.perf_counter() - wall
        reward, lean = judge(model)
        print(f"| PPO | {model.num_timesteps} | {reward:.4f} | {lean:.3f} | {spent:.1f} s | {clock:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
