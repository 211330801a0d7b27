// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.cpp: products with the scaled Delassus matrix, matrix-free.
#include "solver/delassus_operator.hpp"

#include <cmath>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"

namespace orthant {
namespace {

constexpr std::size_t kRowGrain = 512, kBodyGrain = 512;

/// Step of each bilateral row: as for the blocks, one over its diagonal of C H⁻¹ Cᵀ.
void bilateral_steps(const CanonicalProblem& p, const VelocitySolver& inverse, VecX& tau) {
  VecX column, x;
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    const Index d = p.C.dim(i);
    for (Index r = 0; r < d; ++r) {
      const double* a = p.C.values(i);
      double diagonal = 0;
      if (!inverse.is_block_diagonal()) column = VecX::Zero(p.velocity_count());
      for (const auto& entry : p.C.entries(i)) {
        const double* row = a + r * entry.width;
        if (inverse.is_block_diagonal()) {
          double y[kMaxVelocityBlock];
          std::copy(row, row + entry.width, y);
          inverse.solve_block(entry.block, y);
          for (Index c = 0; c < entry.width; ++c) diagonal += row[c] * y[c];
        } else {
          for (Index c = 0; c < entry.width; ++c) column[entry.column + c] += row[c];
        }
        a += static_cast<std::ptrdiff_t>(d) * entry.width;
      }
      if (!inverse.is_block_diagonal()) {
        inverse.solve(column, x);
        diagonal = column.dot(x);
      }
      tau[p.C.row_begin(i) + r] = diagonal > 0 ? 1 / diagonal : 1.0;
    }
  }
}

/// sum += a x, the column of one single row; Width 0: as many as `width`.
template <int Width>
void add_column(const double* a, Index width, double x, double* sum) {
  const Index n = Width > 0 ? Width : width;
  for (Index c = 0; c < n; ++c) sum[c] += a[c] * x;
}

/// One single row times u.
template <int Width>
double row_product(const double* a, Index width, const double* u) {
  const Index n = Width > 0 ? Width : width;
  double s = 0;
  for (Index c = 0; c < n; ++c) s += a[c] * u[c];
  return s;
}

}  // namespace

bool DelassusOperator::build(const CanonicalProblem& p, const ProblemScale& scale) {
  if (!inverse_.factorize(p.H)) return false;
  block_diagonal_ = inverse_.is_block_diagonal();
  has_velocity_ = p.velocity_count() > 0;
  bilateral_ = p.bilateral_count();
  rows_ = bilateral_ + p.row_count();
  const Index joints = p.C.row_block_count();
  row_blocks_ = joints + p.block_count();
  space_ = p.H.block_count();

  scale_.resize(rows_);
  bilateral_steps(p, inverse_, scale_);
  scale_.tail(p.row_count()) = scale.tau;
  scale_ = scale_.cwiseSqrt();

  row_offset_.assign(1, 0);
  row_entry_.assign(1, 0);
  row_value_.assign(1, 0);
  row_side_.clear();
  row_values_.clear();
  body_offset_.assign(p.H.offsets().begin(), p.H.offsets().end());
  body_entry_.assign(static_cast<std::size_t>(space_) + 1, 0);
  body_value_.assign(static_cast<std::size_t>(space_) + 1, 0);

  const auto each_row_block = [&](auto&& visit) {  // visit(A, i, dim, first row)
    for (Index i = 0; i < joints; ++i) visit(&p.C, i, p.C.dim(i), p.C.row_begin(i));
    Index at = bilateral_;
    for (Index i = 0; i < p.block_count(); ++i) {
      visit(p.D.empty() ? nullptr : &p.D, i, Index{p.laws[i].dim}, at);
      at += p.laws[i].dim;
    }
  };
  each_row_block([&](const BlockRows* A, Index i, Index dim, Index first) {
    if (A != nullptr) {
      const double* a = A->values(i);
      for (const auto& entry : A->entries(i)) {
        row_side_.push_back({entry.column, entry.width});
        for (Index r = 0; r < dim; ++r) {
          for (Index c = 0; c < entry.width; ++c) {
            row_values_.push_back(scale_[first + r] * a[r * entry.width + c]);
          }
        }
        ++body_entry_[entry.block + 1];
        body_value_[entry.block + 1] += static_cast<std::int64_t>(dim) * entry.width;
        a += static_cast<std::ptrdiff_t>(dim) * entry.width;
      }
    }
    row_offset_.push_back(first + dim);
    row_entry_.push_back(static_cast<std::int64_t>(row_side_.size()));
    row_value_.push_back(static_cast<std::int64_t>(row_values_.size()));
  });
  work_ = static_cast<double>(row_values_.size());

  if (block_diagonal_) {  // the transposed store, H⁻¹ folded in
    for (Index b = 0; b < space_; ++b) {
      body_entry_[b + 1] += body_entry_[b];
      body_value_[b + 1] += body_value_[b];
    }
    body_side_.resize(row_side_.size());
    body_values_.resize(row_values_.size());
    std::vector<std::int64_t> next_entry(body_entry_.begin(), body_entry_.end() - 1);
    std::vector<std::int64_t> next_value(body_value_.begin(), body_value_.end() - 1);
    double column[kMaxVelocityBlock];
    each_row_block([&](const BlockRows* A, Index i, Index dim, Index first) {
      if (A == nullptr) return;
      const double* a = A->values(i);
      for (const auto& entry : A->entries(i)) {
        body_side_[next_entry[entry.block]++] = {first, dim};
        double* out = body_values_.data() + next_value[entry.block];
        next_value[entry.block] += static_cast<std::int64_t>(dim) * entry.width;
        for (Index r = 0; r < dim; ++r) {
          for (Index c = 0; c < entry.width; ++c)
            column[c] = scale_[first + r] * a[r * entry.width + c];
          inverse_.solve_block(entry.block, column);
          for (Index c = 0; c < entry.width; ++c) out[c * dim + r] = column[c];
        }
        a += static_cast<std::ptrdiff_t>(dim) * entry.width;
      }
    });
    work_ *= 2;
  }

  F_ = p.F;
  for (Index i = 0; i < F_.row_block_count(); ++i) {
    double* f = F_.values(i);
    for (const auto& entry : F_.entries(i)) {
      for (Index r = 0; r < F_.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          *f++ *= scale_[bilateral_ + F_.row_begin(i) + r] * scale_[bilateral_ + entry.column + c];
        }
      }
    }
  }
  work_ += static_cast<double>(F_.all_values().size());

  find_pairs();
  constant_.resize(rows_);
  constant_.head(bilateral_) = p.e;
  constant_.tail(p.row_count()) = p.b;
  constant_ = constant_.cwiseProduct(scale_);
  motion_ = scale.v_free;
  VecX part(rows_);
  scatter(VecX::Zero(rows_), part);
  constant_ += part;
  motion_.setZero();
  return true;
}

void DelassusOperator::find_pairs() {
  pair_values_.clear();
  pair_columns_.clear();
  if (!block_diagonal_ || !F_.empty() || row_blocks_ != rows_) return;
  for (Index i = 0; i < rows_; ++i)
    if (row_entry_[i + 1] - row_entry_[i] > 2 || row_entry_[i + 1] == row_entry_[i]) return;
  for (const Side& side : row_side_)
    if (side.size != 6) return;
  pair_values_.assign(12 * static_cast<std::size_t>(rows_), 0.0);
  pair_columns_.assign(2 * static_cast<std::size_t>(rows_), 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows_); ++i) {
    std::copy(row_values_.begin() + row_value_[i], row_values_.begin() + row_value_[i + 1],
              pair_values_.begin() + static_cast<std::ptrdiff_t>(12 * i));
    for (std::int64_t e = row_entry_[i]; e < row_entry_[i + 1]; ++e)
      pair_columns_[2 * i + static_cast<std::size_t>(e - row_entry_[i])] = row_side_[e].other;
  }
}

void DelassusOperator::gather_pairs(const VecX& x) {
  parallel_for(static_cast<std::size_t>(space_), kBodyGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t b = begin; b < end; ++b) {
                   Lanes s0 = {}, s1 = {}, s2 = {};
                   const double* a = body_values_.data() + body_value_[b];
                   for (std::int64_t e = body_entry_[b]; e < body_entry_[b + 1]; ++e, a += 6) {
                     const double xe = x[body_side_[e].other];
                     s0 += load_lanes(a) * xe;
                     s1 += load_lanes(a + 2) * xe;
                     s2 += load_lanes(a + 4) * xe;
                   }
                   double* u = motion_.data() + body_offset_[b];
                   if (body_offset_[b + 1] - body_offset_[b] != 6) continue;  // no row has it
                   store_lanes(u, s0);
                   store_lanes(u + 2, s1);
                   store_lanes(u + 4, s2);
                 }
               });
}

void DelassusOperator::scatter_pairs(VecX& y) const {
  parallel_for(static_cast<std::size_t>(rows_), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double* a = pair_values_.data() + 12 * i;
      const double* u = motion_.data() + pair_columns_[2 * i];
      const double* v = motion_.data() + pair_columns_[2 * i + 1];
      const Lanes s =
          (load_lanes(a) * load_lanes(u) + load_lanes(a + 2) * load_lanes(u + 2)) +
          (load_lanes(a + 4) * load_lanes(u + 4) + load_lanes(a + 6) * load_lanes(v)) +
          (load_lanes(a + 8) * load_lanes(v + 2) + load_lanes(a + 10) * load_lanes(v + 4));
      y[static_cast<Index>(i)] = s[0] + s[1];
    }
  });
}

void DelassusOperator::gather(const VecX& x) {
  if (!pair_values_.empty()) return gather_pairs(x);
  if (!block_diagonal_) {
    impulse_ = VecX::Zero(motion_.size());
    for (Index i = 0; i < row_blocks_; ++i) {
      const double* a = row_values_.data() + row_value_[i];
      const Index dim = row_offset_[i + 1] - row_offset_[i];
      for (std::int64_t e = row_entry_[i]; e < row_entry_[i + 1]; ++e) {
        const Side side = row_side_[e];
        for (Index r = 0; r < dim; ++r) {
          const double s = x[row_offset_[i] + r];
          for (Index c = 0; c < side.size; ++c)
            impulse_[side.other + c] += a[r * side.size + c] * s;
        }
        a += static_cast<std::ptrdiff_t>(dim) * side.size;
      }
    }
    inverse_.solve(impulse_, motion_);
    return;
  }
  parallel_for(static_cast<std::size_t>(space_), kBodyGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t b = begin; b < end; ++b) {
                   const Index width = body_offset_[b + 1] - body_offset_[b];
                   double sum[kMaxVelocityBlock] = {};
                   const double* a = body_values_.data() + body_value_[b];
                   for (std::int64_t e = body_entry_[b]; e < body_entry_[b + 1]; ++e) {
                     const Side side = body_side_[e];
                     const double* xe = x.data() + side.other;
                     if (side.size == 1) {  // frictionless: the compiler unrolls
                       if (width == 6)
                         add_column<6>(a, 6, xe[0], sum);
                       else if (width == 3)
                         add_column<3>(a, 3, xe[0], sum);
                       else
                         add_column<0>(a, width, xe[0], sum);
                     } else if (side.size == 3) {
                       for (Index c = 0; c < width; ++c) {
                         sum[c] += a[3 * c] * xe[0] + a[3 * c + 1] * xe[1] + a[3 * c + 2] * xe[2];
                       }
                     } else {
                       for (Index c = 0; c < width; ++c) {
                         for (Index r = 0; r < side.size; ++r)
                           sum[c] += a[c * side.size + r] * xe[r];
                       }
                     }
                     a += static_cast<std::ptrdiff_t>(width) * side.size;
                   }
                   for (Index c = 0; c < width; ++c) motion_[body_offset_[b] + c] = sum[c];
                 }
               });
}

void DelassusOperator::scatter(const VecX& x, VecX& y) const {
  if (!pair_values_.empty()) return scatter_pairs(y);
  parallel_for(static_cast<std::size_t>(row_blocks_), kRowGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const Index first = row_offset_[i], dim = row_offset_[i + 1] - first;
                   const double* a = row_values_.data() + row_value_[i];
                   double sum[kMaxLawDim + kMaxVelocityBlock] = {};
                   for (std::int64_t e = row_entry_[i]; e < row_entry_[i + 1]; ++e) {
                     const Side side = row_side_[e];
                     const double* u = motion_.data() + side.other;
                     if (dim == 1) {
                       sum[0] += side.size == 6   ? row_product<6>(a, 6, u)
                                 : side.size == 3 ? row_product<3>(a, 3, u)
                                                  : row_product<0>(a, side.size, u);
                     } else {
                       for (Index r = 0; r < dim; ++r)
                         sum[r] += row_product<0>(a + r * side.size, side.size, u);
                     }
                     a += static_cast<std::ptrdiff_t>(dim) * side.size;
                   }
                   for (Index r = 0; r < dim; ++r) y[first + r] = sum[r];
                   if (!F_.empty() && first >= bilateral_) {
                     const Index joints = row_blocks_ - F_.row_block_count();
                     const Index block = static_cast<Index>(i) - joints;
                     double product[kMaxLawDim];
                     F_.multiply_row(block, x.data() + bilateral_, product);
                     for (Index r = 0; r < dim; ++r) y[first + r] += product[r];
                   }
                 }
               });
}

void DelassusOperator::multiply(const VecX& x, VecX& y) {
  y.resize(rows_);
  if (has_velocity_) gather(x);
  scatter(x, y);
}

}  // namespace orthant
