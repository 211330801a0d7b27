# SPDX-License-Identifier: Apache-2.0
"""mjx_ants.py ANT.xml [SECONDS] [WORLDS...]: Gymnasium's ant in MJX as batch_bench steps ours: h = 10 ms,
random controls changed every ten steps, after 60 steps, median of 20 steps; needs mujoco, mujoco-mjx, jax.

Solver: Newton, pyramidal cones, `iterations`/`ls_iterations` as printed; precision is JAX's (JAX_ENABLE_X64).
`deepest` is the largest penetration of a contact, which hard contacts do not have. The gradient is of
sum(qpos, qvel) after one step by qpos, qvel and ctrl.
"""
from __future__ import annotations

import statistics
import sys
import time

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx

START = time.perf_counter()


def model(path: str, iterations: int, ls_iterations: int):
    m = mujoco.MjModel.from_xml_path(path)
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    m.opt.timestep = 0.01
    m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    m.opt.cone = mujoco.mjtCone.mjCONE_PYRAMIDAL
    m.opt.iterations, m.opt.ls_iterations = iterations, ls_iterations
    return m, mjx.put_model(m)


def start(mx, m, worlds: int):
    qpos = np.array(m.qpos0)
    qpos[7:] = np.radians([0, 50, 0, -50, 0, -50, 0, 50])
    data = mjx.make_data(m)
    qvel = 0.3 * np.random.default_rng(0).uniform(-1, 1, (worlds, m.nv))
    return jax.vmap(lambda v: data.replace(qpos=jnp.asarray(qpos), qvel=v))(jnp.asarray(qvel))


def measure(path: str, worlds: int, iterations: int, ls_iterations: int, gradient: bool) -> None:
    m, mx = model(path, iterations, ls_iterations)
    data = start(mx, m, worlds)
    step = jax.jit(jax.vmap(lambda d, u: mjx.step(mx, d.replace(ctrl=u))))
    rng = np.random.default_rng(1)
    controls = [jnp.asarray(0.7 * rng.uniform(-1, 1, (worlds, m.nu))) for _ in range(8)]
    begin = time.perf_counter()
    jax.block_until_ready(step(data, controls[0]))
    compiled = time.perf_counter() - begin
    times, deepest = [], 0.0
    for t in range(80):
        begin = time.perf_counter()
        data = jax.block_until_ready(step(data, controls[t // 10]))
        if t >= 60:
            times.append(time.perf_counter() - begin)
            contact = data._impl.contact if hasattr(data, "_impl") else data.contact
            deepest = max(deepest, -float(jnp.nanmin(contact.dist)))
    ms = 1e3 * statistics.median(times)
    bad = int(jnp.sum(~jnp.all(jnp.isfinite(data.qpos), axis=1)))
    words = (f"MJX, {data.qpos.dtype}, {iterations}/{ls_iterations} iterations, {worlds} worlds: {ms:.2f} ms, "
             f"{worlds / ms / 1e3:.3f} M world-steps/s; deepest {deepest:.1e} m, {bad} not finite; "
             f"compiled in {compiled:.0f} s")
    if gradient:

        def loss(q, v, u, d):
            d = mjx.step(mx, d.replace(qpos=q, qvel=v, ctrl=u))
            return jnp.sum(d.qpos) + jnp.sum(d.qvel)

        slope = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1, 2))))
        try:
            begin = time.perf_counter()
            g = jax.block_until_ready(slope(data.qpos, data.qvel, controls[0], data))
            compiled = time.perf_counter() - begin
            times = []
            for _ in range(10):
                begin = time.perf_counter()
                g = jax.block_until_ready(slope(data.qpos, data.qvel, controls[0], data))
                times.append(time.perf_counter() - begin)
            nan = sum(int(jnp.sum(~jnp.isfinite(x))) for x in g)
            words += (f"; gradient (with its forward step) {1e3 * statistics.median(times):.2f} ms, "
                      f"{nan} numbers not finite, compiled in {compiled:.0f} s")
        except Exception as error:  # noqa: BLE001: what it says is the result
            words += f"; gradient: {type(error).__name__}: {str(error).splitlines()[0][:120]}"
    print(words, flush=True)


def main() -> None:
    path, limit = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1e9
    worlds = [int(x) for x in sys.argv[3:]] or [4096, 16384]
    print(f"mujoco {mujoco.__version__}, jax {jax.__version__}, {jax.devices()[0].device_kind}", flush=True)
    for iterations, ls_iterations, gradient in ((4, 8, True), (1, 4, True), (100, 50, False)):
        for n in worlds:
            if time.perf_counter() - START < limit:
                measure(path, n, iterations, ls_iterations, gradient and n == worlds[0])


if __name__ == "__main__":
    main()
