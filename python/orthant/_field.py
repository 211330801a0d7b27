# SPDX-License-Identifier: Apache-2.0
"""Forces given by a function of place, velocity and time, differentiated by itself."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from ._core import Error, ForceCallback, Model, Parameters
from ._cost import differentiable

Floats = NDArray[np.float64]


class Field(ForceCallback):
    """F(x, v, t) [N] at the centre of mass of one body: ModelBuilder.add_field() makes one for each.

    With its derivatives the step treats it implicitly where it resists, and gradients go through it.
    """

    def __init__(self, body: str, function: Callable[..., Any], backend: str = "numpy") -> None:
        super().__init__()
        self.body, self.function, self.backend = body, function, backend
        self._made: dict[int, Any] = {}
        differentiable(function, backend, (1,), "field")  # says what is wrong with the backend

    def __reduce__(self) -> tuple[Any, ...]:
        return Field, (self.body, self.function, self.backend)

    def _at(self, model: Model, q: Floats, v: Floats, t: float) -> tuple[Any, Floats, slice, slice]:
        """The function, its arguments in one row, and where the body's place and velocity are."""
        n = 2 if model.body(self.body).planar else 3
        if n not in self._made:
            f = self.function
            self._made[n] = differentiable(lambda x, v, t: f(x, v, t[0]), self.backend, (n, n, 1),
                                           f"field of '{self.body}'")
        begin = model.q_slice(self.body).start
        place = slice(begin, begin + n)
        begin = model.v_slice(self.body).start
        speed = slice(begin, begin + n)
        return self._made[n], np.concatenate([q[place], v[speed], [t]])[None], place, speed

    def add_force(self, model: Model, parameters: Parameters, q: Floats, v: Floats, t: float) -> Floats:
        """The force, laid out like State.v."""
        made, x, _, speed = self._at(model, q, v, t)
        force = made.call(x)[0]
        n = speed.stop - speed.start
        if force.shape != (n,):
            raise Error(f"field of '{self.body}': expected {n} numbers, got shape {force.shape}")
        out = np.zeros(v.size)
        out[speed] = force
        return out

    def derivatives(self, model: Model, parameters: Parameters, q: Floats, v: Floats,
                    t: float) -> tuple[Floats, Floats]:
        """(f_q, f_v) by the tangent of the body."""
        made, x, _, speed = self._at(model, q, v, t)
        J = made.jacobian(x)[1][0]
        n = speed.stop - speed.start
        size = 3 if n == 2 else 6
        f_q, f_v = np.zeros((size, size)), np.zeros((size, size))
        f_q[:n, :n], f_v[:n, :n] = J[:, :n], J[:, n:2 * n]
        return f_q, f_v
