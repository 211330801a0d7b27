# SPDX-License-Identifier: Apache-2.0
"""Functions of one's own: of one step's q, v, u, differentiated by JAX, torch or differences.

As a cost, one number is the cost itself; a vector r costs r'r / 2, whose curvature is taken as J'J
(Gauss-Newton). As a constraint, each number is bounded.
"""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._core import Error

Floats = NDArray[np.float64]
Function = Callable[..., Any]
#: values (n,), gradients (n, m), curvatures (n, m, m) by the numbers of (q, v, u)
Expansion = tuple[Floats, Floats, Floats]

_STEP = 6e-6  # of central differences: cube root of the precision


def _check(shape: tuple[int, ...], what: str) -> None:
    """Of what a function returns for one step."""
    if len(shape) > 1:
        raise Error(f"{what}: a function must return one number or a vector, got shape {shape}")


def _from_residuals(r: Floats, J: Floats) -> Expansion:
    """r (n, k), J (n, k, m)."""
    return (0.5 * np.einsum("nk,nk->n", r, r), np.einsum("nk,nkm->nm", r, J),
            np.einsum("nki,nkj->nij", J, J))


class _Numpy:
    """Plain functions: differences of the cost, never of the motion."""

    def __init__(self, f: Function, sizes: tuple[int, ...], what: str) -> None:
        self.f, self.what = f, what
        self.ends = np.cumsum(sizes)

    def call(self, x: Floats) -> Floats:
        parts = np.split(x, self.ends[:-1], axis=1)
        out = []
        for row in zip(*parts):
            given = self.f(*row)
            try:
                out.append(np.asarray(given, dtype=float))
            except (TypeError, ValueError):
                raise TypeError(f"{self.what}: a function must return one number or a vector, "
                                f"got {type(given).__name__}") from None
            _check(out[-1].shape, self.what)
            if out[-1].shape != out[0].shape:
                raise Error(f"{self.what}: a function must return the same shape at every step, got {out[0].shape} "
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

    def jacobian(self, x: Floats) -> tuple[Floats, Floats]:
        """call, and its derivative (n, m) or (n, k, m)."""
        return self.call(x), self.slopes(x, _STEP)

    def expand(self, x: Floats) -> Expansion:
        y, J = self.jacobian(x)
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
    def __init__(self, f: Function, sizes: tuple[int, ...], what: str) -> None:
        import jax
        import jax.numpy as jnp

        if not jax.config.jax_enable_x64:
            raise Error(f'{what}: JAX needs 64 bits: jax.config.update("jax_enable_x64", True)')
        ends = [int(i) for i in np.cumsum(sizes)[:-1]]

        def flat(x: Any) -> Any:
            y = jnp.asarray(f(*jnp.split(x, ends)))
            _check(y.shape, what)
            return y

        self._call = jax.jit(jax.vmap(flat))
        self._jacobian = jax.jit(jax.vmap(jax.jacobian(flat)))
        self._hessian = jax.jit(jax.vmap(jax.hessian(flat)))

    def call(self, x: Floats) -> Floats:
        return np.asarray(self._call(x))

    def jacobian(self, x: Floats) -> tuple[Floats, Floats]:
        return self.call(x), np.asarray(self._jacobian(x))

    def values(self, x: Floats) -> Floats:
        y = self.call(x)
        return y if y.ndim == 1 else 0.5 * np.einsum("nk,nk->n", y, y)

    def expand(self, x: Floats) -> Expansion:
        y, J = self.jacobian(x)
        return _from_residuals(y, J) if y.ndim == 2 else (y, J, np.asarray(self._hessian(x)))


class _Torch:
    def __init__(self, f: Function, sizes: tuple[int, ...], what: str) -> None:
        self.f, self.what = f, what
        self.sizes = list(sizes)

    def _tensor(self, x: Any) -> Any:
        import torch

        out = [torch.as_tensor(self.f(*torch.split(row, self.sizes)), dtype=x.dtype) for row in x]
        _check(tuple(out[0].shape), self.what)
        return torch.stack(out)

    def call(self, x: Floats) -> Floats:
        import torch

        with torch.no_grad():
            y: Floats = self._tensor(torch.as_tensor(x)).numpy()
        return y

    def values(self, x: Floats) -> Floats:
        y = self.call(x)
        return y if y.ndim == 1 else 0.5 * np.einsum("nk,nk->n", y, y)

    @staticmethod
    def _slope(of: Any, at: Any, again: bool) -> Any:
        import torch

        if not of.requires_grad:
            return torch.zeros_like(at)
        out = torch.autograd.grad(of, at, create_graph=again, retain_graph=True, allow_unused=True)[0]
        return torch.zeros_like(at) if out is None else out

    def jacobian(self, x: Floats) -> tuple[Floats, Floats]:
        import torch

        at = torch.as_tensor(x).requires_grad_()
        y = self._tensor(at)
        if y.ndim == 1:
            J = self._slope(y.sum(), at, False)
        else:  # the steps do not mix: one walk back a number serves all of them
            J = torch.stack([self._slope(y[:, k].sum(), at, False) for k in range(y.shape[1])], dim=1)
        return y.detach().numpy(), J.numpy()

    def expand(self, x: Floats) -> Expansion:
        import torch

        at = torch.as_tensor(x).requires_grad_()
        y = self._tensor(at)
        if y.ndim == 2:
            return _from_residuals(*self.jacobian(x))
        g = self._slope(y.sum(), at, True)
        H = torch.stack([self._slope(g[:, i].sum(), at, False) for i in range(at.shape[1])], dim=2)
        return y.detach().numpy(), g.detach().numpy(), H.detach().numpy()


_BACKENDS: dict[str, Any] = {"numpy": _Numpy, "jax": _Jax, "torch": _Torch}


def differentiable(function: Function, backend: str, sizes: tuple[int, ...], what: str) -> Any:
    """The function of one row's parts as one of many rows: call(x) and jacobian(x). what: for errors."""
    if backend not in _BACKENDS:
        raise Error(f"backend: expected one of {', '.join(_BACKENDS)}, got '{backend}'")
    return _BACKENDS[backend](function, sizes, what)


class PathFunctions:
    """Functions that are bounded at some frames, side by side as the library asks for them."""

    def __init__(self, nq: int, nv: int, nu: int, frames: int) -> None:
        self._sizes, self._frames = (nq, nv, nu), frames
        self._parts: list[tuple[Any, NDArray[np.int64], slice]] = []
        self.lower: Floats = np.zeros((frames, 0))
        self.upper: Floats = np.zeros((frames, 0))

    def add(self, function: Function, backend: str, at: NDArray[np.int64], lower: ArrayLike,
            upper: ArrayLike, q: Floats, v: Floats) -> None:
        """(q, v): any state, at which the function is asked how many numbers it has."""
        made = differentiable(function, backend, self._sizes, "constraint")
        first = np.atleast_1d(made.call(np.hstack([q, v, np.zeros(self._sizes[2])])[None])[0])
        begin, count = self.lower.shape[1], first.size
        limits = []
        for given, side, none in ((lower, "lower", -np.inf), (upper, "upper", np.inf)):
            limit = np.full((self._frames, count), none)
            try:
                limit[at] = np.asarray(given, dtype=float)
            except ValueError:
                raise Error(f"{side} bounds of the constraint: expected a number or shape "
                            f"{(count,)}, got {np.shape(given)}") from None
            limits.append(limit)
        if not (limits[0] <= limits[1]).all():
            raise Error("bounds of the constraint: are empty")
        self._parts.append((made, at, slice(begin, begin + count)))
        self.lower, self.upper = (np.hstack(pair) for pair in zip((self.lower, self.upper), limits))

    def __call__(self, q: Floats, v: Floats, u: Floats, derivatives: bool) -> Any:
        x = np.hstack([q, v, np.vstack([u, np.zeros((1, self._sizes[2]))])])
        value = np.zeros(self.lower.shape)
        by = np.zeros((*value.shape, x.shape[1])) if derivatives else None
        for function, at, columns in self._parts:
            count = columns.stop - columns.start
            if by is None:
                value[at, columns] = function.call(x[at]).reshape(len(at), count)
            else:
                y, J = function.jacobian(x[at])
                value[at, columns] = y.reshape(len(at), count)
                by[at, columns] = J.reshape(len(at), count, -1)
        if by is None:
            return value
        by[-1, :, sum(self._sizes[:2]):] = 0.0  # there are no controls at the end
        return value, by.reshape(len(by), -1)


class OwnCost:
    """running(q, v, u) at every step and final(q, v) at the end, as the library asks for them."""

    def __init__(self, running: Function | None, final: Function | None, backend: str,
                 nq: int, nv: int, nu: int) -> None:
        self._running = None if running is None else differentiable(running, backend, (nq, nv, nu), "cost")
        self._final = None if final is None else differentiable(final, backend, (nq, nv), "cost")
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
