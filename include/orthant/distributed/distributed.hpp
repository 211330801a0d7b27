// SPDX-License-Identifier: Apache-2.0
// distributed/distributed.hpp: one run on many ranks of MPI, in one of two ways, with the same bits
// for any number of ranks.
//
// DistributedRun, for crowds: every rank loads the scene and holds its model; the bodies are cut
// into parts, and a rank finds the contacts, fills the rows and sweeps the cells of its part alone,
// with copies of the bodies of others that are near (ghosts). The cells of a sweep are those of a
// run in one process, and sums over ranks are exact. A step that is no crowd of contacts in cells
// is made whole on every rank. RankTeam, for everything else: every rank makes the whole run. Steps
// of many bodies without overlap are shared out by bodies; of others the narrow phase, islands and
// the iterations of large frictionless islands.
// docs/scale.md has the methods, their cost and their limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "orthant/base/export.hpp"
#include "orthant/io/run.hpp"

namespace ORTHANT_EXPORT orthant {

/// MPI from the first to the last line of a program.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// True where a launcher such as mpirun started this process, whatever the number of ranks.
  static bool launched();
  int rank() const;
  int size() const;
  /// The lowest rank on which it is true, the same on all; -1: on none.
  int first(bool here) const;
  /// Ends all ranks at once: for what went wrong on one of them in the middle of something.
  [[noreturn]] void abort(int code) const;
};

/// What a rank sent and did, since the beginning.
struct DistributedCounts {
  std::int64_t steps = 0, whole_steps = 0;  ///< all; of them made whole on every rank
  std::int64_t parted = 0;                  ///< of a team: with the bodies shared out
  std::int64_t cuts = 0;                    ///< times the bodies were shared out
  std::int64_t messages = 0, bytes = 0;     ///< sent to other ranks, point to point
  std::int64_t reductions = 0;              ///< small sums and maxima over all
  /// Of the whole state (frames, checkpoints, cuts); of a team all that everyone is to know.
  std::int64_t gathers = 0, gathered_bytes = 0;
  std::int64_t state_bytes = 0;  ///< of the latter: the state at the end of a step in parts
  double imbalance =
      0;  ///< of the last cut: contacts and bodies of the fullest rank over the mean - 1
};

/// The steps of a run, on all ranks of MPI_COMM_WORLD.
class DistributedRun {
 public:
  /// What the scene has that cannot be shared out in parts; empty: nothing.
  static std::string why_not(const LoadedScene& scene);

  /// Called by all ranks with the same scene. Throws Error, on all of them, where why_not().
  explicit DistributedRun(const LoadedScene& scene);
  ~DistributedRun();

  /// Rank 0: what SceneRun steps with. Ends the others' serve() when it is destroyed.
  RunStepper& stepper();
  /// The other ranks: follow rank 0 until it has done.
  void serve();

  /// After another rank failed before the first step: nothing is sent or waited for.
  void cancel();

  const DistributedCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// All ranks of MPI_COMM_WORLD as members of a team: they make the same calls with the same
/// arguments.
class RankTeam {
 public:
  /// `fast_sums`: sums of an iteration are added up rank by rank. Fewer bytes, and bits that depend
  /// on the number of ranks.
  explicit RankTeam(bool fast_sums = false);
  ~RankTeam();

  Team* team();  ///< for RunOptions
  /// Steps within `work` are shared out.
  void together(const std::function<void()>& work);

  DistributedCounts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
