# SPDX-License-Identifier: Apache-2.0
"""overhead.py REFERENCE: what Python costs over C++. REFERENCE: the built program python_reference.

    cmake -S . -B build/release -DORTHANT_BENCH=ON && cmake --build build/release --target python_reference
    PYTHONPATH=build/release/python .venv/bin/python python/bench/overhead.py build/release/bin/python_reference

Times are of the processor (other people's programs do not count), the best of five, in microseconds a
step; the batch is by the wall clock. Goals: step <= 5 us over C++, rollout <= 5 %,
torch rollout + backward <= 1.3 x.
"""
from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from typing import Callable

import numpy as np

import orthant as ot


def ball() -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("ball", shapes=[ot.Shape.sphere(0.1)])
    return b.build()


def cube() -> ot.Model:
    b = ot.ModelBuilder()
    b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.Shape.half_space()])
    b.add_body("cube", position=(0, 0, 0.5), velocity=(1, 0, 0), shapes=[ot.Shape.box(0.5, 0.5, 0.5)])
    return b.build()


def best(work: Callable[[], object], repeats: int = 5,
         clock: Callable[[], float] = time.process_time) -> float:
    times = []
    for _ in range(repeats):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)


def main() -> None:
    text = subprocess.run([sys.argv[1]], check=True, text=True, capture_output=True).stdout
    cpp = {name: float(value) for name, value in map(str.split, text.splitlines())}
    settings = ot.StepSettings(h=1e-3)
    for name, model, steps in (("ball", ball(), 20000), ("cube", cube(), 2000)):
        p = model.default_parameters()

        def loop() -> None:
            x, warm = model.rest_state(), ot.WarmStart()
            for _ in range(steps):
                ot.step(model, p, settings, x, warm)

        reference = cpp[f"{name}_step"]
        stepped = best(loop) / steps * 1e6
        rolled = best(lambda: ot.rollout(model, p, settings, model.rest_state(), steps)) / steps * 1e6
        print(f"{name}: C++ rollout {reference:.2f} us/step, Python step() {stepped:.2f} "
              f"(+{stepped - reference:.2f} us), Python rollout() {rolled:.2f} "
              f"({100 * (rolled / reference - 1):+.1f} %)")
        few = steps // 10
        ones = np.ones(model.q_size), np.ones(model.v_size)
        taped = best(lambda: ot.record_rollout(model, p, settings, model.rest_state(), few)
                     .pull_back(*ones)) / few * 1e6
        print(f"{name}: gradient C++ {cpp[f'{name}_gradient']:.2f} us/step, Python tape {taped:.2f} "
              f"({taped / cpp[f'{name}_gradient']:.2f} x)")
        if importlib.util.find_spec("torch"):
            import torch

            q, v = torch.tensor(model.rest_state().q), torch.tensor(model.rest_state().v)

            def layer() -> None:
                v0 = v.clone().requires_grad_()
                qs, vs = ot.torch.rollout(model, settings, q, v0, steps=few)
                (qs[-1].sum() + vs[-1].sum()).backward()

            spent = best(layer) / few * 1e6
            print(f"{name}: torch rollout + backward {spent:.2f} us/step "
                  f"({spent / cpp[f'{name}_gradient']:.2f} x C++)")
    model = cube()
    mu = np.linspace(0.1, 0.9, 64)
    many = {n: best(lambda: ot.rollout_batch(model, settings, model.rest_state(), 200, threads=n,
                                             parameters={"material/default.friction": mu}), 5,
                    time.perf_counter)
            for n in (1, 2)}
    print(f"64 worlds of 200 steps: {many[1]:.3f} s on one thread, {many[2]:.3f} s on two "
          f"({many[1] / many[2]:.2f} x)")


if __name__ == "__main__":
    main()
