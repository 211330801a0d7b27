// SPDX-License-Identifier: Apache-2.0
// solver/velocity_polish.cpp: the polish in velocity form: blocks are
// eliminated, velocities are unknowns of their own, so that mass ratios cost no
// digits. From the answer of the last time step one or two guesses do.
#include <cmath>

#include "solver/polish_run.hpp"
#include "solver/velocity_methods.hpp"

namespace orthant::internal {
namespace {

class VelocityPolish {
 public:
  VelocityPolish(VelocitySpace& space, VelocityPolishWorkspace& w) : space_(space), w_(w) {}

  void load(const Solution& x) {
    w_.candidate.gamma = x.gamma;
    space_.scale_impulses(x, w_.x);
    space_.scale_velocities(x, w_.v);
    space_.relative(w_.v, w_.x, w_.y);
    w_.R.resize(space_.rows());
  }
  std::size_t block_count() const { return space_.blocks().size(); }
  BlockSet set_of(std::size_t c) const {
    const ScaledBlock& block = space_.blocks()[c];
    return block_set(block.law, w_.x.data() + block.at, w_.y.data() + block.at);
  }
  double errors(const std::vector<BlockSet>& sets, bool matrix) {
    space_.balance(w_.v, w_.x, w_.r);
    space_.relative(w_.v, w_.x, w_.y);
    const auto& blocks = space_.blocks();
    for (std::size_t c = 0; c < blocks.size(); ++c) {
      BlockJacobian J;
      const Index at = blocks[c].at;
      set_residual(blocks[c].law, sets[c], w_.x.data() + at, w_.y.data() + at, w_.R.data() + at, J);
      if (matrix) space_.set_block(static_cast<Index>(c), J, proximal_);
    }
    return std::sqrt(w_.r.squaredNorm() + w_.R.squaredNorm());
  }
  bool factorize() { return space_.factorize(); }
  bool step() {
    space_.solve(&w_.r, w_.R, w_.dv, w_.dx);
    if (!w_.dv.allFinite() || !w_.dx.allFinite()) return false;
    w_.v += w_.dv;
    w_.x += w_.dx;
    return true;
  }
  double rounding() const { return 1e-15 * (1 + w_.x.norm()); }
  double proximal() const { return proximal_; }
  /// Below, Ĥ is lost beside Jᵀ T⁻¹ Y J.
  double least_proximal() const { return 1e-16; }
  void set_proximal(double epsilon) { proximal_ = epsilon; }
  void store(Solution& to) const {
    space_.unscale_impulses(w_.x, to);
    space_.unscale_velocities(w_.v, to);
  }
  double product_work() const { return 2 * space_.product_work(); }
  double factor_work() { return space_.factor_work(); }

 private:
  VelocitySpace& space_;
  VelocityPolishWorkspace& w_;
  double proximal_ = 0;
};

}  // namespace

MethodResult polish_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                               const PolishSettings& settings, const MethodLimits& limits,
                               VelocitySpace& space, VelocityPolishWorkspace& w, Solution& x) {
  BestAnswer best(Method::Polish, p, scale, limits, settings.max_iterations, w.judge, x);
  if (std::isfinite(best.begin()) && !best.done()) {
    VelocityPolish system(space, w);
    system.load(x);
    PolishRun(system, settings, best, w.sets, w.next_sets, w.candidate).run();
  }
  return best.result();
}

}  // namespace orthant::internal
