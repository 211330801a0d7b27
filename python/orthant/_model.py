# SPDX-License-Identifier: Apache-2.0
"""ModelBuilder that remembers what it was told, so that a model can be pickled.

A model is checked and const; its recipe is the calls that built it. A pickle holds the recipe and
building it again gives the same model, number for number.
"""
from __future__ import annotations

import copyreg
import functools
from typing import Any, Callable, Sequence

import numpy as np

from . import _core
from ._core import Error, FollowSpec, ForceCallback, Model, MotorSpec, Shape, ShapeKind, ShapeSpec
from ._field import Field

#: All calls that make a model what it is, but add_field, which is more than its namesake.
_CALLS = tuple(name for name in dir(_core.ModelBuilder)
               if name.startswith(("add_", "set_", "exclude")) and name != "add_field")

_Recipe = list[tuple[str, tuple[Any, ...], dict[str, Any]]]


class ModelBuilder(_core.ModelBuilder):
    __doc__ = _core.ModelBuilder.__doc__

    def __init__(self) -> None:
        super().__init__()
        self._recipe: _Recipe | None = []

    def build(self) -> Model:
        """The Model; raises Error naming the object, the rule and the value. It can be pickled."""
        model = super().build()
        if self._recipe is not None:
            setattr(model, "_recipe", list(self._recipe))
        return model

    def add_field(self, name: str, bodies: str | Sequence[str],
                  field: str | Sequence[str] | Callable[..., Any], *, backend: str = "numpy") -> None:
        """A force [N] at the centre of mass of each of `bodies`, by place, velocity and time.

        field: formulas of x, y, z, r, vx, vy, vz, t (one for each component, or one for all, in which x is
        the component), fast and exact; or a function F(x, v, t) that returns two or three numbers, which
        `backend` differentiates: "numpy" (by differences), "jax" or "torch".
        """
        names = [bodies] if isinstance(bodies, str) else list(bodies)
        if callable(field):
            for body in names:
                self.add_force(f"{name}/{body}", body, Field(body, field, backend))
            return
        texts = [field] if isinstance(field, str) else list(field)
        super().add_field(name, names, texts)
        if self._recipe is not None:
            self._recipe.append(("add_field", (name, names, texts), {}))

    def divide(self, *arguments: Any, **named: Any) -> Any:
        self._recipe = None  # the bodies are no longer those of the calls
        return super().divide(*arguments, **named)


def _kept(x: Any) -> Any:
    """A value as it is now: arrays and lists may change later."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, (list, tuple)):
        return type(x)(_kept(y) for y in x)
    return {k: _kept(y) for k, y in x.items()} if isinstance(x, dict) else x


def _recorded(name: str) -> Callable[..., Any]:
    told = getattr(_core.ModelBuilder, name)

    @functools.wraps(told)
    def call(self: ModelBuilder, *arguments: Any, **named: Any) -> Any:
        answer = told(self, *arguments, **named)  # first: a call that is refused is not kept
        if self._recipe is not None:
            self._recipe.append((name, _kept(arguments), _kept(named)))
        return answer

    return call


for _name in _CALLS:
    setattr(ModelBuilder, _name, _recorded(_name))
ModelBuilder.divide.__doc__ = _core.ModelBuilder.divide.__doc__


def _rebuilt(recipe: _Recipe) -> Model:
    builder = ModelBuilder()
    for name, arguments, named in recipe:
        getattr(builder, name)(*arguments, **named)
    return builder.build()


def _model_parts(model: Model) -> tuple[Any, ...]:
    recipe = getattr(model, "_recipe", None)
    if recipe is None:
        raise Error("model: only what ModelBuilder.build() made can be pickled; a model of a scene "
                    "file travels as its path, one after divide() must be built again")
    return _rebuilt, (recipe,)


_SHAPES: dict[tuple[ShapeKind, int], Callable[..., Shape]] = {
    (ShapeKind.Sphere, 3): Shape.sphere, (ShapeKind.Capsule, 3): Shape.capsule,
    (ShapeKind.Box, 3): Shape.box, (ShapeKind.Ellipsoid, 3): Shape.ellipsoid,
    (ShapeKind.SuperEllipsoid, 3): Shape.super_ellipsoid, (ShapeKind.Cylinder, 3): Shape.cylinder,
    (ShapeKind.Cone, 3): Shape.cone,
    (ShapeKind.Torus, 3): Shape.torus, (ShapeKind.Sphere, 2): Shape.disc,
    (ShapeKind.Capsule, 2): Shape.stadium, (ShapeKind.Box, 2): Shape.rectangle,
    (ShapeKind.Ellipsoid, 2): Shape.ellipse, (ShapeKind.HalfSpace, 3): Shape.half_space,
    (ShapeKind.HalfSpace, 2): Shape.half_plane}


def _shape(kind: ShapeKind, dim: int, numbers: list[float]) -> Shape:
    if kind == ShapeKind.Hull:
        points = np.reshape(numbers, (-1, dim))
        return Shape.hull(points) if dim == 3 else Shape.polygon(points)
    return _SHAPES[kind, dim](*numbers)


def _rounded(numbers: list[float]) -> Shape:
    return Shape.rounded_hull(np.reshape(numbers[:-1], (-1, 3)), numbers[-1])


def _mesh(corners: Any, triangles: list[tuple[int, int, int]], numbers: list[float]) -> Shape:
    return Shape.mesh(np.reshape(corners, (-1, 3)), triangles).with_parameters(numbers)


def _shape_parts(x: Shape) -> tuple[Any, ...]:
    numbers = [float(v) for v in x.parameters]
    if x.kind == ShapeKind.Mesh:
        return _mesh, (x.corners, x.triangles, numbers)
    if x.rounded:
        return _rounded, (numbers,)
    return _shape, (x.kind, x.dim, [float(v) for v in x.parameters])


def _spec_parts(x: ShapeSpec) -> tuple[Any, ...]:
    return ShapeSpec, (x.shape, x.offset, x.density, x.material, x.group, x.mask, x.name)


def _motor_parts(x: MotorSpec) -> tuple[Any, ...]:
    return MotorSpec, (x.kind, x.target, x.velocity, x.max_force, x.times, x.values, x.stiffness, x.damping)


def _follow_parts(x: FollowSpec) -> tuple[Any, ...]:
    return FollowSpec, (x.joint, x.ratio, x.offset)


def _force(kind: type[ForceCallback], attributes: dict[str, Any]) -> ForceCallback:
    made = kind.__new__(kind)
    ForceCallback.__init__(made)
    made.__dict__.update(attributes)
    return made


def _force_parts(self: ForceCallback) -> tuple[Any, ...]:
    return _force, (type(self), dict(self.__dict__))


ForceCallback.__reduce__ = _force_parts  # type: ignore[assignment, method-assign]
copyreg.pickle(Model, _model_parts)
copyreg.pickle(Shape, _shape_parts)
copyreg.pickle(ShapeSpec, _spec_parts)
copyreg.pickle(MotorSpec, _motor_parts)
copyreg.pickle(FollowSpec, _follow_parts)
