# SPDX-License-Identifier: Apache-2.0
"""ot.jax: steps, rollouts, LCPs and contact problems as functions of JAX (reverse mode), under jit and vmap.

The computation is a host callback in double; enable 64 bits (`jax.config.update("jax_enable_x64",
True)`) to see all of them. A callback carries no memory, so the way back runs the forward again.
"""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

import jax
import jax.numpy as jnp

from ._contact_layer import ContactLayer, check_data
from ._core import (Error, Law, Model, Parameters, SolutionGradientSettings, SolveSettings,
                    StepGradientSettings, StepSettings)
from ._layer import LcpLayer, RolloutLayer

Array = Any
__all__ = ["contact", "lcp", "rollout", "step"]


def _host(function: Callable[..., tuple[Any, ...]], shapes: list[tuple[int, ...]],
          cores: list[int], *arguments: Array) -> list[Array]:
    """`function` of NumPy batches as a pure callback; `cores`: dimensions of each argument's core."""
    lead = jnp.broadcast_shapes(*(a.shape[:a.ndim - n] for a, n in zip(arguments, cores)))
    dtype = jnp.result_type(*arguments)

    def call(*given: Any) -> tuple[Any, ...]:
        flat = []
        arrays = [np.asarray(a, dtype=np.float64) for a in given]
        outer = np.broadcast_shapes(*(a.shape[:a.ndim - n] for a, n in zip(arrays, cores)))
        count = int(np.prod(outer, dtype=int))  # not -1: a core may be empty
        for a, n in zip(arrays, cores):
            core = a.shape[a.ndim - n:]
            flat.append(np.broadcast_to(a, outer + core).reshape((count,) + core))
        out = function(*flat)
        return tuple(np.asarray(x, dtype=dtype).reshape(outer + x.shape[1:]) for x in out)

    result = tuple(jax.ShapeDtypeStruct(tuple(lead) + s, dtype) for s in shapes)
    return list(jax.pure_callback(call, result, *arguments, vmap_method="broadcast_all"))


def _reduced(x: Array, like: Array) -> Array:
    """Adds up over the dimensions that broadcasting made."""
    extra = x.ndim - like.ndim
    x = x.sum(axis=tuple(range(extra))) if extra else x
    ones = tuple(i for i, n in enumerate(like.shape) if n == 1 and x.shape[i] != 1)
    return x.sum(axis=ones, keepdims=True) if ones else x


def rollout(model: Model, settings: StepSettings, q: Array, v: Array, u: Array | None = None,
            parameters: Mapping[str, Array] | None = None, *, steps: int | None = None,
            base: Parameters | None = None, gradient: StepGradientSettings | None = None,
            threads: int | None = None, failure: str = "raise") -> tuple[Array, Array]:
    """All states of a rollout, (…, steps + 1, q_size) and (…, steps + 1, v_size), differentiable.

    q: (…, q_size), v: (…, v_size), u: (…, steps, control_count); parameters: name => array (…); base:
    the other parameters. Model and settings are constants: close over them under jit. A quaternion in
    q is used normalised; the pose of a fixed body has no derivative but itself.
    """
    q, v = jnp.asarray(q), jnp.asarray(v)
    if steps is None:
        if u is None:
            raise Error("steps: expected a number where there are no controls")
        steps = int(jnp.shape(u)[-2])
    if failure not in ("raise", "nan"):
        raise Error(f"failure: expected 'raise' or 'nan', got '{failure}'")
    named = {} if parameters is None else dict(parameters)
    layer = RolloutLayer(model, settings, steps, list(named), base,
                         StepGradientSettings() if gradient is None else gradient, True,
                         -1 if threads is None else threads, failure == "nan")
    nq, nv, nu, frames = model.q_size, model.v_size, model.control_count, steps + 1
    if q.shape[-1:] != (nq,) or v.shape[-1:] != (nv,):
        raise Error(f"expected q (…, {nq}) and v (…, {nv}), got {q.shape} and {v.shape}")
    controls = jnp.zeros((steps, nu), q.dtype) if u is None else jnp.asarray(u)
    if controls.shape[-2:] != (steps, nu):
        raise Error(f"u: expected (…, {steps}, {nu}), got {controls.shape}")
    values = [jnp.asarray(x) for x in named.values()]
    stacked = (jnp.stack(jnp.broadcast_arrays(*values), axis=-1) if values
               else jnp.zeros((0,), q.dtype))

    def forward(a: Any, b: Any, c: Any, p: Any) -> tuple[Any, Any]:
        _, frames_q, frames_v = layer.record(a, b, c, p)
        return frames_q, frames_v

    def backward(a: Any, b: Any, c: Any, p: Any, by_q: Any, by_v: Any) -> tuple[Any, ...]:
        tape, _, _ = layer.record(a, b, c, p)
        return layer.pull_back(tape, a, by_q, by_v)

    def primal(a: Array, b: Array, c: Array, p: Array) -> tuple[Array, Array]:
        out = _host(forward, [(frames, nq), (frames, nv)], [1, 1, 2, 1], a, b, c, p)
        return out[0], out[1]

    def keep(a: Array, b: Array, c: Array, p: Array) -> tuple[tuple[Array, Array], Any]:
        return primal(a, b, c, p), (a, b, c, p)

    def pull(kept: Any, by: tuple[Array, Array]) -> tuple[Array, ...]:
        out = _host(backward, [(nq,), (nv,), (steps, nu), (len(named),)], [1, 1, 2, 1, 2, 2], *kept,
                    *by)
        return tuple(_reduced(x, like).astype(like.dtype) for x, like in zip(out, kept))

    run = jax.custom_vjp(primal)
    run.defvjp(keep, pull)
    result: tuple[Array, Array] = run(q, v, controls, stacked)
    return result


def step(model: Model, settings: StepSettings, q: Array, v: Array, u: Array | None = None,
         parameters: Mapping[str, Array] | None = None, **more: Any) -> tuple[Array, Array]:
    """The state after one step: (…, q_size), (…, v_size). u: (…, control_count); see rollout()."""
    controls = None if u is None else jnp.expand_dims(jnp.asarray(u), -2)
    frames_q, frames_v = rollout(model, settings, q, v, controls, parameters, steps=1, **more)
    return frames_q[..., 1, :], frames_v[..., 1, :]


def lcp(M: Array, q: Array, *, equations: int = 0, settings: SolveSettings | None = None,
        gradient: SolutionGradientSettings | None = None, threads: int | None = None,
        failure: str = "raise") -> Array:
    """z with 0 <= z, w = M z + q >= 0, z w = 0, differentiable by M (…, n, n) and q (…, n)."""
    M, q = jnp.asarray(M), jnp.asarray(q)
    layer = LcpLayer(equations, threads=-1 if threads is None else threads,
                     nan_where_failed=failure == "nan")
    if settings is not None:
        layer.settings = settings
    if gradient is not None:
        layer.gradient = gradient
    n = q.shape[-1]
    if M.shape[-2:] != (n, n):
        raise Error(f"M: expected (…, {n}, {n}), got {M.shape}")

    def backward(m: Any, a: Any, z: Any, w: Any, by: Any) -> tuple[Any, Any]:
        return layer.pull_back(m, a, z, w, by)

    def both(m: Array, a: Array) -> list[Array]:
        return _host(layer.solve, [(n,), (n,)], [2, 1], m, a)

    def primal(m: Array, a: Array) -> Array:
        return both(m, a)[0]

    def keep(m: Array, a: Array) -> tuple[Array, Any]:
        z, w = both(m, a)
        return z, (m, a, z, w)

    def pull(kept: Any, by: Array) -> tuple[Array, Array]:
        out = _host(backward, [(n, n), (n,)], [2, 1, 1, 1, 1], *kept, by)
        return (_reduced(out[0], kept[0]).astype(kept[0].dtype),
                _reduced(out[1], kept[1]).astype(kept[1].dtype))

    run = jax.custom_vjp(primal)
    run.defvjp(keep, pull)
    return run(M, q)


def contact(H: Array, k: Array, laws: Sequence[Law], D: Array, b: Array, *, C: Array | None = None,
            e: Array | None = None, F: Array | None = None, mu: Array | None = None,
            settings: SolveSettings | None = None, gradient: SolutionGradientSettings | None = None,
            threads: int | None = None, failure: str = "raise"
            ) -> tuple[Array, Array, Array, Array]:
    """(v, gamma, lambda, w) of a mixed or cone problem, differentiable by all of its data.

    As ot.torch.contact(): H (…, n, n), k (…, n), D (…, r, n), b (…, r), C (…, m, n) with e (…, m),
    F (…, r, r); mu (…, blocks): friction in place of that of the laws.
    """
    given = {"H": H, "k": k, "D": D, "b": b}
    if (C is None) != (e is None):
        raise Error("C, e: expected both or neither")
    given.update({name: x for name, x in (("C", C), ("e", e), ("F", F), ("mu", mu))
                  if x is not None})
    given = {name: jnp.asarray(x) for name, x in given.items()}
    layer = ContactLayer(list(laws), threads=-1 if threads is None else threads,
                         nan_where_failed=failure == "nan")
    if settings is not None:
        layer.settings = settings
    if gradient is not None:
        layer.gradient = gradient
    check_data(given, layer)
    names = tuple(given)
    n, m, r = given["H"].shape[-1], given["C"].shape[-2] if "C" in given else 0, layer.rows
    shapes = layer.cores(n, m)
    answers: list[tuple[int, ...]] = [(n,), (m,), (r,), (r,)]
    cores = [len(shapes[name]) for name in names]

    def forward(*data: Any) -> tuple[Any, ...]:
        return layer.solve(dict(zip(names, data)))

    def backward(*everything: Any) -> tuple[Any, ...]:
        data = dict(zip(names, everything))
        answer, by = everything[len(names):len(names) + 4], everything[len(names) + 4:]
        found = layer.pull_back(data, answer, by)
        return tuple(found[name] for name in names)

    def primal(*data: Array) -> tuple[Array, ...]:
        return tuple(_host(forward, answers, cores, *data))

    def keep(*data: Array) -> tuple[tuple[Array, ...], Any]:
        answer = primal(*data)
        return answer, (data, answer)

    def pull(kept: Any, by: tuple[Array, ...]) -> tuple[Array, ...]:
        data, answer = kept
        out = _host(backward, [shapes[name] for name in names], cores + [1] * 8, *data, *answer, *by)
        return tuple(_reduced(x, like).astype(like.dtype) for x, like in zip(out, data))

    run = jax.custom_vjp(primal)
    run.defvjp(keep, pull)
    v, gamma, lam, w = run(*given.values())
    return v, gamma, lam, w
