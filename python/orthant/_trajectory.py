# SPDX-License-Identifier: Apache-2.0
"""What a rollout leaves: states frame by frame, reports step by step, plots."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._core import Model, Outcome, Parameters, State, StepSettings, UnknownName

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._view import View

Floats = NDArray[np.float64]

# Columns of q and v by name, so that plots and code say "z" and not 2.
_PLANAR = {"x": ("q", 0), "y": ("q", 1), "angle": ("q", 2), "vx": ("v", 0), "vy": ("v", 1),
           "omega": ("v", 2)}
_SPATIAL = {"x": ("q", 0), "y": ("q", 1), "z": ("q", 2), "qw": ("q", 3), "qx": ("q", 4),
            "qy": ("q", 5), "qz": ("q", 6), "vx": ("v", 0), "vy": ("v", 1), "vz": ("v", 2),
            "wx": ("v", 3), "wy": ("v", 4), "wz": ("v", 5)}
_UNITS = {"x": "m", "y": "m", "z": "m", "angle": "rad", "vx": "m/s", "vy": "m/s", "vz": "m/s",
          "omega": "rad/s", "wx": "rad/s", "wy": "rad/s", "wz": "rad/s"}
_REPORTS = {"kinetic": "J", "potential": "J", "energy": "J", "deepest": "m", "joint_error": "m, rad",
            "residual": "-", "contacts": "-", "iterations": "-"}


def number_of(model: Model, body: str, what: str) -> tuple[str, int]:
    """("q" or "v", place) of a body's number by name: "x", "angle", "vz", …"""
    info = model.body(body)
    table = _PLANAR if info.planar else _SPATIAL
    if what not in table:
        raise UnknownName(f"'{what}': a {'planar' if info.planar else 'spatial'} body has "
                          f"{', '.join(table)}")
    kind, column = table[what]
    return kind, column + (info.q_begin if kind == "q" else model.v_slice(body).start)


@dataclass(eq=False)
class Trajectory:
    """States after every kept step (F frames, the first is the start) and reports of S steps."""

    model: Model = field(repr=False)
    parameters: Parameters = field(repr=False)
    settings: StepSettings = field(repr=False)
    t: Floats = field(repr=False)  #: (F,) [s]
    q: Floats = field(repr=False)  #: (F, q_size) [m, rad]
    v: Floats = field(repr=False)  #: (F, v_size) [m/s, rad/s]
    outcome: Floats = field(repr=False)  #: (S,) value of Outcome, 0 = Converged
    residual: Floats = field(repr=False)  #: (S,) the judge's [-]
    deepest: Floats = field(repr=False)  #: (S,) penetration [m]
    joint_error: Floats = field(repr=False)  #: (S,) [m, rad]
    kinetic: Floats = field(repr=False)  #: (S,) [J]
    potential: Floats = field(repr=False)  #: (S,) [J]
    contacts: Floats = field(repr=False)  #: (S,) number
    iterations: Floats = field(repr=False)  #: (S,) number
    steps: int = 0  #: done
    final_state: State = field(default=None, repr=False)  # type: ignore[assignment]

    @property
    def energy(self) -> Floats:
        """Kinetic and potential, (S,) [J]."""
        return self.kinetic + self.potential

    @property
    def failed_steps(self) -> int:
        """Steps whose solves missed their tolerance."""
        return int(np.count_nonzero(self.outcome))

    @property
    def worst_outcome(self) -> Outcome:
        """Of all steps."""
        return Outcome(int(self.outcome.max(initial=0)))

    def of(self, body: str, what: str | None = None) -> Floats:
        """A body's configuration (F, 3 or 7), or one number of it by name: "x", "angle", "vz", …"""
        if what is None:
            return self.q[:, self.model.q_slice(body)]
        kind, place = number_of(self.model, body, what)
        return (self.q if kind == "q" else self.v)[:, place]

    def poses(self) -> Floats:
        """x, y, z, qw, qx, qy, qz of every body in every frame: (F, bodies, 7)."""
        bodies = self.model.bodies
        out = np.zeros((len(self.t), len(bodies), 7))
        for i, body in enumerate(bodies):
            q = self.q[:, body.q_begin:body.q_begin + body.q_size]
            if body.planar:
                out[:, i, :2] = q[:, :2]
                out[:, i, 3] = np.cos(q[:, 2] / 2)
                out[:, i, 6] = np.sin(q[:, 2] / 2)
            else:
                out[:, i] = q
        return out

    def plot(self, *what: str, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws over time: "cube.z", "cube.vx", or a report: "energy", "contacts", "residual", …

        Nothing named: the energy. Needs matplotlib. Returns the axes.
        """
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        for name in what or ("energy",):
            label, times, values = self._series(name)
            axes.plot(times, values, label=label, **style)
        axes.set_xlabel("t [s]")
        axes.legend()
        return axes

    def show(self, name: str = "run", *, height: int = 480) -> View:
        """The run as a page that plays it: the result of a notebook cell, or `.save("run.html")`."""
        from ._view import View

        return View(self, name, height)

    def _series(self, name: str) -> tuple[str, Floats, Floats]:
        if name in _REPORTS:
            h = self.settings.h
            times = self.t[0] + h * np.arange(1, len(self.residual) + 1)
            return f"{name} [{_REPORTS[name]}]", times, getattr(self, name)
        body, dot, field_ = name.rpartition(".")
        if not dot:
            raise KeyError(f"'{name}': expected body.number (\"cube.z\") or one of "
                           f"{', '.join(_REPORTS)}")
        return f"{name} [{_UNITS.get(field_, '-')}]", self.t, self.of(body, field_)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (f"Trajectory({self.steps} steps to t={self.t[-1]:g} s, {len(self.t)} frames, "
                f"{self.failed_steps} failed)")
