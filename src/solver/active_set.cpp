// SPDX-License-Identifier: Apache-2.0
// solver/active_set.cpp: sets of a block, their equations, and the labels of an answer.
#include "solver/active_set.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/math/law_kernel.hpp"
#include "orthant/solver/polish.hpp"

namespace orthant {
namespace internal {
namespace {

BlockSet entries_of(const Law& law, const double* z) {
  BlockSet set;
  for (int i = 0; i < law.dim; ++i) {
    const bool lower = law.kind == LawKind::Zero || (law.kind == LawKind::Orthant && z[i] < 0) ||
                       (law.kind == LawKind::Box && (z[i] < law.lo || law.lo == law.hi));
    const bool upper = law.kind == LawKind::Box && z[i] > law.hi;
    set.entry[i] = lower ? EntrySet::AtLower : upper ? EntrySet::AtUpper : EntrySet::Inside;
  }
  return set;
}

/// x_n of the projection on a convex cone when the groups in `slides` are on the border.
double cone_normal(const ConeGroups& groups, const bool* slides, double zn, const double* length,
                   double* weight) {
  double numerator = zn, denominator = 1;
  for (int g = 0; g < 2; ++g) {
    if (!slides[g]) continue;
    numerator += groups.c[g] * length[g];
    denominator += groups.c[g] * groups.c[g];
  }
  *weight = 1 / denominator;
  return numerator / denominator;
}

}  // namespace

BlockSet block_set(const Law& law, const double* x, const double* y, double rho) {
  double z[kMaxLawDim] = {};
  for (int i = 0; i < law.dim; ++i) z[i] = x[i] - rho * y[i];
  if (law.is_separable()) return entries_of(law, z);
  BlockSet set;
  const ConeGroups groups = groups_of(law);
  double length[2] = {0, 0};
  for (int g = 0, at = 1; g < 2; at += groups.size[g++]) {
    if (groups.size[g] > 0) length[g] = norm_of(z + at, groups.size[g]);
  }
  if (law.is_exact()) {
    set.pressed = z[0] > 0;
    for (int g = 0; g < 2; ++g) set.slides[g] = set.pressed && length[g] > groups.c[g] * z[0];
    return set;
  }
  const auto root = cone_root(z[0], length, groups.c);
  set.pressed = root.x > 0;
  for (int g = 0; g < 2; ++g) set.slides[g] = set.pressed && root.active[g];
  return set;
}

void set_residual(const Law& law, const BlockSet& set, const double* x, const double* y, double* R,
                  BlockJacobian& J) {
  const int n = law.dim;
  std::fill(J.X, J.X + n * n, 0.0);
  std::fill(J.Y, J.Y + n * n, 0.0);
  const auto velocity = [&](int i) {  // y_i = 0
    R[i] = y[i];
    J.Y[i * n + i] = 1;
  };
  const auto impulse = [&](int i, double value) {  // x_i = value
    R[i] = x[i] - value;
    J.X[i * n + i] = 1;
  };
  if (law.is_separable()) {
    for (int i = 0; i < n; ++i) {
      const bool at_zero = law.kind != LawKind::Box;
      if (set.entry[i] == EntrySet::Inside) velocity(i);
      if (set.entry[i] == EntrySet::AtLower) impulse(i, at_zero ? 0.0 : law.lo);
      if (set.entry[i] == EntrySet::AtUpper) impulse(i, law.hi);
    }
    return;
  }
  if (!set.pressed) {
    for (int i = 0; i < n; ++i) impulse(i, 0.0);
    return;
  }
  const ConeGroups groups = groups_of(law);
  const int start[2] = {1, 1 + groups.size[0]};
  double z[kMaxLawDim] = {}, length[2] = {0, 0};
  for (int i = 0; i < n; ++i) z[i] = x[i] - y[i];
  for (int g = 0; g < 2; ++g) {
    if (groups.size[g] > 0) length[g] = norm_of(z + start[g], groups.size[g]);
  }
  // dn = derivative of the normal impulse a sliding group is bound to, by z.
  double xn = z[0], dn[kMaxLawDim] = {1};
  if (law.is_exact()) {
    velocity(0);
  } else {
    double weight = 1;
    xn = cone_normal(groups, set.slides, z[0], length, &weight);
    dn[0] = weight;
    for (int g = 0; g < 2; ++g) {
      for (int i = 0; set.slides[g] && length[g] > 0 && i < groups.size[g]; ++i)
        dn[start[g] + i] = weight * groups.c[g] * z[start[g] + i] / length[g];
    }
    R[0] = x[0] - xn;
    J.X[0] = 1;
    for (int j = 0; j < n; ++j) {
      J.X[j] -= dn[j];
      J.Y[j] += dn[j];
    }
  }
  for (int g = 0; g < 2; ++g) {
    for (int i = 0; i < groups.size[g]; ++i) {
      const int row = start[g] + i;
      if (!set.slides[g]) {
        velocity(row);
        continue;
      }
      impulse(row, 0.0);
      if (!(length[g] > 0)) continue;
      const double t = z[row] / length[g];
      R[row] -= groups.c[g] * xn * t;
      for (int j = 0; j < n; ++j) {
        double d = groups.c[g] * t * dn[j];
        const int other = j - start[g];
        if (other >= 0 && other < groups.size[g]) {
          d += groups.c[g] * xn / length[g] * ((i == other ? 1.0 : 0.0) - t * z[j] / length[g]);
        }
        J.X[row * n + j] -= d;
        J.Y[row * n + j] += d;
      }
    }
  }
}

}  // namespace internal

std::string_view name_of(ContactSetLabel label) {
  switch (label) {
    case ContactSetLabel::Stick:
      return "stick";
    case ContactSetLabel::Slide:
      return "slide";
    case ContactSetLabel::Separate:
      return "separate";
    case ContactSetLabel::Floating:
      return "floating";
  }
  return "unknown";
}

namespace {

/// Labels rows and keeps the smallest margin.
class Labeller {
 public:
  Labeller(ActiveSet& out, double border) : out_(out), border_(border) {}

  void begin_block(Index c, Index at) {
    block_ = c;
    at_ = at;
  }
  /// `distance` from the border, relative; below the threshold the row floats.
  void label(int first, int count, ContactSetLabel which, double distance) {
    if (!(distance >= 0)) distance = 0;
    if (distance < out_.margin) {
      out_.margin = distance;
      out_.weakest_block = block_;
    }
    const ContactSetLabel shown = distance < border_ ? ContactSetLabel::Floating : which;
    for (int i = 0; i < count; ++i) out_.rows[static_cast<std::size_t>(at_ + first + i)] = shown;
  }

 private:
  ActiveSet& out_;
  double border_;
  Index block_ = 0, at_ = 0;
};

/// |λ_c| + τ_c (|D_c||v| + |F_c||λ| + |b_c|): what a number of block c is large or small against.
double size_of_block(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     Index c, Index at) {
  const int dim = p.laws[static_cast<std::size_t>(c)].dim;
  double size = 0;
  for (int r = 0; r < dim; ++r) {
    double terms = std::abs(p.b[at + r]);
    const auto add = [&](const BlockRows& A, const VecX& by) {
      if (A.empty()) return;
      const double* a = A.values(c);
      for (const auto& entry : A.entries(c)) {
        for (Index j = 0; j < entry.width; ++j)
          terms += std::abs(a[r * entry.width + j] * by[entry.column + j]);
        a += static_cast<std::ptrdiff_t>(dim) * entry.width;
      }
    };
    add(p.D, x.v);
    add(p.F, x.lambda);
    size += std::abs(x.lambda[at + r]) + scale.tau[at + r] * terms;
  }
  return size;
}

}  // namespace

ActiveSet active_set(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     double border) {
  ActiveSet out;
  out.rows.assign(static_cast<std::size_t>(p.row_count()), ContactSetLabel::Separate);
  out.blocks.assign(p.laws.size(), ContactSetLabel::Separate);
  VecX w = p.b;
  if (!p.D.empty()) p.D.multiply_add(1, x.v, w);
  if (!p.F.empty()) p.F.multiply_add(1, x.lambda, w);
  Labeller rows(out, border);
  Index at = 0;
  for (Index c = 0; c < p.block_count(); ++c) {
    const Law& law = p.laws[static_cast<std::size_t>(c)];
    const double* l = x.lambda.data() + at;
    double y[kMaxLawDim] = {};
    for (int i = 0; i < law.dim; ++i) y[i] = scale.tau[at + i] * w[at + i];
    const double size = size_of_block(p, scale, x, c, at);
    // The larger of two numbers of which one must vanish: zero on the border.
    const auto distance = [&](double a, double b) {
      return size > 0 ? std::max(a, b) / size : 0.0;
    };
    const internal::BlockSet set = internal::block_set(law, l, y);
    rows.begin_block(c, at);
    if (law.is_separable()) {
      for (int i = 0; i < law.dim; ++i) {
        const bool inside = set.entry[i] == internal::EntrySet::Inside;
        if (law.kind == LawKind::Orthant) {
          rows.label(i, 1, inside ? ContactSetLabel::Stick : ContactSetLabel::Separate,
                     distance(l[i], y[i]));
        } else if (law.kind == LawKind::Box && law.lo < law.hi) {
          rows.label(i, 1, inside ? ContactSetLabel::Stick : ContactSetLabel::Slide,
                     distance(std::min(l[i] - law.lo, law.hi - l[i]), std::abs(y[i])));
        } else {
          rows.label(i, 1, inside ? ContactSetLabel::Stick : ContactSetLabel::Separate, 1);
        }
      }
    } else {
      const ConeGroups groups = groups_of(law);
      double length[2] = {0, 0}, speed[2] = {0, 0}, dual = y[0];
      for (int g = 0, first = 1; g < 2; first += groups.size[g++]) {
        if (groups.size[g] == 0) continue;
        length[g] = norm_of(l + first, groups.size[g]);
        speed[g] = norm_of(y + first, groups.size[g]);
        if (!law.is_exact()) dual -= groups.c[g] * speed[g];
      }
      rows.label(0, set.pressed ? 1 : law.dim,
                 set.pressed ? ContactSetLabel::Stick : ContactSetLabel::Separate,
                 distance(l[0], dual));
      for (int g = 0, first = 1; set.pressed && g < 2; first += groups.size[g++]) {
        if (groups.size[g] == 0) continue;
        // Without friction there is no border to be on.
        const double far =
            groups.c[g] > 0 ? distance(groups.c[g] * l[0] - length[g], speed[g]) : 1.0;
        rows.label(first, groups.size[g],
                   set.slides[g] ? ContactSetLabel::Slide : ContactSetLabel::Stick, far);
      }
    }
    // The block shows its most delicate row.
    ContactSetLabel& block = out.blocks[static_cast<std::size_t>(c)];
    block = out.rows[static_cast<std::size_t>(at)];
    for (int i = 1; i < law.dim; ++i) {
      const ContactSetLabel row = out.rows[static_cast<std::size_t>(at + i)];
      if (row == ContactSetLabel::Floating || block == ContactSetLabel::Floating) {
        block = ContactSetLabel::Floating;
      } else if (row == ContactSetLabel::Slide || block == ContactSetLabel::Slide) {
        block = ContactSetLabel::Slide;
      } else if (row != block) {
        block = ContactSetLabel::Stick;  // an orthant block, part of it pressed
      }
    }
    at += law.dim;
  }
  return out;
}

}  // namespace orthant
