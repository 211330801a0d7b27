// SPDX-License-Identifier: Apache-2.0
// constraint/fluid.cpp: (bodies, viscosity) => H as an operator.
#include "orthant/constraint/fluid.hpp"

#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

constexpr double kInverse = 1e-12;  // residual at which M⁻¹ is found, relative
constexpr int kMaxIterations = 1000;

/// H of bodies in a fluid. H⁻¹ is what is known, M / h; H itself is found by conjugate gradients,
/// which the sphere's own drag preconditions.
class FluidMatrix : public VelocityOperator {
 public:
  FluidMatrix(RpyMobility mobility, const Model& model, const Parameters& parameters, double h)
      : mobility_(std::move(mobility)), h_(h) {
    const double* x = parameters.values.data();
    for (Index b = 0; b < model.dynamic_count(); ++b) {
      const Body& body = model.body(model.dynamic_bodies()[b]);
      const double across = x[body.drag] * x[body.length];
      bodies_.push_back(
          {body.v_begin, body.planar, across, across * x[body.length] * x[body.length] / 12});
    }
  }

  void solve(const VecX& y, VecX& v) const override {
    VecX force, velocity;
    gather(y, force);
    mobility_.apply(force, velocity);
    VecX out(y.size());
    scatter(velocity, 1 / h_, out);
    turn(y, out, [this](double torque, double drag) { return torque / (h_ * drag); });
    v.swap(out);
  }

  void multiply(const VecX& v, VecX& y) const override {
    VecX velocity, force = VecX::Zero(3 * mobility_.count());
    gather(v, velocity);
    invert(velocity, force);
    VecX out(v.size());
    scatter(force, h_, out);
    turn(v, out, [this](double rate, double drag) { return rate * h_ * drag; });
    y.swap(out);
  }

 private:
  struct Sphere {
    Index begin = 0;
    bool planar = false;
    double drag = 0, turning = 0;
  };

  /// Linear parts, three numbers per body.
  void gather(const VecX& from, VecX& to) const {
    to.setZero(3 * static_cast<Index>(bodies_.size()));
    for (std::size_t i = 0; i < bodies_.size(); ++i)
      for (Index d = 0; d < (bodies_[i].planar ? 2 : 3); ++d)
        to[static_cast<Index>(3 * i) + d] = from[bodies_[i].begin + d];
  }
  void scatter(const VecX& from, double scale, VecX& to) const {
    for (std::size_t i = 0; i < bodies_.size(); ++i)
      for (Index d = 0; d < (bodies_[i].planar ? 2 : 3); ++d)
        to[bodies_[i].begin + d] = scale * from[static_cast<Index>(3 * i) + d];
  }
  template <class Rule>
  void turn(const VecX& from, VecX& to, Rule&& rule) const {
    for (const Sphere& s : bodies_) {
      const Index first = s.begin + (s.planar ? 2 : 3), count = s.planar ? 1 : 3;
      for (Index d = first; d < first + count; ++d) to[d] = rule(from[d], s.turning);
    }
  }
  /// What is across the plane stays out: the mobility of planar bodies is that within it.
  void keep_plane(VecX& x) const {
    for (std::size_t i = 0; i < bodies_.size(); ++i)
      if (bodies_[i].planar) x[static_cast<Index>(3 * i) + 2] = 0;
  }

  void invert(const VecX& u, VecX& f) const {
    VecX r = u, z(u.size()), p, Mp;
    const auto precondition = [&] {
      for (std::size_t i = 0; i < bodies_.size(); ++i)
        for (Index d = 0; d < 3; ++d) {
          const Index k = static_cast<Index>(3 * i) + d;
          z[k] = bodies_[i].drag * r[k];
        }
    };
    precondition();
    p = z;
    double rz = r.dot(z);
    const double end = kInverse * kInverse * rz;
    for (int i = 0; i < kMaxIterations && rz > end; ++i) {
      mobility_.apply(p, Mp);
      keep_plane(Mp);
      const double step = rz / p.dot(Mp);
      f += step * p;
      r -= step * Mp;
      precondition();
      const double next = r.dot(z);
      p = z + next / rz * p;
      rz = next;
    }
  }

  RpyMobility mobility_;
  double h_;
  std::vector<Sphere> bodies_;
};

}  // namespace

bool assemble_fluid(const Model& model, const Parameters& parameters, const StepInterval& x,
                    const PeriodicBox& box, const Fluid& fluid, Assembly& out) {
  if (model.law() != LawOfMotion::Overdamped)
    throw Error("fluid", "needs the overdamped law: inertia in a fluid is not modelled");
  if (!model.flexible_parts().empty())
    throw Error("fluid", "does not take flexible parts; their nodes are no spheres");
  RpySettings settings{.viscosity = fluid.viscosity,
                       .tolerance = fluid.tolerance,
                       .direct_up_to = fluid.direct_up_to};
  if (box.any()) {
    if (!(box.active[0] && box.active[1] && box.active[2]))
      throw Error("fluid", "a box is periodic in all three directions, or in none");
    settings.box = {box.lo, box.hi};
  }
  std::vector<Vec3> centres;
  std::vector<double> radii;
  std::vector<Index> offsets = {0};
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    centres.push_back(body_pose(body, x.q.data()).x);
    radii.push_back(parameters.values[body.drag] * parameters.values[body.length] /
                    (6 * std::numbers::pi * fluid.viscosity));
    offsets.push_back(offsets.back() + body.v_size);
  }
  if (centres.empty()) return true;
  out.problem.H = VelocityMatrix::from_operator(
      std::make_shared<FluidMatrix>(RpyMobility(std::move(centres), std::move(radii), settings),
                                    model, parameters, x.h),
      std::move(offsets));
  if (!out.solver.factorize(out.problem.H)) return false;
  out.solver.solve(out.problem.k, out.v_free);
  return out.v_free.allFinite();
}

}  // namespace orthant
