// SPDX-License-Identifier: Apache-2.0
// gradient/law_derivative.hpp: P, G and the derivatives by the data of one block of laws. Private
// to the room.
#pragma once

#include "orthant/gradient/solution.hpp"
#include "orthant/math/law.hpp"

namespace orthant::internal {

/// P, G and the law-data derivatives of one block at the solution.
struct BlockDerivative {
  double P[kMaxLawDim * kMaxLawDim] = {};
  double PG[kMaxLawDim * kMaxLawDim] = {};
  double by_mu[kMaxLawDim] = {}, by_mu_r[kMaxLawDim] = {};  // P_μ − τ P g
  double by_lo[kMaxLawDim] = {}, by_hi[kMaxLawDim] = {};
  ContactState state[kMaxLawDim] = {};
  double margin = 1;
  bool closed = false;    // w = 0
  bool unloaded = false;  // floating, closed, and without an impulse
  bool idle = false;      // unloaded, and kept closed
  bool held = false;      // closed by what bilateral rows hold: open, while these hold it there
};

/// Of the element that keeps a contact closed where it is on a border.
double closed_share(KinkChoice kink, std::size_t block);
/// At z = λ − τ w~, sizes of whose terms are `size`; `share`: see closed_share().
void separable_block(const Law& law, const double* z, const double* size,
                     const SolutionGradientSettings& s, double share, BlockDerivative& out);
void cone_block(const Law& law, const double* z, const double* w, double tau, double size,
                const SolutionGradientSettings& s, double share, BlockDerivative& out);
/// The same on the central path: P by λ and PG by w now differ, both from one smooth map.
/// `residual` gets λ − Π_κ.
void smoothed_block(const Law& law, const double* lambda, const double* w, double tau, double kappa,
                    BlockDerivative& out, double* residual);

}  // namespace orthant::internal
