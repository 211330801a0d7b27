// SPDX-License-Identifier: Apache-2.0
// step/events.cpp: a step interrupted at each impact.
//   first τ with Φ(q(τ)) = 0 on the path q(τ) = q ⊞ (τ v + ½ τ² a);  there  b_n = ε D_n v⁻, no
//   force
// The path comes from a trial solve with the contacts that touch already: a ball that lies on the
// table does not fall through it while another one approaches. Impacts at the same instant are
// resolved pair by pair, fastest first: all rows of a pair approach together, so none of them gains
// energy, and a row of balls passes the momentum on as it should.
#include <cmath>
#include <limits>

#include "orthant/shape/contacts.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxAdvances = 100;  // of the search for the first contact of a pair
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Fastest speed of a row that is still rest: rounding of the velocities themselves.
double noise_speed(const StepRun& run) {
  return run.x.v.size() == 0 ? 0 : 1e-13 * run.x.v.cwiseAbs().maxCoeff();
}

/// The bodies' paths within dt, from a trial solve: δ(τ) = τ v₀ + ½ τ² a, v(τ) = v₀ + τ a.
class Paths {
 public:
  Paths(const StepRun& run, double dt) : run_(run) {
    const VecX& v = run.x.v;
    start_ = v;
    acceleration_ = VecX::Zero(v.size());
    for (Index i = 0; i < run.model.dynamic_count(); ++i) {
      const Body& body = run.model.body(run.model.dynamic_bodies()[i]);
      const auto end = run.work.solution.v.segment(body.v_begin, body.v_size);
      if (run.work.touched[static_cast<std::size_t>(i)])
        start_.segment(body.v_begin, body.v_size) = end;
      else
        acceleration_.segment(body.v_begin, body.v_size) =
            (end - v.segment(body.v_begin, body.v_size)) / dt;
    }
  }

  Vec3 linear(const VecX& rate, const Body& body) const {
    if (body.v_begin == kNone) return Vec3::Zero();
    const double* x = rate.data() + body.v_begin;
    return {x[0], x[1], body.planar ? 0 : x[2]};
  }
  double spin(const Body& body, double tau) const {
    if (body.v_begin == kNone) return 0;
    const double* w = start_.data() + body.v_begin;
    const double* a = acceleration_.data() + body.v_begin;
    if (body.planar) return std::abs(w[2]) + tau * std::abs(a[2]);
    return Vec3(w[3], w[4], w[5]).norm() + tau * Vec3(a[3], a[4], a[5]).norm();
  }
  const VecX& start() const { return start_; }
  const VecX& acceleration() const { return acceleration_; }

  Pose shape_pose_at(ShapeId id, double tau) const {
    const ShapeInstance& shape = run_.model.shape(id);
    const Body& body = run_.model.body(shape.body);
    const double* values = run_.parameters.values.data();
    Pose X_WB = body_pose(body, run_.x.q.data());
    if (body.v_begin != kNone) {
      const double* v = start_.data() + body.v_begin;
      const double* a = acceleration_.data() + body.v_begin;
      const auto delta = [&](int k) { return tau * (v[k] + 0.5 * tau * a[k]); };
      X_WB.x += Vec3(delta(0), delta(1), body.planar ? 0 : delta(2));
      const Vec3 turn = body.planar ? Vec3(0, 0, delta(2)) : Vec3(delta(3), delta(4), delta(5));
      X_WB.p = boxplus(X_WB.p, turn);
    }
    return compose(X_WB, frame_pose(body.planar, values + shape.offset_begin));
  }

 private:
  const StepRun& run_;
  VecX start_, acceleration_;
};

/// Time in which c > 0 closes at the rate b with the acceleration a: smallest root of
/// c − b τ − ½ a τ² = 0.
double closing_time(double c, double b, double a) {
  const double discriminant = b * b + 2 * a * c;
  if (discriminant < 0) return kNever;
  const double denominator = b + std::sqrt(discriminant);
  return denominator > 0 ? 2 * c / denominator : kNever;
}

struct Impact {
  double time = kNever;
  double rate = 0;  // of the gap at that time [m/s]
};

/// First time in (0, dt] at which the pair touches. Advances by times in which the gap along the
/// present normal cannot close: exact at once for a sphere above a plane, from below for the rest.
Impact first_touch(const StepRun& run, const Paths& paths, const Contact& contact, double dt) {
  const Model& model = run.model;
  const double* values = run.parameters.values.data();
  const Body& a = model.body(contact.body_a);
  const Body& b = model.body(contact.body_b);
  const double tolerance = 1e-4 * contact_tolerance(run, contact);
  const Vec3 v = paths.linear(paths.start(), a) - paths.linear(paths.start(), b);
  const Vec3 g = paths.linear(paths.acceleration(), a) - paths.linear(paths.acceleration(), b);
  const double turning = turning_radius(model, run.parameters, contact.body_a) * paths.spin(a, dt) +
                         turning_radius(model, run.parameters, contact.body_b) * paths.spin(b, dt);
  double tau = 0;
  for (int i = 0;; ++i) {
    const ContactPoint point = distance(
        model.shape(contact.shape_a).view(values), paths.shape_pose_at(contact.shape_a, tau),
        model.shape(contact.shape_b).view(values), paths.shape_pose_at(contact.shape_b, tau));
    const double approach = -point.normal.dot(v + tau * g);
    // After many advances a grazing pair is nearly there: stop the interval here, look again.
    if (point.gap <= tolerance || i == kMaxAdvances) {
      const VecX rates = paths.start() + tau * paths.acceleration();
      Contact there = contact;
      there.normal = point.normal;
      there.point_a = point.point_a;
      there.point_b = point.point_b;
      VecX q = run.x.q;
      boxplus(model, q, tau * (paths.start() + 0.5 * tau * paths.acceleration()), q);
      return {tau, gap_rate(model, q, rates, there)};
    }
    const double advance =
        closing_time(std::max(point.gap, tolerance), approach + turning, -point.normal.dot(g));
    tau += advance;
    if (!(tau <= dt)) return {};
  }
}

/// Contacts that touch now or close slowly get rows; those that fly get none, and the first of them
/// to arrive fast ends the interval. Returns its time.
double sort_contacts(StepRun& run, const Paths& paths, double dt) {
  StepWorkspace::Impl& work = run.work;
  const double threshold = std::max(restitution_threshold(run), noise_speed(run));
  double first = dt;
  work.rows.contacts.clear();
  for (const Contact& contact : work.contacts.contacts) {
    if (contact.gap <= contact_tolerance(run, contact)) {
      work.rows.contacts.push_back(contact);
      continue;
    }
    const Impact impact = first_touch(run, paths, contact, dt);
    if (impact.time == kNever) continue;
    if (impact.rate >= -threshold) {
      work.rows.contacts.push_back(contact);
    } else {
      first = std::min(first, impact.time);
    }
  }
  return first;
}

void keep_touching(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  work.rows.contacts.clear();
  work.rows.flexible = work.contacts.flexible;  // soft: no events of their own
  for (const Contact& contact : work.contacts.contacts) {
    if (contact.gap <= contact_tolerance(run, contact)) work.rows.contacts.push_back(contact);
  }
}

}  // namespace

bool resolve_impacts(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const auto& contacts = work.contacts.contacts;
  const double threshold = std::max(restitution_threshold(run), noise_speed(run));
  bool any = false;
  while (run.report.events < run.settings.max_events) {
    // The pair of bodies that touches and approaches fastest; contacts of a pair are neighbours.
    double fastest = -threshold;
    std::size_t begin = contacts.size();
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      if (contacts[c].gap > contact_tolerance(run, contacts[c])) continue;
      const double rate = gap_rate(run.model, run.x.q, run.x.v, contacts[c]);
      if (rate >= fastest) continue;
      fastest = rate;
      begin = c;
    }
    if (begin == contacts.size()) return any;
    const Contact& chosen = contacts[begin];
    ContactSet pair;
    for (const Contact& contact : contacts) {
      if (contact.body_a == chosen.body_a && contact.body_b == chosen.body_b &&
          contact.gap <= contact_tolerance(run, contact)) {
        pair.contacts.push_back(contact);
        pair.contacts.back().gap = 0;
      }
    }
    assemble_impact(run.model, run.parameters, run.interval(run.settings.h), pair.contacts,
                    {.h = run.settings.h,
                     .friction = run.settings.friction,
                     .pyramid_directions = run.settings.pyramid_directions},
                    work.correction);
    work.correction_solution = zero_solution(work.correction.problem);
    work.correction_solution.v = run.x.v.head(run.model.dynamic_v_size());
    if (!solve_and_report(run, SolveKind::Impact, 0, work.correction, pair,
                          work.correction_solution))
      return any;
    run.x.v.head(run.model.dynamic_v_size()) = work.correction_solution.v;
    ++run.report.events;
    any = true;
  }
  run.report.events_exhausted = true;
  return any;
}

bool step_with_events(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const double h = run.settings.h;
  double left = h;
  for (int interval = 0; left > 0; ++interval) {
    // Too many: the rest as if events were off. Intervals are counted too, some end without one.
    if (run.report.events >= run.settings.max_events ||
        interval > kMaxAdvances + 4 * run.settings.max_events) {
      run.report.events_exhausted = true;
      return step_interval(run, left);
    }
    if (!detect(run, left)) return false;
    if (resolve_impacts(run) && !detect(run, left)) return false;

    keep_touching(run);
    if (!solve_velocities(run, left, false, true)) return false;
    find_displacement(run, left);
    const std::size_t touching = work.rows.contacts.size();
    const double first = sort_contacts(run, Paths(run, left), left);
    if (first < left || work.rows.contacts.size() != touching) {
      // The trial was for another interval or without the contacts that close slowly.
      if (!assemble_motion(run.model, run.parameters, run.interval(first), run.u, work.assembly) ||
          !solve_velocities(run, first, false))
        return false;
      find_displacement(run, first);
    } else {
      record_solve(run, SolveKind::Step, first, work.rows, work.solution);
    }
    advance(run, first);
    left = left - first > 1e-12 * h ? left - first : 0;
  }
  return true;
}

}  // namespace orthant::internal
