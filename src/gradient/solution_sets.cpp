// SPDX-License-Identifier: Apache-2.0
// gradient/solution_sets.cpp: rows that look as if they were on a border, and are not.
// A pyramid: λ_f of a contact that sticks are not unique, those of one that is open do nothing.
// Only
//   the sums Σ d_i λ_f,i move bodies: stick where the contact holds with less than μ λ_n.
// A body that joints hold altogether: a contact of it carries nothing, whichever way it is moved.
// Redundant contacts: λ + ν with D_Cᵀν = 0 is as good an answer as λ. Where one of them is strictly
//   inside all its cones, every contact of C stays closed under small changes, and the motion has
//   one derivative; that a solver left a corner of the box without a load says nothing.
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "gradient/solution_impl.hpp"
#include "math/law_kernel.hpp"

namespace orthant {

using internal::BlockDerivative;

namespace {

constexpr Index kMostRows = 160;  // of an island whose other answers are looked at
constexpr int kMostRounds = 200;  // of the search for one inside
constexpr double kInside = 1e-2;  // of the load: how far inside is aimed at
constexpr double kEnough = 1e-3;  // and what is taken
constexpr double kDependent = 1e-9;

void set_state(BlockDerivative& block, const Law& law, ContactState state) {
  block = {};
  for (int i = 0; i < law.dim; ++i) {
    block.P[i * law.dim + i] = block.PG[i * law.dim + i] = state == ContactState::Stick ? 1 : 0;
    block.state[i] = state;
  }
  if (!law.is_frictional()) return;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g)
    for (int i = at; i < at + groups.size[g] && !(groups.c[g] > 0); ++i)  // holds nothing
      block.P[i * law.dim + i] = block.PG[i * law.dim + i] = 0;
}

/// The nearest impulse that is inside the set of the law by `depth` and the share 1 − `share`.
void move_inside(const Law& law, double depth, double share, double* lambda) {
  lambda[0] = std::max(lambda[0], depth);
  if (!law.is_frictional()) return;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    if (groups.size[g] == 0) continue;
    const double most = (1 - share) * groups.c[g] * lambda[0];
    const double length = norm_of(lambda + at, groups.size[g]);
    for (int i = 0; i < groups.size[g] && length > most; ++i) lambda[at + i] *= most / length;
  }
}

/// A row of its own that only pushes, or a cone.
bool is_contact(const Law& law) {
  return law.is_frictional() || (law.kind == LawKind::Orthant && law.dim == 1);
}

/// w_s = μ λ_n − Eᵀλ_f of rows that bodies take part in, not just any row of a complementarity
/// problem.
bool is_sliding_row(const CanonicalProblem& p, Index s) {
  const auto row = p.F.entries(s);
  const double* value = p.F.values(s);
  if (row[0].width != 1 || !(*value++ > 0)) return false;
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (p.D.entries(row[k].block).empty()) return false;
    for (Index i = 0; k > 0 && i < row[k].width; ++i)
      if (*value++ != -1) return false;
  }
  return true;
}

}  // namespace

void SolutionGradient::Impl::settle_immobile() {
  if (!settings.settle || !settings.held_open || nc == 0 || p->D.empty() ||
      settings.mode != GradientMode::Exact)
    return;
  const auto held = [&](std::size_t c) {  // by as many rows as its bodies have freedoms, or more
    const auto bodies = p->D.entries(static_cast<Index>(c));
    Index freedoms = 0, rows = 0;
    for (const BlockRows::Entry& body : bodies) freedoms += body.width;
    for (Index j = 0; j < p->C.row_block_count(); ++j)
      for (const BlockRows::Entry& other : p->C.entries(j))
        if (std::ranges::any_of(bodies,
                                [&](const auto& body) { return body.block == other.block; })) {
          rows += p->C.dim(j);
          break;
        }
    return rows >= freedoms;
  };
  MatX Q;  // the directions that the bilateral rows hold, velocities scaled by √ of the inertia
  VecX scale;
  const auto find_held = [&] {
    scale.setOnes(nv);
    const double* value = p->H.all_values().data();
    p->H.for_each_entry([&](Index r, Index s) {
      if (r == s && *value > 0) scale[r] = 1 / std::sqrt(*value);
      ++value;
    });
    MatX rows(nv, nc);
    for (Index i = 0; i < nc; ++i) {
      VecX row = VecX::Zero(nv);
      p->C.multiply_transpose_add(1, VecX::Unit(nc, i), row);
      rows.col(i) = row.cwiseProduct(scale);
      const double size = rows.col(i).norm();
      if (size > 0) rows.col(i) /= size;
    }
    Eigen::ColPivHouseholderQR<MatX> qr(rows);
    qr.setThreshold(kDependent);
    Q = MatX(qr.householderQ() * MatX::Identity(nv, qr.rank()));
  };
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    if (!blocks[c].unloaded || !is_contact(p->laws[c]) || nv > kMostRows || !held(c)) continue;
    if (Q.size() == 0) find_held();
    bool moves = false;
    for (Index r = 0; r < p->laws[c].dim && !moves; ++r) {
      VecX row = VecX::Zero(nv);
      p->D.multiply_transpose_add(1, VecX::Unit(nl, offset[c] + r), row);
      row = row.cwiseProduct(scale).eval();
      const double size = row.norm();
      row -= Q * (Q.transpose() * row);
      moves = row.norm() > kDependent * size;
    }
    if (moves) continue;
    set_state(blocks[c], p->laws[c], ContactState::Separate);
    blocks[c].held = true;
  }
}

void SolutionGradient::Impl::settle_pyramids() {
  if (p->F.empty() || p->D.empty()) return;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    // w_s = μ λ_n − Eᵀλ_f: the one row that no body takes part in.
    const auto s = static_cast<Index>(c);
    if (p->laws[c].kind != LawKind::Orthant || p->laws[c].dim != 1 || !p->D.entries(s).empty())
      continue;
    const auto row = p->F.entries(s);
    if (row.size() < 2 || !is_sliding_row(*p, s)) continue;
    const auto set_friction = [&](ContactState state) {
      for (std::size_t k = 1; k < row.size(); ++k)
        set_state(blocks[static_cast<std::size_t>(row[k].block)],
                  p->laws[static_cast<std::size_t>(row[k].block)], state);
      set_state(blocks[c], p->laws[c], ContactState::Separate);
    };
    const ContactState normal = blocks[static_cast<std::size_t>(row[0].block)].state[0];
    if (normal == ContactState::Separate) set_friction(ContactState::Separate);
    const ContactState sliding = blocks[c].state[0];
    if (normal != ContactState::Stick ||
        (sliding != ContactState::Separate && sliding != ContactState::Floating))
      continue;
    // What opposite directions hold against each other is no friction.
    std::vector<double> held;
    for (std::size_t k = 1; k < row.size(); ++k)
      for (Index i = 0; i < row[k].width; ++i) held.push_back(x.lambda[row[k].column + i]);
    const std::size_t half = held.size() / 2;
    double load = 0;
    for (std::size_t i = 0; i < half; ++i) load += std::abs(held[i] - held[half + i]);
    const double most = p->F.values(s)[0] * x.lambda[row[0].column];
    const double margin = most > 0 ? (most - load) / most : 0;
    if (!(margin > settings.floating_tolerance)) continue;
    set_friction(ContactState::Stick);
    blocks[c].margin = std::min(1.0, margin);
  }
}

void SolutionGradient::Impl::settle_redundant() {
  if (!settings.settle || !p->F.empty() || settings.mode != GradientMode::Exact) return;
  const auto floats = [&](std::size_t c) {
    return blocks[c].closed && blocks[c].state[0] == ContactState::Floating &&
           is_contact(p->laws[c]);
  };
  std::vector<unsigned char> done(blocks.size(), 0);
  for (std::size_t first = 0; first < blocks.size(); ++first) {
    if (!floats(first) || done[first]) continue;
    // All closed contacts of the same bodies: what a change does to one face it does consistently.
    const auto bodies = p->D.entries(static_cast<Index>(first));
    const auto same_bodies = [&](std::size_t c) {
      const auto other = p->D.entries(static_cast<Index>(c));
      return std::equal(bodies.begin(), bodies.end(), other.begin(), other.end(),
                        [](const auto& a, const auto& b) { return a.block == b.block; });
    };
    std::vector<std::size_t> rows;
    Index size = 0;
    for (std::size_t c = 0; c < blocks.size(); ++c) {
      if (!blocks[c].closed || !is_contact(p->laws[c]) || !same_bodies(c)) continue;
      done[c] = 1;
      rows.push_back(c);
      size += p->laws[c].dim;
    }
    if (size > kMostRows || !holds_inside(rows, size)) continue;
    for (const std::size_t c : rows)
      if (floats(c)) set_state(blocks[c], p->laws[c], ContactState::Stick);
  }
}

bool SolutionGradient::Impl::holds_inside(std::span<const std::size_t> rows, Index size) const {
  // Columns: impulses in units of √τ; rows: what each does to the velocities.
  Index width = 0;
  for (const BlockRows::Entry& entry : p->D.entries(static_cast<Index>(rows[0])))
    width += entry.width;
  MatX B(width, size);
  VecX y(size), unit(size);
  Index at = 0;
  double load = 0;
  for (const std::size_t c : rows) {
    const Index dim = p->laws[c].dim;
    for (Index r = 0; r < dim; ++r) {
      unit[at + r] = std::sqrt(tau[offset[c] + r]);
      y[at + r] = x.lambda[offset[c] + r] / unit[at + r];
    }
    load += x.lambda[offset[c]];
    const double* a = p->D.values(static_cast<Index>(c));
    Index column = 0;
    for (const BlockRows::Entry& entry : p->D.entries(static_cast<Index>(c))) {
      for (Index r = 0; r < dim; ++r)
        for (Index k = 0; k < entry.width; ++k) B(column + k, at + r) = *a++ * unit[at + r];
      column += entry.width;
    }
    at += dim;
  }
  if (!(load > 0)) return false;
  load /= static_cast<double>(rows.size());
  // ν with B ν = 0: what is left of a vector without its part in the range of Bᵀ.
  Eigen::ColPivHouseholderQR<MatX> qr(B.transpose());
  qr.setThreshold(kDependent);
  const Index rank = qr.rank();
  if (rank == size) return false;
  const MatX Q = MatX(qr.householderQ() * MatX::Identity(size, rank));
  const VecX start = y;
  VecX z;
  const auto inside = [&](double depth, double share, bool move) {
    bool holds = true;
    Index i = 0;
    for (const std::size_t c : rows) {
      const Law& law = p->laws[c];
      double lambda[kMaxLawDim], moved[kMaxLawDim];
      for (int r = 0; r < law.dim; ++r) lambda[r] = moved[r] = unit[i + r] * y[i + r];
      move_inside(law, depth, share, moved);
      for (int r = 0; r < law.dim; ++r) {
        holds = holds && std::abs(moved[r] - lambda[r]) <= 1e-12 * load;
        if (move) y[i + r] = moved[r] / unit[i + r];
      }
      i += law.dim;
    }
    return holds;
  };
  for (int round = 0; round < kMostRounds; ++round) {
    if (inside(kEnough * load, kEnough, false)) return true;
    inside(kInside * load, kInside, true);
    z = y - start;
    y -= Q * (Q.transpose() * z);
  }
  return false;
}

}  // namespace orthant
