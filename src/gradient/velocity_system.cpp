// SPDX-License-Identifier: Apache-2.0
// gradient/velocity_system.cpp: the derivative's linear system with impulses eliminated.
// Everything is a product of small dense blocks; their sizes are passed as constants where they are
// the usual ones, three or six velocities per body, which is half of the time.
#include "gradient/velocity_system.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace orthant::internal {
namespace {

constexpr int kSquare = kMaxLawDim * kMaxLawDim;
constexpr Index kFewBlocks = 64;  // of a sparse H: more are those of a mesh, and want a sparse LU

/// call(size) with the usual sizes known to the compiler.
template <class Call>
[[gnu::always_inline]] inline void with_size(Index size, Call&& call) {
  if (size == 6) {
    call(std::integral_constant<Index, 6>());
  } else if (size == 3) {
    call(std::integral_constant<Index, 3>());
  } else if (size == 1) {
    call(std::integral_constant<Index, 1>());
  } else {
    call(size);
  }
}

/// n numbers, a fixed size where n is a constant: then they stay in vector registers.
template <class Size>
struct FixedSize {
  static constexpr int value = Eigen::Dynamic;
};
template <Index n>
struct FixedSize<std::integral_constant<Index, n>> {
  static constexpr int value = n;
};
template <class Size>
using Numbers =
    Eigen::Matrix<double, FixedSize<Size>::value, 1, Eigen::ColMajor,
                  FixedSize<Size>::value == Eigen::Dynamic ? kMaxLawDim : FixedSize<Size>::value>;
template <class Size>
using ConstMap = Eigen::Map<const Numbers<Size>>;
template <class Size>
using MutableMap = Eigen::Map<Numbers<Size>>;

/// y += A x of one row block, all entries; `a`: its values.
void rows_times(const BlockRows& A, Index i, const double* a, const double* x, double* y) {
  const Index dim = A.dim(i);
  for (const BlockRows::Entry& entry : A.entries(i)) {
    const double* from = x + entry.column;
    with_size(entry.width, [&](auto width) {
      using Map = ConstMap<decltype(width)>;
      const Numbers<decltype(width)> at = Map(from, width);
      for (Index r = 0; r < dim; ++r, a += width) y[r] += Map(a, width).dot(at);
    });
  }
}

/// y += Aᵀ x of one row block.
void transpose_add(const BlockRows& A, Index i, const double* a, const double* x, double* y) {
  const Index dim = A.dim(i);
  for (const BlockRows::Entry& entry : A.entries(i)) {
    double* to = y + entry.column;
    with_size(entry.width, [&](auto width) {
      MutableMap<decltype(width)> out(to, width);
      Numbers<decltype(width)> sum = out;
      for (Index r = 0; r < dim; ++r, a += width) sum += x[r] * ConstMap<decltype(width)>(a, width);
      out = sum;
    });
  }
}

/// y = A x or Aᵀ x, square.
void small_times(const double* A, Index size, bool transposed, const double* x, double* y) {
  with_size(size, [&](auto n) {
    using Map = ConstMap<decltype(n)>;
    if (!transposed) {
      const Numbers<decltype(n)> from = Map(x, n);
      for (Index r = 0; r < n; ++r) y[r] = Map(A + r * n, n).dot(from);
      return;
    }
    Numbers<decltype(n)> sum = x[0] * Map(A, n);
    for (Index r = 1; r < n; ++r) sum += x[r] * Map(A + r * n, n);
    MutableMap<decltype(n)>(y, n) = sum;
  });
}

/// A⁻¹ by Gauss and Jordan with row pivoting, A destroyed: I − P + ε, never singular.
template <class Size>
void invert_small(double* A, Size n, double* inverse) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) inverse[i * n + j] = i == j ? 1 : 0;
  for (Index k = 0; k < n; ++k) {
    Index best = k;
    for (Index i = k + 1; i < n; ++i)
      if (std::abs(A[i * n + k]) > std::abs(A[best * n + k])) best = i;
    if (best != k) {
      std::swap_ranges(A + k * n, A + k * n + n, A + best * n);
      std::swap_ranges(inverse + k * n, inverse + k * n + n, inverse + best * n);
    }
    const double pivot = 1 / A[k * n + k];
    for (Index j = 0; j < n; ++j) {
      A[k * n + j] *= pivot;
      inverse[k * n + j] *= pivot;
    }
    for (Index i = 0; i < n; ++i) {
      const double f = A[i * n + k];
      if (i == k || f == 0) continue;
      for (Index j = 0; j < n; ++j) {
        A[i * n + j] -= f * A[k * n + j];
        inverse[i * n + j] -= f * inverse[k * n + j];
      }
    }
  }
}

/// Values of row block i among scaled ones.
const double* values_of(const BlockRows& A, const std::vector<double>& scaled, Index i) {
  return scaled.data() + (A.values(i) - A.all_values().data());
}

/// The values of A with rows and columns multiplied.
void scale_rows(const BlockRows& A, const double* row_scale, const double* column_scale,
                std::vector<double>& out) {
  out.resize(A.all_values().size());
  const double* a = A.all_values().data();
  double* to = out.data();
  for (Index i = 0; i < A.row_block_count(); ++i)
    for (const BlockRows::Entry& entry : A.entries(i)) {
      const double* s = column_scale + entry.column;
      for (Index r = 0; r < A.dim(i); ++r) {
        const double left = row_scale[A.row_begin(i) + r];
        for (Index c = 0; c < entry.width; ++c) *to++ = left * *a++ * s[c];
      }
    }
}

/// S_ab += Aᵀ middle B for all pairs of entries of one row block; `place`: of the pairs, advanced.
/// `a`: its values. middle is dim x dim, or transposed.
void add_product(const BlockRows& rows, Index i, const double* a, const double* middle,
                 bool transposed, double* S, const std::size_t*& place) {
  const Index dim = rows.dim(i);
  const double* left = a;
  for (const BlockRows::Entry& first : rows.entries(i)) {
    double half[kSquare] = {};  // dim x width: (Aᵀ middle)ᵀ
    with_size(first.width, [&](auto width) {
      using Map = ConstMap<decltype(width)>;
      for (Index r = 0; r < dim; ++r) {
        const double* f = transposed ? middle + r * dim : middle + r;
        const Index next = transposed ? 1 : dim;
        Numbers<decltype(width)> sum = f[0] * Map(left, width);
        for (Index s = 1; s < dim; ++s) sum += f[s * next] * Map(left + s * width, width);
        MutableMap<decltype(width)>(half + r * width, width) = sum;
      }
    });
    const double* right = a;
    for (const BlockRows::Entry& second : rows.entries(i)) {
      double* to = S + *place++;
      with_size(second.width, [&](auto width) {
        using Map = ConstMap<decltype(width)>;
        for (Index k = 0; k < first.width; ++k) {
          MutableMap<decltype(width)> out(to + k * width, width);
          Numbers<decltype(width)> sum = out;
          for (Index r = 0; r < dim; ++r)
            sum += half[r * first.width + k] * Map(right + r * width, width);
          out = sum;
        }
      });
      right += static_cast<std::ptrdiff_t>(dim) * second.width;
    }
    left += static_cast<std::ptrdiff_t>(dim) * first.width;
  }
}

}  // namespace

bool VelocitySystem::fits(const CanonicalProblem& p) {
  const bool few = p.H.kind() == VelocityMatrix::Kind::Sparse && p.H.block_count() <= kFewBlocks;
  if (!few && p.H.kind() != VelocityMatrix::Kind::BlockDiagonal) return false;
  if (p.velocity_count() == 0) return false;
  for (Index c = 0; c < p.F.row_block_count(); ++c)
    for (const BlockRows::Entry& entry : p.F.entries(c))
      if (entry.block != c) return false;
  for (Index i = 0; i < p.H.block_count(); ++i)
    if (p.H.block_size(i) > kMaxLawDim) return false;
  for (Index i = 0; i < p.C.row_block_count(); ++i)
    if (p.C.dim(i) > kMaxLawDim) return false;
  return true;
}

void VelocitySystem::begin(const CanonicalProblem& p, const VecX& scale, double epsilon) {
  p_ = &p;
  epsilon_ = epsilon;
  const double* s = scale.data();
  const double* bilateral = s + p.velocity_count();
  impulse_scale_ = bilateral + p.bilateral_count();
  scale_rows(p.C, bilateral, s, C_);
  scale_rows(p.D, bilateral + p.bilateral_count(), s, D_);
  set_H(s);
}

void VelocitySystem::begin_laws() {
  forward_.ready = backward_.ready = false;
  laws_.clear();
}

void VelocitySystem::set_H(const double* scale) {
  const VelocityMatrix& H = p_->H;
  const Index count = H.block_count();
  H_.clear();
  if (H.kind() == VelocityMatrix::Kind::BlockDiagonal) {
    for (Index i = 0; i < count; ++i) {
      const Index n = H.block_size(i);
      const double *h = H.block(i), *t = scale + H.block_begin(i);
      H_.begin_row(n);
      double* to = H_.add(i, H.block_begin(i), n);
      for (Index r = 0; r < n; ++r)
        for (Index c = 0; c < n; ++c) *to++ = t[r] * *h++ * t[c];
    }
    return;
  }
  // Which blocks have numbers in them, and where: a table, for there are few.
  Index block_of[kFewBlocks * kMaxLawDim];
  for (Index i = 0; i < count; ++i) std::fill_n(block_of + H.block_begin(i), H.block_size(i), i);
  std::vector<std::ptrdiff_t> place(static_cast<std::size_t>(count) * count, -1);
  const auto cell = [&](Index i, Index j) -> std::ptrdiff_t& {
    return place[static_cast<std::size_t>(i) * count + j];
  };
  H.for_each_entry([&](Index r, Index c) { cell(block_of[r], block_of[c]) = 0; });
  for (Index i = 0; i < count; ++i) {
    H_.begin_row(H.block_size(i));
    for (Index j = 0; j < count; ++j) {
      if (cell(i, j) < 0 && i != j) continue;
      cell(i, j) = static_cast<std::ptrdiff_t>(H_.all_values().size());
      H_.add(j, H.block_begin(j), H.block_size(j));
    }
  }
  double* values = H_.all_values().data();
  const double* h = H.all_values().data();
  H.for_each_entry([&](Index r, Index c) {
    const Index i = block_of[r], j = block_of[c];
    const Index at = (r - H.block_begin(i)) * H.block_size(j) + c - H.block_begin(j);
    values[cell(i, j) + at] += scale[r] * *h++ * scale[c];
  });
}

void VelocitySystem::add_law(const LawMatrices& law, Index size) {
  const Index row = laws_.empty() ? 0 : laws_.back().row + laws_.back().dim;
  ScaledLaw& out = laws_.emplace_back();
  out.row = row;
  out.dim = size;
  out.open = true;
  for (Index i = 0; i < size * size; ++i) {
    out.PG[i] = law.PG[i];
    out.rest[i] = (i % (size + 1) == 0 ? 1.0 : 0.0) - law.P[i];
    out.open = out.open && law.PG[i] == 0 && law.P[i] == 0;
  }
  const auto block = static_cast<Index>(laws_.size()) - 1;
  const double* F = p_->F.empty() ? nullptr : p_->F.find(block, block);
  if (F != nullptr && !out.open) {  // I − P + PG F
    const double* s = impulse_scale_ + row;
    for (Index r = 0; r < size; ++r)
      for (Index c = 0; c < size; ++c)
        for (Index k = 0; k < size; ++k)
          out.rest[r * size + c] += law.PG[r * size + k] * s[k] * F[k * size + c] * s[c];
  }
  if (out.open) {  // M = (1 + ε) I
    std::fill_n(out.inverse, size * size, 0.0);
    for (Index i = 0; i < size; ++i) out.inverse[i * size + i] = 1 / (1 + epsilon_);
    return;
  }
  with_size(size, [&](auto n) {
    double M[kSquare] = {};
    for (Index i = 0; i < n * n; ++i) M[i] = out.rest[i] + (i % (n + 1) == 0 ? epsilon_ : 0.0);
    invert_small(M, n, out.inverse);
    for (Index r = 0; r < n; ++r)
      for (Index c = 0; c < n; ++c) {
        double sum = 0;
        for (Index k = 0; k < n; ++k) sum += out.inverse[r * n + k] * out.PG[k * n + c];
        out.middle[r * n + c] = sum;
      }
  });
}

void VelocitySystem::find_pattern() {
  const CanonicalProblem& p = *p_;
  const Index bodies = p.H.block_count();
  seen_.clear();
  for (Index i = 0; i < bodies; ++i) seen_.push_back(p.H.block_size(i));
  const BlockRows* const all_rows[] = {&H_, &p.C, &p.D};
  for (const BlockRows* rows : all_rows) {
    seen_.push_back(rows->row_block_count());
    for (Index c = 0; c < rows->row_block_count(); ++c) {
      seen_.push_back(static_cast<Index>(rows->entries(c).size()));
      for (const BlockRows::Entry& entry : rows->entries(c)) seen_.push_back(entry.block);
    }
  }
  if (seen_ == key_) {
    std::ranges::fill(S_.all_values(), 0.0);
    return;
  }
  key_ = seen_;
  // Pairs of bodies that share a row, each body with itself.
  const auto code = [](Index i, Index j) {
    return static_cast<std::uint64_t>(i) << 32U | static_cast<std::uint64_t>(j);
  };
  std::vector<std::uint64_t> pattern;
  for (Index i = 0; i < bodies; ++i)
    for (const BlockRows::Entry& entry : H_.entries(i)) {
      pattern.push_back(code(i, entry.block));
      pattern.push_back(code(entry.block, i));
    }
  for (const BlockRows* rows : {&p.C, &p.D})
    for (Index c = 0; c < rows->row_block_count(); ++c) {
      if (rows->entries(c).size() < 2) continue;
      for (const BlockRows::Entry& a : rows->entries(c))
        for (const BlockRows::Entry& b : rows->entries(c))
          pattern.push_back(code(a.block, b.block));
    }
  std::sort(pattern.begin(), pattern.end());
  pattern.erase(std::unique(pattern.begin(), pattern.end()), pattern.end());
  S_.clear();
  std::vector<std::size_t> at(pattern.size());
  Index row = -1;
  for (std::size_t k = 0; k < pattern.size(); ++k) {
    const auto i = static_cast<Index>(pattern[k] >> 32U);
    const auto j = static_cast<Index>(pattern[k] & 0xffffffffU);
    if (i != row) S_.begin_row(p.H.block_size(i));
    row = i;
    at[k] = S_.all_values().size();
    S_.add(j, p.H.block_begin(j), p.H.block_size(j));
  }
  const auto place_of = [&](Index i, Index j) {
    const auto found = std::lower_bound(pattern.begin(), pattern.end(), code(i, j));
    return at[static_cast<std::size_t>(found - pattern.begin())];
  };
  H_place_.clear();
  for (Index i = 0; i < bodies; ++i)
    for (const BlockRows::Entry& entry : H_.entries(i)) {
      H_place_.push_back(place_of(i, entry.block));
      H_place_.push_back(place_of(entry.block, i));
    }
  place_.clear();
  for (const BlockRows* rows : {&p.C, &p.D})
    for (Index c = 0; c < rows->row_block_count(); ++c)
      for (const BlockRows::Entry& a : rows->entries(c))
        for (const BlockRows::Entry& b : rows->entries(c))
          place_.push_back(place_of(a.block, b.block));
}

void VelocitySystem::build(bool transposed) {
  const CanonicalProblem& p = *p_;
  find_pattern();
  double* S = S_.all_values().data();
  const double* h = H_.all_values().data();
  const std::size_t* H_place = H_place_.data();
  for (Index i = 0; i < H_.row_block_count(); ++i)
    for (const BlockRows::Entry& entry : H_.entries(i)) {
      const Index n = H_.dim(i), m = entry.width;
      double* to = S + H_place[transposed ? 1 : 0];
      for (Index r = 0; r < n; ++r)
        for (Index c = 0; c < m; ++c) to[transposed ? c * n + r : r * m + c] += *h++;
      H_place += 2;
    }
  const std::size_t* place = place_.data();
  double middle[kSquare] = {};
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    const Index n = p.C.dim(c);
    std::fill_n(middle, n * n, 0.0);
    for (Index i = 0; i < n; ++i) middle[i * n + i] = 1 / epsilon_;
    add_product(p.C, c, values_of(p.C, C_, c), middle, false, S, place);
  }
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    const ScaledLaw& law = laws_[static_cast<std::size_t>(c)];
    if (law.open) {
      place += p.D.entries(c).size() * p.D.entries(c).size();
      continue;
    }
    add_product(p.D, c, values_of(p.D, D_, c), law.middle, transposed, S, place);
  }
}

bool VelocitySystem::factorise(bool transposed) {
  Factor& factor = transposed ? backward_ : forward_;
  if (!factor.ready) {
    build(transposed);
    factor.lu.analyze(S_);
    factor.good = factor.lu.factorize(S_);
    factor.ready = true;
  }
  return factor.good;
}

bool VelocitySystem::solve(const VecX& b, bool transposed, VecX& x) {
  if (!factorise(transposed)) return false;
  const CanonicalProblem& p = *p_;
  Factor& factor = transposed ? backward_ : forward_;
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  const double sign = transposed ? -1 : 1, stiffness = 1 / epsilon_;
  right_ = b.head(nv);
  x.resize(nv + nc + nl);
  double* x_c = x.data() + nv;
  double* x_l = x_c + nc;
  const double *b_c = b.data() + nv, *b_l = b_c + nc;
  // What the impulses add, were the velocities zero: M⁻¹ r_λ or M⁻ᵀ r_λ, kept in x.
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const ScaledLaw& law = laws_[c];
    const double* r = b_l + law.row;
    double* eliminated = x_l + law.row;
    small_times(law.inverse, law.dim, transposed, r, eliminated);
    if (p.D.empty()) continue;
    const auto i = static_cast<Index>(c);
    double push[kMaxLawDim] = {};
    if (!transposed) {
      transpose_add(p.D, i, values_of(p.D, D_, i), eliminated, right_.data());
    } else if (!law.open) {
      small_times(law.middle, law.dim, true, r, push);
      for (Index k = 0; k < law.dim; ++k) push[k] = -push[k];
      transpose_add(p.D, i, values_of(p.D, D_, i), push, right_.data());
    }
  }
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    double push[kMaxLawDim] = {};
    const Index n = p.C.dim(c), row = p.C.row_begin(c);
    for (Index k = 0; k < n; ++k) push[k] = sign * b_c[row + k] * stiffness;
    transpose_add(p.C, c, values_of(p.C, C_, c), push, right_.data());
  }
  factor.lu.solve(right_, v_);

  x.head(nv) = v_;
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    double rate[kMaxLawDim] = {};
    const Index n = p.C.dim(c), row = p.C.row_begin(c);
    rows_times(p.C, c, values_of(p.C, C_, c), v_.data(), rate);
    for (Index k = 0; k < n; ++k) x_c[row + k] = (b_c[row + k] - sign * rate[k]) * stiffness;
  }
  for (std::size_t c = 0; c < laws_.size() && !p.D.empty(); ++c) {
    const ScaledLaw& law = laws_[c];
    if (law.open && !transposed) continue;
    const auto i = static_cast<Index>(c);
    double rate[kMaxLawDim] = {}, answer[kMaxLawDim];
    rows_times(p.D, i, values_of(p.D, D_, i), v_.data(), rate);
    small_times(transposed ? law.inverse : law.middle, law.dim, transposed, rate, answer);
    for (Index k = 0; k < law.dim; ++k) x_l[law.row + k] -= sign * answer[k];
  }
  return v_.allFinite();
}

void VelocitySystem::apply(const VecX& x, bool transposed, VecX& y) const {
  const CanonicalProblem& p = *p_;
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  y.resize(nv + nc + nl);
  double *y_v = y.data(), *y_c = y_v + nv, *y_l = y_c + nc;
  const double *x_v = x.data(), *x_c = x_v + nv, *x_l = x_c + nc;
  y.head(nv).setZero();
  for (Index i = 0; i < H_.row_block_count(); ++i) {
    if (transposed) {
      transpose_add(H_, i, H_.values(i), x_v + H_.row_begin(i), y_v);
    } else {
      rows_times(H_, i, H_.values(i), x_v, y_v + H_.row_begin(i));
    }
  }
  const double sign = transposed ? -1 : 1;
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    const double* values = values_of(p.C, C_, c);
    double rate[kMaxLawDim] = {}, push[kMaxLawDim] = {};
    const Index row = p.C.row_begin(c);
    rows_times(p.C, c, values, x_v, rate);
    for (Index k = 0; k < p.C.dim(c); ++k) {
      push[k] = -sign * x_c[row + k];
      y_c[row + k] = sign * rate[k];
    }
    transpose_add(p.C, c, values, push, y_v);
  }
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const ScaledLaw& law = laws_[c];
    const double* impulse = x_l + law.row;
    double rate[kMaxLawDim] = {}, push[kMaxLawDim] = {}, answer[kMaxLawDim] = {};
    small_times(law.rest, law.dim, transposed, impulse, y_l + law.row);
    if (p.D.empty()) continue;
    const auto i = static_cast<Index>(c);
    const double* values = values_of(p.D, D_, i);
    rows_times(p.D, i, values, x_v, rate);
    if (transposed) {
      small_times(law.PG, law.dim, true, impulse, push);
      for (Index k = 0; k < law.dim; ++k) y_l[law.row + k] -= rate[k];
    } else {
      small_times(law.PG, law.dim, false, rate, answer);
      for (Index k = 0; k < law.dim; ++k) {
        push[k] = -impulse[k];
        y_l[law.row + k] += answer[k];
      }
    }
    transpose_add(p.D, i, values, push, y_v);
  }
}

}  // namespace orthant::internal
