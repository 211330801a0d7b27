// SPDX-License-Identifier: Apache-2.0
// gradient/stage.hpp: one solve of a record as a differentiable map (q, v, u, parameters, duration)
// => (q', v'). Private to the room.
//   Step        q' = q ⊞ δ(v⁺),  v' = v⁺        Impact   q' = q,  v' = v⁺
//   Projection  q' = q ⊞ δ,      v' = v
// gradient/stage.cpp builds it, stage_pull.cpp and stage_push.cpp are its two products.
// A solve of the recursion (ReLCP) starts where the first solve of the step did, and reads (q', v')
// of every solve before it: there its further rows were found.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "constraint/soft_rows.hpp"
#include "gradient/reader.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant::internal {

using Directions = SolutionGradient::Directions;

/// SolveOutputs along many directions.
struct ManyOutputs {
  Directions balance, bilateral, blocks, delta;
};
constexpr double kContradicts = 1e-6;  // of the terms of rows that must stay consistent
constexpr const char* kContradiction = "redundant contacts: the change contradicts them";

enum class JointUse : std::uint8_t;

/// What a stage is made from.
struct StageArguments {
  const Model& model;
  const Parameters& parameters;
  const StepSettings& settings;
  const StepRecord& step;
  const StepGradientSettings& gradient;
  /// (q', v') of the solves of a recursion, but the last.
  std::span<const SolveRecord> trials;
};

/// q ⊞ h v of every solve that another of the recursion follows.
std::vector<SolveRecord> trials_of(const Model& model, const StepRecord& step);

/// What a stage is pulled for.
enum class PullFor : std::uint8_t {
  Derivative,  ///< looks whether other impulses change it, see Stage::contradiction()
  Beside,      ///< what is carried along with a derivative; of any size, perhaps rounding
  /// The same with other sides of rows on a border, and what these change of the pull before, which
  /// was that of the derivative.
  OtherSides,
  RowNumbers,  ///< Beside, and what Stage::find_row_numbers() found
};

class Stage {
 public:
  /// Makes this solve `index` of the step, in the memory of what it was before. Everything in `x`
  /// must outlive the use.
  void set(const StageArguments& x, std::size_t index);

  /// ḡ(q', v') and what else the solve is asked for => added to the derivatives by its inputs, and
  /// to those by (q', v') of the solves before it, `by_trials`.
  void pull(const VecX& by_q, const VecX& by_v, const SolveCotangent* extra, SolveInputs& in,
            std::span<StateCotangent> by_trials = {}, PullFor purpose = PullFor::Derivative);
  /// Numbers of rows that must not change, for a pull: Near of rows near a border and not on it,
  /// Kink of contacts that joints hold closed. False: there are none.
  bool find_row_numbers(OpenReason reason);
  /// A direction => the change of q' and v'; `trials`: theirs of the solves before.
  void push(const SolveInputs& direction, VecX& dq, VecX& dv,
            std::span<const StateTangent> trials = {});
  /// Whether push_many() knows all that this solve reads.
  bool can_push_many() const;
  /// Directions in the columns of (dq, dv) and du; the changes of q' and v' in their place.
  void push_many(Directions& dq, Directions& dv, const Directions& du);
  /// Impact: the energy T⁺ − T⁻ it gains, by its inputs with v⁺ a function of them; forwards with
  /// the change of v⁺ that push() has found.
  void pull_gain(SolveInputs& in);
  double push_gain(const SolveInputs& direction, const VecX& dv) const;
  /// Impact: it gains nothing to rounding, with its restitution as it is; what would gain scales
  /// it.
  bool just_unscaled() const { return just_unscaled_; }

  /// Neither: a combination of dependent equations by the inputs, of size 1: a change of the inputs
  /// that changes it contradicts redundant rows. Null: none; known after pull().
  /// Ambiguous: what other impulses would change of the derivative by the inputs.
  const SolveInputs* contradiction(OpenReason reason) const {
    const Against& one = against_[static_cast<std::size_t>(reason)];
    return one.any ? &one.by : nullptr;
  }

  /// An impact in which kinematic bodies or motors take part.
  bool works_from_outside() const;

  const SolveRecord& record() const { return *context_.record_; }
  const Solution& answer() const { return gradient_->answer(); }
  const VecX& displacement() const { return delta_; }
  const GradientCertificate& certificate() const { return gradient_->certificate(); }
  const VecX& free_velocity() const { return scale_.v_free; }  ///< H v_free = k
  bool rests_by_rounding() const { return rests_by_rounding_; }
  const CanonicalProblem& problem() const { return assembly_.problem; }
  const std::vector<ContactBlock>& blocks() const { return assembly_.blocks; }
  /// Where another choice of rows is as good: contacts that hold and whose deepest point might as
  /// well be another, overlaps that just pass the tolerance; and how near the nearest is.
  Index ties() const { return ties_; }
  double feature_margin() const { return feature_margin_; }
  /// Why the derivative is not exact; empty where it is.
  const std::string& reason() const { return reason_; }  // products may add to it

 private:
  struct Arguments {
    const Model* model = nullptr;
    const Parameters* parameters = nullptr;
    const StepSettings* settings = nullptr;
    const VecX* u = nullptr;
    const SolveRecord* record_ = nullptr;
    bool with_parameters = true;
    std::span<const SolveRecord> trials =
        {};  // where rows were found that this solve has, by round
  };
  SolveContext context(const SolveRecord& at) const { return context(at, gradient_->answer()); }
  SolveContext context(const SolveRecord& at, const Solution& answer) const {
    return {*context_.model,
            *context_.parameters,
            *context_.u,
            at,
            answer,
            context_.with_parameters,
            medium_.acts() ? &medium_ : nullptr};
  }
  /// An interval of time, whose solve has forces and moves the bodies.
  bool is_interval() const {
    return context_.record_->kind == SolveKind::Step ||
           context_.record_->kind == SolveKind::Recursion;
  }
  /// Contacts found at the start, and in each round of the recursion.
  std::span<const Contact> round(std::size_t r) const;
  template <class R>
  void walk(R& reader) const;
  template <class R>
  void walk_step(R& reader) const;
  template <class R>
  void walk_contacts(R& reader, std::size_t round) const;
  template <class R>
  void walk_bent(R& reader, bool at_end) const;
  template <class R>
  Index walk_flexible(R& reader) const;
  template <class R>
  void walk_ties(R& reader, JointUse use) const;
  template <class R>
  void walk_nodes(R& reader) const;
  template <class R>
  void walk_masses(R& reader) const;
  template <class R>
  void walk_metric(R& reader) const;
  template <class R>
  void walk_impact(R& reader) const;
  template <class R>
  void walk_projection(R& reader) const;
  bool flies(const Body& body) const;
  bool gains_nothing() const;
  void assemble();
  /// Contacts of bodies that fly after all, with the spin of their flight: they carry nothing,
  /// though the law, asked about that spin, may want it.
  void open_flying();
  /// Rows of bent contacts, as the forward has made them.
  void bend_rows();
  /// Rows of one pair along different normals: found by a search, not by the shapes.
  bool has_ends_in_turn() const;
  /// q ⊞ h v⁺ (bent contacts): derivatives by where it leads => added to those by q, v, h of `in`,
  /// and by the velocities v' it was led by => `by_v`.
  void pull_end(const SolveOutputs& weights, SolveInputs& in, VecX& by_v) const;
  /// The same forwards: the change of the equations by a direction and the change dv of v'.
  void push_end(const SolveInputs& direction, const VecX& dv, SolveOutputs& changes) const;
  void find_displacement();
  void find_ties(double tolerance);
  /// How much faster than at its deepest point a pair may close at another one [m/s].
  double turn_across(const Contact& contact) const;
  /// Contacts and joints close a loop, so that there may be more rows than the motion needs.
  bool may_be_redundant(bool forwards) const;
  /// Impulses that could be added to those found; null where there are none. Where they come with
  /// another motion a push forwards is not exact, and says so.
  const Solution* other_impulses(bool forwards);
  /// The derivatives with the impulses found, and with others that are as good: not exact where
  /// they differ.
  void compare_impulses(const SolveInputs& found, const SolveInputs& other);
  /// Adds (to − from)/size to against_.
  void add_contradiction(OpenReason reason, const SolveInputs& from, const SolveInputs& to,
                         double size);
  /// What a change must not do to redundant rows, once.
  void find_contradiction(const Solution& free);
  /// Rows of a solve that carry these impulses all stick.
  bool all_stick(const Solution& free) const;
  /// Contacts of a face whose rows a change may well make inconsistent: soft ones, faces that turn,
  /// sides of the bias that differ.
  bool face_may_contradict(std::size_t c, std::size_t other) const;
  /// Contact c closes fast enough to bounce, were there restitution.
  bool would_bounce(std::size_t c) const;
  /// Impulses hold each other, so large that rounding of their sum moves the bodies.
  bool jams() const;
  /// Friction leaves the motion open: a contact that parts could hold, one that slides could stick
  /// or part (Painlevé), what the others do being as it is. Looked for where a contact parts and
  /// slides, and where joints leave a body that touches little freedom.
  bool friction_is_open();
  bool is_held_to_the_world(const ContactBlock& block) const;
  /// The same forwards: what other impulses add to the change of v.
  void compare_tangents(const VecX& by_other, const VecX& found);
  void compare_many(const Directions& dq, const Directions& dv, const Directions& du,
                    const Solution& free, const Directions& found);
  /// The equations along the directions, at this answer.
  void push_equations(const Directions& dq, const Directions& dv, const Directions& du,
                      const Solution& answer, ManyOutputs& out) const;

  Arguments context_;
  bool starts_ = true;              // see StepGradientSettings
  bool rests_by_rounding_ = false;  // see StepCertificate::rests
  bool just_unscaled_ = false;
  Medium medium_;
  std::vector<std::size_t> round_end_;  // of the contacts of each round; empty: one round
  Assembly assembly_;
  SoftEnds ends_;    // of bent contacts
  SolveRecord end_;  // q ⊞ h v⁺, where there are some
  VecX delta_;       // of this solve, as State::v; Impact: zero
  ScaleWorkspace scale_work_;
  ProblemScale scale_;
  std::optional<SolutionGradient> gradient_;
  std::string reason_;
  bool contradiction_known_ = false;
  struct Against {
    bool any = false;
    SolveInputs by;
  };
  Against against_[4];  // by OpenReason
  Solution row_numbers_;
  ResidualDerivative by_row_laws_;
  Index ties_ = 0;
  double feature_margin_ = 1;
  SolveOutputs weights_;  // of pull()
  ResidualDerivative own_side_;
  Solution by_answer_;
  ManyOutputs many_;  // of push_many()
  Directions many_change_;
};

/// Derivatives of k / h by the body's own q and v with a user's force, where it has any: f_q and
/// f_v − V (force/callback.hpp), n x n, row-major.
bool callback_derivatives(const Model& model, const Parameters& parameters, const SolveRecord& x,
                          const Force& force, double* f_q, double* f_v);

/// Gap of a contact at the configuration of a record: dΦ added to the inputs.
void pull_gap(const Model& model, const Parameters& parameters, const SolveRecord& at,
              const Contact& contact, bool with_parameters, SolveInputs& in);
/// dΦ along a direction.
double push_gap(const Model& model, const Parameters& parameters, const SolveRecord& at,
                const Contact& contact, const SolveInputs& direction);

}  // namespace orthant::internal
