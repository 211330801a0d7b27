# SPDX-License-Identifier: Apache-2.0
"""Parameters from measured motions: fit(), and how well motions are predicted."""
from __future__ import annotations

from math import nan
from os import PathLike, fspath
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import (AngularAxes, Error, FitMethod, FitOptions, FitResult, MeasuredMotion, Model,
                    Parameters, PredictionScore, Predictor, StepSettings, TrajectoryData)
from ._trajectory import Trajectory

#: A CSV file, what read_trajectories() gave, or motions one by one.
Data = Union[str, "PathLike[str]", TrajectoryData, Sequence[Union[MeasuredMotion, Trajectory]]]
#: (lower, upper) or (lower, upper, start); None: by the kind of parameter.
Bounds = Union[Sequence[float], None]
#: Called as (stage, evaluations, best values, cost); False ends the search.
Progress = Callable[[str, int, NDArray[np.float64], float], Any]

_METHODS = {"simulate": FitMethod.Simulate, "implicit": FitMethod.Implicit}


def read_trajectories(path: str | PathLike[str], model: Model, *, dt: float = 0.0,
                      angular: AngularAxes = AngularAxes.World,
                      backward_velocity: bool = False) -> TrajectoryData:
    """Measured motions from a CSV file, one row per sample (docs/learning.md).

    dt: sampling interval [s] of a file without times; angular: axes of wx, wy, wz; backward_velocity:
    v[k] is the mean from sample k - 1 to k, not that at k.
    """
    return _core.read_trajectories(fspath(path), model, dt, angular, backward_velocity)


def _motion(number: int, x: MeasuredMotion | Trajectory) -> MeasuredMotion:
    if isinstance(x, MeasuredMotion):
        return x
    if not isinstance(x, Trajectory):
        raise TypeError(f"data: motion {number}: expected MeasuredMotion or Trajectory, "
                        f"got {type(x).__name__}")
    gaps = np.diff(x.t)
    if gaps.size == 0 or np.ptp(gaps) > 1e-6 * gaps[0]:
        raise Error(f"data: motion {number}: expected two frames or more at even times")
    return MeasuredMotion(x.q, x.v, float(gaps.mean()), str(number))


def _motions(model: Model, data: Data) -> TrajectoryData:
    if isinstance(data, TrajectoryData):
        return data
    if isinstance(data, (str, PathLike)):
        return read_trajectories(data, model)
    return TrajectoryData([_motion(i, x) for i, x in enumerate(data)])


def _boxes(wanted: Sequence[str] | Mapping[str, Bounds]) -> tuple[list[str], NDArray[np.float64]]:
    """Names and rows (lower, upper, start), NaN where not given."""
    if isinstance(wanted, str):
        wanted = [wanted]
    named = wanted if isinstance(wanted, Mapping) else None
    names = list(wanted)
    rows = np.full((len(names), 3), nan)
    for row, name in zip(rows, names):
        given = None if named is None else named[name]
        if given is None:
            continue
        if np.shape(given) not in ((2,), (3,)):
            raise Error(f"parameter '{name}': expected (lower, upper) or (lower, upper, start), "
                        f"got {given!r}")
        row[:len(given)] = given
    return names, rows


def fit(model: Model, data: Data, parameters: Sequence[str] | Mapping[str, Bounds], *,
        method: str | FitMethod = "simulate", base: Parameters | None = None,
        settings: StepSettings | None = None, options: FitOptions | None = None,
        threads: int | None = None, progress: Progress | None = None,
        **changes: Any) -> FitResult:
    """Estimates of named parameters from measured motions, with 95 % intervals.

    parameters: names, or name => (lower, upper) or (lower, upper, start); method: "simulate" (errors
    of simulated motions) or "implicit" (how far single transitions are from the laws); base: all other
    numbers (default: the model's); settings: of the steps, h is that of the samples; `changes` are
    fields of FitOptions: `fit(..., horizon=20, starts=4)`. What the data cannot tell is in
    `result.unidentified`, with the reason in `result.notes`. ctrl-C stops it.
    """
    if isinstance(method, str):
        if method not in _METHODS:
            raise Error(f"method: expected 'simulate' or 'implicit', got '{method}'")
        method = _METHODS[method]
    names, rows = _boxes(parameters)
    return _core.fit(model, model.default_parameters() if base is None else base,
                     StepSettings() if settings is None else settings, _motions(model, data),
                     (FitOptions() if options is None else options).replace(**changes), names, rows,
                     method, -1 if threads is None else threads, progress)


def score(model: Model, parameters: Parameters, data: Data, *,
          settings: StepSettings | None = None, substeps: int = 1,
          predictor: Predictor = Predictor.Simulation) -> PredictionScore:
    """Errors of whole motions predicted from their first sample [m, rad]."""
    return _core.score(model, parameters, StepSettings() if settings is None else settings,
                       _motions(model, data), substeps, predictor)


def predict(model: Model, parameters: Parameters, data: Data, motion: int = 0, *,
            settings: StepSettings | None = None, substeps: int = 1,
            predictor: Predictor = Predictor.Simulation) -> NDArray[np.float64]:
    """One motion predicted from its first sample, (samples, q_size), sampled as the measured one."""
    return _core.predict(model, parameters, StepSettings() if settings is None else settings,
                         _motions(model, data), motion, substeps, predictor)
