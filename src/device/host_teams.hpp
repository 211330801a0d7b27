// SPDX-License-Identifier: Apache-2.0
// device/host_teams.hpp: what fronts_kernel.hpp asks of a back end, on the host.
#pragma once

#include "device/fronts_kernel.hpp"
#include "device/host_backend.hpp"

namespace orthant::device {

/// The team of fronts_kernel.hpp: one thread.
struct HostTeam {
  double* shared;
  template <class Body>
  void each(int count, const Body& body) {
    for (int i = 0; i < count; ++i) body(i);
  }
  template <class Term>
  void sums(int count, int length, const Term& term, double* out) {
    constexpr int kLanes = 32;
    for (int c = 0; c < count; ++c) {
      double lanes[kLanes] = {};
      for (int i = 0; i < length; ++i) lanes[i % kLanes] += term(c, i);
      for (int half = kLanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
      out[c] = lanes[0];
    }
  }
};

class HostTeams : public HostBackend {
 public:
  struct Recording {};
  template <class Run>
  void replay(Recording& /*recording*/, const Run& run) {
    run();
  }
  void forget(Recording& /*recording*/) {}
  template <class Body>
  void teams(int x, int y, const Body& body) {
    parallel_for(static_cast<std::size_t>(x) * static_cast<std::size_t>(y), 1,
                 [&](std::size_t begin, std::size_t end) {
                   double shared[kShared];
                   HostTeam team{shared};
                   for (std::size_t k = begin; k < end; ++k) {
                     const auto width = static_cast<std::size_t>(x);
                     body(team, static_cast<int>(k % width), static_cast<int>(k / width));
                   }
                 });
  }
};

}  // namespace orthant::device
