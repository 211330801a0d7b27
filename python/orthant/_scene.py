# SPDX-License-Identifier: Apache-2.0
"""A model that ModelBuilder made, with a start and controls, as a scene file for `orthant run`.

The file is written in the flow style of YAML, which is JSON. Numbers that were changed after the model was
built (masses, inertias, coefficients, velocities) are those of the parameters and of the state given.
"""
from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import (Error, FollowSpec, JointKind, Model, Motion, MotorKind, MotorSpec, Parameters, Pose, Shape,
                    ShapeKind, ShapeSpec, State, StepSettings)

Floats = NDArray[np.float64]
Entry = dict[str, Any]

_JOINTS = {JointKind.Pin: "revolute", JointKind.Slider: "prismatic"}
_SHAPES: dict[ShapeKind, tuple[tuple[str, str], Callable[[list[float]], Entry]]] = {
    ShapeKind.Sphere: (("disc", "sphere"), lambda p: {"radius": p[0]}),
    ShapeKind.Capsule: (("stadium", "capsule"), lambda p: {"radius": p[0], "half_length": p[1]}),
    ShapeKind.Box: (("rectangle", "box"), lambda p: {"half": p}),
    ShapeKind.Ellipsoid: (("ellipse", "ellipsoid"), lambda p: {"semi_axes": p}),
    ShapeKind.SuperEllipsoid: (("", "super_ellipsoid"), lambda p: {"semi_axes": p[:3], "exponents": p[3:]}),
    ShapeKind.Cylinder: (("", "cylinder"), lambda p: {"radius": p[0], "half_length": p[1]}),
    ShapeKind.Cone: (("", "cone"), lambda p: {"radius": p[0], "half_length": p[1]}),
    ShapeKind.Torus: (("", "torus"), lambda p: {"major": p[0], "minor": p[1]}),
    ShapeKind.HalfSpace: (("half_plane", "half_space"), lambda p: {})}


def _word(x: Any) -> str:
    """The word of an enumerator in a scene file: LockRotation => lock_rotation."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", x.name.rstrip("_")).lower()


def _plain(x: Any) -> Any:
    """Numbers, lists and words as JSON has them."""
    if isinstance(x, np.ndarray):
        return [_plain(y) for y in x.tolist()]
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    if isinstance(x, dict):
        return {k: _plain(y) for k, y in x.items() if y is not None}
    if isinstance(x, (bool, str, int)):
        return x
    if isinstance(x, (float, np.floating)):
        return float(x)
    return _word(x)


def _named(call: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Entry:
    """All arguments of a call by name."""
    text = getattr(_core.ModelBuilder, call).__nb_signature__[0][0]
    names = re.findall(r"[(,] *\*?,? *(\w+)(?=[:,)= ])", text[text.index("("):])[1:]
    return {**dict(zip(names, arguments)), **named}


def _placed(offset: Pose, flat: bool) -> Entry:
    x, p = [float(v) for v in offset.x], [float(v) for v in offset.p]
    if flat:
        return {"position": x[:2], "angle": 2 * float(np.arctan2(p[3], p[0]))}
    return {"position": x, "orientation": p}


def _shape(given: Shape | ShapeSpec) -> Entry:
    spec = given if isinstance(given, ShapeSpec) else ShapeSpec(given)
    shape = spec.shape
    numbers = [float(v) for v in shape.parameters]
    out: Entry
    if shape.kind == ShapeKind.Mesh:
        corners = np.reshape(shape.corners, (-1, 3)) * numbers
        out = {"type": "mesh", "points": corners, "triangles": np.ravel(shape.triangles)}
    elif shape.kind == ShapeKind.Hull and shape.rounded:
        out = {"type": "rounded_hull", "radius": numbers[-1], "points": np.reshape(numbers[:-1], (-1, 3))}
    elif shape.kind == ShapeKind.Hull:
        out = {"type": "hull" if shape.dim == 3 else "polygon", "points": np.reshape(numbers, (-1, shape.dim))}
    else:
        words, fields = _SHAPES[shape.kind]
        out = {"type": words[shape.dim == 3], **fields(numbers)}
    out |= {"density": spec.density, "group": spec.group, "mask": spec.mask, **_placed(spec.offset, shape.dim == 2)}
    for name in ("material", "name"):
        if getattr(spec, name):
            out[name] = getattr(spec, name)
    return out


def _motor(x: MotorSpec) -> Entry:
    names = ("kind", "target", "velocity", "max_force", "stiffness", "damping", "times", "values")
    out = {name: getattr(x, name) for name in names}
    return {k: y for k, y in out.items() if y is not None and not (isinstance(y, (list, tuple)) and not y)}


class _Writer:
    """The recipe of a model, call by call, into the lists of a scene."""

    def __init__(self, model: Model, parameters: Parameters, state: State) -> None:
        self.model, self.parameters, self.state = model, parameters, state
        self.rest = model.rest_state()
        built = model.default_parameters()
        #: Parameters that are no longer what the model was built with and that nothing written has.
        self.changed = {name for name in parameters.keys() if parameters[name] != built[name]}
        self.jointed: set[str] = set()
        self.out: dict[str, Any] = {"world": {}}

    def _list(self, name: str) -> list[Any]:
        return self.out.setdefault(name, [])  # type: ignore[no-any-return]

    def _take(self, name: str) -> float:
        """A number of the parameters that the file will have."""
        self.changed.discard(name)
        return float(self.parameters[name])

    def _coefficients(self, of: str, x: Entry) -> Entry:
        for field in ("friction", "restitution", "rolling_friction", "compliance"):
            if f"{of}.{field}" in self.changed:
                x[field] = self._take(f"{of}.{field}")
        return x

    def add_material(self, x: Entry) -> None:
        self._list("materials").append(self._coefficients(f"material/{x['name']}", x))

    def add_material_pair(self, x: Entry) -> None:
        for pair in (f"pair/{x['a']}+{x['b']}", f"pair/{x['b']}+{x['a']}"):
            x = self._coefficients(pair, x)
        self._list("material_pairs").append(x)

    def add_body(self, x: Entry) -> None:
        body = self.model.bodies[len(self._list("bodies"))]
        flat = body.planar
        motion = x.pop("motion", Motion.Spatial)
        x["motion"] = {Motion.Fixed: "fixed", Motion.Kinematic: "kinematic"}.get(motion, "dynamic")
        x["planar"], x["name"] = flat, body.name
        x["shapes"] = [_shape(s) for s in x.get("shapes", [])]
        if x.get("inertia") is not None and not np.isscalar(x["inertia"]):
            m = np.asarray(x["inertia"], dtype=float)
            x["inertia"] = [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]
        inertia = f"body/{body.name}.inertia"
        moments = [inertia] if flat else [f"{inertia}.{k}" for k in ("xx", "yy", "zz", "xy", "xz", "yz")]
        if self.changed & {f"body/{body.name}.mass", *moments}:
            x["mass"] = self._take(f"body/{body.name}.mass")
            numbers = [self._take(name) for name in moments]
            x["inertia"] = numbers[0] if flat else numbers
        self._start(body, x, flat)
        self._list("bodies").append(x)

    def _start(self, body: Any, x: Entry, flat: bool) -> None:
        if x["motion"] == "fixed":
            return
        q, v = self.model.q_slice(body.name), self.model.v_slice(body.name)
        n = 2 if flat else 3
        moved = self.state.q[q] - self.rest.q[q]
        if moved.any():
            if body.name in self.jointed or moved[n:].any():
                raise Error(f"body '{body.name}': a scene file has bodies on joints where they were built, and "
                            "this one begins elsewhere")
            x["position"] = np.asarray(x.get("position", np.zeros(n)), dtype=float)[:n] + moved[:n]
        speed = self.state.v[v]
        x["velocity"], x["angular_velocity"] = speed[:n], float(speed[2]) if flat else speed[3:]

    def add_joint(self, x: Entry) -> None:
        kind = x.pop("kind", JointKind.Weld)
        x["type"] = _JOINTS.get(kind, _word(kind))
        if isinstance(x.get("motor"), MotorSpec):
            x["motor"] = _motor(x["motor"]) if x["motor"].kind != MotorKind.None_ else None
        if isinstance(x.get("follow"), FollowSpec):
            f = x["follow"]
            x["follow"] = {"joint": f.joint, "ratio": f.ratio, "offset": f.offset}
        self._list("joints").append(x)

    def force(self, kind: str, x: Entry) -> None:
        self._list("forces").append({"type": kind, **{k: y for k, y in x.items()
                                                      if not (k in ("times", "factors") and len(y) == 0)}})

    def add_field(self, x: Entry) -> None:
        self._list("forces").append({"type": "field", "name": x["name"], "bodies": x["bodies"],
                                     "formula": x["formulas"]})

    def actuator(self, kind: str, x: Entry) -> None:
        self._list("actuators").append({"type": kind, **x})

    def add_servo_actuator(self, x: Entry) -> None:
        self.actuator("speed" if x.pop("speed", False) else "target", x)

    def add_frame(self, x: Entry) -> None:
        pose = x.pop("pose", None)
        self._list("frames").append(x | ({} if pose is None else _placed(pose, False)))

    def exclude(self, x: Entry) -> None:
        self._list("exclusions").append(x)

    def set_gravity(self, x: Entry) -> None:
        self.out["world"]["gravity"] = x["gravity"]

    def set_law(self, x: Entry) -> None:
        self.out["world"]["law"] = x["law"]


_FORCES = {"add_body_force": "body", "add_point_force": "point", "add_spring": "spring"}
_ACTUATORS = {"add_joint_actuator": "joint", "add_body_actuator": "body"}


def _settings(x: StepSettings) -> Entry:
    """What is not as it comes."""
    usual = StepSettings()
    out: Entry = {"h": x.h}
    for name in dir(x):
        if name.startswith("_") or callable(getattr(x, name)) or name in ("solver", "periodic", "h"):
            continue
        if getattr(x, name) != getattr(usual, name):
            out[name] = getattr(x, name)
    out["solver"] = {"tolerance": x.solver.tolerance, "max_iterations": x.solver.max_iterations}
    return out


def step_times(t: float, h: float, steps: int) -> list[float]:
    """When each step begins, summed up as steps do: a table at these times has its very values there."""
    return [float(x) for x in np.add.accumulate([t] + [h] * (steps - 1))]


def scene_text(model: Model, parameters: Parameters, settings: StepSettings, state: State, u: Floats) -> str:
    """The scene file. Raises Error for what a scene file cannot say."""
    recipe = getattr(model, "_recipe", None)
    if recipe is None:
        raise Error("scene: only a model that ModelBuilder.build() made can be written; one read from a scene "
                    "file has its file")
    writer = _Writer(model, parameters, state)
    calls = [(call, _named(call, arguments, named)) for call, arguments, named in recipe]
    for call, x in calls:
        if call == "add_joint":
            writer.jointed |= {str(x.get("a", "")), str(x.get("b", "world"))}
    for call, x in calls:
        if call in _FORCES:
            writer.force(_FORCES[call], x)
        elif call in _ACTUATORS:
            writer.actuator(_ACTUATORS[call], x)
        elif hasattr(writer, call):
            getattr(writer, call)(x)
        else:
            raise Error(f"scene: what {call}() adds cannot be written to a scene file")
    if writer.changed:
        raise Error(f"parameter '{min(writer.changed)}': was changed after the model was built, which a scene "
                    "file cannot say")
    times = step_times(state.t, settings.h, len(u))
    for i, actuator in enumerate(writer.out.get("actuators", [])):
        actuator |= {"times": times, "values": u[:, i]}
    scene = {"orthant": 1, **writer.out, "step": _settings(settings),
             "run": {"time": float(len(u) * settings.h)}}
    return json.dumps(_plain(scene), indent=1) + "\n"


def save_scene(path: str | PathLike[str], model: Model, u: ArrayLike, *, state: State | None = None,
               parameters: Parameters | None = None, settings: StepSettings | None = None) -> None:
    """Writes the motion under the controls u, (steps, control_count), as a scene file that `orthant run` replays.

    state: where it starts; state, parameters and settings are those of the model where they are not given. The
    model must be one that ModelBuilder made; what a scene file cannot say is an Error. ot.load() reads it back.
    """
    controls = np.asarray(u, dtype=float)
    if controls.ndim != 2 or controls.shape[1] != model.control_count or len(controls) < 1:
        raise Error(f"u: expected shape (steps, {model.control_count}), got {controls.shape}")
    if not np.isfinite(controls).all():
        raise Error("u: must be finite")
    text = scene_text(model, model.default_parameters() if parameters is None else parameters,
                      StepSettings() if settings is None else settings,
                      model.rest_state() if state is None else state, controls)
    Path(path).write_text(text, encoding="utf-8")
