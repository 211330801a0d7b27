// SPDX-License-Identifier: Apache-2.0
// Forces: closed forms, H and k by MATH's formula, springs' derivatives, energies, no allocation.
#include "orthant/force/force.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "force/held_spin.hpp"
#include "force/spring_kernel.hpp"
#include "orthant/force/field.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/no_alloc.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

struct Assembled {
  Dynamics dynamics;
  VelocityMatrix H;
  VecX k;
};

Assembled assemble(const Model& model, const State& x, double h, const VecX& u = {}) {
  Assembled a;
  assemble_dynamics(model, model.default_parameters(), x.q, x.v, x.t, u, h, a.dynamics, a.H, a.k);
  return a;
}

MatX dense(const VelocityMatrix& H) {
  MatX A(H.rows(), H.rows());
  VecX y;
  for (Index i = 0; i < H.rows(); ++i) {
    H.multiply(VecX::Unit(H.rows(), i), y);
    A.col(i) = y;
  }
  return A;
}

/// One step without constraints.
void advance(const Model& model, double h, State& x, const VecX& u = {}) {
  const Assembled a = assemble(model, x, h, u);
  VelocitySolver solver;
  ASSERT_TRUE(solver.factorize(a.H));
  VecX v;
  solver.solve(a.k, v);
  VecX delta = VecX::Zero(model.v_size());
  free_flight(a.dynamics, v, h, delta);
  boxplus(model, x.q, delta, x.q);
  x.v = v;
  x.t += h;
}

BodySpec brick(std::string name, const Vec3& at = Vec3::Zero()) {
  return {
      .name = std::move(name), .position = at, .shapes = {{.shape = Shape::box(0.1, 0.2, 0.3)}}};
}

TEST(Force, ProjectileIsExact) {
  ModelBuilder b;
  BodySpec spec = brick("shot", Vec3(0, 0, 2));
  spec.velocity = Vec3(3, 0, 4);
  b.add_body(spec);
  const Model model = b.build();
  State x = model.rest_state();
  for (int i = 0; i < 100; ++i) advance(model, 0.01, x);
  EXPECT_NEAR(x.q[0], 3, 1e-12);
  EXPECT_NEAR(x.q[2], 2 + 4 - 0.5 * 9.81, 1e-12);
  EXPECT_NEAR(x.v[2], 4 - 9.81, 1e-12);
}

TEST(Force, SpinningHandleKeepsEnergyAndMomentumThroughTheStep) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(
      {.name = "handle",
       .angular_velocity = Vec3(0.01, 10, 0.01),
       .shapes = {{.shape = Shape::box(0.5, 0.05, 0.05)},
                  {.shape = Shape::box(0.05, 0.15, 0.05), .offset = {Vec3(0, 0.2, 0), {}}}}});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const auto momentum = [&] {
    VelocityMatrix M;
    assemble_mass(model, p, x.q, M);
    return Vec3((dense(M) * x.v).tail<3>());
  };
  const double E0 = kinetic_energy(model, p, x.q, x.v);
  const Vec3 L0 = momentum();
  double energy = 0, turn = 0;
  for (int i = 0; i < 2000; ++i) {
    advance(model, 0.01, x);
    energy = std::max(energy, std::abs(kinetic_energy(model, p, x.q, x.v) / E0 - 1));
    turn = std::max(turn, (momentum() - L0).norm() / L0.norm());
  }
  EXPECT_LT(energy, 1e-11);
  EXPECT_LT(turn, 1e-11);
}

TEST(Force, CoastAloneIsTheCoastOfTheStep) {
  ModelBuilder b;
  BodySpec spec = brick("top");
  spec.angular_velocity = Vec3(5, 2, -3);
  spec.velocity = Vec3(1, 0, 0);
  b.add_body(spec);
  const Model model = b.build();
  const State x = model.rest_state();
  const Assembled a = assemble(model, x, 0.02);
  Dynamics alone;
  coast(model, model.default_parameters(), x.q, x.v, 0.02, alone);
  EXPECT_EQ(alone.coast_velocity, a.dynamics.coast_velocity);
  EXPECT_EQ(alone.coast_delta, a.dynamics.coast_delta);
  EXPECT_EQ(alone.coast_delta[0], 0.02);
}

TEST(Force, GyroscopicTorqueIsWhatTheCoastDoes) {
  ModelBuilder b;
  BodySpec spec = brick("top");
  spec.orientation = exp_rotation(Vec3(0.3, 0.4, -1));
  spec.angular_velocity = Vec3(1, 2, -3);
  b.add_body(spec);
  const Model model = b.build();
  const State x = model.rest_state();
  const double h = 1e-5;
  VecX f = VecX::Zero(6);
  add_gyroscopic(model, model.default_parameters(), x.q, x.v, f);
  const MatX M = dense(assemble(model, x, h).H);
  const Vec3 rate = (assemble(model, x, h).dynamics.coast_velocity - x.v).tail<3>() / h;
  EXPECT_LT((M.bottomRightCorner<3, 3>() * rate - f.tail<3>()).norm(), 1e-3 * f.norm());
  EXPECT_GT(f.norm(), 0);
}

TEST(Force, ConstantPointTableAndBodyAxes) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  BodySpec spec = brick("b");
  spec.orientation = exp_rotation(Vec3(0, 0, std::acos(0.0)));  // x of the body is y of the world
  b.add_body(spec);
  b.add_force(BodyForceSpec{.name = "push",
                            .body = "b",
                            .force = Vec3(1, 0, 0),
                            .torque = Vec3(0, 0, 2),
                            .body_axes = true});
  b.add_force(PointForceSpec{.name = "poke",
                             .body = "b",
                             .point = Vec3(0.1, 0, 0),
                             .force = Vec3(0, 0, 3),
                             .times = {0, 1},
                             .factors = {0, 1}});
  const Model model = b.build();
  const State x = model.rest_state();
  VecX f;
  applied_force(model, model.default_parameters(), x.q, x.v, 0.5, {}, f);
  VecX wanted(6);
  wanted << 0, 1, 1.5, 0.1 * 1.5, 0, 2;
  EXPECT_LT((f - wanted).norm(), 1e-14);
  // A linear table gives the exact impulse over a step.
  const Assembled a = assemble(model, x, 0.1);
  EXPECT_NEAR(a.k[2], 0.1 * 3 * 0.05, 1e-15);
}

TEST(Force, ActuatorsPushAlongJointsAndBodies) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body({.name = "arm",
              .motion = Motion::Planar,
              .position = Vec3(1, 0, 0),
              .shapes = {{.shape = Shape::rectangle(1, 0.1)}}});
  b.add_body({.name = "cart",
              .motion = Motion::Planar,
              .position = Vec3(5, 0, 0),
              .shapes = {{.shape = Shape::rectangle(1, 0.1)}}});
  b.add_joint({.name = "shoulder",
               .kind = JointKind::Pin,
               .a = "arm",
               .b = "cart",
               .anchor = Vec3(0, 0, 0)});
  b.add_actuator(JointActuatorSpec{.name = "motor", .joint = "shoulder", .gear = 10});
  b.add_actuator(BodyActuatorSpec{.name = "jet", .body = "cart", .force = Vec3(0, 5, 0)});
  const Model model = b.build();
  const State x = model.rest_state();
  EXPECT_EQ(model.control_count(), 2);
  EXPECT_EQ(model.find_actuator("jet"), 1);
  VecX f, u(2);
  u << 0.5, 2;
  applied_force(model, model.default_parameters(), x.q, x.v, 0, u, f);
  VecX wanted(6);
  wanted << 0, 0, 5, 0, 10, -5;
  EXPECT_LT((f - wanted).norm(), 1e-14);
}

// Springs: the force is minus the gradient of the energy; the kernel in dual numbers agrees.
TEST(Force, SpringForceIsMinusTheGradientOfItsEnergy) {
  using D = Dual<6>;
  const SpringT<D> spring{D(50), D(7), D(0.4)};
  const Vec3 at(0.3, -0.5, 0.2), rate(0.1, 0.7, -0.3);
  Vec3T<D> d;
  for (int i = 0; i < 3; ++i) d[i] = D::variable(at[i], i);
  const D energy = spring_energy(spring, d);
  const Vec3T<D> none(D(0), D(0), D(0));
  const Vec3T<D> force = spring_force(spring, spring_place(spring, d), none);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(force[i].v, -energy.d[i], 1e-13);

  // Stretched: h^2 K + h C is exactly minus the derivative; by the damper only along n (its force
  // also changes with direction, which is no damping).
  Vec3T<D> speed;
  for (int i = 0; i < 3; ++i) speed[i] = D::variable(rate[i], 3 + i);
  const Vec3T<D> both = spring_force(spring, spring_place(spring, d), speed);
  const SpringT<double> plain{50, 7, 0.4}, stiff{50, 0, 0.4};
  const SpringPlaceT<double> place = spring_place(stiff, at);
  const Mat3 K = spring_matrix(place.n, stiff.stiffness, place.across);
  const Mat3 C = spring_matrix(place.n, plain.damping, 0.0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      EXPECT_NEAR(K(i, j), -force[i].d[j], 1e-12);
      EXPECT_NEAR(C(i, j), -both[i].d[3 + j], 1e-12);
    }
  // Central differences of the force by both arguments.
  for (int k = 0; k < 6; ++k) {
    Vec3 side[2];
    for (int s = 0; s < 2; ++s) {
      Vec3 x = at, y = rate;
      (k < 3 ? x : y)[k % 3] += s == 0 ? -1e-6 : 1e-6;
      side[s] = spring_force(plain, spring_place(plain, x), y);
    }
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(both[i].d[k], (side[1][i] - side[0][i]) / 2e-6, 1e-6);
  }
  // Pushed together: positive semidefinite all the same.
  const SpringPlaceT<double> pushed = spring_place(plain, Vec3(0.1, 0, 0.05));
  const Mat3 clipped = spring_matrix(pushed.n, plain.stiffness, pushed.across);
  EXPECT_GE(Eigen::SelfAdjointEigenSolver<Mat3>(clipped).eigenvalues().minCoeff(), -1e-15);
  EXPECT_TRUE(spring_force(plain, spring_place(plain, Vec3(0, 0, 0)), rate).allFinite());

  // Along its way the work is what it stores: n.e is the change of the length, however far it
  // turns.
  for (const Vec3& e : {Vec3(0.2, 0.4, -0.1), Vec3(-0.7, 0.3, 0), Vec3(-0.3, 0.5, -0.2)}) {
    const SpringPlaceT<double> way = spring_place(plain, at, &e);
    EXPECT_NEAR(way.n.dot(e), (at + e).norm() - at.norm(), 1e-15);
  }
}

// A ball has no gyroscopic terms: about whatever axis it spins, to the last bit.
TEST(Force, HeldSpinOfABallIsItsSpin) {
  ModelBuilder b;
  b.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.1)}}});
  const Model model = b.build();
  State x = model.rest_state();
  SplitMix random(3);
  for (int i = 0; i < 100; ++i) {
    for (int k = 3; k < 6; ++k) x.v[k] = random.uniform(-9, 9);
    Assembled a = assemble(model, x, 0.0037);
    const VecX k = a.k;
    VecX change;
    internal::hold_spins(model, model.default_parameters(), x.q, {1}, a.dynamics, a.k, change);
    EXPECT_EQ(change.size(), 0);
    EXPECT_EQ(a.k, k);
    EXPECT_EQ(a.dynamics.coast_velocity, x.v);
  }
}

// A fixed body has a place and no velocity.
TEST(Force, PairForceOfABodyThatIsFixed) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(brick("a", Vec3(0.5, 0, 0)));
  BodySpec wall = brick("wall", Vec3(0.2, 0, 0));
  wall.motion = Motion::Fixed;
  b.add_body(wall);
  const auto others = std::make_shared<const std::vector<std::string>>(1, "wall");
  const VectorFormula pull = vector_formula({"-2 * x - 3 * vx", "0", "0"}, "pull");
  b.add_force(
      CallbackSpec{.name = "f", .body = "a", .callback = pair_force(pull, "a", others, "f")});
  const Model model = b.build();
  State x = model.rest_state();
  x.v[0] = 0.25;
  VecX f;
  applied_force(model, model.default_parameters(), x.q, x.v, 0, {}, f);
  EXPECT_NEAR(f[0], -2 * 0.3 - 3 * 0.25, 1e-14);
}

Model spring_world() {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(brick("a", Vec3(0, 0, 0)));
  b.add_body(brick("b", Vec3(1, 0.5, 0)));
  b.add_body({.name = "cart",
              .motion = Motion::Kinematic,
              .position = Vec3(0, 2, 0),
              .velocity = Vec3(1, 0, 0)});
  b.add_force(SpringSpec{.name = "s",
                         .a = "a",
                         .b = "b",
                         .point_a = Vec3(0.1, 0, 0),
                         .stiffness = 100,
                         .damping = 3,
                         .rest = 0.5});
  b.add_force(SpringSpec{.name = "w",
                         .a = "b",
                         .point_a = Vec3(0, 0.2, 0),
                         .point_b = Vec3(2, 2, 2),
                         .stiffness = 40,
                         .damping = 1,
                         .rest = 0.1});
  b.add_force(
      SpringSpec{.name = "c", .a = "a", .b = "cart", .stiffness = 10, .damping = 2, .rest = 0});
  b.add_joint({.name = "j",
               .kind = JointKind::Revolute,
               .a = "a",
               .b = "b",
               .axis = Vec3(1, 1, 0),
               .stiffness = 5,
               .damping = 0.5,
               .rest = 0.3});
  return b.build();
}

TEST(Force, CoupledSpringsMakeHSparseSymmetricAndDefinite) {
  const Model model = spring_world();
  State x = model.rest_state();
  SplitMix random(7);
  for (Index i = 0; i < 12; ++i) x.v[i] = random.uniform(-1, 1);
  const double h = 0.02;
  const Assembled a = assemble(model, x, h);
  EXPECT_EQ(a.H.kind(), VelocityMatrix::Kind::Sparse);
  EXPECT_TRUE(a.dynamics.coupled);
  EXPECT_TRUE(a.H.is_symmetric());
  EXPECT_EQ(a.H.block_count(), 2);
  const MatX H = dense(a.H);
  VelocityMatrix M;
  assemble_mass(model, model.default_parameters(), x.q, M);
  const VecX extra = Eigen::SelfAdjointEigenSolver<MatX>(H - dense(M)).eigenvalues();
  EXPECT_GT(extra.minCoeff(), -1e-12);
  EXPECT_GT(extra.maxCoeff(), 0.1);
  // Without springs, the same world is block-diagonal.
  ModelBuilder b;
  b.add_body(brick("a"));
  b.add_force(
      SpringSpec{.a = "a", .point_a = Vec3(0.1, 0, 0), .point_b = Vec3(1, 1, 1), .stiffness = 1});
  const Model alone = b.build();
  EXPECT_EQ(assemble(alone, alone.rest_state(), h).H.kind(), VelocityMatrix::Kind::BlockDiagonal);
}

// The implicit step is the explicit one to first order in h: both tend to f.
TEST(Force, ImplicitStepIsConsistentWithTheForce) {
  const Model model = spring_world();
  State x = model.rest_state();
  SplitMix random(8);
  for (Index i = 0; i < 12; ++i) x.v[i] = random.uniform(-1, 1);
  VecX f;
  applied_force(model, model.default_parameters(), x.q, x.v, 0, {}, f);
  add_gyroscopic(model, model.default_parameters(), x.q, x.v, f);
  VelocityMatrix M;
  assemble_mass(model, model.default_parameters(), x.q, M);
  const VecX wanted = dense(M).ldlt().solve(f);
  double error[2];
  for (int s = 0; s < 2; ++s) {
    const double h = s == 0 ? 1e-4 : 5e-5;
    const Assembled a = assemble(model, x, h);
    const VecX v = dense(a.H).ldlt().solve(a.k);
    error[s] = ((v - x.v.head(12)) / h - wanted).norm();
  }
  EXPECT_LT(error[0], 0.05 * wanted.norm());
  EXPECT_NEAR(error[0] / error[1], 2, 0.1);
}

// A stiff oscillator at h far beyond the explicit limit stays bounded and finds its rest.
TEST(Force, StiffSpringIsStable) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(brick("a", Vec3(2, 0, 0)));
  b.add_force(SpringSpec{.a = "a", .stiffness = 1e8, .rest = 1});
  const Model model = b.build();
  State x = model.rest_state();
  x.q[0] = 1.01;
  const Parameters p = model.default_parameters();
  const double E0 = potential_energy(model, p, x.q, 0);
  EXPECT_NEAR(E0, 0.5 * 1e8 * 1e-4, 1e-3);
  VelocitySolver solver;
  for (int i = 0; i < 50; ++i) {
    const Assembled a = assemble(model, x, 0.01);
    ASSERT_TRUE(solver.factorize(a.H));
    VecX v;
    solver.solve(a.k, v);
    boxplus(model, x.q, v * 0.01, x.q);
    x.v = v;
  }
  EXPECT_NEAR(x.q[0], 1, 1e-9);
  EXPECT_LT(kinetic_energy(model, p, x.q, x.v), 1e-6);
}

// A damper on a kinematic partner drags the body along to its speed; a spring lags by a constant.
TEST(Force, PrescribedPartnersPull) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body({.name = "sled", .motion = Motion::Planar, .shapes = {{.shape = Shape::disc(0.1)}}});
  b.add_body({.name = "hook",
              .motion = Motion::Kinematic,
              .planar = true,
              .position = Vec3(1, 0, 0),
              .velocity = Vec3(2, 0, 0)});
  b.add_force(SpringSpec{.a = "sled", .b = "hook", .stiffness = 200, .damping = 100});
  const Model model = b.build();
  State x = model.rest_state();
  VelocitySolver solver;
  for (int i = 0; i < 2000; ++i) {
    const Assembled a = assemble(model, x, 0.01);
    ASSERT_TRUE(solver.factorize(a.H));
    VecX v;
    solver.solve(a.k, v);
    x.v.head(3) = v;
    boxplus(model, x.q, x.v * 0.01, x.q);
  }
  EXPECT_NEAR(x.v[0], 2, 1e-9);
  EXPECT_NEAR(x.q[3] - x.q[0], 1, 1e-9);  // at its rest length: no force is needed to keep speed
}

TEST(Force, PotentialIsTheForcesWork) {
  const Model model = spring_world();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  VecX f;
  applied_force(model, p, x.q, VecX::Zero(model.v_size()), 0, {}, f);
  for (Index i = 0; i < model.dynamic_v_size(); ++i) {
    VecX lo, hi;
    boxplus(model, x.q, VecX::Unit(model.v_size(), i) * -1e-5, lo);
    boxplus(model, x.q, VecX::Unit(model.v_size(), i) * 1e-5, hi);
    const double slope =
        (potential_energy(model, p, hi, 0) - potential_energy(model, p, lo, 0)) / 2e-5;
    EXPECT_NEAR(f[i], -slope, 1e-6) << i;
  }
}

TEST(Force, OverdampedMobility) {
  ModelBuilder b;
  b.set_law(LawOfMotion::Overdamped);
  b.set_gravity(Vec3::Zero());
  BodySpec cell{.name = "cell", .shapes = {{.shape = Shape::capsule(0.5, 0.5)}}};
  cell.drag = 3;
  cell.length = 2;
  b.add_body(cell);
  b.add_force(BodyForceSpec{.body = "cell", .force = Vec3(6, 0, 0), .torque = Vec3(0, 0, 4)});
  const Model model = b.build();
  const State x = model.rest_state();
  const Assembled a = assemble(model, x, 0.1);
  const VecX v = dense(a.H).ldlt().solve(a.k);
  EXPECT_NEAR(v[0], 6.0 / (3 * 2), 1e-14);       // f / (xi l)
  EXPECT_NEAR(v[5], 4.0 * 12 / (3 * 8), 1e-14);  // torque 12 / (xi l^3)
}

/// A linear drag on one body, with its derivative.
class Drag : public ForceCallback {
 public:
  explicit Drag(bool implicit) : implicit_(implicit) {}
  void add_force(const Model& model, const Parameters&, const VecX&, const VecX& v, double,
                 VecX& f) const override {
    const Body& body = model.bodies()[0];
    f.segment(body.v_begin, 3) -= kDrag * v.segment(body.v_begin, 3);
  }
  bool derivatives(const Model&, const Parameters&, const VecX&, const VecX&, double,
                   std::span<double>, std::span<double> f_v) const override {
    for (int i = 0; i < 3; ++i) f_v[7 * i] = -kDrag;
    return implicit_;
  }
  static constexpr double kDrag = 50;

 private:
  bool implicit_;
};

TEST(Force, CallbacksAreImplicitWhereTheyHaveDerivatives) {
  for (const bool implicit : {false, true}) {
    ModelBuilder b;
    b.set_gravity(Vec3::Zero());
    BodySpec spec = brick("a");
    spec.velocity = Vec3(1, 0, 0);
    spec.mass = 2;
    b.add_body(spec);
    b.add_force(CallbackSpec{.body = "a", .callback = std::make_shared<Drag>(implicit)});
    const Model model = b.build();
    const State x = model.rest_state();
    const Assembled a = assemble(model, x, 0.1);
    const VecX v = dense(a.H).ldlt().solve(a.k);
    // explicit 1 - h c/m, implicit 1/(1 + h c/m)
    const double r = 0.1 * Drag::kDrag / 2;
    EXPECT_NEAR(v[0], implicit ? 1 / (1 + r) : 1 - r, 1e-14);
  }
}

TEST(Force, EnergiesInClosedForm) {
  ModelBuilder b;
  BodySpec spec = brick("a", Vec3(0, 0, 3));
  spec.mass = 2;
  spec.velocity = Vec3(1, 2, 0);
  spec.inertia = Mat3(Vec3(1, 2, 2.5).asDiagonal());
  spec.angular_velocity = Vec3(0, 3, 0);
  b.add_body(spec);
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  EXPECT_NEAR(kinetic_energy(model, p, x.q, x.v), 0.5 * 2 * 5 + 0.5 * 2 * 9, 1e-13);
  EXPECT_NEAR(potential_energy(model, p, x.q, 0), 2 * 9.81 * 3, 1e-12);
}

TEST(Force, WarmAssemblyDoesNotAllocate) {
  ModelBuilder b;
  for (int i = 0; i < 20; ++i) {
    BodySpec spec = brick("b" + std::to_string(i), Vec3(i, 0, 0));
    spec.angular_velocity = Vec3(1, 2, 3);
    b.add_body(spec);
  }
  b.add_force(SpringSpec{.a = "b3", .point_b = Vec3(0, 0, 5), .stiffness = 10, .damping = 1});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  Assembled a;
  const VecX u;
  assemble_dynamics(model, p, x.q, x.v, 0, u, 0.01, a.dynamics, a.H, a.k);
  testing::NoAlloc guard;
  assemble_dynamics(model, p, x.q, x.v, 0, u, 0.01, a.dynamics, a.H, a.k);
  EXPECT_GT(potential_energy(model, p, x.q, 0) + kinetic_energy(model, p, x.q, x.v), 0);
}

}  // namespace
}  // namespace orthant
