// SPDX-License-Identifier: Apache-2.0
// gradient/solution_system.cpp: the linear system of a derivative, scaled, factorised and solved.
// Rows and columns are scaled by effective masses, so that one regularisation fits all units.
// Redundant rows make the matrix singular: it is regularised by ε and the error refined away by
// proximal steps, x ← (A + εE)⁻¹(b + εE x), which end at a solution of A x = b whenever the change
// is consistent with the redundancy, and show by not ending when it is not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/solution_impl.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

using internal::BlockDerivative;

namespace {

constexpr double kGood = 1e-9;        // worse: perhaps only the elimination of impulses failed
constexpr double kConsistent = 1e-7;  // worse: the linear system has no solution

}  // namespace

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
  fits_velocities = internal::VelocitySystem::fits(*p);
  if (fits_velocities) velocities.begin(*p, column_scale, settings.proximal);
  set_laws();
}

void SolutionGradient::Impl::set_laws() {
  factorised = has_matrix = false;
  in_velocities = fits_velocities;
  if (!in_velocities) return factorise();
  velocities.begin_laws();
  for (std::size_t c = 0; c < blocks.size(); ++c)
    velocities.add_law({blocks[c].P, blocks[c].PG}, p->laws[c].dim);
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
  if (!has_matrix) {
    velocities.apply(from, transposed, out);
  } else if (transposed) {
    out.noalias() = A.transpose() * from;
  } else {
    out.noalias() = A * from;
  }
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
  unknown.setZero(rhs.size());
  defect = rhs;
  for (int k = 0; k <= settings.max_refinements; ++k) {
    if (in_velocities) {
      if (!velocities.solve(defect, transposed, trial)) break;
    } else if (transposed) {
      lu.solve_transpose(defect, trial);
    } else {
      lu.solve(defect, trial);
    }
    if (k > 0) trial += unknown;
    apply(trial, transposed, product);
    defect = rhs - product;
    const double error = defect.norm() / size;
    if (!(error < best)) break;
    const bool crawling = error > 0.5 * best && k > 5;
    best = error;
    unknown.swap(trial);
    if (best <= settings.tolerance || crawling) break;
  }
  return best;
}

void SolutionGradient::Impl::solve(const VecX& b, bool transposed, VecX& out) {
  // (R A C) (C⁻¹ x) = R b, and transposed (C Aᵀ R)(R⁻¹ x) = C b.
  const VecX& left = transposed ? column_scale : row_scale;
  const VecX& right = transposed ? row_scale : column_scale;
  rhs = b.cwiseProduct(left);
  certificate.solve_error = 0;
  if (!(rhs.norm() > 0)) {
    unknown.setZero(rhs.size());
  } else {
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
  set_laws();
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
  set_laws();
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

}  // namespace orthant
