// SPDX-License-Identifier: Apache-2.0
// step/body_parts.cpp: halves of about equal weight across the longest side, again and again; near
// is what the boxes around the bodies of two members may bring together within the step.
#include "step/body_parts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orthant/shape/shape.hpp"

namespace orthant::internal {
namespace {

/// What a trial may move a body beyond the farthest that forces and margins let expect, in radii of
/// the largest.
constexpr double kSlack = 0.25;

struct Box {
  Vec3 lo = Vec3::Constant(HUGE_VAL), hi = Vec3::Constant(-HUGE_VAL);

  void add(const Vec3& x) {
    lo = lo.cwiseMin(x);
    hi = hi.cwiseMax(x);
  }
};

/// Distance along the axes of a place from a box, whatever the image.
double distance(const Box& box, const Vec3& x, const PeriodicBox& periodic) {
  double most = 0;
  for (int d = 0; d < 3; ++d) {
    double gap = std::max({0.0, box.lo[d] - x[d], x[d] - box.hi[d]});
    if (periodic.active[static_cast<std::size_t>(d)]) {
      const double period = periodic.hi[d] - periodic.lo[d];
      for (const double other : {x[d] - period, x[d] + period})
        gap = std::min(gap, std::max({0.0, box.lo[d] - other, other - box.hi[d]}));
    }
    most = std::max(most, gap);
  }
  return most;
}

std::vector<double> values_of(const VecX& v, const std::vector<Index>& bodies) {
  std::vector<double> values(6 * bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i)
    std::copy_n(v.data() + 6 * bodies[i], 6, values.data() + 6 * i);
  return values;
}

double radius_of(const StepRun& run, const Body& body) {
  const double* values = run.parameters.values.data();
  double radius = 0;
  for (Index s = body.shape_begin; s < body.shape_end; ++s) {
    const ShapeInstance& shape = run.model.shapes()[static_cast<std::size_t>(s)];
    if (shape.shape.kind() == ShapeKind::HalfSpace) continue;
    const Vec3 offset = run.parameters.values.segment<3>(shape.offset_begin);
    radius = std::max(radius, offset.norm() + bounding_radius(shape.view(values)));
  }
  return radius;
}

}  // namespace

bool may_be_parted(const StepRun& run) {
  const Model& model = run.model;
  if (run.settings.constraints == ConstraintScheme::Multisphere || run.record != nullptr ||
      run.settings.solver.trace != nullptr || run.settings.solver.method != Method::Automatic ||
      !run.settings.solver.plan.empty() || run.settings.solver.work_limit > 0 ||
      run.settings.solver.siconos_too || !model.joints().empty() ||
      !model.flexible_parts().empty() || model.dynamic_count() < kManyRows)
    return false;
  for (const BodyId id : model.dynamic_bodies())
    if (model.body(id).planar) return false;
  const auto materials = static_cast<std::int32_t>(model.materials().size());
  for (std::int32_t a = 0; a < materials; ++a)
    for (std::int32_t b = a; b < materials; ++b) {
      const ContactMaterial m =
          contact_material(model, run.parameters, MaterialId{a}, MaterialId{b});
      if (m.friction > 0 || m.rolling_friction > 0 || m.compliance > 0) return false;
    }
  return true;
}

BodyParts::BodyParts(Team& team, const StepRun& run, const VecX& v_free, double dt)
    : team_(team), run_(run), dt_(dt) {
  const Model& model = run.model;
  const auto bodies = model.dynamic_bodies();
  place_.resize(bodies.size());
  weight_.assign(bodies.size(), 1);
  owner_.resize(bodies.size());
  const PeriodicBox& box = run.settings.periodic;
  double reach = 0, radius = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Body& body = model.body(bodies[i]);
    Vec3 x = run.x.q.segment<3>(body.q_begin);
    for (int d = 0; d < 3; ++d)
      if (box.active[static_cast<std::size_t>(d)]) {
        const double period = box.hi[d] - box.lo[d];
        x[d] -= period * std::floor((x[d] - box.lo[d]) / period);
      }
    place_[i] = x;
    const double own = radius_of(run, body);
    double way = 0;
    for (const VecX* velocities : {&std::as_const(run.x.v), &v_free}) {
      const double* v = velocities->data() + body.v_begin;
      way = std::max(way, dt * Vec3(v[0], v[1], v[2]).norm() +
                              own * std::min(dt * Vec3(v[3], v[4], v[5]).norm(), 2.0));
    }
    radius = std::max(radius, own);
    reach = std::max(reach, (1 + run.settings.contact_margin) * own + way);
  }
  reach += kSlack * radius;
  most_ = reach - radius;
  for (const WarmStart::Entry& entry : run.warm.contacts)
    for (const BodyUid uid : {entry.key.body_a, entry.key.body_b}) {
      const Body& body = model.body(model.find_uid(uid));
      if (body.is_dynamic()) weight_[static_cast<std::size_t>(body.dynamic)] += 0.5;
    }
  std::vector<Index> order(bodies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  cut(order.begin(), order.end(), 0, team.size());
  block_.resize(bodies.size());
  own_.assign(model.bodies().size(), 0);
  std::vector<double> parts(static_cast<std::size_t>(team.size()), 0.0);
  double all = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    block_[i] = owner_[i] == team.rank() ? 1 : 0;
    own_[index_of(bodies[i])] = block_[i];
    parts[static_cast<std::size_t>(owner_[i])] += weight_[i];
    all += weight_[i];
  }
  team.imbalance = *std::max_element(parts.begin(), parts.end()) * team.size() / all - 1;
  find_near(2 * reach, v_free);
}

void BodyParts::cut(std::vector<Index>::iterator begin, std::vector<Index>::iterator end, int first,
                    int last) {
  if (last - first == 1) {
    for (auto i = begin; i != end; ++i) owner_[static_cast<std::size_t>(*i)] = first;
    return;
  }
  Box box;
  double all = 0;
  for (auto i = begin; i != end; ++i) {
    box.add(place_[static_cast<std::size_t>(*i)]);
    all += weight_[static_cast<std::size_t>(*i)];
  }
  Index axis = 0;
  if (begin != end) (box.hi - box.lo).maxCoeff(&axis);
  std::sort(begin, end, [&](Index a, Index b) {
    const double x = place_[static_cast<std::size_t>(a)][axis],
                 y = place_[static_cast<std::size_t>(b)][axis];
    return x != y ? x < y : a < b;
  });
  const int middle = (first + last) / 2;
  const double share = all * (middle - first) / (last - first);
  auto at = begin;
  for (double sum = 0; at != end; ++at) {
    const double w = weight_[static_cast<std::size_t>(*at)];
    if (sum + 0.5 * w > share) break;
    sum += w;
  }
  cut(begin, at, first, middle);
  cut(at, end, middle, last);
}

void BodyParts::find_near(double reach, const VecX& v_free) {
  const auto members = static_cast<std::size_t>(team_.size());
  const auto mine = static_cast<std::size_t>(team_.rank());
  std::vector<Box> boxes(members);
  for (std::size_t i = 0; i < place_.size(); ++i)
    boxes[static_cast<std::size_t>(owner_[i])].add(place_[i]);
  const PeriodicBox& periodic = run_.settings.periodic;
  const auto bodies = run_.model.dynamic_bodies();
  known_ = own_;
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (!run_.model.bodies()[i].is_dynamic()) known_[i] = 1;
  std::vector<std::vector<Index>> send(members), receive(members);
  for (std::size_t i = 0; i < place_.size(); ++i) {
    const auto owner = static_cast<std::size_t>(owner_[i]);
    if (owner == mine) {
      for (std::size_t r = 0; r < members; ++r)
        if (r != mine && distance(boxes[r], place_[i], periodic) <= reach)
          send[r].push_back(static_cast<Index>(i));
    } else if (distance(boxes[mine], place_[i], periodic) <= reach) {
      receive[owner].push_back(static_cast<Index>(i));
      known_[index_of(bodies[i])] = 1;
    }
  }
  for (std::size_t r = 0; r < members; ++r) {
    if (send[r].empty() && receive[r].empty()) continue;
    others_.push_back(static_cast<int>(r));
    sent_.push_back(values_of(v_free, send[r]));
    received_.push_back(values_of(v_free, receive[r]));
    send_.push_back(std::move(send[r]));
    receive_.push_back(std::move(receive[r]));
  }
}

bool BodyParts::is_counted(const Contact& contact) const {
  const Body& a = run_.model.body(contact.body_a);
  return own_[index_of(a.is_dynamic() ? contact.body_a : contact.body_b)] != 0;
}

void BodyParts::name_rows(std::span<const Contact> contacts) {
  for (const Contact& contact : contacts) {
    const ContactKey& key = contact.key;
    std::uint64_t image = 0;
    for (const std::int8_t n : key.image) image = image << 8 | static_cast<std::uint64_t>(n + 128);
    names_.push_back(
        {key.feature >> kRoundShift, key.body_a, key.body_b,
         std::uint64_t{key.shape_a} << 48 | std::uint64_t{key.shape_b} << 32 | key.feature, image});
  }
}

ProblemPart BodyParts::problem() {
  return {team_, block_, names_, [this](VecX& v) { refresh(v); }};
}

void BodyParts::refresh(VecX& v) {
  if (all_known_) return gather(v);
  // Few of them move in a round: what has changed travels, with its place in the list.
  const std::size_t n = others_.size();
  std::vector<std::vector<double>> changed(n), counts(n), coming(n, {0.0});
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < send_[k].size(); ++i) {
      const double* now = v.data() + 6 * send_[k][i];
      double* last = sent_[k].data() + 6 * i;
      if (std::equal(now, now + 6, last)) continue;
      std::copy_n(now, 6, last);
      changed[k].push_back(static_cast<double>(i));
      changed[k].insert(changed[k].end(), now, now + 6);
    }
    counts[k].assign(1, static_cast<double>(changed[k].size()));
  }
  team_.exchange(others_, counts, coming);
  for (std::size_t k = 0; k < n; ++k) coming[k].resize(static_cast<std::size_t>(coming[k][0]));
  team_.exchange(others_, changed, coming);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t at = 0; at < coming[k].size(); at += 7)
      std::copy_n(coming[k].data() + at + 1, 6,
                  received_[k].data() + 6 * static_cast<std::size_t>(coming[k][at]));
    for (std::size_t i = 0; i < receive_[k].size(); ++i)
      std::copy_n(received_[k].data() + 6 * i, 6, v.data() + 6 * receive_[k][i]);
  }
}

void BodyParts::follow(VecX& v) {
  if (all_known_) return;
  double most = 0;
  for (std::size_t i = 0; i < block_.size(); ++i)
    if (block_[i] != 0) most = std::max(most, dt_ * v.segment<3>(6 * static_cast<Index>(i)).norm());
  if (largest(most) <= most_) return;
  all_known_ = true;
  gather(v);
}

void BodyParts::gather(VecX& v) {
  std::vector<std::size_t> begins(static_cast<std::size_t>(team_.size()) + 1, 0);
  for (const std::int32_t rank : owner_) begins[static_cast<std::size_t>(rank) + 1] += 6;
  for (std::size_t r = 1; r < begins.size(); ++r) begins[r] += begins[r - 1];
  std::vector<double> all(begins.back());
  std::vector<std::size_t> next = begins;
  for (std::size_t i = 0; i < owner_.size(); ++i)
    if (block_[i] != 0) {
      std::copy_n(v.data() + 6 * i, 6, all.data() + next[static_cast<std::size_t>(owner_[i])]);
      next[static_cast<std::size_t>(owner_[i])] += 6;
    }
  next = begins;
  for (std::size_t& begin : begins) begin *= sizeof(double);
  const auto mine = static_cast<std::size_t>(team_.rank());
  team_.state_bytes += static_cast<std::int64_t>(begins[mine + 1] - begins[mine]);
  team_.gather(reinterpret_cast<std::byte*>(all.data()), begins);
  for (std::size_t i = 0; i < owner_.size(); ++i) {
    std::size_t& at = next[static_cast<std::size_t>(owner_[i])];
    std::copy_n(all.data() + at, 6, v.data() + 6 * i);
    at += 6;
  }
}

void BodyParts::gather(WarmStart& warm) {
  const Model& model = run_.model;
  std::erase_if(warm.contacts, [&](const WarmStart::Entry& entry) {
    const BodyId a = model.find_uid(entry.key.body_a);
    return own_[index_of(model.body(a).is_dynamic() ? a : model.find_uid(entry.key.body_b))] == 0;
  });
  const std::span<const std::byte> own = std::as_bytes(std::span(warm.contacts));
  team_.state_bytes += static_cast<std::int64_t>(own.size());
  const std::vector<std::byte> all = team_.gather(own);
  warm.contacts.resize(all.size() / sizeof(WarmStart::Entry));
  const std::byte* at = all.data();
  for (WarmStart::Entry& entry : warm.contacts) take(at, entry);
  std::sort(warm.contacts.begin(), warm.contacts.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
}

std::int64_t BodyParts::sum(std::int64_t number) {
  const std::vector<std::byte> all = team_.gather(std::as_bytes(std::span(&number, 1)));
  number = 0;
  for (const std::byte* at = all.data(); at != all.data() + all.size();) {
    std::int64_t other = 0;
    take(at, other);
    number += other;
  }
  return number;
}

double BodyParts::largest(double number) {
  const std::vector<std::byte> all = team_.gather(std::as_bytes(std::span(&number, 1)));
  for (const std::byte* at = all.data(); at != all.data() + all.size();) {
    double other = 0;
    take(at, other);
    number = std::max(number, other);
  }
  return number;
}

}  // namespace orthant::internal
