# SPDX-License-Identifier: Apache-2.0
"""A trajectory as the viewer page: one HTML file that plays it, or a cell of a notebook."""
from __future__ import annotations

import base64
import html
import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._core import Error, Motion, ShapeKind

if TYPE_CHECKING:
    from ._trajectory import Trajectory

_PAGE = Path(__file__).parent / "viewer.html"
_PLACE = '<script type="application/json" id="orthant-run">null</script>'


def _bytes(x: ArrayLike, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(x, dtype=dtype).tobytes()).decode()


def _shape(kind: ShapeKind, dim: int, p: Any, triangles: list[int]) -> dict[str, Any]:
    """One shape in the words of the viewer's format; planar ones are flat."""
    flat = dim == 2
    if kind == ShapeKind.Sphere:
        return {"type": "disc" if flat else "sphere", "radius": p[0]}
    if kind == ShapeKind.Capsule:
        return {"type": "stadium" if flat else "capsule", "radius": p[0], "half_length": p[1]}
    if kind == ShapeKind.Box:
        return {"type": "rectangle" if flat else "box", "half": list(p)}
    if kind == ShapeKind.Ellipsoid:
        return {"type": "ellipse" if flat else "ellipsoid", "semi_axes": list(p)}
    if kind in (ShapeKind.Cylinder, ShapeKind.Cone):
        return {"type": "cylinder" if kind == ShapeKind.Cylinder else "cone", "radius": p[0],
                "half_length": p[1]}
    if kind == ShapeKind.Torus:
        return {"type": "torus", "major": p[0], "minor": p[1]}
    if kind == ShapeKind.HalfSpace:
        return {"type": "half_space"}
    if flat:
        return {"type": "polygon", "vertices": _bytes(p, "<f4")}
    return {"type": "mesh" if kind == ShapeKind.Mesh else "hull", "vertices": _bytes(p, "<f4"),
            "faces": _bytes(triangles, "<u4")}


def view_data(run: Trajectory, name: str) -> dict[str, Any]:
    """The run in the viewer's format ("orthant-view", version 1)."""
    model = run.model
    bodies: list[dict[str, Any]] = [
        {"name": b.name, "fixed": b.motion == Motion.Fixed, "shapes": []} for b in model.bodies]
    for body, kind, dim, p, x, quaternion, triangles in _core.shapes_of(model, run.parameters):
        shape = _shape(kind, dim, [float(value) for value in p], triangles)
        shape |= {"position": list(x), "quaternion": list(quaternion)}
        bodies[body]["shapes"].append(shape)
    # Reports are one per step and frames may be fewer: each frame shows the step that made it.
    step = np.clip(np.round((run.t - run.t[0]) / run.settings.h).astype(int) - 1, 0, None)
    signals = {}
    if len(run.residual):
        for label, values in (("energy [J]", run.energy), ("contacts", run.contacts),
                              ("residual", run.residual), ("deepest [m]", run.deepest)):
            signals[label] = _bytes(values[np.minimum(step, len(values) - 1)], "<f8")
    return {"format": "orthant-view", "version": 1, "name": name, "planar": model.planar,
            "units": "SI", "frames": len(run.t), "bodies_count": len(bodies), "bodies": bodies,
            "time": _bytes(run.t, "<f8"), "poses": _bytes(run.poses(), "<f4"), "signals": signals}


class View:
    """A page that plays a run: shown by a notebook, saved by save()."""

    def __init__(self, run: Trajectory, name: str = "run", height: int = 480) -> None:
        if not _PAGE.exists():
            raise Error(f"the viewer page {_PAGE} is missing: this build has no viewer")
        page = _PAGE.read_text(encoding="utf-8")
        if page.count(_PLACE) != 1:
            raise Error(f"{_PAGE}: the place for the run was not found once")
        data = json.dumps(view_data(run, name), allow_nan=False).replace("<", "\\u003c")
        self.html = page.replace(_PLACE, _PLACE.replace("null", data))
        self.height = height

    def save(self, path: str | PathLike[str]) -> Path:
        """Writes the page, which needs nothing but a browser."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
                f'style="border:0"></iframe>')
