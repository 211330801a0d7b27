// SPDX-License-Identifier: Apache-2.0
// gradient/kinks.cpp: kinks of the data of a solve, by name. See kinks.hpp.
#include "gradient/kinks.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/collision/collision.hpp"
#include "orthant/constraint/joint_rows.hpp"

namespace orthant::internal {
namespace {

constexpr double kAtRest = 1e-9;   // of a spring: this near its rest length, relative
constexpr double kAtLimit = 1e-9;  // of a coordinate: this near its limit [m, rad]
constexpr double kFlat = 1e-6;     // of a ring on a plane: their angle [rad]
constexpr double kFlush = 1e-9;    // gaps of two faces that differ by less, of their size
constexpr double kLanded = 10;     // gaps that linear rows leave, in tolerances: about 0
constexpr double kNear = 1e-4;  // of the smaller shape, or a length: how far kinks are looked for

class Finder {
 public:
  Finder(const Model& model, const Parameters& parameters, const StepSettings& settings,
         const SolveRecord& record, std::span<const ContactBlock> blocks)
      : model_(model), parameters_(parameters), settings_(settings), r_(record), blocks_(blocks) {}

  Kinks out;

  void find_springs() {
    for (const Force& force : model_.forces()) {
      if (force.kind != ForceKind::Spring) continue;
      const bool planar = model_.body(force.a != kWorld ? force.a : force.b).planar;
      const double* numbers = parameters_.values.data() + force.parameter_begin + (planar ? 4 : 6);
      const double stiffness = numbers[0], rest = numbers[2];
      if (!(stiffness > 0 && rest > 0)) continue;
      const double stretch = stretch_at({model_, parameters_, none_, r_, r_.solution}, force);
      if (std::abs(stretch) > kNear * rest) continue;
      if (std::abs(stretch) > kAtRest * rest) {
        out.scalars.push_back({.spring = &force, .reason = OpenReason::Near, .value = stretch});
        continue;
      }
      out.scalars.push_back({.spring = &force});
      name_first("spring '" + force.name + "' comes to its rest length");
    }
  }

  /// Contacts and limits whose bias has two slopes where they are: rest.
  void find_closed() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    const bool impact = r_.kind == SolveKind::Impact;
    if (!impact && r_.rows.beta == 1) return;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c) {
      if (!pushes(blocks_[c]) || blocks_[c].material.compliance > 0) continue;
      // The bias is ε D_n v, whatever the gap.
      if (!impact && blocks_[c].branch == BiasBranch::Restitution) continue;
      // The gap of a record counts as closed in an impact; its points are kept.
      const Contact& contact = contacts[c];
      const double gap =
          impact ? (contact.point_a - contact.point_b).dot(contact.normal) : contact.gap;
      if (std::abs(gap) > tolerance(contact)) continue;
      out.scalars.push_back({.gaps = {{c, 1.0}}, .at = KinkScalar::At::Start});
      name_first(name(contacts[c]) + (impact ? " meet at the very start of the step"
                                             : " touch at the start: gap 0 to the tolerance"));
    }
    const std::size_t first = contacts.size();
    const std::vector<FlexibleContact>& flexible = r_.contacts.flexible;
    for (std::size_t c = 0; c < flexible.size() && first + c < blocks_.size(); ++c)
      if (pushes(blocks_[first + c]) && blocks_[first + c].material.compliance == 0 &&
          std::abs(flexible[c].gap) <= settings_.projection_tolerance * flexible[c].size)
        note(out.start, "a flexible part touches at the start: gap 0 to the tolerance");
    for (std::size_t j = 0; j < model_.joints().size(); ++j) {
      const Joint& joint = model_.joints()[j];
      if (impact || (joint.lower == kNone && joint.upper == kNone)) continue;
      const double at = joint_coordinate(model_, parameters_, r_.q, JointId(static_cast<Index>(j)));
      for (const Index limit : {joint.lower, joint.upper})
        if (limit != kNone && std::abs(at - parameters_.values[limit]) <= kAtLimit)
          note(out.start, "joint '" + joint.name + "' is at its limit at the start");
    }
  }

  /// Contacts whose bias has two slopes near where they are.
  void find_nearly_closed() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    if (r_.kind == SolveKind::Impact || r_.rows.beta == 1) return;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c) {
      const BiasBranch branch = blocks_[c].branch;
      const double gap = contacts[c].gap;
      if ((branch == BiasBranch::Gap || branch == BiasBranch::Overlap) && pushes(blocks_[c]) &&
          blocks_[c].material.compliance == 0 && std::abs(gap) > tolerance(contacts[c]) &&
          std::abs(gap) <= kNear * contacts[c].size)
        out.scalars.push_back({.gaps = {{c, 1.0}}, .reason = OpenReason::Near, .value = gap});
    }
  }

  /// Contacts that ask for the same by their gap and by their bounce: b_n is the smaller one.
  void find_tied_bounces() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    if (r_.kind == SolveKind::Impact || !r_.rows.restitution || r_.rows.impacts_located) return;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c) {
      const ContactMaterial& material = blocks_[c].material;
      if (!pushes(blocks_[c]) || !(material.restitution > 0)) continue;
      const double approach = gap_rate(model_, r_.q, r_.v, contacts[c]);
      if (!(approach < -r_.rows.restitution_threshold)) continue;
      const double h = r_.rows.h, gap = contacts[c].gap;
      const NormalBiasT<double> data{h, r_.rows.beta, material.restitution, approach};
      const double bounce = normal_bias(BiasBranch::Restitution, gap, data);
      const double away = normal_bias(side_of(c), gap, data) - bounce;
      if (std::abs(away) > kNear * std::abs(bounce)) continue;
      KinkScalar one{.gaps = {{c, 1.0}}, .bounce = true, .value = away};
      if (std::abs(away) > kAtRest * std::abs(bounce))
        one.reason = OpenReason::Near;
      else
        name_first(name(contacts[c]) + " bounce as fast as their gap closes");
      out.scalars.push_back(std::move(one));
    }
  }

  /// The sides of a pyramid stand in the frame of its normal, which turns over where that is level.
  void find_level_pyramids() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    if (r_.rows.friction != FrictionModel::Pyramid) return;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c)
      if (pushes(blocks_[c]) && blocks_[c].material.friction > 0 &&
          !model_.shape(contacts[c].shape_a).planar() && std::abs(contacts[c].normal.z()) <= kFlush)
        note(out.here, name(contacts[c]) + " meet on a level normal, where a pyramid turns over");
  }

  /// Contacts that the rows close, which are linear: what is left of the gap is projected where it
  /// is an overlap and stays where it is open. To be looked at where the solve ends.
  void find_landings() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c)
      if (blocks_[c].branch == BiasBranch::Gap && blocks_[c].material.compliance == 0 &&
          pushes(blocks_[c]) && contacts[c].gap > tolerance(contacts[c]))
        out.scalars.push_back({.gaps = {{c, 1.0}},
                               .at = KinkScalar::At::End,
                               .width = kLanded * tolerance(contacts[c]),
                               .near = kNear * contacts[c].size});
  }

  /// Limits of joints that the rows, which are linear, close to the tolerance.
  void find_landed_limits(const VecX& displacement) {
    VecX q_end;
    for (std::size_t j = 0; j < model_.joints().size(); ++j) {
      const Joint& joint = model_.joints()[j];
      const auto id = JointId(static_cast<Index>(j));
      for (const Index limit : {joint.lower, joint.upper}) {
        if (limit == kNone) continue;
        if (q_end.size() == 0) boxplus(model_, r_.q, displacement, q_end);
        const auto gap = [&](const VecX& q) {
          return std::abs(joint_coordinate(model_, parameters_, q, id) - parameters_.values[limit]);
        };
        const double closed = kLanded * settings_.projection_tolerance;
        if (gap(r_.q) > closed && gap(q_end) <= closed)
          note(out.here, "joint '" + joint.name + "' meets its limit, and what is left of it is 0");
      }
    }
  }

  /// Faces that close on each other flush, or start so: either body's may give the normal. Faces
  /// that rest on each other stay flush whatever is varied before.
  void find_flush(bool starts) {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size();) {
      std::size_t end = c + 1;
      while (end < contacts.size() && pair_of(contacts[end].key) == pair_of(contacts[c].key)) ++end;
      if (is_flush(c, end) && (starts || contacts[c].gap > tolerance(contacts[c]))) {
        KinkScalar tilt{.reason = OpenReason::Neither};
        for (std::size_t i = c; i < end; ++i) tilt.gaps.emplace_back(i, std::cos(2.4 * (i - c)));
        double mean = 0;
        for (const auto& [i, weight] : tilt.gaps) mean += weight / static_cast<double>(end - c);
        for (auto& [i, weight] : tilt.gaps) weight -= mean;
        out.scalars.push_back(std::move(tilt));
        name_first(name(contacts[c]) + " meet with flush faces");
      }
      c = end;
    }
  }

  /// A ring that lies flat on a plane touches all around: which point is the deepest?
  void find_rings() {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c)
      for (const ShapeId id : {contacts[c].shape_a, contacts[c].shape_b}) {
        const ShapeInstance& shape = model_.shape(id);
        if (shape.shape.kind() != ShapeKind::Torus || !pushes(blocks_[c])) continue;
        const Pose at = shape_pose<double>(model_.body(shape.body), shape, r_.q.data(),
                                           parameters_.values.data());
        if (rotate(at.p, Vec3(0, 0, 1)).cross(contacts[c].normal).norm() <= kFlat)
          note(out.here, name(contacts[c]) + " meet with a ring that lies flat");
      }
  }

  /// Gaps that a pile counts as none.
  void find_dead_band() {
    if (r_.kind == SolveKind::Impact || r_.rows.touching == 0) return;
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    for (std::size_t c = 0; c < contacts.size() && c < blocks_.size(); ++c) {
      const double gap = contacts[c].gap;
      const double band =
          r_.rows.touching / settings_.projection_tolerance * tolerance(contacts[c]);
      if (gap > 0 && gap <= band && pushes(blocks_[c]) && blocks_[c].material.compliance == 0) {
        note(out.here, "gaps of a pile within ten tolerances count as none");
        return;
      }
    }
  }

 private:
  BiasBranch side_of(std::size_t c) const {
    return r_.contacts.contacts[c].gap < 0 && !(blocks_[c].material.compliance > 0)
               ? BiasBranch::Overlap
               : BiasBranch::Gap;
  }
  void note(Index& count, const std::string& what) {
    ++count;
    name_first(what);
  }
  void name_first(const std::string& what) {
    if (out.what.empty()) out.what = what;
  }
  bool pushes(const ContactBlock& block) const { return r_.solution.lambda[block.row] > 0; }
  double tolerance(const Contact& contact) const {
    return settings_.projection_tolerance * contact.size;
  }
  std::string name(const Contact& contact) const {
    return "'" + model_.body(contact.body_a).name + "' and '" + model_.body(contact.body_b).name +
           "'";
  }
  bool is_flush(std::size_t begin, std::size_t end) const {
    const std::vector<Contact>& contacts = r_.contacts.contacts;
    const ShapeInstance &a = model_.shape(contacts[begin].shape_a),
                        &b = model_.shape(contacts[begin].shape_b);
    if (a.shape.kind() == ShapeKind::HalfSpace || b.shape.kind() == ShapeKind::HalfSpace)
      return false;
    if (end - begin < (a.planar() ? 2u : 3u)) return false;
    double lowest = contacts[begin].gap, highest = lowest;
    bool closed = false;
    for (std::size_t c = begin; c < end; ++c) {
      const FeatureKind kind = contacts[c].feature.kind;
      if (kind < FeatureKind::VertexFace || kind > FeatureKind::ClippedVertex) return false;
      lowest = std::min(lowest, contacts[c].gap);
      highest = std::max(highest, contacts[c].gap);
      closed = closed || pushes(blocks_[c]);
    }
    const double size = tolerance(contacts[begin]) / settings_.projection_tolerance;
    return closed && highest - lowest <= kFlush * size;
  }

  const Model& model_;
  const Parameters& parameters_;
  const StepSettings& settings_;
  const SolveRecord& r_;
  const VecX none_;
  std::span<const ContactBlock> blocks_;
};

}  // namespace

Kinks find_kinks(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const SolveRecord& record, std::span<const ContactBlock> blocks, bool starts,
                 bool lands, const VecX& displacement) {
  if (record.kind == SolveKind::Projection || record.kind == SolveKind::Newton) return {};
  Finder finder(model, parameters, settings, record, blocks);
  if (starts) finder.find_closed();
  finder.find_nearly_closed();
  finder.find_tied_bounces();
  finder.find_level_pyramids();
  finder.find_flush(starts);
  finder.find_rings();
  finder.find_dead_band();
  if (record.kind != SolveKind::Impact) finder.find_springs();
  if (lands && record.kind == SolveKind::Step &&
      settings.stabilisation == Stabilisation::Projection) {
    finder.find_landings();
    finder.find_landed_limits(displacement);
  }
  return std::move(finder.out);
}

}  // namespace orthant::internal
