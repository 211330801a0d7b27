// SPDX-License-Identifier: Apache-2.0
// step/events.cpp: a step interrupted at each impact (step/impacts.cpp).
//   first τ with Φ(q(τ)) = 0,   q(τ) the end of an interval of length τ
// A trial solve with the contacts that touch already says which pairs will meet and about when: a
// ball that lies on the table does not fall through it while another one approaches. The time
// itself is located on the path that the interval takes: where bodies spin, hang on springs or
// joints or touch others, an interval of length τ does not end where the trial passes at τ.
#include <cmath>
#include <limits>

#include "orthant/shape/contacts.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxAdvances = 100;  // of the search for the first contact of a pair
constexpr int kMaxLocations = 30;  // intervals tried to locate an impact on their own path
constexpr double kNever = std::numeric_limits<double>::infinity();

/// The bodies' paths within dt, from a trial solve: δ(τ) = τ v₀ + ½ τ² a, v(τ) = v₀ + τ a.
class Paths {
 public:
  Paths(const StepRun& run, double dt, const VecX& v_end, const Displacement& displacement)
      : run_(run) {
    const VecX& v = run.x.v;
    start_ = v;
    acceleration_ = VecX::Zero(v.size());
    for (Index i = 0; i < run.model.dynamic_count(); ++i) {
      const Body& body = run.model.body(run.model.dynamic_bodies()[i]);
      const auto end = v_end.segment(body.v_begin, body.v_size);
      if (displacement.touched[static_cast<std::size_t>(i)])
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
  const double tolerance = meeting_gap(run, contact);
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

/// Contacts that touch now or close slowly get rows; those that fly get none. Those of them that
/// arrive fast on the trial's path => `fast`; returns the time of the first.
double sort_contacts(const StepRun& run, const Paths& paths, double dt,
                     const std::vector<Contact>& contacts, std::vector<Contact>& rows,
                     std::vector<Contact>& fast) {
  const double threshold = impact_threshold(run);
  double first = dt;
  rows.clear();
  fast.clear();
  const Contact* last = nullptr;  // a pair of shapes meets once, wherever its contacts are
  Impact impact;
  for (const Contact& contact : contacts) {
    if (contact.gap <= contact_tolerance(run, contact) || is_soft(run, contact)) {
      rows.push_back(contact);
      continue;
    }
    const bool same = last != nullptr && pair_of(last->key) == pair_of(contact.key);
    if (!same) impact = first_touch(run, paths, contact, dt);
    last = &contact;
    if (impact.time == kNever) continue;
    // Of a pair that touches now, at another point, there is no time to locate.
    if (impact.rate >= -threshold || impact.time == 0) {
      rows.push_back(contact);
    } else if (!same) {
      fast.push_back(contact);
      first = std::min(first, impact.time);
    }
  }
  return first;
}

void keep_touching(const StepRun& run, const ContactSet& contacts, ContactSet& rows) {
  rows.contacts.clear();
  rows.flexible = contacts.flexible;  // soft: no events of their own
  for (const Contact& contact : contacts.contacts) {
    if (contact.gap <= contact_tolerance(run, contact) || is_soft(run, contact))
      rows.contacts.push_back(contact);
  }
}

/// An interval of length dt with these rows; soft contacts may add some.
bool try_interval(StepRun& run, double dt, const std::vector<Contact>& rows) {
  StepWorkspace::Impl& work = run.work;
  work.solved.rows.contacts = rows;
  return assemble_motion(run.model, run.parameters, run.interval(dt), run.u,
                         work.detected.assembly) &&
         solve_located(run, dt);
}

/// Moves the contacts to the configuration q; the index of the smallest gap.
std::size_t measure_contacts(const StepRun& run, const VecX& q_end,
                             std::vector<Contact>& contacts) {
  const Model& model = run.model;
  const double* values = run.parameters.values.data();
  std::size_t nearest = 0;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    Contact& contact = contacts[c];
    const ShapeInstance &a = model.shape(contact.shape_a), &b = model.shape(contact.shape_b);
    const double* q = q_end.data();
    const ContactPoint point =
        distance(a.view(values), shape_pose(model.body(a.body), a, q, values), b.view(values),
                 shape_pose(model.body(b.body), b, q, values));
    contact.feature = point.feature;
    contact.point_a = point.point_a;
    contact.point_b = point.point_b;
    contact.normal = point.normal;
    contact.gap = point.gap;
    if (contact.gap < contacts[nearest].gap) nearest = c;
  }
  return nearest;
}

/// Rate of the gap of a contact at the end of the interval tried.
double closing_rate(const StepRun& run, const VecX& q_end, const VecX& v_end,
                    const Contact& contact) {
  VecX v = run.x.v;
  v.head(run.model.dynamic_v_size()) = v_end;
  return gap_rate(run.model, q_end, v, contact);
}

/// Length of the interval that ends as the first of the fast contacts closes, about `tau`, at most
/// `left`: secant steps between an end before the meeting and one behind it. Keeps in `fast` those
/// that close there, first the one located; none where nothing closes after all.
bool locate_impact(StepRun& run, double left, const std::vector<Contact>& rows, double& tau,
                   std::vector<Contact>& fast) {
  double lo = 0, hi = kNever, last_tau = 0, last_gap = 0;
  std::size_t last = fast.size(), first = 0;
  VecX& q_end = run.work.trial.q;
  for (int i = 0;; ++i) {
    if (!try_interval(run, tau, rows)) return false;
    boxplus(run.model, run.x.q, run.work.displacement.delta, q_end);
    first = measure_contacts(run, q_end, fast);
    const double gap = fast[first].gap;
    if (std::abs(gap) <= meeting_gap(run, fast[first])) break;
    if (tau == left && gap > 0) break;
    (gap > 0 ? lo : hi) = tau;
    if (i == kMaxLocations || !(lo < hi)) break;
    // The rate of the gap at the end is not quite its rate by τ: bodies that touch move with v⁺.
    const double slope = first == last && tau != last_tau
                             ? (gap - last_gap) / (tau - last_tau)
                             : closing_rate(run, q_end, run.work.solved.solution.v, fast[first]);
    last = first;
    last_tau = tau;
    last_gap = gap;
    tau -= gap / slope;
    if (!(tau > lo && tau < hi)) tau = hi == kNever ? left : 0.5 * (lo + hi);
    tau = std::min(tau, left);
    if (tau == last_tau) break;
  }
  std::swap(fast[0], fast[first]);
  std::erase_if(fast,
                [&](const Contact& c) { return std::abs(c.gap) > contact_tolerance(run, c); });
  return true;
}

}  // namespace

double meeting_gap(const StepRun& run, const Contact& contact) {
  return 1e-4 * contact_tolerance(run, contact);
}

bool step_with_events(StepRun& run) {
  Detected& detected = run.work.detected;
  Solved& solved = run.work.solved;
  Displacement& displacement = run.work.displacement;
  std::vector<Contact> rows, fast;
  int interval = 0;
  return step_in_intervals(run, run.settings.h, [&](double left, double& dt) {
    if (!detect(run, left, detected)) return false;
    // Too many: in what is left nothing bounces, and no energy is gained by whatever closes.
    // Intervals are counted too, some end without an impact.
    if (run.report.events >= run.settings.max_events ||
        interval > kMaxAdvances + 4 * run.settings.max_events) {
      run.report.events_exhausted = true;
      solved.rows = detected.contacts;
      return solve_located(run, left);
    }
    if (resolve_impacts(run, detected.contacts, interval == 0) && !detect(run, left, detected))
      return false;
    ++interval;

    // The trial: what touches already has rows, and the others fly.
    keep_touching(run, detected.contacts, solved.rows);
    const std::size_t touching = solved.rows.contacts.size();
    if (!solve_located(run, left)) return false;
    dt = sort_contacts(run, Paths(run, left, solved.solution.v, displacement), left,
                       detected.contacts.contacts, rows, fast);
    if (!fast.empty()) {
      if (!locate_impact(run, left, rows, dt, fast)) return false;
      solved.closing = fast;
    } else if (rows.size() != touching) {
      // The trial was without those that close slowly.
      if (!try_interval(run, left, rows)) return false;
    }
    return true;
  });
}

}  // namespace orthant::internal
