# SPDX-License-Identifier: Apache-2.0
"""Costs of one's own: a function of one step's q, v, u, differentiated by JAX, torch or differences.

A function that returns one number is the cost itself; one that returns a vector r costs r'r / 2, whose
curvature is taken as J'J (Gauss-Newton).
"""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from ._core import Error

Floats = NDArray[np.float64]
Function = Callable[..., Any]
#: values (n,), gradients (n, m), curvatures (n, m, m) by the numbers of (q, v, u)
Expansion = tuple[Floats, Floats, Floats]

_STEP = 6e-6  # of central differences: cube root of the precision


def _check(shape: tuple[int, ...]) -> None:
    """Of what a cost returns for one step."""
    if len(shape) > 1:
        raise Error(f"cost: a function must return one number or a vector, got shape {shape}")


def _from_residuals(r: Floats, J: Floats) -> Expansion:
    """r (n, k), J (n, k, m)."""
    return (0.5 * np.einsum("nk,nk->n", r, r), np.einsum("nk,nkm->nm", r, J),
            np.einsum("nki,nkj->nij", J, J))


class _Numpy:
    """Plain functions: differences of the cost, never of the motion."""

    def __init__(self, f: Function, sizes: tuple[int, ...]) -> None:
        self.f = f
        self.ends = np.cumsum(sizes)

    def call(self, x: Floats) -> Floats:
        parts = np.split(x, self.ends[:-1], axis=1)
        out = []
        for row in zip(*parts):
            given = self.f(*row)
            try:
                out.append(np.asarray(given, dtype=float))
            except (TypeError, ValueError):
                raise TypeError("cost: a function must return one number or a vector, "
                                f"got {type(given).__name__}") from None
            _check(out[-1].shape)
            if out[-1].shape != out[0].shape:
                raise Error(f"cost: a function must return the same shape at every step, got {out[0].shape} "
                            f"and {out[-1].shape}")
        return np.array(out)

    def values(self, x: Floats) -> Floats:
        y = self.call(x)
        return y if y.ndim == 1 else 0.5 * np.einsum("nk,nk->n", y, y)

    def slopes(self, x: Floats, size: float) -> Floats:
        """d call/dx (n, m) or (n, k, m), by central differences."""
        out = []
        for i in range(x.shape[1]):
            d = size * np.maximum(1.0, np.abs(x[:, i]))
            up, down = x.copy(), x.copy()
            up[:, i] += d
            down[:, i] -= d
            y = self.call(up) - self.call(down)
            out.append(y / (2 * d).reshape((-1,) + (1,) * (y.ndim - 1)))
        return np.stack(out, axis=-1)

    def expand(self, x: Floats) -> Expansion:
        y = self.call(x)
        J = self.slopes(x, _STEP)
        if y.ndim == 2:
            return _from_residuals(y, J)
        size, H = 1e-4, []  # second differences want a longer step
        for i in range(x.shape[1]):
            d = size * np.maximum(1.0, np.abs(x[:, i]))
            up, down = x.copy(), x.copy()
            up[:, i] += d
            down[:, i] -= d
            H.append((self.slopes(up, size) - self.slopes(down, size)) / (2 * d)[:, None])
        curve = np.stack(H, axis=-1)
        return y, J, 0.5 * (curve + curve.transpose(0, 2, 1))


class _Jax:
    def __init__(self, f: Function, sizes: tuple[int, ...]) -> None:
        import jax
        import jax.numpy as jnp

        if not jax.config.jax_enable_x64:
            raise Error('cost: JAX needs 64 bits: jax.config.update("jax_enable_x64", True)')
        ends = [int(i) for i in np.cumsum(sizes)[:-1]]

        def flat(x: Any) -> Any:
            y = jnp.asarray(f(*jnp.split(x, ends)))
            _check(y.shape)
            return y

        self.call = jax.jit(jax.vmap(flat))
        self.jacobian = jax.jit(jax.vmap(jax.jacobian(flat)))
        self.hessian = jax.jit(jax.vmap(jax.hessian(flat)))

    def values(self, x: Floats) -> Floats:
        y = np.asarray(self.call(x))
        return y if y.ndim == 1 else 0.5 * np.einsum("nk,nk->n", y, y)

    def expand(self, x: Floats) -> Expansion:
        y, J = np.asarray(self.call(x)), np.asarray(self.jacobian(x))
        return _from_residuals(y, J) if y.ndim == 2 else (y, J, np.asarray(self.hessian(x)))


class _Torch:
    def __init__(self, f: Function, sizes: tuple[int, ...]) -> None:
        self.f = f
        self.sizes = list(sizes)

    def call(self, x: Any) -> Any:
        import torch

        out = [torch.as_tensor(self.f(*torch.split(row, self.sizes)), dtype=x.dtype) for row in x]
        _check(tuple(out[0].shape))
        return torch.stack(out)

    def values(self, x: Floats) -> Floats:
        import torch

        with torch.no_grad():
            y: Floats = self.call(torch.as_tensor(x)).numpy()
        return y if y.ndim == 1 else 0.5 * np.einsum("nk,nk->n", y, y)

    def expand(self, x: Floats) -> Expansion:
        import torch

        at = torch.as_tensor(x).requires_grad_()
        y = self.call(at)

        def slope(of: Any, again: bool) -> Any:
            if not of.requires_grad:
                return torch.zeros_like(at)
            out = torch.autograd.grad(of, at, create_graph=again, retain_graph=True,
                                      allow_unused=True)[0]
            return torch.zeros_like(at) if out is None else out

        if y.ndim == 2:  # the steps do not mix: one walk back a residual serves all of them
            J = torch.stack([slope(y[:, k].sum(), False) for k in range(y.shape[1])], dim=1)
            return _from_residuals(y.detach().numpy(), J.numpy())
        g = slope(y.sum(), True)
        H = torch.stack([slope(g[:, i].sum(), False) for i in range(at.shape[1])], dim=2)
        return y.detach().numpy(), g.detach().numpy(), H.detach().numpy()


_BACKENDS: dict[str, Any] = {"numpy": _Numpy, "jax": _Jax, "torch": _Torch}


class OwnCost:
    """running(q, v, u) at every step and final(q, v) at the end, as the library asks for them."""

    def __init__(self, running: Function | None, final: Function | None, backend: str,
                 nq: int, nv: int, nu: int) -> None:
        if backend not in _BACKENDS:
            raise Error(f"backend: expected one of {', '.join(_BACKENDS)}, got '{backend}'")
        make = _BACKENDS[backend]
        self._running = None if running is None else make(running, (nq, nv, nu))
        self._final = None if final is None else make(final, (nq, nv))
        self._sizes = (nq, nv, nu)

    def __call__(self, q: Floats, v: Floats, u: Floats, derivatives: bool) -> Any:
        nq, nv, nu = self._sizes
        frames, m = len(q), nq + nv + nu
        values = np.zeros(frames)
        gradient, hessian = np.zeros((frames, m)), np.zeros((frames, m, m))
        last = slice(frames - 1, frames)
        for function, rows, x in (
                (self._running, slice(0, frames - 1), np.hstack([q[:-1], v[:-1], u])),
                (self._final, last, np.hstack([q[last], v[last]]))):
            if function is None:
                continue
            if not derivatives:
                values[rows] = function.values(x)
                continue
            n = x.shape[1]
            values[rows], gradient[rows, :n], hessian[rows, :n, :n] = function.expand(x)
        return (values, gradient, hessian.reshape(frames, -1)) if derivatives else values
