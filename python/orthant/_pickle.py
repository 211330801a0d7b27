# SPDX-License-Identifier: Apache-2.0
"""Problems, solutions and motions as pickles (and so for copy and multiprocessing).

States, parameters, settings and reports know it themselves; models are in _model.py.
"""
from __future__ import annotations

import copyreg
import tempfile
from pathlib import Path
from typing import Any

from ._core import (CanonicalProblem, Law, LawKind, MeasuredMotion, Pose, Solution, TrajectoryData,
                    read_problem, save_problem)


def _law(kind: LawKind, dim: int, mu: float, mu_r: float, lo: float, hi: float) -> Law:
    if kind == LawKind.Box:
        return Law.box(lo, hi)
    if kind in (LawKind.Soc, LawKind.Coulomb):
        return (Law.soc if kind == LawKind.Soc else Law.coulomb)(dim, mu)
    if kind in (LawKind.RollingSoc, LawKind.Rolling):
        return (Law.rolling_soc if kind == LawKind.RollingSoc else Law.rolling)(dim, mu, mu_r)
    plain = {LawKind.Zero: Law.zero, LawKind.Free: Law.free, LawKind.Orthant: Law.orthant}
    return plain[kind](dim)


def _problem(data: bytes) -> CanonicalProblem:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.hdf5"
        path.write_bytes(data)
        return read_problem(str(path))


def _problem_parts(problem: CanonicalProblem) -> tuple[Any, ...]:
    # The file keeps every bit and the blocks of H, which the arrays alone do not show.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.hdf5"
        save_problem(str(path), problem)
        return _problem, (path.read_bytes(),)


def _law_parts(x: Law) -> tuple[Any, ...]:
    return _law, (x.kind, x.dim, x.mu, x.mu_r, x.lo, x.hi)


def _solution_parts(x: Solution) -> tuple[Any, ...]:
    return Solution, (x.v.copy(), x.gamma.copy(), x.lambda_.copy(), x.w.copy())


def _pose_parts(x: Pose) -> tuple[Any, ...]:
    return Pose, (x.x, x.p)


def _motion_parts(x: MeasuredMotion) -> tuple[Any, ...]:
    return MeasuredMotion, (x.q.copy(), x.v.copy(), x.dt, x.name)


def _data_parts(x: TrajectoryData) -> tuple[Any, ...]:
    return TrajectoryData, ([x[i] for i in range(len(x))], x.backward_velocity, x.source)


copyreg.pickle(Law, _law_parts)
copyreg.pickle(CanonicalProblem, _problem_parts)
copyreg.pickle(Solution, _solution_parts)
copyreg.pickle(Pose, _pose_parts)
copyreg.pickle(MeasuredMotion, _motion_parts)
copyreg.pickle(TrajectoryData, _data_parts)
