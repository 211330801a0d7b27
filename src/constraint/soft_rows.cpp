// SPDX-License-Identifier: Apache-2.0
#include "constraint/soft_rows.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/shape/contacts.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-9;  // of the size of a contact
constexpr double kSamePlace = 0.1;  // rows nearer to each other are one [rad]

bool same_pair(const Contact& a, const Contact& b) { return pair_of(a.key) == pair_of(b.key); }

bool same_features(const ContactFeature& a, const ContactFeature& b) {
  return a.kind == b.kind && a.swapped == b.swapped && a.sign == b.sign && a.first == b.first &&
         a.second == b.second && a.face == b.face && a.element == b.element;
}

/// How far apart two contacts with the same features are on an edge or ring; features without a
/// place have one.
double apart(const ContactFeature& a, const ContactFeature& b) {
  constexpr double kTurn = 6.283185307179586;
  double most = 0;
  for (int i = 0; i < 2 && a.kind == FeatureKind::Smooth; ++i)
    most = std::max(most, std::abs(std::remainder(a.start_place[i] - b.start_place[i], kTurn)));
  return most;
}

/// The contact where the bodies are at q, by the features `f` or (null) at its deepest point.
Contact contact_at(const Model& model, const Parameters& parameters, const VecX& q,
                   const Contact& contact, const ContactFeature* f) {
  const double* values = parameters.values.data();
  const ShapeInstance &a = model.shape(contact.shape_a), &b = model.shape(contact.shape_b);
  const Pose X_A = shape_pose(model.body(a.body), a, q.data(), values);
  Pose X_B = shape_pose(model.body(b.body), b, q.data(), values);
  X_B.x += contact.shift;
  const ContactPoint point = f == nullptr
                                 ? distance(a.view(values), X_A, b.view(values), X_B)
                                 : evaluate_contact(*f, a.view(values), X_A, b.view(values), X_B);
  Contact there = contact;
  there.key.feature = feature_id(point.feature);
  there.feature = point.feature;
  there.point_a = point.point_a;
  there.point_b = point.point_b;
  there.normal = point.normal;
  there.gap = point.gap;
  return there;
}

}  // namespace

bool bend_soft_rows(const Model& model, const Parameters& parameters, const VecX& q_end,
                    const VecX& v, double h, std::span<const Contact> contacts, const VecX& lambda,
                    Assembly& out, SoftEnds& ends) {
  CanonicalProblem& p = out.problem;
  bool matters = false;
  ends.of_rows.clear();
  ends.without_row.clear();
  Contact deepest;          // of the pair at hand
  std::size_t follows = 0;  // the row that has it; rows of several places of a ring keep theirs
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    ContactBlock& block = out.blocks[c];
    if (!(block.material.compliance > 0)) continue;
    const Contact& contact = contacts[c];
    if (c == 0 || !same_pair(contacts[c - 1], contact)) {
      deepest = contact_at(model, parameters, q_end, contact, nullptr);
      follows = contacts.size();
      int alike = 0;
      std::size_t last = c;
      for (; last < contacts.size() && same_pair(contacts[last], contact); ++last)
        if (same_features(contacts[last].feature, deepest.feature)) ++alike, follows = last;
      if (last == c + 1) follows = c;
      if (alike > 1) follows = contacts.size();
      double row_gap = 0;  // the deepest that the rows know of
      for (std::size_t i = c; i < last && follows == contacts.size(); ++i)
        row_gap = std::min(
            row_gap, contact_at(model, parameters, q_end, contacts[i], &contacts[i].feature).gap);
      if (follows == contacts.size() && deepest.gap < row_gap - kRounding * contact.size)
        ends.without_row.push_back(deepest);
    }
    // The others keep their features, where they are not deeper than the pair: a face goes on
    // beyond its edges.
    Contact end = deepest;
    if (c != follows) {
      const Contact same = contact_at(model, parameters, q_end, contact, &contact.feature);
      if (same.gap >= deepest.gap - kRounding * contact.size) end = same;
    }
    matters = matters || deepest.gap < 0 || lambda[block.row] > 0;
    const Vec3 point = 0.5 * (end.point_a + end.point_b);
    const Body &body_a = model.body(contact.body_a), &body_b = model.body(contact.body_b);

    double here[12] = {}, there[12] = {}, rate_here = 0, rate_there = 0;  // of dynamic bodies
    Index count = 0;
    for (const BlockRows::Entry& entry : p.D.entries(block.block)) {
      const bool on_a = body_a.is_dynamic() && body_a.dynamic == entry.block;
      const Body& body = on_a ? body_a : body_b;
      const Vec3 centre = body_pose(body, q_end.data()).x;
      const Vec3 lever = on_a ? Vec3(point - centre) : Vec3(point - centre - contact.shift);
      const double sign = on_a ? 1 : -1;
      point_row(body.planar, block.frame[0], on_a ? block.lever_a : block.lever_b, sign,
                here + count);
      point_row(body.planar, end.normal, lever, sign, there + count);
      for (Index i = 0; i < entry.width; ++i, ++count) {
        rate_here += here[count] * v[entry.column + i];
        rate_there += there[count] * v[entry.column + i];
      }
    }
    const double share = same_features(contact.feature, end.feature) ? 0.5
                         : rate_there < rate_here                    ? 1.0
                                                                     : 0.0;
    double* row = p.D.values(block.block);  // the normal is the first of each entry
    count = 0;
    for (const BlockRows::Entry& entry : p.D.entries(block.block)) {
      for (Index i = 0; i < entry.width; ++i, ++count)
        row[i] = (1 - share) * here[count] + share * there[count];
      row += p.D.dim(block.block) * entry.width;
    }
    // What is given of the motion (kinematic bodies) is in the gap at the end.
    block.bias = p.b[block.row] = end.gap / h - ((1 - share) * rate_here + share * rate_there);
    block.branch = BiasBranch::Trial;
    ends.of_rows.push_back({c, end, share});
  }
  return matters;
}

bool add_ends(const Model& model, const Parameters& parameters, const VecX& q,
              std::span<const Contact> ends, std::vector<Contact>& contacts) {
  const std::size_t before = contacts.size();
  for (const Contact& end : ends) {
    const auto is_known = [&](const Contact& c) {
      return same_pair(c, end) && same_features(c.feature, end.feature) &&
             apart(c.feature, end.feature) < kSamePlace;
    };
    if (std::ranges::any_of(contacts, is_known)) continue;
    const Contact deepest = contact_at(model, parameters, q, end, nullptr);
    const Contact here = contact_at(model, parameters, q, end, &end.feature);
    if (here.gap < deepest.gap - kRounding * here.size) continue;
    const auto by_key = [](const Contact& a, const Contact& b) { return a.key < b.key; };
    contacts.insert(std::ranges::upper_bound(contacts, here, by_key), here);
  }
  return contacts.size() > before;
}

}  // namespace orthant::internal
