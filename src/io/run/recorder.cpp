// SPDX-License-Identifier: Apache-2.0
// io/run/recorder.cpp: (state, warm start, report, record) => a frame; frames => a segment.
// The impulse of a contact is the warm start's, by key: world axes, for the whole step. A contact
// slides where the tangential impulse is on the cone and its points move past each other.
#include "io/run/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "io/run/hdf5_data.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"

namespace orthant::io {
namespace {

constexpr double kOnCone = 1e-6;  // share of the cone's radius that counts as its surface
constexpr double kAtRest = 1e-7;  // of the speeds around that counts as none

/// Velocity of the point p of a body, world.
Vec3 velocity_at(const Model& model, BodyId id, const VecX& q, const VecX& v, const Vec3& p) {
  const Body& body = model.body(id);
  if (body.v_begin == kNone) return Vec3::Zero();
  const double* x = v.data() + body.v_begin;
  const Vec3 lever = p - body_pose(body, q.data()).x;
  if (body.planar) return {x[0] - x[2] * lever[1], x[1] + x[2] * lever[0], 0};
  return Vec3(x[0], x[1], x[2]) + Vec3(x[3], x[4], x[5]).cross(lever);
}

/// Of a contact that is pressed. A corner of a resting box may be on its cone, too: to slide it
/// must move as well.
ContactSetWord set_of(const LoadedScene& scene, const SolveRecord& solve, const VecX& v_after,
                      const Contact& c, const Vec3& impulse) {
  const Model& m = scene.model;
  const double friction = contact_material(m, scene.parameters, m.shape(c.shape_a).material,
                                           m.shape(c.shape_b).material)
                              .friction;
  const double n = impulse.dot(c.normal), t = (impulse - n * c.normal).norm();
  if (!(n > 0)) return ContactSetWord::Separate;
  if (t < (1 - kOnCone) * friction * n) return ContactSetWord::Stick;
  const Vec3 v_a = velocity_at(m, c.body_a, solve.q, v_after, c.point_a);
  const Vec3 v_b = velocity_at(m, c.body_b, solve.q, v_after, c.point_b);
  const Vec3 slip = v_a - v_b;
  const Vec3 gravity = scene.parameters.values.segment<3>(m.gravity());
  const double around = v_a.norm() + v_b.norm() + gravity.norm() * scene.settings.h;
  return (slip - slip.dot(c.normal) * c.normal).norm() > kAtRest * around ? ContactSetWord::Slide
                                                                          : ContactSetWord::Stick;
}

}  // namespace

std::string segment_path(const std::string& folder, std::int64_t segment) {
  char name[32];
  std::snprintf(name, sizeof name, "%06lld.h5", static_cast<long long>(segment));
  return folder + "/trajectory/" + name;
}

std::vector<std::int64_t> segments_of(const std::string& folder) {
  std::vector<std::int64_t> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/trajectory", error)) {
    const std::string name = entry.path().filename().string();
    const std::size_t digits = name.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos || digits > 15 || name.substr(digits) != ".h5")
      continue;
    out.push_back(std::stoll(name.substr(0, digits)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Recorder::Recorder(const LoadedScene& scene, std::string folder)
    : scene_(scene), folder_(std::move(folder)) {}

void Recorder::add(const State& state, const WarmStart& warm, const StepReport& report,
                   const StepRecord* record) {
  frames_.time.push_back(state.t);
  frames_.step.push_back(state.step);
  add_bodies(state);
  if (scene_.record.contacts) add_contacts(warm, record);
  frames_.kinetic.push_back(report.kinetic);
  frames_.potential.push_back(report.potential);
  frames_.residual.push_back(report.residual);
  frames_.deepest.push_back(report.deepest);
  frames_.joint_error.push_back(report.joint_error);
  frames_.contacts.push_back(report.contacts);
  frames_.iterations.push_back(report.iterations);
  frames_.outcome.push_back(static_cast<std::int64_t>(report.outcome));
}

void Recorder::add_bodies(const State& state) {
  for (const Body& body : scene_.model.bodies()) {
    const Pose X = body_pose(body, state.q.data());
    for (const double x : {X.x[0], X.x[1], X.x[2], X.p.w, X.p.x, X.p.y, X.p.z})
      frames_.pose.push_back(x);
  }
  if (!scene_.record.velocities) return;
  for (const Body& body : scene_.model.bodies()) {
    double v[6] = {0, 0, 0, 0, 0, 0};
    if (body.v_begin != kNone) {
      const double* from = state.v.data() + body.v_begin;
      if (body.planar) {
        v[0] = from[0], v[1] = from[1], v[5] = from[2];
      } else {
        std::copy(from, from + 6, v);
      }
    }
    frames_.velocity.insert(frames_.velocity.end(), v, v + 6);
  }
}

void Recorder::add_contacts(const WarmStart& warm, const StepRecord* record) {
  if (frames_.contact_offset.empty()) frames_.contact_offset.push_back(0);
  const SolveRecord* last = nullptr;  // the solve that ends the step
  if (record != nullptr)
    for (const SolveRecord& solve : record->solves)
      if (solve.kind == SolveKind::Step || solve.kind == SolveKind::Recursion) last = &solve;
  if (last != nullptr) {
    for (const Contact& c : last->contacts.contacts) {
      const auto entry = std::lower_bound(
          warm.contacts.begin(), warm.contacts.end(), c.key,
          [](const WarmStart::Entry& e, const ContactKey& key) { return e.key < key; });
      const bool pressed = entry != warm.contacts.end() && entry->key == c.key;
      const Vec3 impulse = pressed ? entry->impulse_W : Vec3(Vec3::Zero());
      const Vec3 point = 0.5 * (c.point_a + c.point_b);
      frames_.contact_a.push_back(index_of(c.body_a));
      frames_.contact_b.push_back(index_of(c.body_b));
      frames_.contact_point.insert(frames_.contact_point.end(), point.data(), point.data() + 3);
      frames_.contact_normal.insert(frames_.contact_normal.end(), c.normal.data(),
                                    c.normal.data() + 3);
      frames_.contact_impulse.insert(frames_.contact_impulse.end(), impulse.data(),
                                     impulse.data() + 3);
      frames_.contact_gap.push_back(c.gap);
      const ContactSetWord set =
          pressed ? set_of(scene_, *last, record->after.v, c, impulse) : ContactSetWord::Separate;
      frames_.contact_set.push_back(static_cast<std::uint8_t>(set));
    }
  }
  frames_.contact_offset.push_back(static_cast<std::int64_t>(frames_.contact_a.size()));
}

std::size_t Recorder::bytes() const {
  return 8 * (frames_.pose.size() + frames_.velocity.size() + 11 * frames_.contact_a.size() +
              11 * frames_.time.size());
}

void Recorder::write_segment(std::int64_t segment) {
  const Trajectory& f = frames_;
  const hsize_t T = f.time.size(), N = scene_.model.bodies().size(), K = f.contact_a.size();
  DataWriter out(segment_path(folder_, segment));
  out.array("format_version", std::vector<std::int32_t>{kTrajectoryVersion});
  out.text("orthant_version", version());
  out.array("time", f.time);
  out.array("step", f.step);
  out.array("pose", f.pose, {T, N, 7});
  if (scene_.record.velocities) out.array("velocity", f.velocity, {T, N, 6});
  if (scene_.record.contacts) {
    out.group("contacts");
    out.array("contacts/offset", f.contact_offset);
    out.array("contacts/body_a", f.contact_a);
    out.array("contacts/body_b", f.contact_b);
    out.array("contacts/point", f.contact_point, {K, 3});
    out.array("contacts/normal", f.contact_normal, {K, 3});
    out.array("contacts/impulse", f.contact_impulse, {K, 3});
    out.array("contacts/gap", f.contact_gap);
    out.array("contacts/set", f.contact_set);
  }
  out.group("report");
  out.array("report/kinetic", f.kinetic);
  out.array("report/potential", f.potential);
  out.array("report/residual", f.residual);
  out.array("report/deepest", f.deepest);
  out.array("report/joint_error", f.joint_error);
  out.array("report/contacts", f.contacts);
  out.array("report/iterations", f.iterations);
  out.array("report/outcome", f.outcome);
  out.commit();
  frames_ = {};
}

}  // namespace orthant::io
