// SPDX-License-Identifier: Apache-2.0
// The kernels' sum is H v+ - k as assembled; in dual numbers it is its derivative by everything.
#include "force/balance_kernel.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// A point of the residual's domain: everything it depends on, in T.
template <class T>
struct Point {
  std::vector<T> q, v, v_next, u, parameters;
  T h{0};
};

template <class T>
PlacedT<T> place_of(const Model& m, BodyId id, const std::vector<T>& q) {
  if (id == kWorld) return {};
  return placed(m.body(id).planar, q.data() + m.body(id).q_begin);
}

/// v+ of a body, or v; a prescribed one keeps its v.
template <class T>
TwistT<T> twist(const Model& m, BodyId id, const Point<T>& x, bool before = false) {
  const Vec3T<T> zero(T(0), T(0), T(0));
  if (id == kWorld || m.body(id).v_begin == kNone) return {zero, zero};
  const Body& body = m.body(id);
  const T* v = (body.is_dynamic() && !before ? x.v_next : x.v).data() + body.v_begin;
  return {linear_part(body.planar, v), angular_part(body.planar, v)};
}

template <class T>
std::vector<T> residual(const Model& m, const Point<T>& x, double middle) {
  std::vector<T> out(static_cast<std::size_t>(m.dynamic_v_size()), T(0));
  const T* p = x.parameters.data();
  const auto add = [&](BodyId id, const WrenchT<T>& w, const T& factor) {
    if (id == kWorld || !m.body(id).is_dynamic()) return;
    add_wrench(m.body(id).planar, w, factor, out.data() + m.body(id).v_begin);
  };
  for (const BodyId id : m.dynamic_bodies()) {
    const Body& body = m.body(id);
    const T *v = x.v.data() + body.v_begin, *next = x.v_next.data() + body.v_begin;
    if (m.law() == LawOfMotion::Inertial) {
      const QuatT<T> turn = body_pose(body, x.q.data()).p;
      add(id, inertial_balance(body.planar, p[body.mass], p + body.inertia, turn, v, next, x.h),
          T(1));
    } else {
      add(id, overdamped_balance(body.planar, p[body.drag], p[body.length], next, x.h), T(1));
    }
    WrenchT<T> weight;
    for (int i = 0; i < 3; ++i) weight.force[i] = p[body.mass] * p[m.gravity() + i];
    add(id, weight, -x.h);
  }
  for (const Force& f : m.forces()) {
    if (f.kind == ForceKind::Spring) {
      const TwistT<T> next[2] = {twist(m, f.a, x), twist(m, f.b, x)};
      const TwistT<T> now[2] = {twist(m, f.a, x, true), twist(m, f.b, x, true)};
      const bool inertial = m.law() == LawOfMotion::Inertial;
      const PairWrenchT<T> w =
          spring_balance(m.body(f.a).planar, p + f.parameter_begin, place_of(m, f.a, x.q).pose,
                         place_of(m, f.b, x.q).pose, next, inertial ? now : nullptr, x.h);
      add(f.a, w.a, T(1));
      add(f.b, w.b, T(1));
      continue;
    }
    const bool planar = m.body(f.a).planar;
    const QuatT<T> turn = body_pose(m.body(f.a), x.q.data()).p;
    const T factor = f.table.empty() ? T(1) : table_value(f.table, p, middle);
    const T* own = p + f.parameter_begin;
    add(f.a,
        f.kind == ForceKind::Body ? body_force(planar, f.body_axes, turn, own)
                                  : point_force(planar, f.body_axes, turn, own),
        -(x.h * factor));
  }
  const auto frames = [&](const Joint& j) {
    return joint_frames(j.planar, place_of(m, j.a, x.q), place_of(m, j.b, x.q),
                        p + j.parameter_begin);
  };
  for (const Joint& j : m.joints()) {
    if (j.stiffness == kNone) continue;
    const JointFramesT<T> f = frames(j);
    const JointRowT<T> row = joint_coordinate_row(j.kind, j.planar, f);
    const auto [va, wa] = twist(m, j.a, x);
    const auto [vb, wb] = twist(m, j.b, x);
    const T stretch = joint_coordinate(j.kind, j.planar, f) - p[j.rest];
    const PairWrenchT<T> w =
        along_row(row, joint_spring_balance(p[j.stiffness], p[j.damping], stretch,
                                            row_rate(row, va, wa, vb, wb), x.h));
    add(j.a, w.a, T(1));
    add(j.b, w.b, T(1));
  }
  for (Index i = 0; i < m.control_count(); ++i) {
    const Actuator& a = m.actuators()[i];
    const T* own = p + a.parameter_begin;
    const T u = x.u[static_cast<std::size_t>(i)];
    if (a.kind == ActuatorKind::Body) {
      const Body& body = m.body(a.body);
      add(a.body, body_force(body.planar, a.body_axes, body_pose(body, x.q.data()).p, own),
          -(x.h * u));
      continue;
    }
    const Joint& j = m.joint(a.joint);
    const PairWrenchT<T> w =
        along_row(joint_coordinate_row(j.kind, j.planar, frames(j)), T(own[0] * u));
    add(j.a, w.a, -x.h);
    add(j.b, w.b, -x.h);
  }
  return out;
}

Model spatial_world(LawOfMotion law) {
  ModelBuilder b;
  b.set_law(law);
  b.set_gravity(Vec3(0.3, -0.2, -9));
  for (int i = 0; i < 2; ++i) {
    b.add_body({.name = "b" + std::to_string(i),
                .position = Vec3(i, 0.3 * i, 0),
                .orientation = exp_rotation(Vec3(0.3 * i, 0.2, -0.5)),
                .shapes = {{.shape = Shape::box(0.2, 0.3, 0.5), .density = 10}}});
  }
  b.add_body({.name = "cart", .motion = Motion::Kinematic, .position = Vec3(0, 2, 0)});
  b.add_force(SpringSpec{.a = "b0",
                         .b = "b1",
                         .point_a = Vec3(0.1, 0, 0.2),
                         .point_b = Vec3(0, 0.3, 0),
                         .stiffness = 100,
                         .damping = 3,
                         .rest = 0.5});
  b.add_force(SpringSpec{.a = "b1", .b = "cart", .stiffness = 10, .damping = 2, .rest = 0.1});
  b.add_force(BodyForceSpec{
      .body = "b0", .force = Vec3(1, 2, 3), .torque = Vec3(4, 5, 6), .body_axes = true});
  b.add_force(PointForceSpec{.body = "b1",
                             .point = Vec3(0.1, 0.2, 0.3),
                             .force = Vec3(1, -2, 3),
                             .times = {-1, 1},
                             .factors = {1, 3}});
  b.add_joint({.name = "j",
               .kind = JointKind::Revolute,
               .a = "b0",
               .b = "b1",
               .axis = Vec3(1, 1, 0),
               .stiffness = 5,
               .damping = 0.5,
               .rest = 0.3});
  b.add_actuator(JointActuatorSpec{.joint = "j", .gear = 3});
  b.add_actuator(BodyActuatorSpec{.body = "b1", .force = Vec3(1, 0, 2), .torque = Vec3(0, 1, 0)});
  return b.build();
}

Model planar_world() {
  ModelBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.add_body({.name = "b" + std::to_string(i),
                .motion = Motion::Planar,
                .position = Vec3(i, 0.3 * i, 0),
                .angle = 0.4 * i,
                .shapes = {{.shape = Shape::rectangle(0.3, 0.1), .density = 10}}});
  }
  b.add_force(SpringSpec{.a = "b0",
                         .b = "b1",
                         .point_a = Vec3(0.1, 0.2, 0),
                         .stiffness = 100,
                         .damping = 3,
                         .rest = 0.5});
  b.add_force(PointForceSpec{
      .body = "b1", .point = Vec3(0.1, 0.2, 0), .force = Vec3(1, -2, 0), .body_axes = true});
  b.add_joint({.name = "j",
               .kind = JointKind::Slider,
               .a = "b0",
               .b = "b1",
               .axis = Vec3(1, 2, 0),
               .stiffness = 5,
               .damping = 0.5,
               .rest = 0.3});
  b.add_actuator(JointActuatorSpec{.joint = "j", .gear = 3});
  return b.build();
}

Point<double> random_point(const Model& m, std::uint64_t seed) {
  SplitMix random(seed);
  const auto some = [&](Index n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& y : x) y = random.uniform(-1, 1);
    return x;
  };
  const State s = m.rest_state();
  const Parameters p = m.default_parameters();
  Point<double> x;
  x.q.assign(s.q.data(), s.q.data() + s.q.size());
  x.parameters.assign(p.values.data(), p.values.data() + p.values.size());
  x.v = some(m.v_size());
  x.v_next = some(m.dynamic_v_size());
  x.u = some(m.control_count());
  x.h = 0.05;
  return x;
}

/// H v+ - k as the step has it.
VecX assembled(const Model& m, const Point<double>& x, double middle) {
  const auto map = [](const std::vector<double>& y) {
    return VecX(Eigen::Map<const VecX>(y.data(), static_cast<Index>(y.size())));
  };
  Parameters p = m.default_parameters();
  p.values = map(x.parameters);
  Dynamics dynamics;
  VelocityMatrix H;
  VecX k, y;
  assemble_dynamics(m, p, map(x.q), map(x.v), middle - 0.5 * x.h, map(x.u), x.h, dynamics, H, k);
  H.multiply(map(x.v_next), y);
  return y - k;
}

/// Derivative by one number of the point: dual against a central difference of what is assembled.
void check(const Model& m, const Point<double>& x, const char* what, std::size_t i,
           const std::function<double&(Point<double>&)>& entry,
           const std::function<Dual<1>&(Point<Dual<1>>&)>& dual_entry) {
  using D = Dual<1>;
  Point<D> d;
  const auto cast = [](const std::vector<double>& y) { return std::vector<D>(y.begin(), y.end()); };
  d.q = cast(x.q), d.v = cast(x.v), d.v_next = cast(x.v_next), d.u = cast(x.u);
  d.parameters = cast(x.parameters), d.h = x.h;
  dual_entry(d).d[0] = 1;
  const std::vector<D> r = residual(m, d, 0.2);
  Point<double> lo = x, hi = x;
  const double e = 1e-5;
  entry(lo) -= e;
  entry(hi) += e;
  const VecX slope = (assembled(m, hi, 0.2) - assembled(m, lo, 0.2)) / (2 * e);
  for (Index k = 0; k < slope.size(); ++k)
    EXPECT_NEAR(r[static_cast<std::size_t>(k)].d[0], slope[k], 1e-7 * (1 + std::abs(slope[k])))
        << what << " " << i << " row " << k;
}

void expect_balance(const Model& m) {
  const Point<double> x = random_point(m, 11);
  const std::vector<double> sum = residual(m, x, 0.2);
  const VecX wanted = assembled(m, x, 0.2);
  for (Index i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(sum[static_cast<std::size_t>(i)], wanted[i], 1e-12 * (1 + wanted.norm())) << i;

  const auto all = [&](const char* what, auto member, auto dual_member) {
    for (std::size_t i = 0; i < (x.*member).size(); ++i) {
      check(
          m, x, what, i, [&](Point<double>& y) -> double& { return (y.*member)[i]; },
          [&](Point<Dual<1>>& y) -> Dual<1>& { return (y.*dual_member)[i]; });
    }
  };
  using P = Point<double>;
  using Q = Point<Dual<1>>;
  all("q", &P::q, &Q::q);  // off the unit sphere, too: one formula on both sides
  all("v", &P::v, &Q::v);
  all("v+", &P::v_next, &Q::v_next);
  all("u", &P::u, &Q::u);
  all("parameter", &P::parameters, &Q::parameters);
  check(
      m, x, "h", 0, [](Point<double>& y) -> double& { return y.h; },
      [](Point<Dual<1>>& y) -> Dual<1>& { return y.h; });
}

TEST(Balance, SpatialKernelsAreWhatIsAssembled) {
  expect_balance(spatial_world(LawOfMotion::Inertial));
}
TEST(Balance, OverdampedKernelsAreWhatIsAssembled) {
  expect_balance(spatial_world(LawOfMotion::Overdamped));
}
TEST(Balance, PlanarKernelsAreWhatIsAssembled) { expect_balance(planar_world()); }

}  // namespace
}  // namespace orthant
