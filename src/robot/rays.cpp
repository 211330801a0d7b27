// SPDX-License-Identifier: Apache-2.0
// robot/rays.cpp: rays against all shapes of a model.
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/robot/sensors.hpp"
#include "shape/ray.hpp"

namespace orthant {

RayReading cast_ray(const Model& model, const Parameters& parameters, const State& state,
                    const Vec3& origin, const Vec3& direction, const RaySettings& settings) {
  const double length = direction.norm();
  if (!origin.allFinite() || !(length > 0) || !std::isfinite(length))
    throw Error("cast_ray", "origin and direction must be finite, the direction not 0");
  if (!(settings.reach > 0)) throw Error("cast_ray", "'reach' must be > 0");
  const Vec3 d = direction / length;
  RayReading best;
  best.distance = settings.reach;
  for (std::size_t i = 0; i < model.shapes().size(); ++i) {
    const ShapeInstance& s = model.shapes()[i];
    if (std::find(settings.blind.begin(), settings.blind.end(), s.body) != settings.blind.end())
      continue;
    const double* p = parameters.values.data();
    const Pose X_WS = shape_pose(model.body(s.body), s, state.q.data(), p);
    const auto hit = cast_ray(s.view(p), X_WS, origin, d, best.distance);
    if (!hit || (best.hits() && hit->distance >= best.distance)) continue;
    best.body = s.body;
    best.shape = ShapeId{static_cast<std::int32_t>(i)};
    best.distance = hit->distance;
    best.point = origin + hit->distance * d;
    best.normal = hit->normal;
  }
  if (!best.hits()) best.distance = std::numeric_limits<double>::infinity();
  return best;
}

std::vector<RayReading> read_rays(const Model& model, const Parameters& parameters,
                                  const State& state, const FrameRef& frame,
                                  std::span<const Vec3> directions, double reach) {
  const Pose X = read_frame(model, state, frame).pose;
  const BodyId own[1] = {frame.body};
  const RaySettings settings{
      .reach = reach,
      .blind = frame.body == kWorld ? std::span<const BodyId>{} : std::span<const BodyId>(own)};
  std::vector<RayReading> out;
  out.reserve(directions.size());
  for (const Vec3& d : directions)
    out.push_back(cast_ray(model, parameters, state, X.x, rotate(X.p, d), settings));
  return out;
}

}  // namespace orthant
