# SPDX-License-Identifier: Apache-2.0
"""Orthant: bodies in hard contact, with exact gradients.

    import orthant as ot

Worlds are built with `ModelBuilder`, moved with `step`, `rollout`, `Simulator`; contact problems are
solved with `solve` and `solve_lcp`. `ot.torch` and `ot.jax` are differentiable layers, loaded when
first used. Units are SI, angles radians; names are those of the C++ library.
"""
from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from ._core import (
    Accuracy,
    AngularAxes,
    Articulation,
    Attempt,
    Body,
    CanonicalProblem,
    CertifiedContact,
    CombineRule,
    ConstraintScheme,
    Contact,
    ContactForce,
    ContactState,
    CoordinateKind,
    EdgeParameter,
    Effort,
    Error,
    Estimate,
    FitMethod,
    FitOptions,
    FitResult,
    FlexiblePart,
    FollowSpec,
    ForceCallback,
    FrameReading,
    FrictionModel,
    GradientCertificate,
    GradientMode,
    ImplicitWeights,
    ImuReading,
    Integrator,
    InputKind,
    InverseKinematicsReport,
    JointKind,
    JointReading,
    KinkChoice,
    Law,
    LawKind,
    LawOfMotion,
    LoadedScene,
    MeasuredMotion,
    Mesh,
    Method,
    Model,
    Motion,
    MotorKind,
    MotorSpec,
    OpenInput,
    OpenReason,
    OptimiserStop,
    Outcome,
    Parameters,
    PeriodicBox,
    PlanSettings,
    Pose,
    PredictionScore,
    Predictor,
    ProblemKind,
    RayReading,
    Residual,
    RestitutionLaw,
    RolloutCertificate,
    RpyMobility,
    Shape,
    ShapeKind,
    ShapeSpec,
    ShootingMethod,
    Solution,
    SolutionGradient,
    SolutionGradientSettings,
    SolveReport,
    SolveSettings,
    Stabilisation,
    State,
    StepCertificate,
    StepGradient,
    StepGradientSettings,
    StepRecord,
    StepReport,
    StepSettings,
    TouchReading,
    TrajectoryData,
    TrajectoryOptions,
    TrajectoryStop,
    TreeJoint,
    UnknownName,
    WarmStart,
    __version__,
    boxminus,
    boxplus,
    cast_ray,
    contact_forces,
    contacts,
    grow,
    judge,
    make_global_friction,
    make_lcp,
    make_local_friction,
    make_mlcp,
    parse_scene,
    read_frame,
    read_imu,
    read_joints,
    read_problem,
    read_rays,
    read_touch,
    save_problem,
    set_thread_count,
    step,
    step_in_fluid,
    thread_count,
    validate,
    why_not_applicable,
)
from ._model import ModelBuilder
from ._scene import save_scene
from ._simulate import Simulator, load, rollout
from ._solve import LcpSolution, explain, read_fclib, solve, solve_lcp, solve_mlcp, solve_with_history
from ._batch import BatchTrajectory, rollout_batch
from ._device import Batch, BatchGradient, BatchTape
from ._fit import fit, predict, read_trajectories, score
from ._gradient import RolloutGradient, RolloutTape, record_rollout, record_rollout_batch
from ._trajectory import Trajectory
from . import _pickle as _pickle  # says how values are mailed
from . import identify as identify
from . import optimise as optimise

if TYPE_CHECKING:
    from . import gym as gym
    from . import jax as jax
    from . import torch as torch

_LAZY = ("torch", "jax", "gym")  # optional, slow to import


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [
    "Accuracy", "AngularAxes", "Articulation", "Attempt", "Batch", "BatchGradient", "BatchTape", "BatchTrajectory", "Body", "CanonicalProblem",
    "CertifiedContact", "CombineRule", "ConstraintScheme", "Contact", "ContactForce", "ContactState", "CoordinateKind",
    "EdgeParameter", "Effort",
    "Error", "Estimate", "FitMethod",
    "FitOptions", "FitResult", "FlexiblePart", "FollowSpec", "ForceCallback", "FrameReading", "FrictionModel",
    "GradientCertificate", "GradientMode", "ImplicitWeights", "ImuReading", "InputKind", "Integrator",
    "InverseKinematicsReport", "JointKind", "JointReading", "KinkChoice", "Law", "LawKind",
    "LawOfMotion", "LcpSolution", "LoadedScene", "MeasuredMotion", "Mesh", "Method", "Model",
    "ModelBuilder", "Motion", "MotorKind", "MotorSpec", "OpenInput", "OpenReason", "OptimiserStop", "Outcome", "Parameters",
    "PeriodicBox", "PlanSettings", "Pose", "PredictionScore", "Predictor", "ProblemKind",
    "RayReading", "Residual", "RestitutionLaw",
    "RolloutCertificate", "RolloutGradient", "RolloutTape", "RpyMobility", "Shape", "ShapeKind", "ShapeSpec",
    "ShootingMethod", "Simulator", "Solution", "SolutionGradient", "SolutionGradientSettings", "SolveReport",
    "SolveSettings", "Stabilisation", "State", "StepCertificate", "StepGradient",
    "StepGradientSettings", "StepRecord", "StepReport", "StepSettings", "TouchReading", "Trajectory",
    "TrajectoryData", "TrajectoryOptions", "TrajectoryStop", "TreeJoint", "UnknownName", "WarmStart", "__version__", "boxminus", "boxplus", "cast_ray", "contact_forces", "contacts", "explain", "fit",
    "grow", "identify", "judge", "load", "make_global_friction", "make_lcp", "make_local_friction", "make_mlcp",
    "optimise", "parse_scene", "predict", "read_fclib", "read_frame", "read_imu",
    "read_joints", "read_problem", "read_rays", "read_touch", "read_trajectories", "record_rollout",
    "record_rollout_batch", "rollout", "rollout_batch", "save_problem", "save_scene", "score", "set_thread_count",
    "solve", "solve_lcp", "solve_mlcp", "solve_with_history", "step", "step_in_fluid", "thread_count", "validate", "why_not_applicable",
]
