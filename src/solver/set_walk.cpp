// SPDX-License-Identifier: Apache-2.0
// solver/set_walk.cpp: point within the laws => answer. See the header.
#include "solver/set_walk.hpp"

#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"

namespace orthant::internal {
namespace {

/// Where on the way from `from` (0) to `to` (1) a block leaves its set, and the set it then is in.
struct Leaving {
  double at = 1;
  BlockSet set;
  bool leaves = false;
  void note(double t, const BlockSet& next) {
    if (leaves && !(t < at)) return;
    at = std::clamp(t, 0.0, 1.0);
    set = next;
    leaves = true;
  }
};

/// The first t at which |p + t d| = c (n + t m), where the end is outside the cone.
double cone_border(const double* p, const double* q, int size, double n, double m, double c) {
  double dd = -c * c * m * m, pd = -c * c * n * m, pp = -c * c * n * n;
  for (int i = 0; i < size; ++i) {
    const double d = q[i] - p[i];
    dd += d * d;
    pd += p[i] * d;
    pp += p[i] * p[i];
  }
  if (!(pp < 0)) return 0;
  const double root = std::sqrt(std::max(pd * pd - dd * pp, 0.0));
  // The root that is positive: dd t² + 2 pd t + pp rises through zero there.
  return pd > 0 ? -pp / (pd + root) : dd != 0 ? (root - pd) / dd : 1;
}

void separable(const Law& law, const BlockSet& set, const double* from, const double* to,
               Leaving& out) {
  for (int i = 0; i < law.dim; ++i) {
    if (set.entry[i] != EntrySet::Inside) continue;
    const double lo = law.kind == LawKind::Box ? law.lo : 0;
    const bool below = law.kind != LawKind::Free && to[i] < lo,
               above = law.kind == LawKind::Box && to[i] > law.hi;
    if (!below && !above) continue;
    BlockSet next = set;
    next.entry[i] = below ? EntrySet::AtLower : EntrySet::AtUpper;
    out.note(((below ? lo : law.hi) - from[i]) / (to[i] - from[i]), next);
  }
}

Leaving leaving(const Law& law, const BlockSet& set, const double* from, const double* to) {
  Leaving out;
  if (law.is_separable()) {
    separable(law, set, from, to, out);
    return out;
  }
  if (!set.pressed) return out;
  if (to[0] < 0) out.note(from[0] / (from[0] - to[0]), BlockSet{});
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g++]) {
    if (groups.size[g] == 0 || set.slides[g]) continue;
    if (to[0] >= 0 && !(norm_of(to + at, groups.size[g]) > groups.c[g] * to[0])) continue;
    BlockSet next = set;
    next.slides[g] = true;
    out.note(cone_border(from + at, to + at, groups.size[g], from[0], to[0] - from[0], groups.c[g]),
             next);
  }
  return out;
}

}  // namespace

bool walk_sets(VelocityEquations& e, double proximal, int most, BestAnswer& best,
               SetWalkWorkspace& w) {
  const auto keep = [&] {
    w.v = e.v;
    w.gamma = e.gamma;
    w.x = e.x;
  };
  const PolishSettings settings{.proximal = proximal};
  PolishRun polish(e, settings, best, w.sets, w.scratch, w.candidate);
  keep();
  e.find_relative();
  polish.begin();
  for (int n = 0; n < most && !best.done(); ++n) {
    if (!polish.newton()) return false;
    (void)polish.judge();
    if (best.converged()) return true;
    Leaving first;
    std::size_t block = 0;
    for (std::size_t c = 0; c < w.sets.size(); ++c) {
      const Leaving next =
          leaving(e.laws()[c], w.sets[c], w.x.data() + e.at(c), e.x.data() + e.at(c));
      if (!next.leaves || (first.leaves && next.at >= first.at)) continue;
      first = next;
      block = c;
    }
    if (first.leaves) {
      w.v += first.at * (e.v - w.v);
      w.gamma += first.at * (e.gamma - w.gamma);
      w.x += first.at * (e.x - w.x);
      e.v = w.v;
      e.gamma = w.gamma;
      e.x = w.x;
      e.find_relative();
      w.sets[block] = first.set;
      continue;
    }
    // The laws hold as far as the sets go: one of those that are in the wrong set.
    keep();
    e.find_relative();
    double worst = 0;
    for (std::size_t c = 0; c < w.sets.size(); ++c) {
      if (e.set_of(c) == w.sets[c]) continue;
      double error[kMaxLawDim];
      projection_residual(e.laws()[c], e.x.data() + e.at(c), e.y.data() + e.at(c), 1, error);
      const double size = norm_of(error, e.laws()[c].dim);
      if (!(size > worst)) continue;
      worst = size;
      block = c;
    }
    if (worst == 0) return false;  // rounding
    w.sets[block] = e.set_of(block);
  }
  return false;
}

}  // namespace orthant::internal
