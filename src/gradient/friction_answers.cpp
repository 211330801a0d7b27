// SPDX-License-Identifier: Apache-2.0
// gradient/friction_answers.cpp: all answers of one contact, by cases. See friction_answers.hpp.
#include "gradient/friction_answers.hpp"

#include <Eigen/SVD>
#include <cmath>
#include <numbers>

namespace orthant::internal {
namespace {

constexpr double kSame = 1e-7;  // of the speeds around: two answers that differ by less are one
constexpr double kSingular = 1e-9;
constexpr int kDirections = 48;  // of sliding in space that are tried

/// λ in the cone with N λ = −w₀? They are λ = least + Z t, Z the directions that N does not see.
/// N = U σ Vᵀ.
bool may_stick(const MatX& N, const VecX& w_free, const Law& law, double small) {
  const Eigen::JacobiSVD<MatX> svd(N, Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Index n = law.dim;
  const VecX& sigma = svd.singularValues();
  Index unseen = 0;
  while (unseen < n && !(sigma[n - 1 - unseen] > kSingular * sigma[0])) ++unseen;
  const MatX seen = svd.matrixV().leftCols(n - unseen);
  const VecX least = -seen * (svd.matrixU().leftCols(n - unseen).transpose() * w_free)
                                 .cwiseQuotient(sigma.head(n - unseen));
  if (unseen == n || (N * least + w_free).norm() > small) return w_free.norm() <= small;
  const auto beyond = [&](const VecX& a, const VecX& b) {  // ≤ 0 inside the cone and its mirror
    return a.tail(n - 1).dot(b.tail(n - 1)) - law.mu * law.mu * a[0] * b[0];
  };
  if (unseen == 0) return least[0] >= 0 && beyond(least, least) <= 0;
  if (n - unseen == 1) {  // a·λ is given: how far does the cone reach along a?
    const VecX a = seen.col(0);
    const double wanted = a.dot(least), reach = law.mu * a.tail(n - 1).norm();
    return wanted > 0 ? a[0] + reach > 0 : a[0] - reach < 0;
  }
  const VecX z = svd.matrixV().col(n - 1);
  const double A = beyond(z, z), B = beyond(z, least), C = beyond(least, least);
  if (A < 0) return true;
  return A > 0 && B * B >= A * C && least[0] - B / A * z[0] >= 0;
}

}  // namespace

bool has_other_answer(const MatX& N, const VecX& w_free, const Law& law, const VecX& w) {
  const Index tangents = law.dim - 1;
  const double small = kSame * (w.norm() + w_free.norm());
  const auto is_other = [&](const VecX& answer) { return (answer - w).norm() > small; };
  if (w_free[0] > small && is_other(w_free)) return true;
  if (w.norm() > small && may_stick(N, w_free, law, small)) return true;
  // Sliding along s: what is left of w across s, and along it.
  const auto slide = [&](const VecX& s, double& across, VecX& at) {
    VecX along(law.dim);
    along << 1, -law.mu * s;
    const VecX response = N * along;
    // By rounding: a contact that others hold moves along itself alone.
    if (!(std::abs(response[0]) > kSingular * N.norm())) return false;
    const double impulse = -w_free[0] / response[0];
    if (!(impulse > 0) || !std::isfinite(impulse)) return false;
    at = w_free + impulse * response;
    across = tangents == 1 ? 0 : s[0] * at[2] - s[1] * at[1];
    return at.tail(tangents).dot(s) > small;
  };
  VecX at, before;
  double across = 0, last = 0;
  bool slid = false;
  for (int i = 0; i <= (tangents == 1 ? 1 : kDirections); ++i) {
    const double angle = 2 * std::numbers::pi * i / (tangents == 1 ? 2 : kDirections);
    VecX s(tangents);
    s[0] = std::cos(angle);
    if (tangents == 2) s[1] = std::sin(angle);
    const bool slides = slide(s, across, at);
    if (tangents == 1 && slides && is_other(at)) return true;
    // Between two directions w_t turns past s: there it is along s.
    if (tangents == 2 && slides && slid && (across > 0) != (last > 0)) {
      const double share = last / (last - across);
      if ((before + share * (at - before) - w).norm() > 0.1 * (w.norm() + at.norm())) return true;
    }
    slid = slides;
    last = across;
    before = at;
  }
  return false;
}

}  // namespace orthant::internal
