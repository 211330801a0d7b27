// SPDX-License-Identifier: Apache-2.0
// gradient/redundancy.cpp: impulses that are not unique, and a derivative that depends on them.
//   D_Cᵀν = 0: λ + ν is an answer as well. Test (ii) of the derivative: dD_Cᵀν moves nothing.
//   yᵀA = 0: a change of the data must keep yᵀ(its right-hand side) = 0, test (i).
// A random x has a part in the null space of the system A; y with A y = A x has none of it, so
// ν = x − y. One solve finds a direction, and as the test is linear, one direction tells.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "gradient/friction_answers.hpp"
#include "gradient/loops.hpp"
#include "gradient/solution_impl.hpp"
#include "gradient/stage.hpp"

namespace orthant {

namespace {
constexpr double kNothing = 1e-6;  // of a random vector: its part in the null space is rounding
constexpr double kHolds = 1e-8;    // A ν of |ν|
constexpr double kMoves = 1e-5;    // of a null vector: its velocities, less is rounding
}  // namespace

VecX SolutionGradient::Impl::null_vector(bool transposed) {
  VecX any = VecX::Zero(nv + nc + nl);
  for (Index i = nv; i < any.size(); ++i) any[i] = std::cos(1.0 + 2.4 * i) + 1.5;
  apply(any, transposed, rhs);
  if (!(rhs.norm() > 0)) {
    unknown.setZero(rhs.size());
  } else if (!(refine(transposed) <= kHolds)) {
    return {};  // another error, which solve() reports
  }
  any -= unknown;
  if (!(any.tail(nc + nl).norm() > kNothing * std::sqrt(static_cast<double>(nc + nl)))) return {};
  return any.cwiseProduct(transposed ? row_scale : column_scale);
}

void SolutionGradient::Impl::find_free() {
  if (searched) return;
  searched = true;
  free = {};
  if (nc + nl < 2) return;
  const VecX nu = null_vector(false);
  if (nu.size() == 0) return;
  const VecX scaled = nu.cwiseQuotient(column_scale);
  const bool moves = scaled.head(nv).norm() > kMoves * scaled.tail(nc + nl).norm();
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

void SolutionGradient::Impl::find_dependent() {
  if (searched_rows) return;
  searched_rows = true;
  dependent = {};
  if (const VecX y = null_vector(true); y.size() > 0) by_equations(y, dependent);
}

namespace internal {
namespace {

constexpr double kDepends = 1e-6;  // of the derivative: less is rounding
constexpr double kStill = 1e-9;    // of the speeds around: does not turn
constexpr Index kFace = 4;         // contacts of one face that are more than it needs
constexpr const char* kOpen =
    "redundant contacts slide and leave the motion open: the derivative is that of the answer "
    "found";
constexpr const char* kAmbiguous =
    "redundant contacts: their impulses are not unique, and the derivative depends on which were "
    "found";

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
  std::size_t first = 0;        // of the face
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
    if (face == 1) first = c;
    if (face > 1 && face_may_contradict(c, first)) return true;
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

bool Stage::face_may_contradict(std::size_t c, std::size_t other) const {
  const ContactBlock &a = assembly_.blocks[c], &b = assembly_.blocks[other];
  const auto bounces = [](const ContactBlock& x) { return x.branch == BiasBranch::Restitution; };
  if (bounces(a) != bounces(b)) return true;
  // At restitution 0 the derivative by it is that of contacts that begin to bounce.
  if (a.material.restitution == 0 && context_.record_->rows.restitution &&
      would_bounce(c) != would_bounce(other))
    return true;
  // By the cone law a little friction opens contacts as fast as they slide, each in its own way.
  if (a.dim == 1)
    return a.material.friction == 0 && context_.record_->rows.friction == FrictionModel::Cone;
  // Rolling friction holds the turn that normals of different speeds ask for.
  if (a.material.rolling_friction > 0) return true;
  // Soft contacts and bounces let the face turn, and friction at other heights then turns it too.
  if (a.material.compliance > 0) return true;
  const Contact& contact = context_.record_->contacts.contacts[c];
  if (bounces(a) && std::abs((a.lever_a - b.lever_a).dot(contact.normal)) > kStill * contact.size)
    return true;
  // Where one rolls on the other, friction at other heights asks for other speeds.
  Vec3 spin = Vec3::Zero();
  double speed = 0;
  for (const auto& [id, sign] : {std::pair{contact.body_a, 1.0}, {contact.body_b, -1.0}}) {
    const Body& body = context_.model->body(id);
    const VecX& v = body.is_dynamic() ? context_.record_->solution.v : context_.record_->v;
    if (body.v_begin == kNone) continue;
    const double* x = v.data() + body.v_begin;
    spin += sign * (body.planar ? Vec3(0, 0, x[2]) : Vec3(x[3], x[4], x[5]));
    speed = std::max(speed, v.segment(body.v_begin, body.v_size).cwiseAbs().maxCoeff());
  }
  spin -= spin.dot(contact.normal) * contact.normal;
  return spin.norm() > kStill * (speed + context_.settings->h);
}

bool Stage::would_bounce(std::size_t c) const {
  const SolveRecord& r = *context_.record_;
  return gap_rate(*context_.model, r.q, r.v, r.contacts.contacts[c]) <
         -r.rows.restitution_threshold;
}

bool Stage::all_stick(const Solution& free) const {
  for (Index i = 0; i < free.lambda.size(); ++i)
    if (free.lambda[i] != 0 &&
        certificate().states[static_cast<std::size_t>(i)] == ContactState::Slide &&
        std::abs(free.lambda[i]) > kNothing * free.lambda.cwiseAbs().maxCoeff())
      return false;
  return true;
}

bool Stage::friction_is_open() {
  const CanonicalProblem& p = assembly_.problem;
  const SolveKind kind = context_.record_->kind;
  if (kind != SolveKind::Step && kind != SolveKind::Impact) return false;
  for (const ContactBlock& block : assembly_.blocks) {
    if (block.dim < 2) continue;
    const Law& law = p.laws[static_cast<std::size_t>(block.block)];
    if (law.kind != LawKind::Coulomb || block.material.compliance > 0) continue;
    const VecX w = gradient_->answer().w.segment(block.row, law.dim);
    const VecX lambda = gradient_->answer().lambda.segment(block.row, law.dim);
    const bool loaded = lambda[0] > 0;
    const ContactState state = certificate().states[static_cast<std::size_t>(block.row)];
    // N λ + w in the place of a w that parts needs λ·w < 0, so w_n < μ |w_t|. One that neither
    // pushes nor parts is on a border, and named as such.
    if (loaded ? !is_held_to_the_world(block)
               : !(state == ContactState::Separate && w[0] > 0 &&
                   w[0] < law.mu * w.tail(law.dim - 1).norm()))
      continue;
    // N (Δλ + pushes) = Δw: along a row that holds w is moved, along the others the contact pushed.
    const bool sticks = state == ContactState::Stick;
    MatX impulses(law.dim, law.dim), moved(law.dim, law.dim);
    for (Index i = 0; i < law.dim; ++i) {
      ResidualDerivative change = zero_residual(p);
      const bool holds = loaded && (i == 0 || sticks);
      const VecX unit = VecX::Unit(p.row_count(), block.row + i);
      if (holds) {
        change.blocks = unit;
      } else {
        p.D.multiply_transpose_add(1, unit, change.balance);
      }
      const Solution d = gradient_->tangent(change);
      impulses.col(i) = d.lambda.segment(block.row, law.dim);
      moved.col(i) = d.w.segment(block.row, law.dim);
      (holds ? moved : impulses)(i, i) += holds ? -1 : 1;
    }
    const MatX N = impulses.transpose().fullPivLu().solve(moved.transpose()).transpose();
    if (N.allFinite() && has_other_answer(N, w - N * lambda, law, w)) return true;
  }
  return false;
}

bool Stage::is_held_to_the_world(const ContactBlock& block) const {
  const CanonicalProblem& p = assembly_.problem;
  const auto bodies = p.D.entries(block.block);
  const auto own = [&](const BlockRows::Entry& other) {
    return std::ranges::any_of(bodies, [&](const auto& body) { return body.block == other.block; });
  };
  Index freedoms = 0, rows = 0;
  for (const BlockRows::Entry& body : bodies) freedoms += body.width;
  for (Index j = 0; j < p.C.row_block_count(); ++j)
    if (std::ranges::all_of(p.C.entries(j), own)) rows += p.C.dim(j);
  return rows > 0 && freedoms - rows <= p.laws[static_cast<std::size_t>(block.block)].dim;
}

const Solution* Stage::other_impulses(bool forwards) {
  if (!reason_.empty() || !may_be_redundant(forwards)) return nullptr;
  const Solution& free = gradient_->free_impulse();
  // Backwards the linear system itself has no solution where the loss sees an open motion.
  if (free.v.size() > 0 && forwards) reason_ = kOpen;
  return free.lambda.size() > 0 && free.v.size() == 0 ? &free : nullptr;
}

void Stage::compare_impulses(const SolveInputs& found, const SolveInputs& other) {
  // Each kind of input by itself, in its own units; parameters by what their own size does.
  const auto differ = [](const VecX& a, const VecX& b) {
    return a.size() > 0 &&
           (a - b).cwiseAbs().maxCoeff() >
               kDepends * std::max(a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff());
  };
  const VecX size = context_.parameters->values.unaryExpr(
      [](double value) { return value == 0 ? 1 : std::abs(value); });
  if (differ(found.q, other.q) || differ(found.v, other.v) || differ(found.u, other.u) ||
      differ(found.parameters.cwiseProduct(size), other.parameters.cwiseProduct(size)) ||
      std::abs(found.duration - other.duration) >
          kDepends * std::max(std::abs(found.duration), std::abs(other.duration))) {
    const double largest = std::max({found.q.cwiseAbs().maxCoeff(), found.v.cwiseAbs().maxCoeff(),
                                     other.q.cwiseAbs().maxCoeff(), other.v.cwiseAbs().maxCoeff()});
    add_contradiction(OpenReason::Ambiguous, found, other, largest);
  }
}

void Stage::add_contradiction(OpenReason reason, const SolveInputs& from, const SolveInputs& to,
                              double size) {
  if (!(size > 0)) return;
  Against& one = against_[static_cast<std::size_t>(reason)];
  if (!one.any) one.by.set_zero(*context_.model);
  one.any = true;
  one.by.q += (to.q - from.q) / size;
  one.by.v += (to.v - from.v) / size;
  one.by.u += (to.u - from.u) / size;
  one.by.parameters += (to.parameters - from.parameters) / size;
  one.by.duration += (to.duration - from.duration) / size;
}

void Stage::compare_tangents(const VecX& by_other, const VecX& found) {
  if (by_other.norm() > kDepends * std::max(found.norm(), by_other.norm())) reason_ = kAmbiguous;
}

}  // namespace internal
}  // namespace orthant
