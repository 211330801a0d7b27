// SPDX-License-Identifier: Apache-2.0
// solver/polish_run.hpp: guess the set of every block, solve its equations, guess again; one text
// for the two systems that solve them.
//
//   System: block_count(), set_of(c), errors(sets, matrix), factorize(), step(), rounding(),
//           proximal(), set_proximal(ε), least_proximal(), store(candidate), and the work of each.
//
// One factorisation per guess as a rule: the matrix changes only where a sliding direction does, so
// a factor serves as long as its steps converge fast. Whatever the guesses, the judge decides.
#pragma once

#include "solver/active_set.hpp"
#include "solver/best_answer.hpp"
#include "solver/polish.hpp"
#include "solver/velocity_equations.hpp"

namespace orthant::internal {

/// polish() in velocity form; `equations` are those of p, built.
MethodResult polish_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                               const PolishSettings& settings, const MethodLimits& limits,
                               VelocityEquations& equations, PolishWorkspace& work, Solution& x);

template <class System>
class PolishRun {
 public:
  PolishRun(System& system, const PolishSettings& settings, BestAnswer& best,
            std::vector<BlockSet>& sets, std::vector<BlockSet>& next, Solution& candidate)
      : system_(system),
        settings_(settings),
        best_(best),
        sets_(sets),
        next_(next),
        candidate_(candidate) {}

  /// The sets of the point that the system is at.
  void begin() {
    sets_.resize(system_.block_count());
    next_.resize(system_.block_count());
    guess(sets_);
    system_.set_proximal(settings_.proximal);
  }

  /// From the point that the system is at.
  void run() {
    begin();
    std::size_t last_changes = sets_.size() + 1;
    for (int lost = 0, guesses = 0;
         !best_.done() && lost < settings_.max_lost && guesses < settings_.max_guesses; ++guesses) {
      const bool usable = newton();
      const double value = judge();
      if (!usable || best_.done() || sets_.empty()) break;  // no sets: the equations are linear
      if (unseen_) (void)errors(false);
      guess(next_);
      const std::size_t changes = count_changes();
      const bool wanders =
          value > settings_.lost || (settings_.impatient && changes >= last_changes);
      last_changes = changes;
      lost = wanders ? lost + 1 : 0;
      // On the border between two sets, where both hold, rounding chooses: the answer counts.
      const bool holds = value <= settings_.holds * best_.tolerance();
      if ((changes == 0 || holds) && refine()) break;
      if (changes == 0) {
        // A guess that stays and does not solve: ε is not small beside the least eigenvalue, which
        // is the inverse of the mass ratio where a light block carries a heavy one.
        const double least = system_.least_proximal();
        if (system_.proximal() <= least) break;
        system_.set_proximal(std::max(settings_.shrink * system_.proximal(), least));
      }
      sets_.swap(next_);
    }
  }

  double judge() {
    system_.store(candidate_);
    best_.work += system_.product_work();
    return best_.consider(candidate_);
  }

  /// Steps with the present guess until its equations hold to rounding or do not get better. False:
  /// there is no step.
  bool newton() {
    double size = errors(true);
    for (bool fresh = true;;) {
      if (fresh) {
        ++best_.iterations;
        best_.work += system_.factor_work();
        if (!system_.factorize()) return false;
      }
      best_.work += system_.product_work();
      if (!system_.step()) return false;
      const double now = errors(false);
      if (!(now < 0.5 * size)) return std::isfinite(now);
      if (now <= system_.rounding()) return true;
      // A step that gains as much as the last one ends at rounding: what is left need not be seen.
      if (now * now <= settings_.sure * system_.rounding() * size) {
        unseen_ = true;
        best_.work += system_.product_work();
        return system_.step();
      }
      const bool slow = now > settings_.slow * size && !fresh;
      // A new factor gains nothing where rounding is near.
      fresh = slow && now > settings_.near_rounding * system_.rounding();
      if (fresh && best_.done()) return true;
      size = fresh ? errors(true) : now;
    }
  }

 private:
  void guess(std::vector<BlockSet>& sets) const {
    for (std::size_t c = 0; c < sets.size(); ++c) sets[c] = system_.set_of(c);
  }
  std::size_t count_changes() const {
    std::size_t changes = 0;
    for (std::size_t c = 0; c < sets_.size(); ++c) changes += !(sets_[c] == next_[c]);
    return changes;
  }

  /// The judge looks block by block: a light one is refined after the others have come to rounding.
  bool refine() {
    for (double last = best_.residual();; last = best_.residual()) {
      if (!system_.step()) return false;
      (void)errors(false);
      (void)judge();
      if (best_.done()) return true;
      if (!(best_.residual() < settings_.slow * last)) return false;
    }
  }

  double errors(bool matrix) {
    unseen_ = false;
    best_.work += system_.product_work();
    return system_.errors(sets_, matrix);
  }

  System& system_;
  const PolishSettings& settings_;
  BestAnswer& best_;
  std::vector<BlockSet>&sets_, &next_;
  Solution& candidate_;
  bool unseen_ = false;  // the point has moved since errors()
};

}  // namespace orthant::internal
