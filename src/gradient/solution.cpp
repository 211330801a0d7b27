// SPDX-License-Identifier: Apache-2.0
// gradient/solution.cpp: derivative of a solution by implicit differentiation. See solution.hpp.
// Rows and columns are scaled by effective masses, so that one regularisation fits all units.
// Redundant rows make the matrix singular: it is regularised by ε and the error refined away by
// proximal steps, x ← (A + εE)⁻¹(b + εE x), which end at a solution of A x = b whenever the change
// is consistent with the redundancy, and show by not ending when it is not.
#include "orthant/gradient/solution.hpp"

#include <algorithm>
#include <cmath>

#include "gradient/smoothing.hpp"
#include "gradient/velocity_system.hpp"
#include "orthant/base/error.hpp"
#include "orthant/math/factorisation.hpp"
#include "orthant/math/law_kernel.hpp"

namespace orthant {
namespace {

constexpr double kGood = 1e-9;        // worse: perhaps only the elimination of impulses failed
constexpr double kConsistent = 1e-7;  // worse: the linear system has no solution

/// P, G and the law-data derivatives of one block at the solution.
struct BlockDerivative {
  double P[kMaxLawDim * kMaxLawDim] = {};
  double PG[kMaxLawDim * kMaxLawDim] = {};
  double by_mu[kMaxLawDim] = {}, by_mu_r[kMaxLawDim] = {};  // P_μ − τ P g
  double by_lo[kMaxLawDim] = {}, by_hi[kMaxLawDim] = {};
  ContactState state[kMaxLawDim] = {};
  double margin = 1;
  bool idle = false;  // floating, closed, and without an impulse
};

void set_identity(double* P, int n, double value) {
  for (int i = 0; i < n; ++i) P[i * n + i] = value;
}

void separable_block(const Law& law, const double* z, const double* size,
                     const SolutionGradientSettings& s, BlockDerivative& out) {
  for (int i = 0; i < law.dim; ++i) {
    double P = 0;
    ContactState state = ContactState::Separate;
    const double lo = law.kind == LawKind::Box ? law.lo : 0.0;
    const double hi = law.kind == LawKind::Box ? law.hi : std::numeric_limits<double>::infinity();
    if (law.kind == LawKind::Free) {
      P = 1;
      state = ContactState::Stick;
    } else if (law.kind != LawKind::Zero) {
      const double to_border = std::min(std::abs(z[i] - lo), std::abs(z[i] - hi));
      const double margin = size[i] > 0 ? std::min(1.0, to_border / size[i]) : 0.0;
      out.margin = std::min(out.margin, margin);
      if (margin <= s.floating_tolerance && lo < hi) {
        state = ContactState::Floating;
        P = s.kink == KinkChoice::Clamp ? 1.0 : s.kink == KinkChoice::Separate ? 0.0 : 0.5;
      } else if (z[i] > lo && z[i] < hi) {
        state = ContactState::Stick;
        P = 1;
      }
      if (law.kind == LawKind::Box) (z[i] <= lo ? out.by_lo : out.by_hi)[i] = 1 - P;
    }
    out.P[i * law.dim + i] = out.PG[i * law.dim + i] = P;
    out.state[i] = state;
  }
}

/// Border distances of z relative to its size: 0 on a border of stick, slide and separate.
double cone_margin(const Law& law, const double* z, double size) {
  const ConeGroups groups = groups_of(law);
  double stick = std::numeric_limits<double>::infinity(), polar = z[0];
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    if (groups.size[g] == 0) continue;
    const double length = norm_of(z + at, groups.size[g]);
    stick = std::min(stick, std::abs(groups.c[g] * z[0] - length));
    polar += groups.c[g] * length;
  }
  return size > 0 ? std::min({1.0, stick / size, std::abs(polar) / size}) : 0.0;
}

/// One element of the generalised Jacobian of a cone block: P, and the row of G beyond the
/// identity.
struct ConeElement {
  double P[kMaxLawDim * kMaxLawDim] = {};
  double by_mu[kMaxLawDim] = {}, by_mu_r[kMaxLawDim] = {};
  double row[kMaxLawDim] = {};

  void take(const ProjectionDerivative& d, int n) {
    std::copy_n(d.P, n * n, P);
    std::copy_n(d.P_mu, n, by_mu);
    std::copy_n(d.P_mu_r, n, by_mu_r);
  }
};

/// Where a contact is about to slide (w_t = 0 on the mantle) it will do so against its friction:
/// the direction of w_t is that of −λ_t. The shift's own derivative knows none there.
void set_onset_direction(const Law& law, const double* z, const double* w, double negligible,
                         double* row) {
  if (!law.is_exact()) return;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    const double length = groups.size[g] > 0 ? norm_of(z + at, groups.size[g]) : 0.0;
    if (length == 0 || norm_of(w + at, groups.size[g]) > negligible) continue;
    for (int i = 0; i < groups.size[g]; ++i) row[at + i] = -groups.c[g] * z[at + i] / length;
  }
}

void cone_block(const Law& law, const double* z, const double* w, double tau, double size,
                const SolutionGradientSettings& s, BlockDerivative& out) {
  const int n = law.dim;
  const ProjectionDerivative here = projection_derivative(law, z);
  const ShiftDerivative shift = shift_derivative(law, w);
  out.margin = cone_margin(law, z, size);
  ContactState state = here.region == ConeRegion::Stick   ? ContactState::Stick
                       : here.region == ConeRegion::Slide ? ContactState::Slide
                                                          : ContactState::Separate;
  ConeElement closed, open;
  double weight = 1;  // of the closed element
  closed.take(here, n);
  std::copy(shift.row, shift.row + n, closed.row);
  if (out.margin <= s.floating_tolerance) {
    // The two regions that meet at z: stick | slide on the mantle, slide | separate on the polar
    // cone, stick | separate at the tip. A nudge along the normal enters each.
    state = ContactState::Floating;
    weight = s.kink == KinkChoice::Clamp ? 1.0 : s.kink == KinkChoice::Separate ? 0.0 : 0.5;
    std::copy(shift.row, shift.row + n, open.row);
    if (norm_of(z, n) <= s.floating_tolerance * size) {
      closed = {};
      set_identity(closed.P, n, 1);
    } else {
      const double nudge = 4 * s.floating_tolerance * size * (1 + law.mu + law.mu_r);
      double nudged[kMaxLawDim];
      std::copy(z, z + n, nudged);
      nudged[0] = z[0] + nudge;
      closed.take(projection_derivative(law, nudged), n);
      nudged[0] = z[0] - nudge;
      open.take(projection_derivative(law, nudged), n);
      set_onset_direction(law, z, w, s.floating_tolerance * size / tau, open.row);
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      const double pc = closed.P[r * n + c], po = open.P[r * n + c];
      out.P[r * n + c] = weight * pc + (1 - weight) * po;
      out.PG[r * n + c] = weight * (pc + closed.P[r * n] * closed.row[c]) +
                          (1 - weight) * (po + open.P[r * n] * open.row[c]);
    }
    out.by_mu[r] =
        weight * closed.by_mu[r] + (1 - weight) * open.by_mu[r] - tau * out.P[r * n] * shift.g;
    out.by_mu_r[r] = weight * closed.by_mu_r[r] + (1 - weight) * open.by_mu_r[r] -
                     tau * out.P[r * n] * shift.g_r;
    out.state[r] = state;
  }
}

/// The same on the central path: P by λ and PG by w now differ, both from one smooth map.
/// `residual` gets λ − Π_κ.
void smoothed_block(const Law& law, const double* lambda, const double* w, double tau, double kappa,
                    BlockDerivative& out, double* residual) {
  using D = Dual<7>;
  D l[3], y[3], image[3];
  const int n = law.dim;
  const auto evaluate = [&](int from, int count) {
    for (int i = 0; i < count; ++i) {
      l[i] = D::variable(lambda[from + i], i);
      y[i] = D::variable(w[from + i], 3 + i);
    }
    Law part = law;
    part.dim = Law::narrow(count);
    internal::smooth_projection(part, D::variable(law.mu, 6), l, y, tau, kappa, image);
    for (int r = 0; r < count; ++r) {
      residual[from + r] = lambda[from + r] - image[r].v;
      for (int c = 0; c < count; ++c) {
        out.P[(from + r) * n + from + c] = image[r].d[c];
        out.PG[(from + r) * n + from + c] = -image[r].d[3 + c] / tau;
      }
      out.by_mu[from + r] = image[r].d[6];
    }
  };
  if (law.is_separable()) {
    for (int i = 0; i < n; ++i) evaluate(i, 1);
  } else {
    evaluate(0, n);
  }
}

VecX or_zero(const VecX& x, Index n, const char* what) {
  if (x.size() == 0) return VecX::Zero(n);
  if (x.size() != n) {
    throw Error(what,
                "has " + std::to_string(x.size()) + " entries, expected " + std::to_string(n));
  }
  if (!x.allFinite()) throw Error(what, "is not finite");
  return x;
}

/// Σ over the entries of A of x_row y_column, entry by entry: out += s x yᵀ on A's pattern.
void outer_add(const BlockRows& A, double s, const VecX& x, const VecX& y,
               std::vector<double>& out) {
  std::size_t at = 0;
  for (Index i = 0; i < A.row_block_count(); ++i) {
    for (const auto& entry : A.entries(i)) {
      for (Index r = 0; r < A.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          out[at++] += s * x[A.row_begin(i) + r] * y[entry.column + c];
        }
      }
    }
  }
}

/// The same pattern with other values.
BlockRows with_values(const BlockRows& A, const std::vector<double>& values) {
  BlockRows out = A;
  std::copy(values.begin(), values.end(), out.all_values().begin());
  return out;
}

}  // namespace

std::string_view name_of(ContactState state) {
  switch (state) {
    case ContactState::Stick:
      return "stick";
    case ContactState::Slide:
      return "slide";
    case ContactState::Separate:
      return "separate";
    case ContactState::Floating:
      return "floating";
  }
  return "unknown";
}

ProblemDerivative zero_derivative(const CanonicalProblem& p) {
  ProblemDerivative d;
  d.k = VecX::Zero(p.velocity_count());
  d.e = VecX::Zero(p.bilateral_count());
  d.b = VecX::Zero(p.row_count());
  d.mu = d.mu_r = d.lo = d.hi = VecX::Zero(p.block_count());
  d.C.assign(p.C.all_values().size(), 0.0);
  d.D.assign(p.D.all_values().size(), 0.0);
  d.F.assign(p.F.all_values().size(), 0.0);
  d.H.assign(p.H.all_values().size(), 0.0);
  return d;
}

ResidualDerivative zero_residual(const CanonicalProblem& p) {
  ResidualDerivative d;
  d.balance = VecX::Zero(p.velocity_count());
  d.bilateral = VecX::Zero(p.bilateral_count());
  d.blocks = VecX::Zero(p.row_count());
  d.mu = d.mu_r = d.lo = d.hi = VecX::Zero(p.block_count());
  return d;
}

struct SolutionGradient::Impl {
  const CanonicalProblem* p;
  Solution x;
  SolutionGradientSettings settings;
  GradientCertificate certificate;
  std::vector<Index> offset;
  std::vector<BlockDerivative> blocks;
  VecX tau;
  Index nv = 0, nc = 0, nl = 0;
  VecX row_scale, column_scale;
  SparseMatrix A;  // scaled, without the regularisation
  VecX proximal;   // its diagonal
  SparseLu lu;
  internal::VelocitySystem velocities;  // where the problem has its form
  bool in_velocities = false, factorised = false;
  VecX rhs, unknown, defect, trial;

  void differentiate_laws(const ProblemScale& scale);
  /// Moves x to the central path and differentiates the laws there.
  void follow_path();
  double smooth_laws(VecX& residual);
  void assemble();
  /// out = τ PG y (transposed: τ (PG)ᵀ y), block by block.
  void apply_tpg(const VecX& y, bool transposed, VecX& out) const;
  void use_velocities();
  void factorise();
  /// Solves A x = b or Aᵀ x = b in unscaled units.
  void solve(const VecX& b, bool transposed, VecX& out);
  /// Refines `unknown` until the scaled system holds; the relative error left.
  double refine(bool transposed);
  /// Solves with every floating block that carries nothing let go, and keeps them so where that
  /// helps: the error then, or `error`.
  double release_idle(bool transposed, double error);
};

void SolutionGradient::Impl::differentiate_laws(const ProblemScale& scale) {
  tau = scale.tau;
  certificate.states.resize(static_cast<std::size_t>(nl));
  certificate.element = settings.kink;
  blocks.assign(p->laws.size(), {});
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Law& law = p->laws[c];
    const Index at = offset[c];
    double z[kMaxLawDim], size[kMaxLawDim], w[kMaxLawDim];
    for (int r = 0; r < law.dim; ++r) w[r] = x.w[at + r];
    w[0] += shift_of(law, x.w.data() + at);
    double total = 0;
    for (int r = 0; r < law.dim; ++r) {
      z[r] = x.lambda[at + r] - tau[at + r] * w[r];
      size[r] =
          std::abs(x.lambda[at + r]) + tau[at + r] * (std::abs(w[r]) + std::abs(p->b[at + r]));
      if (!p->D.empty()) {  // the terms w is made of: a difference of large ones is not known
                            // better
        const double* d = p->D.values(static_cast<Index>(c));
        for (const auto& entry : p->D.entries(static_cast<Index>(c))) {
          for (Index j = 0; j < entry.width; ++j) {
            size[r] += tau[at + r] * std::abs(d[r * entry.width + j]) *
                       (std::abs(x.v[entry.column + j]) + std::abs(scale.v_free[entry.column + j]));
          }
          d += static_cast<std::ptrdiff_t>(law.dim) * entry.width;
        }
      }
      total += size[r] * size[r];
    }
    BlockDerivative& out = blocks[c];
    if (law.is_separable()) {
      separable_block(law, z, size, settings, out);
    } else {
      cone_block(law, z, x.w.data() + at, tau[at], std::sqrt(total), settings, out);
    }
    double impulse = 0;
    for (int r = 0; r < law.dim; ++r) impulse += x.lambda[at + r] * x.lambda[at + r];
    out.idle = out.state[0] == ContactState::Floating && settings.kink == KinkChoice::Clamp &&
               impulse <= settings.floating_tolerance * settings.floating_tolerance * total;
    certificate.margin = std::min(certificate.margin, out.margin);
    for (int r = 0; r < law.dim; ++r) {
      certificate.states[at + r] = out.state[r];
      certificate.floating += out.state[r] == ContactState::Floating ? 1 : 0;
    }
  }
}

double SolutionGradient::Impl::smooth_laws(VecX& residual) {
  // Everything the path asks for, and how far from it x is, in scaled units.
  residual.setZero(nv + nc + nl);
  VecX balance;
  p->H.multiply(x.v, balance);
  balance -= p->k;
  if (nc > 0) p->C.multiply_transpose_add(-1, x.gamma, balance);
  if (!p->D.empty()) p->D.multiply_transpose_add(-1, x.lambda, balance);
  residual.head(nv) = balance;
  VecX joints = p->e;
  if (nc > 0) p->C.multiply_add(1, x.v, joints);
  residual.segment(nv, nc) = joints;
  x.w = p->b;
  if (!p->D.empty()) p->D.multiply_add(1, x.v, x.w);
  if (!p->F.empty()) p->F.multiply_add(1, x.lambda, x.w);
  double size = 0, error = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c];
    blocks[c].by_mu_r[0] = 0;
    smoothed_block(p->laws[c], x.lambda.data() + at, x.w.data() + at, tau[at], settings.kappa,
                   blocks[c], residual.data() + nv + nc + at);
    for (int r = 0; r < p->laws[c].dim; ++r) {
      size = std::max(size, std::abs(x.lambda[at + r]) + tau[at + r] * std::abs(x.w[at + r]));
      error = std::max(error, std::abs(residual[nv + nc + at + r]));
    }
  }
  double momentum = 0;
  for (Index i = 0; i < nv; ++i) momentum = std::max(momentum, std::abs(p->k[i]));
  if (nv > 0) error = std::max(error, balance.cwiseAbs().maxCoeff());
  return error / (size + momentum + std::numeric_limits<double>::min());
}

void SolutionGradient::Impl::follow_path() {
  constexpr int kMaxSteps = 60, kMaxHalvings = 30;
  constexpr double kOnPath = 1e-10;
  for (const Law& law : p->laws)
    if (law.has_rolling())
      throw Error("solution gradient", "GradientMode::Smoothed has no rolling friction");
  if (!(settings.kappa > 0) || !std::isfinite(settings.kappa))
    throw Error("solution gradient settings.kappa",
                "must be finite and > 0, got " + to_text(settings.kappa));
  certificate.kappa = settings.kappa;
  VecX residual, step, trial_residual;
  double error = smooth_laws(residual);
  for (int k = 0; k < kMaxSteps && error > kOnPath; ++k) {
    assemble();
    solve(VecX(-residual), false, step);
    const Solution from = x;
    double length = 1, next = error;
    for (int i = 0; i < kMaxHalvings; ++i, length *= 0.5) {
      x.v = from.v + length * step.head(nv);
      x.gamma = from.gamma + length * step.segment(nv, nc);
      x.lambda = from.lambda + length * step.tail(nl);
      next = smooth_laws(trial_residual);
      if (next < (1 - 0.1 * length) * error) break;
    }
    if (!(next < error)) {
      x = from;
      (void)smooth_laws(residual);
      break;
    }
    error = next;
    residual.swap(trial_residual);
  }
  certificate.central_error = error;
}

void SolutionGradient::Impl::assemble() {
  const Index n = nv + nc + nl;
  std::vector<Eigen::Triplet<double, Index>> entries;
  row_scale.resize(n);
  column_scale.resize(n);

  // H, and √ of its diagonal as the scale of the velocities.
  const auto add_H = [&](Index r, Index c, double value) {
    entries.emplace_back(r, c, value);
    if (r == c) column_scale[r] = value > 0 ? 1 / std::sqrt(value) : 1.0;
  };
  if (p->H.kind() == VelocityMatrix::Kind::Operator) {
    throw Error("solution gradient", "H given as an operator has no entries to differentiate");
  }
  column_scale.head(nv).setOnes();
  if (p->H.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& H = p->H.sparse_matrix();
    for (Index j = 0; j < H.outerSize(); ++j) {
      for (SparseMatrix::InnerIterator it(H, j); it; ++it)
        add_H(static_cast<Index>(it.row()), j, it.value());
    }
  } else {
    for (Index i = 0; i < p->H.block_count(); ++i) {
      const Index m = p->H.block_size(i), at = p->H.block_begin(i);
      for (Index r = 0; r < m; ++r) {
        for (Index c = 0; c < m; ++c) add_H(at + r, at + c, p->H.block(i)[r * m + c]);
      }
    }
  }
  row_scale.head(nv) = column_scale.head(nv);

  // Bilateral rows, scaled by the effective mass they see.
  for (Index i = 0; i < p->C.row_block_count(); ++i) {
    const double* a = p->C.values(i);
    VecX mobility = VecX::Zero(p->C.dim(i));
    for (const auto& entry : p->C.entries(i)) {
      for (Index r = 0; r < p->C.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          const double value = a[r * entry.width + c];
          const Index row = p->C.row_begin(i) + r;
          entries.emplace_back(nv + row, entry.column + c, value);
          entries.emplace_back(entry.column + c, nv + row, -value);
          mobility[r] +=
              value * value * column_scale[entry.column + c] * column_scale[entry.column + c];
        }
      }
      a += static_cast<std::ptrdiff_t>(p->C.dim(i)) * entry.width;
    }
    for (Index r = 0; r < p->C.dim(i); ++r) {
      const double s = mobility[r] > 0 ? 1 / std::sqrt(mobility[r]) : 1.0;
      row_scale[nv + p->C.row_begin(i) + r] = column_scale[nv + p->C.row_begin(i) + r] = s;
    }
  }

  // Blocks: −Dᵀ above; τPG D and I − P + τPG F in the row, which is an impulse: divided by √τ.
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c], dim = p->laws[c].dim, i = static_cast<Index>(c);
    const BlockDerivative& B = blocks[c];
    for (Index r = 0; r < dim; ++r) {
      column_scale[nv + nc + at + r] = std::sqrt(tau[at + r]);
      row_scale[nv + nc + at + r] = 1 / std::sqrt(tau[at + r]);
      for (Index s = 0; s < dim; ++s) {
        entries.emplace_back(nv + nc + at + r, nv + nc + at + s,
                             (r == s ? 1.0 : 0.0) - B.P[r * dim + s]);
      }
    }
    const auto add = [&](const BlockRows& M, Index column_shift, bool transpose_above) {
      if (M.empty()) return;
      const double* a = M.values(i);
      for (const auto& entry : M.entries(i)) {
        for (Index col = 0; col < entry.width; ++col) {
          for (Index r = 0; r < dim; ++r) {
            double sum = 0;
            for (Index s = 0; s < dim; ++s) {
              sum += tau[at + r] * B.PG[r * dim + s] * a[s * entry.width + col];
            }
            entries.emplace_back(nv + nc + at + r, column_shift + entry.column + col, sum);
            if (transpose_above) {
              entries.emplace_back(entry.column + col, nv + nc + at + r, -a[r * entry.width + col]);
            }
          }
        }
        a += static_cast<std::ptrdiff_t>(dim) * entry.width;
      }
    };
    add(p->D, 0, true);
    add(p->F, nv + nc, false);
  }

  A.resize(n, n);
  for (auto& t : entries) {
    t = {t.row(), t.col(), row_scale[t.row()] * t.value() * column_scale[t.col()]};
  }
  for (Index j = nv; j < n; ++j) entries.emplace_back(j, j, 0.0);  // room for the regularisation
  A.setFromTriplets(entries.begin(), entries.end());
  proximal = VecX::Zero(n);
  proximal.tail(nc + nl).setConstant(settings.proximal);
  factorised = false;
  in_velocities = internal::VelocitySystem::fits(*p);
  if (in_velocities) {
    use_velocities();
  } else {
    factorise();
  }
}

void SolutionGradient::Impl::use_velocities() {
  std::vector<internal::ScaledLaw> laws(blocks.size());
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const int n = p->laws[c].dim;
    for (int r = 0; r < n; ++r) {
      laws[c].root_tau[r] = std::sqrt(tau[offset[c] + r]);
      for (int k = 0; k < n; ++k) {
        laws[c].M[r * n + k] = (r == k ? 1.0 : 0.0) - blocks[c].P[r * n + k];
        laws[c].PG[r * n + k] = blocks[c].PG[r * n + k];
      }
    }
  }
  velocities.set(*p, std::move(laws), column_scale.head(nv), column_scale.segment(nv, nc),
                 settings.proximal);
}

void SolutionGradient::Impl::factorise() {
  if (factorised) return;
  SparseMatrix regularised = A;
  for (Index j = nv; j < nv + nc + nl; ++j) regularised.coeffRef(j, j) += proximal[j];
  lu.analyze(regularised);
  if (!lu.factorize(regularised)) {
    throw Error("solution gradient", "the derivative's linear system is singular beyond repair");
  }
  factorised = true;
  certificate.reciprocal_condition =
      std::min(certificate.reciprocal_condition, lu.reciprocal_condition());
}

void SolutionGradient::Impl::apply_tpg(const VecX& y, bool transposed, VecX& out) const {
  out.resize(nl);
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c], dim = p->laws[c].dim;
    for (Index r = 0; r < dim; ++r) {
      double sum = 0;
      for (Index s = 0; s < dim; ++s) {
        sum += transposed ? blocks[c].PG[s * dim + r] * tau[at + s] * y[at + s]
                          : tau[at + r] * blocks[c].PG[r * dim + s] * y[at + s];
      }
      out[at + r] = sum;
    }
  }
}

double SolutionGradient::Impl::refine(bool transposed) {
  const double size = rhs.norm();
  double best = std::numeric_limits<double>::infinity();
  unknown = VecX::Zero(rhs.size());
  defect = rhs;
  for (int k = 0; k <= settings.max_refinements; ++k) {
    if (in_velocities) {
      if (!velocities.solve(defect, transposed, trial)) break;
    } else if (transposed) {
      lu.solve_transpose(defect, trial);
    } else {
      lu.solve(defect, trial);
    }
    trial += unknown;
    defect = rhs;
    if (transposed) {
      defect.noalias() -= A.transpose() * trial;
    } else {
      defect.noalias() -= A * trial;
    }
    const double error = defect.norm() / size;
    if (!(error < best)) break;
    const bool crawling = error > 0.5 * best && k > 5;
    best = error;
    unknown = trial;
    if (best <= settings.tolerance || crawling) break;
  }
  return best;
}

void SolutionGradient::Impl::solve(const VecX& b, bool transposed, VecX& out) {
  // (R A C) (C⁻¹ x) = R b, and transposed (C Aᵀ R)(R⁻¹ x) = C b.
  const VecX& left = transposed ? column_scale : row_scale;
  const VecX& right = transposed ? row_scale : column_scale;
  rhs = b.cwiseProduct(left);
  unknown = VecX::Zero(rhs.size());
  certificate.solve_error = 0;
  if (rhs.norm() > 0) {
    double error = refine(transposed);
    if (in_velocities && !(error <= kGood)) {
      const VecX first = unknown;
      in_velocities = false;
      factorise();
      const double general = refine(transposed);
      if (!(general < error)) unknown = first;
      error = std::min(error, general);
    }
    if (!(error <= kConsistent)) error = release_idle(transposed, error);
    certificate.solve_error = error;
    certificate.reciprocal_condition =
        std::min(certificate.reciprocal_condition, rhs.norm() / (A.norm() * unknown.norm()));
  }
  out = unknown.cwiseProduct(right);
}

double SolutionGradient::Impl::release_idle(bool transposed, double error) {
  // Redundant contacts that slide leave the motion open (a box that turns on four corners): the
  // answer is one of many, and closing a contact that it does not use contradicts the others.
  const std::vector<BlockDerivative> kept = blocks;
  const VecX kept_rhs = rhs, kept_unknown = unknown;
  Index released = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Law& law = p->laws[c];
    const bool contact = law.kind == LawKind::Orthant || !law.is_separable();
    if (!contact || !blocks[c].idle) continue;
    const ContactState state = blocks[c].state[0];
    const double margin = blocks[c].margin;
    blocks[c] = {};
    blocks[c].margin = margin;
    std::fill_n(blocks[c].state, law.dim, state);
    if (!transposed) rhs.segment(nv + nc + offset[c], law.dim).setZero();
    ++released;
  }
  if (released == 0) return error;
  assemble();
  double open = refine(transposed);
  if (in_velocities && !(open <= kGood)) {
    in_velocities = false;
    factorise();
    open = std::min(open, refine(transposed));
  }
  if (open <= kConsistent) {
    certificate.released += released;
    return open;
  }
  blocks = kept;
  rhs = kept_rhs;
  unknown = kept_unknown;
  assemble();
  return error;
}

SolutionGradient::SolutionGradient(const CanonicalProblem& problem, const ProblemScale& scale,
                                   const Solution& x, const SolutionGradientSettings& settings)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.p = &problem;
  m.x = x;
  m.settings = settings;
  m.nv = problem.velocity_count();
  m.nc = problem.bilateral_count();
  m.nl = problem.row_count();
  m.offset = block_offsets(problem);
  JudgeWorkspace work;
  m.certificate.residual = judge_quick(problem, scale, x, work).value;
  if (!std::isfinite(m.certificate.residual)) {
    throw Error("solution gradient", "the answer is not finite or does not fit the problem");
  }
  m.x.w = work.w;
  m.differentiate_laws(scale);
  if (settings.mode == GradientMode::Smoothed) m.follow_path();
  m.assemble();
}

SolutionGradient::~SolutionGradient() = default;
SolutionGradient::SolutionGradient(SolutionGradient&&) noexcept = default;
SolutionGradient& SolutionGradient::operator=(SolutionGradient&&) noexcept = default;

const GradientCertificate& SolutionGradient::certificate() const { return impl_->certificate; }
const Solution& SolutionGradient::answer() const { return impl_->x; }

ResidualDerivative SolutionGradient::adjoint(const Solution& by) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  VecX by_v = or_zero(by.v, m.nv, "incoming gradient by v");
  const VecX by_gamma = or_zero(by.gamma, m.nc, "incoming gradient by gamma");
  VecX by_lambda = or_zero(by.lambda, m.nl, "incoming gradient by lambda");
  const VecX by_w = or_zero(by.w, m.nl, "incoming gradient by w");
  // w = D v + F λ + b reads v and λ, and the data directly.
  if (!p.D.empty()) p.D.multiply_transpose_add(1, by_w, by_v);
  if (!p.F.empty()) p.F.multiply_transpose_add(1, by_w, by_lambda);

  VecX b(m.nv + m.nc + m.nl), a;
  b << by_v, by_gamma, by_lambda;
  m.solve(b, true, a);
  const VecX a_lambda = a.tail(m.nl);
  ResidualDerivative d = zero_residual(p);
  d.balance = a.head(m.nv);
  d.bilateral = -a.segment(m.nv, m.nc);
  VecX y;
  m.apply_tpg(a_lambda, true, y);
  d.blocks = by_w - y;
  for (std::size_t c = 0; c < m.blocks.size(); ++c) {
    const BlockDerivative& B = m.blocks[c];
    for (int r = 0; r < p.laws[c].dim; ++r) {
      const double al = a_lambda[m.offset[c] + r];
      d.mu[static_cast<Index>(c)] += B.by_mu[r] * al;
      d.mu_r[static_cast<Index>(c)] += B.by_mu_r[r] * al;
      d.lo[static_cast<Index>(c)] += B.by_lo[r] * al;
      d.hi[static_cast<Index>(c)] += B.by_hi[r] * al;
    }
  }
  return d;
}

Solution SolutionGradient::tangent(const ResidualDerivative& change) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  const VecX balance = or_zero(change.balance, m.nv, "change of the balance");
  const VecX joints = -or_zero(change.bilateral, m.nc, "change of the bilateral rows");
  const VecX w = or_zero(change.blocks, m.nl, "change of the blocks");
  const VecX mu = or_zero(change.mu, p.block_count(), "change of mu");
  const VecX mu_r = or_zero(change.mu_r, p.block_count(), "change of mu_r");
  const VecX lo = or_zero(change.lo, p.block_count(), "change of lo");
  const VecX hi = or_zero(change.hi, p.block_count(), "change of hi");
  VecX law;
  m.apply_tpg(w, false, law);
  law = -law;
  for (std::size_t c = 0; c < m.blocks.size(); ++c) {
    const BlockDerivative& B = m.blocks[c];
    const auto i = static_cast<Index>(c);
    for (int r = 0; r < p.laws[c].dim; ++r) {
      law[m.offset[c] + r] +=
          B.by_mu[r] * mu[i] + B.by_mu_r[r] * mu_r[i] + B.by_lo[r] * lo[i] + B.by_hi[r] * hi[i];
    }
  }
  VecX b(m.nv + m.nc + m.nl), dx;
  b << balance, joints, law;
  m.solve(b, false, dx);
  Solution out{dx.head(m.nv), dx.segment(m.nv, m.nc), dx.tail(m.nl), w};
  if (!p.D.empty()) p.D.multiply_add(1, out.v, out.w);
  if (!p.F.empty()) p.F.multiply_add(1, out.lambda, out.w);
  return out;
}

ProblemDerivative SolutionGradient::pull_back(const Solution& by) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  ResidualDerivative a = adjoint(by);
  ProblemDerivative d = zero_derivative(p);
  outer_add(p.C, 1, m.x.gamma, a.balance, d.C);
  outer_add(p.C, 1, a.bilateral, m.x.v, d.C);
  outer_add(p.D, 1, m.x.lambda, a.balance, d.D);
  outer_add(p.D, 1, a.blocks, m.x.v, d.D);
  outer_add(p.F, 1, a.blocks, m.x.lambda, d.F);
  std::size_t at = 0;
  p.H.for_each_entry([&](Index r, Index c) { d.H[at++] = -a.balance[r] * m.x.v[c]; });
  d.k = std::move(a.balance);
  d.e = std::move(a.bilateral);
  d.b = std::move(a.blocks);
  d.mu = std::move(a.mu);
  d.mu_r = std::move(a.mu_r);
  d.lo = std::move(a.lo);
  d.hi = std::move(a.hi);
  return d;
}

Solution SolutionGradient::push_forward(const ProblemDerivative& change) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  ResidualDerivative r;
  r.balance = or_zero(change.k, m.nv, "change of k");
  r.bilateral = or_zero(change.e, m.nc, "change of e");
  r.blocks = or_zero(change.b, m.nl, "change of b");
  if (!change.H.empty()) {
    std::size_t at = 0;
    p.H.for_each_entry([&](Index i, Index c) { r.balance[i] -= change.H[at++] * m.x.v[c]; });
  }
  if (!change.C.empty()) {
    const BlockRows dC = with_values(p.C, change.C);
    dC.multiply_transpose_add(1, m.x.gamma, r.balance);
    dC.multiply_add(1, m.x.v, r.bilateral);
  }
  if (!change.D.empty()) {
    const BlockRows dD = with_values(p.D, change.D);
    dD.multiply_transpose_add(1, m.x.lambda, r.balance);
    dD.multiply_add(1, m.x.v, r.blocks);
  }
  if (!change.F.empty()) with_values(p.F, change.F).multiply_add(1, m.x.lambda, r.blocks);
  r.mu = change.mu;
  r.mu_r = change.mu_r;
  r.lo = change.lo;
  r.hi = change.hi;
  return tangent(r);
}

}  // namespace orthant
