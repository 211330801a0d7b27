// SPDX-License-Identifier: Apache-2.0
// learn/score.cpp: parameters => how far whole motions, predicted from their first sample, go
// wrong.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "learn/fit_cost.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {
namespace internal {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace internal

namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

/// Parabola and constant spin from the first sample.
MatX fly(const Model& model, const Parameters& parameters, const State& start, double dt,
         Index samples) {
  MatX q(model.q_size(), samples);
  const Vec3 g = parameters.values.segment<3>(model.gravity());
  VecX delta(model.v_size()), at;
  for (Index i = 0; i < samples; ++i) {
    const double t = dt * i;
    delta = start.v * t;
    for (const BodyId id : model.dynamic_bodies()) {
      const Body& body = model.body(id);
      for (int k = 0; k < (body.planar ? 2 : 3); ++k) delta[body.v_begin + k] += 0.5 * t * t * g[k];
    }
    boxplus(model, start.q, delta, at);
    q.col(i) = at;
  }
  return q;
}

}  // namespace

MatX predict(const Model& model, const Parameters& parameters, const StepSettings& settings,
             const TrajectoryData& data, std::size_t trajectory, int substeps,
             Predictor predictor) {
  if (substeps < 1) throw Error("substeps", "must be at least 1");
  const MeasuredMotion& measured = data.trajectories[trajectory];
  State state = state_at(model, data, trajectory, 0);
  if (predictor == Predictor::Ballistic)
    return fly(model, parameters, state, measured.dt, measured.samples());
  const StepSettings each = internal::sample_settings(settings, measured.dt, substeps);
  MatX q(model.q_size(), measured.samples());
  q.col(0) = state.q;
  WarmStart warm;
  StepWorkspace workspace;
  for (Index i = 1; i < measured.samples(); ++i) {
    for (int k = 0; k < substeps; ++k)
      (void)step(model, parameters, each, VecX(), state, warm, workspace);
    q.col(i) = state.q;
  }
  return q;
}

PredictionScore score(const Model& model, const Parameters& parameters,
                      const StepSettings& settings, const TrajectoryData& data, int substeps,
                      Predictor predictor) {
  validate(model, data);
  const std::size_t count = data.trajectories.size();
  PredictionScore out;
  out.position.assign(count, 0.0);
  out.rotation.assign(count, 0.0);
  out.final_position.assign(count, 0.0);
  parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    VecX error;
    for (std::size_t t = begin; t < end; ++t) {
      const MatX q = predict(model, parameters, settings, data, t, substeps, predictor);
      const MeasuredMotion& measured = data.trajectories[t];
      const Index last = measured.samples() - 1;
      for (const BodyId id : model.dynamic_bodies()) {
        const Body& body = model.body(id);
        const Index linear = body.planar ? 2 : 3;
        double position = 0, rotation = 0, end_position = 0;
        for (Index i = 1; i <= last; ++i) {
          boxminus(model, q.col(i), measured.q.col(i), error);
          end_position = error.segment(body.v_begin, linear).norm();
          position += end_position / last;
          rotation += error.segment(body.v_begin + linear, body.v_size - linear).norm() / last;
        }
        out.position[t] = std::max(out.position[t], position);
        out.rotation[t] = std::max(out.rotation[t], rotation);
        out.final_position[t] = std::max(out.final_position[t], end_position);
      }
    }
  });
  out.median_position = internal::median(out.position);
  out.median_rotation = internal::median(out.rotation);
  out.median_final = internal::median(out.final_position);
  out.mean_position = mean(out.position);
  out.mean_rotation = mean(out.rotation);
  return out;
}

}  // namespace orthant
