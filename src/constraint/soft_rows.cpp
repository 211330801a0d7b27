// SPDX-License-Identifier: Apache-2.0
#include "constraint/soft_rows.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/shape/contacts.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-9;  // of the size of a contact

bool same_pair(const Contact& a, const Contact& b) { return pair_of(a.key) == pair_of(b.key); }

bool same_features(const ContactFeature& a, const ContactFeature& b) {
  return a.kind == b.kind && a.swapped == b.swapped && a.sign == b.sign && a.first == b.first &&
         a.second == b.second && a.face == b.face && a.element == b.element;
}

/// A ring over a face, with the place that is nearest to it at these poses.
ContactFeature at_nearest_place(ContactFeature f, const ShapeView<double>& a, const Pose& X_A,
                                const ShapeView<double>& b, const Pose& X_B) {
  if (f.kind != FeatureKind::Smooth || f.element >= 0) return f;
  const SmoothPartT<double> A = smooth_part(a, X_A, f.first), B = smooth_part(b, X_B, f.second);
  if (A.kind == PartKind::Face && B.kind == PartKind::Circle)
    f.start_place[1] = std::atan2(-A.u.dot(B.v), -A.u.dot(B.u));
  if (B.kind == PartKind::Face && A.kind == PartKind::Circle)
    f.start_place[0] = std::atan2(-B.u.dot(A.v), -B.u.dot(A.u));
  return f;
}

/// The contact where the bodies are at q, by the features `f` or (null) at its deepest point.
Contact contact_at(const Model& model, const Parameters& parameters, const VecX& q,
                   const Contact& contact, const ContactFeature* f, bool same_place = true) {
  const double* values = parameters.values.data();
  const ShapeInstance &a = model.shape(contact.shape_a), &b = model.shape(contact.shape_b);
  const Pose X_A = shape_pose(model.body(a.body), a, q.data(), values);
  Pose X_B = shape_pose(model.body(b.body), b, q.data(), values);
  X_B.x += contact.shift;
  const ShapeView<double> A = a.view(values), B = b.view(values);
  const ContactPoint point =
      f == nullptr ? distance(A, X_A, B, X_B)
                   : evaluate_contact(same_place ? *f : at_nearest_place(*f, A, X_A, B, X_B), A,
                                      X_A, B, X_B);
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
  Contact deepest;                  // of the pair at hand
  std::size_t first = 0, last = 0;  // its rows: from first, before last
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    ContactBlock& block = out.blocks[c];
    if (!(block.material.compliance > 0)) continue;
    const Contact& contact = contacts[c];
    if (c >= last) {
      first = c;
      deepest = contact_at(model, parameters, q_end, contact, nullptr);
      for (last = c; last < contacts.size() && same_pair(contacts[last], contact);) ++last;
    }
    const auto rows_like = [&](const Contact& other) {
      return std::ranges::count_if(contacts.subspan(first, last - first), [&](const Contact& row) {
        return same_features(row.feature, other.feature);
      });
    };
    const bool alone = last == first + 1;
    if (c == first && !alone && deepest.gap < 0 && rows_like(deepest) == 0)
      ends.without_row.push_back(deepest);
    // The others keep their features, where they are not deeper than the pair: a face goes on
    // beyond its edges. Several rows of a ring, which lies flat, keep their places.
    Contact end = deepest;
    if (!alone) {
      const Contact same =
          contact_at(model, parameters, q_end, contact, &contact.feature, rows_like(contact) > 1);
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
      return same_pair(c, end) && same_features(c.feature, end.feature);
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
