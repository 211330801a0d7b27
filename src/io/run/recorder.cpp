// SPDX-License-Identifier: Apache-2.0
// io/run/recorder.cpp: (state, warm start, report, record) => a frame; frames => a segment.
// The impulse of a contact is the warm start's, by key: world axes, for the whole step.
#include "io/run/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>

#include "io/run/hdf5_data.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"

namespace orthant::io {
namespace {

constexpr double kBorder = 1e-7;  // of impulses and speeds: nearer to a border is on it

/// Velocity of the point p of a body, world.
Vec3 velocity_at(const Model& model, BodyId id, const VecX& q, const VecX& v, const Vec3& p) {
  const Body& body = model.body(id);
  if (body.v_begin == kNone) return Vec3::Zero();
  const double* x = v.data() + body.v_begin;
  const Vec3 lever = p - body_pose(body, q.data()).x;
  if (body.planar) return {x[0] - x[2] * lever[1], x[1] + x[2] * lever[0], 0};
  return Vec3(x[0], x[1], x[2]) + Vec3(x[3], x[4], x[5]).cross(lever);
}

/// The set of a contact whose sides move past each other with `slip`, among speeds of size
/// `around`.
ContactState set_of(const Vec3& normal, const Vec3& impulse, const Vec3& slip, double around,
                    double friction) {
  const double n = impulse.dot(normal);
  return classify({.normal = n,
                   .tangent = (impulse - n * normal).norm(),
                   .slip = (slip - slip.dot(normal) * normal).norm(),
                   .friction = friction,
                   .impulse = impulse.norm(),
                   .speed = around},
                  kBorder);
}

/// Speed that gravity gives in a step: nothing at rest is known better.
double speed_of_a_step(const LoadedScene& scene) {
  return scene.parameters.values.segment<3>(scene.model.gravity()).norm() * scene.settings.h +
         std::numeric_limits<double>::min();
}

ContactState set_of(const LoadedScene& scene, const SolveRecord& solve, const VecX& v_after,
                    const Contact& c, const Vec3& impulse) {
  const Model& m = scene.model;
  const Vec3 v_a = velocity_at(m, c.body_a, solve.q, v_after, c.point_a);
  const Vec3 v_b = velocity_at(m, c.body_b, solve.q, v_after, c.point_b);
  return set_of(c.normal, impulse, v_a - v_b, v_a.norm() + v_b.norm() + speed_of_a_step(scene),
                contact_material(m, scene.parameters, m.shape(c.shape_a).material,
                                 m.shape(c.shape_b).material)
                    .friction);
}

/// Of a contact of a flexible surface.
ContactState set_of(const LoadedScene& scene, const SolveRecord& solve, const VecX& v_after,
                    const FlexibleContact& c, const Vec3& impulse) {
  const Model& m = scene.model;
  Vec3 slip = Vec3::Zero();
  double around = speed_of_a_step(scene);
  for (int i = 0; i < c.corner_count; ++i) {
    const FlexibleContact::Corner& corner = c.corners[i];
    const Vec3 v =
        corner.weight * node_velocity(m.flexible_parts()[static_cast<std::size_t>(corner.part)],
                                      v_after, corner.node);
    slip += v;
    around += v.norm();
  }
  if (c.body_sign != 0) {
    const Vec3 v = velocity_at(m, m.shape(c.shape).body, solve.q, v_after, c.point);
    slip += c.body_sign * v;
    around += v.norm();
  }
  return set_of(c.normal, impulse, slip, around,
                contact_material(m, scene.parameters, c.material_a, c.material_b).friction);
}

/// Whose surfaces meet: bodies by their number, flexible parts behind them.
std::pair<std::int32_t, std::int32_t> sides_of(const Model& m, const FlexibleContact& c) {
  const auto bodies = static_cast<std::int32_t>(m.bodies().size());
  std::int32_t a = -1, b = -1;
  for (int i = 0; i < c.corner_count; ++i)
    (c.corners[i].weight > 0 ? a : b) = bodies + static_cast<std::int32_t>(c.corners[i].part);
  if (c.body_sign > 0) a = index_of(m.shape(c.shape).body);
  if (c.body_sign < 0) b = index_of(m.shape(c.shape).body);
  return {a, b};
}

/// Their memory stays: the next segment is as long.
void forget_frames(Trajectory& f) {
  for (auto* x : {&f.time, &f.pose, &f.velocity, &f.length, &f.node, &f.contact_point,
                  &f.contact_normal, &f.contact_impulse, &f.contact_gap, &f.kinetic, &f.potential,
                  &f.residual, &f.deepest, &f.joint_error})
    x->clear();
  for (auto* x : {&f.step, &f.contact_offset, &f.contacts, &f.iterations, &f.outcome,
                  &f.constraints, &f.solves})
    x->clear();
  for (auto* x : {&f.contact_a, &f.contact_b}) x->clear();
  f.contact_set.clear();
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

Recorder::Recorder(const LoadedScene& scene, const GrowingBodies& growing, std::string folder)
    : scene_(scene), growing_(growing), folder_(std::move(folder)) {}

void Recorder::close_segment() {
  std::swap(open_, closed_);
  closed_.lineage = growing_.lineage();
  closed_.body_count = scene_.model.bodies().size();
}

void Recorder::add(const State& state, const WarmStart& warm, const StepReport& report,
                   const StepRecord* record) {
  frames_.time.push_back(state.t);
  frames_.step.push_back(state.step);
  add_bodies(state);
  add_nodes(state);
  if (scene_.record.contacts) add_contacts(warm, record);
  frames_.kinetic.push_back(report.kinetic);
  frames_.potential.push_back(report.potential);
  frames_.residual.push_back(report.residual);
  frames_.deepest.push_back(report.deepest);
  frames_.joint_error.push_back(report.joint_error);
  frames_.contacts.push_back(report.contacts);
  frames_.iterations.push_back(report.iterations);
  frames_.outcome.push_back(static_cast<std::int64_t>(report.outcome));
  frames_.constraints.push_back(report.constraints);
  frames_.solves.push_back(report.solves);
}

void Recorder::add_bodies(const State& state) {
  const std::size_t count = scene_.model.bodies().size();
  frames_.pose.resize(frames_.pose.size() + 7 * count);
  double* to = frames_.pose.data() + frames_.pose.size() - 7 * count;
  for (const Body& body : scene_.model.bodies()) {
    const Pose X = body_pose(body, state.q.data());
    for (const double x : {X.x[0], X.x[1], X.x[2], X.p.w, X.p.x, X.p.y, X.p.z}) *to++ = x;
  }
  if (scene_.growth.any()) {
    if (open_.body_offset.empty()) open_.body_offset.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
      open_.uid.push_back(static_cast<std::int32_t>(scene_.model.bodies()[i].uid));
      frames_.length.push_back(growing_.length(i));
    }
    open_.body_offset.push_back(static_cast<std::int64_t>(open_.uid.size()));
  }
  if (!scene_.record.velocities) return;
  frames_.velocity.resize(frames_.velocity.size() + 6 * count, 0.0);
  to = frames_.velocity.data() + frames_.velocity.size() - 6 * count;
  for (const Body& body : scene_.model.bodies()) {
    if (body.v_begin != kNone) {
      const double* from = state.v.data() + body.v_begin;
      if (body.planar)
        to[0] = from[0], to[1] = from[1], to[5] = from[2];
      else
        std::copy(from, from + 6, to);
    }
    to += 6;
  }
}

void Recorder::add_nodes(const State& state) {
  for (const FlexiblePart& part : scene_.model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i) {
      const Vec3 x = node_position(part, state.q, i);
      frames_.node.insert(frames_.node.end(), x.data(), x.data() + 3);
    }
}

void Recorder::add_contacts(const WarmStart& warm, const StepRecord* record) {
  if (frames_.contact_offset.empty()) frames_.contact_offset.push_back(0);
  const SolveRecord* last = nullptr;  // the solve that ends the step
  if (record != nullptr)
    for (const SolveRecord& solve : record->solves)
      if (solve.kind == SolveKind::Step || solve.kind == SolveKind::Recursion) last = &solve;
  // Entries of a warm start are sorted by key, contacts mostly so: the next one is near the last.
  const auto entries = [&, at = warm.contacts.begin()](const ContactKey& key) mutable {
    const auto before = [](const WarmStart::Entry& e, const ContactKey& k) { return e.key < k; };
    if (at != warm.contacts.begin() && !before(*std::prev(at), key))
      at = std::lower_bound(warm.contacts.begin(), at, key, before);
    while (at != warm.contacts.end() && before(*at, key)) ++at;
    return at != warm.contacts.end() && at->key == key ? &at->impulse_W : nullptr;
  };
  if (last != nullptr) {
    auto find = entries;
    for (const Contact& c : last->contacts.contacts) {
      const Vec3* impulse = find(c.key);
      add_contact(number_of(c.body_a), number_of(c.body_b), 0.5 * (c.point_a + c.point_b), c.normal,
                  c.gap, impulse,
                  impulse == nullptr ? ContactState::Separate
                                     : set_of(scene_, *last, record->after.v, c, *impulse));
    }
    auto find_flexible = entries;
    for (const FlexibleContact& c : last->contacts.flexible) {
      const Vec3* impulse = find_flexible(c.key);
      const auto [a, b] = sides_of(scene_.model, c);
      add_contact(a, b, c.point, c.normal, c.gap, impulse,
                  impulse == nullptr ? ContactState::Separate
                                     : set_of(scene_, *last, record->after.v, c, *impulse));
    }
  }
  frames_.contact_offset.push_back(static_cast<std::int64_t>(frames_.contact_a.size()));
}

std::int32_t Recorder::number_of(BodyId id) const {
  return scene_.growth.any() ? static_cast<std::int32_t>(scene_.model.body(id).uid) : index_of(id);
}

void Recorder::add_contact(std::int32_t a, std::int32_t b, const Vec3& point, const Vec3& normal,
                           double gap, const Vec3* impulse, ContactState set) {
  static const Vec3 kNothing = Vec3::Zero();
  const Vec3& p = impulse != nullptr ? *impulse : kNothing;
  frames_.contact_a.push_back(a);
  frames_.contact_b.push_back(b);
  frames_.contact_point.insert(frames_.contact_point.end(), point.data(), point.data() + 3);
  frames_.contact_normal.insert(frames_.contact_normal.end(), normal.data(), normal.data() + 3);
  frames_.contact_impulse.insert(frames_.contact_impulse.end(), p.data(), p.data() + 3);
  frames_.contact_gap.push_back(gap);
  frames_.contact_set.push_back(static_cast<std::uint8_t>(set));
}

std::size_t Recorder::bytes() const {
  return 8 * (frames_.pose.size() + frames_.velocity.size() + frames_.node.size() +
              11 * frames_.contact_a.size() + 11 * frames_.time.size());
}

void Recorder::write_segment(std::int64_t segment) {
  const Trajectory& f = closed_.frames;
  const hsize_t T = f.time.size(), N = closed_.body_count, K = f.contact_a.size();
  DataWriter out(segment_path(folder_, segment));
  out.array("format_version", std::vector<std::int32_t>{kTrajectoryVersion});
  out.text("orthant_version", version());
  out.array("time", f.time);
  out.array("step", f.step);
  if (scene_.growth.any()) {
    const hsize_t R = closed_.uid.size();
    out.group("bodies");
    out.array("bodies/offset", closed_.body_offset);
    out.array("bodies/number", closed_.uid);
    out.array("bodies/length", f.length);
    out.columns("pose", f.pose, {R, 7});
    if (scene_.record.velocities) out.columns("velocity", f.velocity, {R, 6});
    out.group("lineage");
    out.array("lineage/mother", closed_.lineage.mother);
    out.array("lineage/ancestor", closed_.lineage.ancestor);
    out.array("lineage/born", closed_.lineage.born);
  } else {
    out.columns("pose", f.pose, {T, N, 7});
    if (scene_.record.velocities) out.columns("velocity", f.velocity, {T, N, 6});
  }
  if (!f.node.empty()) out.columns("node", f.node, {T, f.node.size() / (3 * T), 3});
  if (scene_.record.contacts) {
    out.group("contacts");
    out.array("contacts/offset", f.contact_offset);
    out.array("contacts/body_a", f.contact_a);
    out.array("contacts/body_b", f.contact_b);
    out.columns("contacts/point", f.contact_point, {K, 3});
    out.columns("contacts/normal", f.contact_normal, {K, 3});
    out.columns("contacts/impulse", f.contact_impulse, {K, 3});
    out.columns("contacts/gap", f.contact_gap, {K});
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
  out.array("report/constraints", f.constraints);
  out.array("report/solves", f.solves);
  out.commit();
  forget_frames(closed_.frames);
  closed_.body_offset.clear();
  closed_.uid.clear();
}

}  // namespace orthant::io
