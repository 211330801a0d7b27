// SPDX-License-Identifier: Apache-2.0
// gradient/redundancy.cpp: impulses that are not unique, and a derivative that depends on them.
//   D_Cᵀν = 0: λ + ν is an answer as well. Test (ii) of the derivative: dD_Cᵀν moves nothing.
// A random x has a part in the null space of the system A; y with A y = A x has none of it, so
// ν = x − y. One solve finds a direction, and as the test is linear, one direction tells.
#include <algorithm>
#include <cmath>

#include "gradient/solution_impl.hpp"
#include "gradient/stage.hpp"

namespace orthant {

namespace {
constexpr double kNothing = 1e-6;  // of a random vector: its part in the null space is rounding
constexpr double kHolds = 1e-8;    // A ν of |ν|
constexpr double kMoves = 1e-5;    // of a null vector: its velocities, less is rounding
}  // namespace

void SolutionGradient::Impl::find_free() {
  if (searched) return;
  searched = true;
  free = {};
  if (nc + nl < 2) return;
  VecX any = VecX::Zero(nv + nc + nl);
  for (Index i = nv; i < any.size(); ++i) any[i] = std::cos(1.0 + 2.4 * i) + 1.5;
  apply(any, false, rhs);
  if (!(rhs.norm() > 0)) {
    unknown.setZero(rhs.size());
  } else if (!(refine(false) <= kHolds)) {
    return;  // another error, which solve() reports
  }
  any -= unknown;
  if (!(any.tail(nc + nl).norm() > kNothing * std::sqrt(static_cast<double>(nc + nl)))) return;
  const bool moves = any.head(nv).norm() > kMoves * any.tail(nc + nl).norm();
  const VecX nu = any.cwiseProduct(column_scale);
  const double size = nu.tail(nc + nl).cwiseAbs().maxCoeff();
  double wanted = 0;
  if (nc > 0) wanted = std::max(wanted, x.gamma.cwiseAbs().maxCoeff());
  if (nl > 0) wanted = std::max(wanted, x.lambda.cwiseAbs().maxCoeff());
  if (!(wanted > 0)) return;  // nothing pushes: nothing depends on how it does
  free.gamma = (wanted / size) * nu.segment(nv, nc);
  free.lambda = (wanted / size) * nu.tail(nl);
  if (moves) free.v = (wanted / size) * nu.head(nv);
  certificate.redundant = true;
}

namespace internal {
namespace {

constexpr double kDepends = 1e-6;  // of the derivative: less is rounding
constexpr Index kFace = 4;         // contacts of one face that are more than it needs
constexpr const char* kOpen =
    "redundant contacts slide and leave the motion open: the derivative is that of the answer "
    "found";
constexpr const char* kAmbiguous =
    "redundant contacts: their impulses are not unique, and the derivative depends on which were "
    "found";

/// Bodies and the world, joined by contacts and joints: does one close a loop?
class Loops {
 public:
  explicit Loops(const Model& model) : root_(static_cast<std::size_t>(model.dynamic_v_size()) + 1) {
    for (std::size_t i = 0; i < root_.size(); ++i) root_[i] = i;
  }
  /// Joins two bodies; false where they were joined already.
  bool join(const Model& model, BodyId a, BodyId b) {
    const std::size_t i = find(node(model, a)), j = find(node(model, b));
    root_[std::max(i, j)] = std::min(i, j);
    return i != j;
  }

 private:
  static std::size_t node(const Model& model, BodyId id) {
    if (id == kWorld || !model.body(id).is_dynamic()) return 0;
    return static_cast<std::size_t>(model.body(id).v_begin) + 1;
  }
  std::size_t find(std::size_t i) {
    while (root_[i] != i) i = root_[i] = root_[root_[i]];
    return i;
  }
  std::vector<std::size_t> root_;
};

double largest(const SolveInputs& x) {
  double size = std::abs(x.duration);
  for (const VecX* part : {&x.q, &x.v, &x.u, &x.parameters})
    if (part->size() > 0) size = std::max(size, part->cwiseAbs().maxCoeff());
  return size;
}

}  // namespace

bool Stage::may_be_redundant(bool forwards) const {
  // Rows along a tree are independent, and those of one face of contact stay consistent, but where
  // they slide.
  const Model& model = *context_.model;
  const SolveRecord& r = *context_.record_;
  if (!r.contacts.flexible.empty() || r.kind == SolveKind::Projection) return false;
  Loops loops(model);
  for (const Joint& joint : model.joints())
    if (!loops.join(model, joint.a, joint.b)) return true;
  const std::vector<Contact>& contacts = r.contacts.contacts;
  Index face = 0, sliding = 0;  // contacts of a pair that push, those of them that slide
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const Contact& one = contacts[c];
    if (c == 0 || one.body_a != contacts[c - 1].body_a || one.body_b != contacts[c - 1].body_b)
      face = sliding = 0;
    const auto row = static_cast<std::size_t>(assembly_.blocks[c].row);
    // One that another answer would load (solution_sets.cpp) counts as well.
    if (!(r.solution.lambda[static_cast<Index>(row)] > 0) &&
        certificate().states[row] != ContactState::Stick)
      continue;
    ++face;
    sliding += certificate().states[row] == ContactState::Slide;
    if (forwards && face >= kFace && sliding > 0 &&
        assembly_.problem.laws[static_cast<std::size_t>(assembly_.blocks[c].block)].is_exact())
      return true;
    if (c > 0 && one.body_a == contacts[c - 1].body_a && one.body_b == contacts[c - 1].body_b &&
        (one.normal - contacts[c - 1].normal).norm() < 1e-9)
      continue;
    if (!loops.join(model, one.body_a, one.body_b)) return true;
  }
  return false;
}

const Solution* Stage::other_impulses(bool forwards) {
  if (!reason_.empty() || !may_be_redundant(forwards)) return nullptr;
  const Solution& free = gradient_->free_impulse();
  // Backwards the linear system itself has no solution where the loss sees an open motion.
  if (free.v.size() > 0 && forwards) reason_ = kOpen;
  return free.lambda.size() > 0 && free.v.size() == 0 ? &free : nullptr;
}

void Stage::compare_impulses(const SolveInputs& found, const SolveInputs& other) {
  SolveInputs change = other;
  change.q -= found.q;
  change.v -= found.v;
  change.u -= found.u;
  change.parameters -= found.parameters;
  change.duration -= found.duration;
  if (largest(change) > kDepends * std::max(largest(found), largest(other))) reason_ = kAmbiguous;
}

void Stage::compare_tangents(const VecX& by_other, const VecX& found) {
  if (by_other.norm() > kDepends * std::max(found.norm(), by_other.norm())) reason_ = kAmbiguous;
}

}  // namespace internal
}  // namespace orthant
