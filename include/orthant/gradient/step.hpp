// SPDX-License-Identifier: Apache-2.0
// gradient/step.hpp: (model, parameters, settings, record of a step) => its derivative.
//   (q⁺, v⁺) = step(q, v, u, parameters):   pull_back:    ḡ(q⁺, v⁺) => ḡ(q, v, u, parameters)
//                                           push_forward: d(q, v, u, parameters) => d(q⁺, v⁺)
// Configurations have tangent coordinates everywhere here, as State::v has them: a derivative by q
// is a derivative by δ in q ⊞ δ, world axes, at the centre of mass, v_size() numbers. Parameters
// are aligned with Parameters::values. Every solve of the record is differentiated where it was
// solved (gradient/solution.hpp), its data through the kernels that made them: curvature of the
// bodies, levers, inertia, and the times of located impacts included. Never by differences.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

namespace internal {
struct OtherSides;
}

struct StepGradientSettings {
  SolutionGradientSettings solution = {};  ///< element at kinks, smoothing, tolerances
  /// By solve of the record: solution.blocks of each.
  std::vector<std::vector<KinkChoice>> kinks = {};
  bool by_parameters = true;  ///< false: no derivative by parameters, which stay zero; cheaper
  /// Differentiate a step that did not converge, too; the certificate says so.
  bool allow_unconverged = false;
  /// The state before may be varied in any way: a contact closed to the tolerance is taken as one
  /// whose gap may close, whatever the sign of its rounding. False, as rollouts have it after their
  /// first step: the state came there along the contact, and the side is the one it is on.
  bool starts = true;
};

/// Derivative of a scalar by a state. Members may be empty on input: zero.
struct StateCotangent {
  VecX q;  ///< by the tangent of q, v_size()
  VecX v;  ///< v_size()
};

/// Derivative of a scalar by what one solve of the record found, beyond the state. Members may be
/// empty: zero.
struct SolveCotangent {
  VecX lambda, gamma;  ///< by rows of its problem [as Solution]
  /// By the impulse of each contact on its body A, world axes: column c is contacts[c] of the
  /// record. 3 x contacts.
  MatX impulse_W;
  VecX gap;  ///< by the gap of each contact at the configuration the solve was assembled at
};

/// Derivative of a scalar by all that a step reads.
struct StepCotangent {
  VecX q, v;        ///< by the state before, tangent coordinates
  VecX u;           ///< control_count()
  VecX parameters;  ///< aligned with Parameters::values
};

/// A change of all that a step reads. Members may be empty: zero.
struct StepTangent {
  VecX q = {}, v = {}, u = {}, parameters = {};
};
struct StateTangent {
  VecX q, v;
};

/// Changes of a state and of the controls, one per column. Members may be empty: zero.
struct StepChanges {
  MatX q = {}, v = {}, u = {};
};

/// d(q⁺, v⁺) = A d(q, v) + B du, tangent coordinates: A is 2 v_size square.
struct StepJacobian {
  MatX A, B;
};

/// A parameter that has a derivative from one side only: a coefficient at the end of its range
/// (friction 0, restitution 1), or two equal ones of a rule `min` or `max`.
struct EdgeParameter {
  Index place = 0;  ///< in Parameters::values
  /// The number is the derivative from inside the range. False: there is none (a compliance of 0 is
  /// another law, √ has no slope at 0), and the number says nothing.
  bool given = true;
  /// More of it opens a contact (a bounce; the cone law, as it slides or rolls).
  bool opens = false;

  bool operator==(const EdgeParameter&) const = default;
};

enum class InputKind : std::uint8_t { Configuration, Velocity, Control, Parameter };

enum class OpenReason : std::uint8_t {
  /// A change closes or opens a contact at the start: the derivative has two sides.
  Kink,
  /// Redundant contacts: the derivative depends on which of several impulses were found.
  Ambiguous,
  /// The number may be of neither side: a change moves a row off a border, closes some contacts at
  /// the start and opens others (a box is tilted), or makes redundant contacts contradict.
  Neither,
  /// A kink is so near that differences of steps solved to their tolerance meet it: the number is
  /// the derivative at the state alone.
  Near,
};

/// An input by which the number is no two-sided derivative. Those by other inputs stand.
struct OpenInput {
  InputKind kind = InputKind::Parameter;
  Index place = 0;  ///< in the tangent of q, in v, of a control, in Parameters::values
  Index step = 0;   ///< of a control: counted from the start of the rollout
  OpenReason reason = OpenReason::Kink;

  auto operator<=>(const OpenInput&) const = default;
};

/// What is known about the derivative of a step.
struct StepCertificate {
  struct Entry {
    ContactKey key;
    ContactState state = ContactState::Separate;
    bool impact = false;  ///< of a located impact, not of the interval
  };
  std::vector<Entry> contacts;  ///< of all impacts and intervals of the step, in order
  bool converged = false;       ///< the step met its tolerance
  bool exact = true;            ///< false: something was held fixed, see `reason`
  std::string reason;           ///< first reason not to be exact, empty otherwise
  /// Rows on a border, deepest points of a pair (Single, Relcp) that might as well be others,
  /// overlaps at the tolerance that adds a row (Relcp): only one-sided derivatives exist.
  Index floating = 0;
  /// Where StepGradientSettings::kinks has a choice: blocks with a row on a border.
  struct Border {
    std::size_t solve = 0, block = 0;
  };
  std::vector<Border> borders;
  double margin = 1;  ///< smallest distance to a border, relative
  double reciprocal_condition = 1;
  double solve_error = 0;  ///< worst of the linear solves made so far
  double residual = 0;     ///< worst of the answers differentiated
  KinkChoice element = KinkChoice::Clamp;
  int impacts = 0;     ///< located, their time differentiated
  Index released = 0;  ///< contacts let go, see GradientCertificate::released
  /// Kinks of the data of the solves: springs at their rest length, faces that close flush.
  Index kinks = 0;
  /// Kinks of the state the step begins at that any change may meet: limits of joints and contacts
  /// of flexible parts closed to the tolerance, faces that start flush. They do not count in later
  /// steps of a rollout, which come to them along the contact.
  Index start_kinks = 0;
  std::string kink;                  ///< the first of both kinds, or of `open`, in words
  std::vector<EdgeParameter> edges;  ///< by place; of contacts that push
  /// A contact that pushes overlaps within the tolerance, and is differentiated as one that does.
  /// An input that opened it before is on the other side.
  bool rests = false;
  std::vector<OpenInput> open;  ///< inputs at a kink, sorted; known after a pull_back()

  /// The numbers are two-sided derivatives, but for those by `edges` and `open`.
  bool certified() const { return exact && floating == 0 && kinks == 0 && start_kinks == 0; }
};

class StepGradient {
 public:
  /// Rebuilds and factorises every solve of `record`. Model, parameters and record must outlive
  /// this. Throws Error for a record without solves, a step that did not converge (unless
  /// settings.allow_unconverged), an integrator that has no derivative.
  StepGradient(const Model& model, const Parameters& parameters, const StepSettings& settings,
               const StepRecord& record, const StepGradientSettings& gradient = {});
  ~StepGradient();
  StepGradient(StepGradient&&) noexcept;
  StepGradient& operator=(StepGradient&&) noexcept;

  /// Vector–Jacobian product. `solves`: empty, or one per solve of the record. Throws Error when an
  /// incoming number is not finite or a size is wrong.
  StepCotangent pull_back(const StateCotangent& after, std::span<const SolveCotangent> solves = {});
  /// The same into memory that is there.
  void pull_back(const StateCotangent& after, std::span<const SolveCotangent> solves,
                 StepCotangent& before) {
    pull_back(after, solves, before, nullptr);
  }
  /// For rollouts: what other sides of rows on a border change, of this step and of later ones, is
  /// pulled back beside the derivative.
  void pull_back(const StateCotangent& after, std::span<const SolveCotangent> solves,
                 StepCotangent& before, internal::OtherSides* others);
  /// Jacobian–vector product.
  StateTangent push_forward(const StepTangent& change);
  /// The same of many changes, in one pass over the model: q and v after the step.
  StepChanges push_forward(const StepChanges& changes);
  /// Redundant rows have to stay consistent, faces flush, springs at their rest length: a number
  /// that must not change for that, by what the step reads, of size 1; or what other impulses would
  /// change of the last product. Null: there is none. Known after a pull_back().
  const StepCotangent* kink(OpenReason reason) const;
  /// Dense, one pull_back per row: for small systems.
  StepJacobian jacobian();

  const StepCertificate& certificate() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws Error with the nearest spelling unless every name is a parameter; their places.
std::vector<Index> find_parameters(const Model& model, std::span<const std::string> names);

}  // namespace orthant
