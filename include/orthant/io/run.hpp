// SPDX-License-Identifier: Apache-2.0
// io/run.hpp: a scene and a folder => a run that is recorded, may be killed, and goes on.
//   scene.yaml        the resolved scene          model.json   what the bodies look like
//   parameters.h5     every number of the model   trajectory/  segments of frames, 000000.h5 ...
//   checkpoint.h5     State and WarmStart         report.json  how it went
// Every file appears whole or not at all. A checkpoint is written after the segment that ends with
// it, so that what lies beyond the last checkpoint is computed again, to the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "orthant/base/export.hpp"
#include "orthant/io/scene.hpp"

namespace ORTHANT_EXPORT orthant {

class Team;

/// Who makes the steps of a run; by default step() in this process does.
class RunStepper {
 public:
  virtual ~RunStepper() = default;
  /// Time and number of the state move on; q, v and the warm start may stay behind.
  virtual StepReport step(const VecX& u, State& state, WarmStart& warm) = 0;
  /// q, v and the warm start as they are now.
  virtual void complete(State& state, WarmStart& warm) = 0;
};

struct RunOptions {
  bool resume = false;     ///< go on where the last checkpoint is; a folder without one: begin
  bool overwrite = false;  ///< remove the run that is there
  std::optional<std::int64_t> steps = {};  ///< end after this step instead of the scene's
  std::optional<double> time = {};         ///< end at this time [s]
  RunStepper* stepper = nullptr;           ///< records no contacts, energies of the frames alone
  /// Processes that make the same run together; the first of them records it, the others write
  /// nothing. Null: alone.
  Team* team = nullptr;
};

/// Numbers of a run so far, over all its sessions.
struct RunTotals {
  std::int64_t steps = 0, failed_steps = 0, iterations = 0, contacts = 0;  ///< added up
  std::int64_t most_contacts = 0, events_exhausted = 0;
  /// Rows at the end of the steps and solves, added up; most solves of a step.
  std::int64_t constraints = 0, solves = 0, most_solves = 0;
  /// Steps that were cut because an element would invert, their halvings, and steps that ended with
  /// an inverted element all the same.
  std::int64_t cut_steps = 0, cuts = 0, inverted_steps = 0;
  double residual = 0, deepest = 0, joint_error = 0;  ///< worst step
  double seconds = 0, seconds_collision = 0, seconds_assembly = 0, seconds_solve = 0,
         seconds_projection = 0, seconds_record = 0;
};

class SceneRun {
 public:
  /// Begins or resumes. Throws Error: a run is there already, another scene, a damaged checkpoint.
  SceneRun(LoadedScene scene, std::string folder, const RunOptions& options = {});
  ~SceneRun();
  SceneRun(SceneRun&&) noexcept;
  SceneRun& operator=(SceneRun&&) noexcept;

  bool done() const;
  /// One step, recorded; a checkpoint where one is due, written in a thread beside the next steps.
  /// Throws Error where an earlier one could not be written.
  StepReport step();
  /// Everything to disk: segment, checkpoint, report, and waits for it. Call when stopping. Throws
  /// Error.
  void save();

  std::int64_t end_step() const;
  bool resumed() const;
  const State& state() const;
  /// With the bodies and sizes of now, where they grow.
  const LoadedScene& scene() const;
  const RunTotals& totals() const;
  /// FNV-1a of state, warm start and, where bodies grow, their sizes.
  std::uint64_t hash() const;
  /// The content of report.json.
  std::string report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The scene a run was begun with, from its folder; the run need not have reached a checkpoint.
LoadedScene scene_of_run(const std::string& folder);
/// Throws Error where a new run in `folder` would replace files that are not of a run, such as the
/// scene it is made from.
void refuse_foreign_files(const std::string& folder);
/// True where `folder` holds a run that can be resumed.
bool is_run(const std::string& folder);

}  // namespace orthant
