// SPDX-License-Identifier: Apache-2.0
// io/run/population_signals.cpp: order parameters of a trajectory.
#include "io/run/population_signals.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "orthant/base/error.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant::io {
namespace {

/// The long axis in the world; zero: none, or the body is not there.
Vec3 axis_of(const Trajectory& t, std::size_t frame, std::size_t body) {
  if (!t.is_alive(frame, body)) return Vec3::Zero();
  const double* a = t.axis.data() + 3 * body;
  const double* x = t.pose.data() + 7 * (frame * t.bodies.size() + body);
  return rotate(Quat{x[3], x[4], x[5], x[6]}, Vec3(a[0], a[1], a[2]));
}

double order(const Trajectory& t, std::size_t frame) {
  Mat3 sum = Mat3::Zero();
  double count = 0;
  for (std::size_t b = 0; b < t.bodies.size(); ++b) {
    const Vec3 axis = axis_of(t, frame, b);
    if (axis.isZero(0)) continue;
    sum += axis * axis.transpose();
    ++count;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  sum /= count;
  // In the plane <t tᵀ> has eigenvalues (1 ± S)/2, S = |<exp(2 i angle)>|.
  if (t.planar) return std::hypot(sum(0, 0) - sum(1, 1), 2 * sum(0, 1));
  return 1.5 * Eigen::SelfAdjointEigenSolver<Mat3>(sum, Eigen::EigenvaluesOnly).eigenvalues()[2] -
         0.5;
}

double local_order(const Trajectory& t, std::size_t frame) {
  std::set<std::pair<std::int32_t, std::int32_t>> seen;  // a pair may have several contacts
  double sum = 0, count = 0;
  for (std::int64_t c = t.contact_offset[frame]; c < t.contact_offset[frame + 1]; ++c) {
    const auto pair = std::minmax(t.contact_a[static_cast<std::size_t>(c)],
                                  t.contact_b[static_cast<std::size_t>(c)]);
    if (pair.first < 0 || pair.second >= t.body_count()) continue;
    if (!seen.insert({pair.first, pair.second}).second) continue;
    const Vec3 a = axis_of(t, frame, static_cast<std::size_t>(pair.first)),
               b = axis_of(t, frame, static_cast<std::size_t>(pair.second));
    if (a.isZero(0) || b.isZero(0)) continue;
    const double cosine = a.dot(b);
    sum += t.planar ? 2 * cosine * cosine - 1 : 1.5 * cosine * cosine - 0.5;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<double> population_signal(const Trajectory& t, std::string_view name) {
  if (name == "local_order" && !t.has_contacts())
    throw Error(std::string(name), "contacts were not recorded");
  std::vector<double> out;
  for (std::size_t f = 0; f < t.time.size(); ++f) {
    if (name == "order") {
      out.push_back(order(t, f));
    } else if (name == "local_order") {
      out.push_back(local_order(t, f));
    } else {
      double count = 0;
      for (std::size_t b = 0; b < t.bodies.size(); ++b) count += t.is_alive(f, b);
      out.push_back(count);
    }
  }
  return out;
}

}  // namespace orthant::io
