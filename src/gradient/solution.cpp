// SPDX-License-Identifier: Apache-2.0
// gradient/solution.cpp: derivative of a solution by implicit differentiation. See solution.hpp.
// Rows and columns are scaled by effective masses, so that one regularisation fits all units.
// Redundant rows make the matrix singular: it is regularised by ε and the error refined away by
// proximal steps, x ← (A + εE)⁻¹(b + εE x), which end at a solution of A x = b whenever the change
// is consistent with the redundancy, and show by not ending when it is not.
#include "orthant/gradient/solution.hpp"

#include <algorithm>
#include <cmath>

#include "gradient/law_derivative.hpp"
#include "gradient/velocity_system.hpp"
#include "orthant/base/error.hpp"
#include "orthant/math/factorisation.hpp"
#include "orthant/math/law_kernel.hpp"

namespace orthant {

using internal::BlockDerivative;
using internal::cone_block;
using internal::separable_block;
using internal::smoothed_block;

namespace {

constexpr double kGood = 1e-9;        // worse: perhaps only the elimination of impulses failed
constexpr double kConsistent = 1e-7;  // worse: the linear system has no solution

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
  /// Storage of those that are gone, for the next ones: a step is differentiated in microseconds,
  /// half of which would go into the heap. Only capacity is kept, no value.
  struct Spare {
    std::vector<std::unique_ptr<Impl>> list;
    ~Spare() { gone() = true; }
    static bool& gone() {
      thread_local bool value = false;
      return value;
    }
    static Spare& here() {
      thread_local Spare spare;
      return spare;
    }
  };
  static std::unique_ptr<Impl> take() {
    if (Spare::gone() || Spare::here().list.empty()) return std::make_unique<Impl>();
    std::unique_ptr<Impl> impl = std::move(Spare::here().list.back());
    Spare::here().list.pop_back();
    return impl;
  }
  static void give(std::unique_ptr<Impl> impl) {
    constexpr std::size_t kMost = 4;
    constexpr Index kLargest = 1 << 14;  // rows: larger ones do not notice the heap
    if (impl == nullptr || impl->nv + impl->nl > kLargest || Spare::gone()) return;
    if (Spare::here().list.size() < kMost) Spare::here().list.push_back(std::move(impl));
  }

  const CanonicalProblem* p = nullptr;
  Solution x;
  SolutionGradientSettings settings;
  GradientCertificate certificate;
  std::vector<Index> offset;
  std::vector<BlockDerivative> blocks;
  VecX tau;
  Index nv = 0, nc = 0, nl = 0;
  VecX row_scale, column_scale;
  SparseMatrix A;  // scaled, without the regularisation; made where a general LU is needed
  VecX proximal;   // its diagonal
  SparseLu lu;
  internal::VelocitySystem velocities;  // where the problem has its form
  bool in_velocities = false, factorised = false, has_matrix = false, probed = false;
  double matrix_norm = 0;  // of A, or an estimate of it
  VecX rhs, unknown, defect, trial;
  JudgeWorkspace judged;
  VecX part_v, part_c, part_l, image_v, image_c, image_l, trial_l, product;  // of apply()

  void differentiate_laws(const ProblemScale& scale);
  /// Moves x to the central path and differentiates the laws there.
  void follow_path();
  double smooth_laws(VecX& residual);
  /// Scales, and the factors of whichever system fits.
  void assemble();
  void find_scales();
  void make_matrix();
  /// out = A x or Aᵀ x, scaled; without A from the blocks of the problem.
  void apply(const VecX& from, bool transposed, VecX& out);
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
  /// Forwards a singular system may well have a solution, one of many: only the transposed one
  /// shows. Asks it once, where a contact could be let go.
  void probe();
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
               settings.mode == GradientMode::Exact &&
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

void SolutionGradient::Impl::find_scales() {
  if (p->H.kind() == VelocityMatrix::Kind::Operator) {
    throw Error("solution gradient", "H given as an operator has no entries to differentiate");
  }
  const Index n = nv + nc + nl;
  row_scale.resize(n);
  column_scale.resize(n);
  double square = 0;  // of the norm of A, as if every contact were closed

  // √ of the diagonal of H is the scale of the velocities.
  column_scale.head(nv).setOnes();
  const auto set = [&](Index i, double value) {
    column_scale[i] = value > 0 ? 1 / std::sqrt(value) : 1.0;
  };
  if (p->H.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& H = p->H.sparse_matrix();
    for (Index j = 0; j < H.outerSize(); ++j) set(j, H.coeff(j, j));
  } else {
    for (Index i = 0; i < p->H.block_count(); ++i) {
      const Index m = p->H.block_size(i), at = p->H.block_begin(i);
      for (Index r = 0; r < m; ++r) set(at + r, p->H.block(i)[r * m + r]);
    }
  }
  row_scale.head(nv) = column_scale.head(nv);
  square += nv;

  // Bilateral rows are scaled by the effective mass they see.
  for (Index i = 0; i < p->C.row_block_count(); ++i) {
    for (Index r = 0; r < p->C.dim(i); ++r) {
      const double* a = p->C.values(i);
      double mobility = 0;
      for (const auto& entry : p->C.entries(i)) {
        for (Index c = 0; c < entry.width; ++c) {
          const double value = a[r * entry.width + c] * column_scale[entry.column + c];
          mobility += value * value;
        }
        a += static_cast<std::ptrdiff_t>(p->C.dim(i)) * entry.width;
      }
      const double s = mobility > 0 ? 1 / std::sqrt(mobility) : 1.0;
      row_scale[nv + p->C.row_begin(i) + r] = column_scale[nv + p->C.row_begin(i) + r] = s;
    }
  }
  square += 2 * nc;

  // Rows of blocks are impulses: divided by √τ.
  for (Index i = 0; i < nl; ++i) {
    column_scale[nv + nc + i] = std::sqrt(tau[i]);
    row_scale[nv + nc + i] = 1 / column_scale[nv + nc + i];
  }
  for (Index i = 0; i < p->D.row_block_count(); ++i) {
    const double* a = p->D.values(i);
    for (const auto& entry : p->D.entries(i))
      for (Index r = 0; r < p->D.dim(i); ++r)
        for (Index c = 0; c < entry.width; ++c) {
          const double value = *a++ * column_scale[entry.column + c];
          square += 2 * value * value * tau[p->D.row_begin(i) + r];
        }
  }
  matrix_norm = std::sqrt(square);
}

void SolutionGradient::Impl::assemble() {
  find_scales();
  factorised = has_matrix = false;
  in_velocities = internal::VelocitySystem::fits(*p);
  if (in_velocities) {
    use_velocities();
  } else {
    factorise();
  }
}

void SolutionGradient::Impl::make_matrix() {
  const Index n = nv + nc + nl;
  std::vector<Eigen::Triplet<double, Index>> entries;
  if (p->H.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& H = p->H.sparse_matrix();
    for (Index j = 0; j < H.outerSize(); ++j) {
      for (SparseMatrix::InnerIterator it(H, j); it; ++it)
        entries.emplace_back(static_cast<Index>(it.row()), j, it.value());
    }
  } else {
    for (Index i = 0; i < p->H.block_count(); ++i) {
      const Index m = p->H.block_size(i), at = p->H.block_begin(i);
      for (Index r = 0; r < m; ++r) {
        for (Index c = 0; c < m; ++c)
          entries.emplace_back(at + r, at + c, p->H.block(i)[r * m + c]);
      }
    }
  }
  for (Index i = 0; i < p->C.row_block_count(); ++i) {
    const double* a = p->C.values(i);
    for (const auto& entry : p->C.entries(i)) {
      for (Index r = 0; r < p->C.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          const double value = a[r * entry.width + c];
          const Index row = p->C.row_begin(i) + r;
          entries.emplace_back(nv + row, entry.column + c, value);
          entries.emplace_back(entry.column + c, nv + row, -value);
        }
      }
      a += static_cast<std::ptrdiff_t>(p->C.dim(i)) * entry.width;
    }
  }

  // Blocks: −Dᵀ above; τPG D and I − P + τPG F in the row.
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c], dim = p->laws[c].dim, i = static_cast<Index>(c);
    const BlockDerivative& B = blocks[c];
    for (Index r = 0; r < dim; ++r) {
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
  matrix_norm = A.norm();
  has_matrix = true;
}

void SolutionGradient::Impl::apply(const VecX& from, bool transposed, VecX& out) {
  if (has_matrix) {
    if (transposed) {
      out.noalias() = A.transpose() * from;
    } else {
      out.noalias() = A * from;
    }
    return;
  }
  const VecX& right = transposed ? row_scale : column_scale;
  const VecX& left = transposed ? column_scale : row_scale;
  part_v = from.head(nv).cwiseProduct(right.head(nv));
  part_c = from.segment(nv, nc).cwiseProduct(right.segment(nv, nc));
  part_l = from.tail(nl).cwiseProduct(right.tail(nl));
  image_v.resize(nv);
  for (Index i = 0; i < p->H.block_count(); ++i) {
    const Index m = p->H.block_size(i), at = p->H.block_begin(i);
    const double* block = p->H.block(i);
    for (Index r = 0; r < m; ++r) {
      double sum = 0;
      for (Index c = 0; c < m; ++c)
        sum += (transposed ? block[c * m + r] : block[r * m + c]) * part_v[at + c];
      image_v[at + r] = sum;
    }
  }
  const double sign = transposed ? 1 : -1;
  image_c.setZero(nc);
  if (nc > 0) {
    p->C.multiply_transpose_add(sign, part_c, image_v);
    p->C.multiply_add(-sign, part_v, image_c);
  }
  image_l.setZero(nl);
  if (transposed) {
    apply_tpg(part_l, true, trial_l);
    if (!p->D.empty()) {
      p->D.multiply_transpose_add(1, trial_l, image_v);
      p->D.multiply_add(-1, part_v, image_l);
    }
  } else if (!p->D.empty()) {
    p->D.multiply_transpose_add(-1, part_l, image_v);
    trial_l.setZero(nl);
    p->D.multiply_add(1, part_v, trial_l);
    apply_tpg(trial_l, false, image_l);
  }
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c], dim = p->laws[c].dim;
    const double* P = blocks[c].P;
    for (Index r = 0; r < dim; ++r) {
      double sum = part_l[at + r];
      for (Index k = 0; k < dim; ++k)
        sum -= (transposed ? P[k * dim + r] : P[r * dim + k]) * part_l[at + k];
      image_l[at + r] += sum;
    }
  }
  out.resize(nv + nc + nl);
  out.head(nv) = image_v.cwiseProduct(left.head(nv));
  out.segment(nv, nc) = image_c.cwiseProduct(left.segment(nv, nc));
  out.tail(nl) = image_l.cwiseProduct(left.tail(nl));
}

void SolutionGradient::Impl::use_velocities() {
  std::vector<internal::ScaledLaw>& laws = velocities.laws();
  laws.resize(blocks.size());
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
  velocities.set(*p, column_scale.head(nv), column_scale.segment(nv, nc), settings.proximal);
}

void SolutionGradient::Impl::factorise() {
  if (factorised) return;
  if (!has_matrix) make_matrix();
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
    apply(trial, transposed, product);
    defect = rhs - product;
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
        std::min(certificate.reciprocal_condition, rhs.norm() / (matrix_norm * unknown.norm()));
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

void SolutionGradient::Impl::probe() {
  if (probed) return;
  probed = true;
  if (std::none_of(blocks.begin(), blocks.end(), [](const BlockDerivative& b) { return b.idle; }))
    return;
  VecX by = VecX::Zero(nv + nc + nl), out;
  for (Index i = 0; i < nv; ++i) by[i] = (0.5 + std::cos(1.0 + 2.4 * i)) / column_scale[i];
  solve(by, true, out);
}

SolutionGradient::SolutionGradient(const CanonicalProblem& problem, const ProblemScale& scale,
                                   const Solution& x, const SolutionGradientSettings& settings)
    : impl_(Impl::take()) {
  Impl& m = *impl_;
  m.p = &problem;
  m.x = x;
  m.settings = settings;
  m.certificate = {};
  m.probed = false;
  m.nv = problem.velocity_count();
  m.nc = problem.bilateral_count();
  m.nl = problem.row_count();
  m.offset = block_offsets(problem);
  JudgeWorkspace& work = m.judged;
  m.certificate.residual = judge_quick(problem, scale, x, work).value;
  if (!std::isfinite(m.certificate.residual)) {
    throw Error("solution gradient", "the answer is not finite or does not fit the problem");
  }
  m.x.w = work.w;
  m.differentiate_laws(scale);
  if (settings.mode == GradientMode::Smoothed) m.follow_path();
  m.assemble();
}

SolutionGradient::~SolutionGradient() { Impl::give(std::move(impl_)); }
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
  m.probe();
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
