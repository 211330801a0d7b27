# SPDX-License-Identifier: Apache-2.0
"""ot.torch: steps, rollouts, LCPs and contact problems as layers of PyTorch.

Leading dimensions are batch dimensions and broadcast. Computation is in double on the CPU; results
have the dtype and device of the input. Parameters are a dictionary of named tensors.
"""
from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from ._contact_layer import ContactLayer, check_data
from ._core import (Error, Law, Model, Parameters, SolutionGradientSettings, SolveSettings,
                    StepGradientSettings, StepSettings)
from ._layer import LcpLayer, RolloutLayer

__all__ = ["contact", "lcp", "rollout", "step"]


def _array(x: Tensor | None) -> Any:
    return None if x is None else x.detach().cpu().numpy().astype(np.float64, copy=False)


def _like(x: Any, tensor: Tensor) -> Tensor:
    return torch.as_tensor(x, dtype=tensor.dtype, device=tensor.device)


def _needs_float(x: Tensor, where: str) -> Tensor:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{where}: expected a tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(f"{where}: expected a floating-point tensor, got {x.dtype}")
    return x


class _Once(torch.autograd.Function):
    """`function(*given, *by)` as the backward of a layer, which has none itself.

    It is connected to all that the layer read, so a second derivative always comes here: PyTorch's
    own `once_differentiable` lets it pass as zero where the loss is linear.
    """

    @staticmethod
    def forward(ctx: Any, function: Callable[..., tuple[Tensor | None, ...]],
                *tensors: Tensor | None) -> tuple[Tensor | None, ...]:
        return function(*tensors)

    @staticmethod
    def backward(ctx: Any, *by: Tensor) -> tuple[Tensor | None, ...]:
        raise Error("second derivatives: a layer of ot.torch has first derivatives only")


class _Rollout(torch.autograd.Function):
    """(B, q), (B, v), (B, steps, u) or None, (B, names) => all frames of q and v."""

    @staticmethod
    def forward(ctx: Any, layer: RolloutLayer, q: Tensor, v: Tensor, u: Tensor | None,
                values: Tensor) -> tuple[Tensor, Tensor]:
        tape, frames_q, frames_v = layer.record(_array(q), _array(v), _array(u), _array(values))
        ctx.layer, ctx.tape = layer, tape
        ctx.save_for_backward(q, v, u, values)
        return _like(frames_q, q), _like(frames_v, v)

    @staticmethod
    def backward(ctx: Any, by_q: Tensor, by_v: Tensor) -> tuple[Tensor | None, ...]:
        def pull(q: Tensor, v: Tensor, u: Tensor | None, values: Tensor, by_q: Tensor,
                 by_v: Tensor) -> tuple[Tensor | None, ...]:
            gq, gv, gu, gp = ctx.layer.pull_back(ctx.tape, _array(q), _array(by_q), _array(by_v))
            return (_like(gq, q), _like(gv, v), None if u is None else _like(gu, u),
                    _like(gp, values))

        return (None, *_Once.apply(pull, *ctx.saved_tensors, by_q, by_v))


def rollout(model: Model, settings: StepSettings, q: Tensor, v: Tensor, u: Tensor | None = None,
            parameters: Mapping[str, Tensor] | None = None, *, steps: int | None = None,
            base: Parameters | None = None, gradient: StepGradientSettings | None = None,
            store_records: bool = True, threads: int | None = None,
            failure: str = "raise") -> tuple[Tensor, Tensor]:
    """All states of a rollout, (…, steps + 1, q_size) and (…, steps + 1, v_size), differentiable.

    q: (…, q_size), v: (…, v_size), u: (…, steps, control_count); parameters: name => tensor (…);
    base: the other parameters (default: the model's). A quaternion in q is used normalised; the pose
    of a fixed body has no derivative but itself. failure: "raise", or "nan" where a world fails.
    """
    _needs_float(q, "q")
    _needs_float(v, "v")
    if u is not None:
        _needs_float(u, "u")
        if u.ndim < 2:
            raise Error(f"u: expected (…, steps, {model.control_count}), got {tuple(u.shape)}")
    if steps is None:
        if u is None:
            raise Error("steps: expected a number where there are no controls")
        steps = u.shape[-2]
    if failure not in ("raise", "nan"):
        raise Error(f"failure: expected 'raise' or 'nan', got '{failure}'")
    named = {} if parameters is None else dict(parameters)
    layer = RolloutLayer(model, settings, steps, list(named), base,
                         StepGradientSettings() if gradient is None else gradient, store_records,
                         -1 if threads is None else threads, failure == "nan")
    values = [_needs_float(x, name).to(q.dtype) for name, x in named.items()]
    # Broadcasting outside the function: autograd adds up what was shared.
    lead = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1],
                                  *([] if u is None else [u.shape[:-2]]),
                                  *(x.shape for x in values))
    count = lead.numel()  # not -1: there may be no controls, or nothing that moves
    many = q.expand(*lead, q.shape[-1]).reshape(count, q.shape[-1])
    speeds = v.expand(*lead, v.shape[-1]).reshape(count, v.shape[-1])
    controls = None if u is None else u.expand(*lead, *u.shape[-2:]).reshape(count, *u.shape[-2:])
    stacked = (torch.stack([x.expand(lead).reshape(count) for x in values], dim=-1) if values
               else q.new_zeros(count, 0))
    frames_q, frames_v = _Rollout.apply(layer, many, speeds, controls, stacked)
    return (frames_q.reshape(*lead, *frames_q.shape[1:]),
            frames_v.reshape(*lead, *frames_v.shape[1:]))


def step(model: Model, settings: StepSettings, q: Tensor, v: Tensor, u: Tensor | None = None,
         parameters: Mapping[str, Tensor] | None = None, **more: Any) -> tuple[Tensor, Tensor]:
    """The state after one step: (…, q_size), (…, v_size). u: (…, control_count); see rollout()."""
    controls = None if u is None else u.unsqueeze(-2)
    frames_q, frames_v = rollout(model, settings, q, v, controls, parameters, steps=1, **more)
    return frames_q[..., 1, :], frames_v[..., 1, :]


class _Lcp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layer: LcpLayer, M: Tensor, q: Tensor) -> Tensor:
        z, w = layer.solve(_array(M), _array(q))
        ctx.layer, ctx.answer = layer, (z, w)
        ctx.save_for_backward(M, q)
        return _like(z, q)

    @staticmethod
    def backward(ctx: Any, by_z: Tensor) -> tuple[Tensor | None, ...]:
        def pull(M: Tensor, q: Tensor, by_z: Tensor) -> tuple[Tensor | None, ...]:
            by_M, by_q = ctx.layer.pull_back(_array(M), _array(q), *ctx.answer, _array(by_z))
            return _like(by_M, M), _like(by_q, q)

        return (None, *_Once.apply(pull, *ctx.saved_tensors, by_z))


def lcp(M: Tensor, q: Tensor, *, equations: int = 0, settings: SolveSettings | None = None,
        gradient: SolutionGradientSettings | None = None, threads: int | None = None,
        failure: str = "raise") -> Tensor:
    """z with 0 <= z, w = M z + q >= 0, z w = 0, differentiable by M (…, n, n) and q (…, n).

    equations: the first rows are w = 0, z free. failure: "raise", or "nan" where one is not solved.
    """
    _needs_float(M, "M")
    _needs_float(q, "q")
    layer = LcpLayer(equations, threads=-1 if threads is None else threads,
                     nan_where_failed=failure == "nan")
    if settings is not None:
        layer.settings = settings
    if gradient is not None:
        layer.gradient = gradient
    n = q.shape[-1]
    if M.ndim < 2 or M.shape[-2:] != (n, n):
        raise Error(f"M: expected (…, {n}, {n}), got {tuple(M.shape)}")
    lead = torch.broadcast_shapes(M.shape[:-2], q.shape[:-1])
    count = lead.numel()
    z = _Lcp.apply(layer, M.expand(*lead, n, n).reshape(count, n, n),
                   q.expand(*lead, n).reshape(count, n))
    return z.reshape(*lead, n)


class _Contact(torch.autograd.Function):
    """Data in the order of `names`, one batch dimension => v, gamma, lambda, w."""

    @staticmethod
    def forward(ctx: Any, layer: ContactLayer, names: tuple[str, ...],
                *tensors: Tensor) -> tuple[Tensor, ...]:
        data = {name: _array(x) for name, x in zip(names, tensors)}
        answer = layer.solve(data)
        ctx.layer, ctx.names, ctx.data, ctx.answer, ctx.like = layer, names, data, answer, tensors[0]
        return tuple(_like(x, tensors[0]) for x in answer)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *by: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.layer.pull_back(ctx.data, ctx.answer, tuple(_array(x) for x in by))
        return (None, None, *(_like(found[name], ctx.like) for name in ctx.names))


def contact(H: Tensor, k: Tensor, laws: Sequence[Law], D: Tensor, b: Tensor, *,
            C: Tensor | None = None, e: Tensor | None = None, F: Tensor | None = None,
            mu: Tensor | None = None, settings: SolveSettings | None = None,
            gradient: SolutionGradientSettings | None = None, threads: int | None = None,
            failure: str = "raise") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(v, gamma, lambda, w) of a mixed or cone problem, differentiable by all of its data.

    H v - C'gamma - D'lambda = k, C v + e = 0, w = D v + F lambda + b, a law block by block (see
    CanonicalProblem). H (…, n, n), k (…, n), D (…, r, n), b (…, r), C (…, m, n) with e (…, m),
    F (…, r, r); mu (…, blocks): friction in place of that of the laws. Leading dimensions broadcast.
    """
    given = {"H": H, "k": k, "D": D, "b": b}
    if (C is None) != (e is None):
        raise Error("C, e: expected both or neither")
    for name, x in (("C", C), ("e", e), ("F", F), ("mu", mu)):
        if x is not None:
            given[name] = x
    for name, x in given.items():
        _needs_float(x, name)
    layer = ContactLayer(list(laws), threads=-1 if threads is None else threads,
                         nan_where_failed=failure == "nan")
    if settings is not None:
        layer.settings = settings
    if gradient is not None:
        layer.gradient = gradient
    check_data(given, layer)
    dims = {name: 2 if name in ("H", "D", "C", "F") else 1 for name in given}
    lead = torch.broadcast_shapes(*(x.shape[:-dims[name]] for name, x in given.items()))
    count = lead.numel()
    flat = [x.expand(*lead, *x.shape[-dims[name]:]).reshape(count, *x.shape[-dims[name]:])
            for name, x in given.items()]
    v, gamma, lam, w = _Contact.apply(layer, tuple(given), *flat)
    return (v.reshape(*lead, -1), gamma.reshape(*lead, gamma.shape[-1]),
            lam.reshape(*lead, -1), w.reshape(*lead, -1))
