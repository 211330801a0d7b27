// SPDX-License-Identifier: Apache-2.0
// device/batch.hpp: many worlds of one model, stepped and differentiated together, on the host or,
// by liborthant_cuda, on a CUDA device: one text for both, the same bits (docs/gpu.md).
// Worlds differ in state, controls and, where wanted, parameters; none sees another, so a world has
// the same bits in a batch of any size and order. All arrays are row-major, a row per world.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

struct BatchSettings {
  int max_sweeps = 512;  ///< of one solve; Newton steps come between them
  int max_rounds = 12;   ///< of projection
};

/// What each number of a row of BatchProgram::step()'s report says.
enum class BatchReport : int {
  Outcome,
  Contacts,
  Sweeps,
  Newton,
  Rounds,
  Residual,
  Deepest,
  JointError,
  Count
};
/// The same of pull_back()'s certificate. A derivative is two-sided where Floating, StartKinks and
/// Redundant are 0 and SolveError is small; StartKinks count in the first step of a rollout only.
enum class BatchCertificate : int { Floating, StartKinks, Margin, SolveError, Redundant, Count };
/// Of a world, in a report.
enum class BatchOutcome : int { Converged, IterationLimit, NotFinite };

/// Model and settings as a batch runs them. Throws Error that names what a batch does not take.
class BatchProgram {
 public:
  BatchProgram(const Model& model, const StepSettings& settings, const BatchSettings& batch = {});

  std::size_t q_size() const;
  std::size_t v_size() const;
  std::size_t control_count() const;
  std::size_t parameter_count() const;
  /// Numbers a world keeps from step to step: the impulses of its contacts and limits. After a step
  /// they are, with the state before it, the whole record that pull_back() needs.
  std::size_t warm_size() const;
  std::size_t contact_count() const;  ///< points where something may touch: no world needs more
  /// Scratch of one world [bytes]; a CUDA device keeps it for every world.
  std::size_t workspace_bytes(bool gradient) const;

  /// One step of every world on the host: q, v, warm in and out. `u` may be empty: zero;
  /// `parameters`: one row for all worlds, or one each. A world that is not finite is left as it
  /// was and says so; the others go on. Throws Error on wrong sizes.
  void step(std::span<double> q, std::span<double> v, std::span<double> warm,
            std::span<const double> u, std::span<const double> parameters,
            std::span<double> report) const;

  /// ḡ(q⁺, v⁺) => ḡ(q, v, u, parameters) of the step from (q, v) that ended with `warm`. q has
  /// tangent coordinates, v_size() numbers. `by_u`, `by_parameters` may be empty: not wanted; the
  /// latter is added to, a row per world. `wanted`: by parameter, empty: all.
  void pull_back(std::span<const double> q, std::span<const double> v, std::span<const double> warm,
                 std::span<const double> u, std::span<const double> parameters,
                 std::span<const double> by_q_next, std::span<const double> by_v_next,
                 std::span<double> by_q, std::span<double> by_v, std::span<double> by_u,
                 std::span<double> by_parameters, std::span<const unsigned char> wanted,
                 std::span<double> certificate) const;

  /// All of it as plain bytes: what liborthant_cuda takes (include/orthant/device/cuda.h).
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace orthant
