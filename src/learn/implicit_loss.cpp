// SPDX-License-Identifier: Apache-2.0
// learn/implicit_loss.cpp: one transition => its inner problem => loss and envelope derivative.
//   min ½ λᵀNλ + λᵀr,  N = [C;D] H⁻¹ [C;D]ᵀ,  r = [C;D](v_free − v') + cost(w)
// by accelerated projected gradient: a few contacts, dense; a block Gauss–Seidel sweep needs a
// hundred times the work when a face lies on redundant corners. Friction and restitution are
// differentiated in closed form; any other parameter by central differences of the terms with the
// impulses held, for which nothing has to be solved again.
#include "orthant/learn/implicit_loss.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/law_kernel.hpp"
#include "model/material_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/constraint/assemble.hpp"

namespace orthant {
namespace {

enum class Role : std::uint8_t { Friction, Restitution, Other };

Role role_of(const Model& model, Index parameter) {
  for (const Material& m : model.materials()) {
    if (m.friction == parameter) return Role::Friction;
    if (m.restitution == parameter) return Role::Restitution;
  }
  for (const MaterialPair& p : model.material_pairs()) {
    if (p.friction == parameter) return Role::Friction;
    if (p.restitution == parameter) return Role::Restitution;
  }
  return Role::Other;
}

double tangent_norm(const Law& law, const double* w) {
  double sum = 0;
  for (int i = 1; i <= law.tangent_dim(); ++i) sum += w[i] * w[i];
  return std::sqrt(sum);
}

}  // namespace

struct ImplicitLoss::Impl {
  const Model& model;
  StepSettings settings;
  std::vector<Index> wanted;
  std::vector<Role> roles;
  ImplicitWeights weights;

  // One transition as assembled with some parameters.
  struct Scene {
    Assembly assembly;
    ContactSet contacts;
    MatX rows;    // C over D, dense
    MatX solved;  // H⁻¹ rowsᵀ
    VecX w;       // D v' + b
    VecX gap;     // v_free − v'
    Index bilateral = 0;
  };
  Scene scene, probe;
  CollisionWorkspace collision;
  std::vector<BodyMotion> motion;
  MatX N;
  VecX r, lambda, row, solution, head;
  MatX Ns;
  VecX scale, trial, ahead, before, slope;  // of the inner problem
  mutable VecX Hg, push;
  std::vector<Law> laws;
  std::vector<Index> begin;
  std::vector<Dual<1>> dual_parameters;

  Impl(const Model& m, const StepSettings& s, std::vector<Index> p, const ImplicitWeights& w)
      : model(m), settings(s), wanted(std::move(p)), weights(w) {
    if (settings.friction != FrictionModel::Coulomb)
      throw Error("implicit loss", "needs exact Coulomb friction");
    for (const Index i : wanted) roles.push_back(role_of(model, i));
  }

  double threshold(const Parameters& p) const {
    if (settings.restitution_threshold > 0) return settings.restitution_threshold;
    const double* g = p.values.data() + model.gravity();
    return 2 * settings.h * Vec3(g[0], g[1], g[2]).norm();
  }

  /// Where bodies were and went: both measured velocities.
  void find_motion(const Parameters& p, const VecX& v, const VecX& next, double h) {
    motion.assign(model.bodies().size(), BodyMotion{});
    for (std::size_t i = 0; i < model.bodies().size(); ++i) {
      const Body& body = model.bodies()[i];
      if (body.v_begin == kNone) continue;
      double spin = 0;
      for (int k = 0; k < 2; ++k) {
        const double* u = (k == 0 ? v : next).data() + body.v_begin;
        motion[i].shift[k] = h * Vec3(u[0], u[1], body.planar ? 0 : u[2]);
        spin = std::max(spin, body.planar ? std::abs(u[2]) : Vec3(u[3], u[4], u[5]).norm());
      }
      motion[i].turn =
          turning_radius(model, p, BodyId{static_cast<std::int32_t>(i)}) * std::min(h * spin, 2.0);
    }
  }

  void assemble(const Parameters& p, const VecX& q, const VecX& v, const VecX& next, double t,
                double h, Scene& s) {
    find_motion(p, v, next, h);
    find_contacts(model, p, q, motion, {.margin = settings.contact_margin}, collision, s.contacts);
    const StepInterval x{q, v, t, h};
    (void)assemble_motion(model, p, x, VecX(), s.assembly);
    const bool inertial = model.law() == LawOfMotion::Inertial;
    const ContactRowSettings rows{.h = h,
                                  .friction = settings.friction,
                                  .restitution = inertial,
                                  .restitution_threshold = threshold(p)};
    assemble_rows(model, p, x, s.contacts.contacts, rows, 0, s.assembly);
    const CanonicalProblem& problem = s.assembly.problem;
    const Index nv = problem.velocity_count();
    s.bilateral = problem.bilateral_count();
    const Index n = s.bilateral + problem.row_count();
    head = next.head(nv);
    s.gap = s.assembly.v_free - head;
    s.rows.setZero(n, nv);
    fill(problem.C, 0, s.rows);
    fill(problem.D, s.bilateral, s.rows);
    s.solved.resize(nv, n);
    for (Index i = 0; i < n; ++i) {
      row = s.rows.row(i);
      s.assembly.solver.solve(row, solution);
      s.solved.col(i) = solution;
    }
    s.w.noalias() = s.rows.bottomRows(problem.row_count()) * head;
    s.w += problem.b;
  }

  static void fill(const BlockRows& A, Index first, MatX& out) {
    for (Index i = 0; i < A.row_block_count(); ++i) {
      const double* values = A.values(i);
      for (const BlockRows::Entry& e : A.entries(i)) {
        for (Index a = 0; a < A.dim(i); ++a)
          for (Index b = 0; b < e.width; ++b)
            out(first + A.row_begin(i) + a, e.column + b) = values[a * e.width + b];
        values += A.dim(i) * e.width;
      }
    }
  }

  void solve_inner(const Scene& s) {
    const CanonicalProblem& problem = s.assembly.problem;
    const Index n = static_cast<Index>(s.rows.rows());
    N.noalias() = s.rows * s.solved;
    for (std::size_t c = 0; c < s.assembly.blocks.size(); ++c) {
      const ContactBlock& block = s.assembly.blocks[c];
      N(s.bilateral + block.row, s.bilateral + block.row) += 2 * block.softness;
    }
    const double soften = weights.regularisation * N.trace() / std::max<Index>(n, 1);
    N.diagonal().array() += soften;
    r.noalias() = s.rows * s.gap;
    laws.clear();
    begin.assign(1, 0);
    for (Index i = 0; i < s.bilateral; ++i) {
      laws.push_back(Law::free(1));
      begin.push_back(i + 1);
    }
    for (const Law& law : problem.laws) {
      const Index at = begin.back();
      const double* w = s.w.data() + (at - s.bilateral);
      laws.push_back(law.convex());
      if (law.is_frictional()) {
        r[at] +=
            weights.complementarity * std::max(0.0, w[0]) + weights.dissipation * shift_of(law, w);
        for (int i = 1; i < law.dim; ++i) r[at + i] += weights.dissipation * w[i];
      } else {
        for (int i = 0; i < law.dim; ++i)
          r[at + i] += law.kind == LawKind::Orthant ? weights.complementarity * std::max(0.0, w[i])
                                                    : weights.dissipation * w[i];
      }
      begin.push_back(at + law.dim);
    }
    minimise(n);
  }

  /// Accelerated projected gradient with restart, each block scaled to unit trace.
  void minimise(Index n) {
    lambda.setZero(n);
    if (n == 0) return;
    scale.resize(n);
    for (std::size_t c = 0; c < laws.size(); ++c) {
      const Index at = begin[c], dim = begin[c + 1] - at;
      const double trace = N.diagonal().segment(at, dim).sum();
      scale.segment(at, dim).setConstant(std::sqrt(dim / std::max(trace, 1e-300)));
    }
    Ns.noalias() = scale.asDiagonal() * N * scale.asDiagonal();
    const double steep = std::min(Ns.norm(), Ns.cwiseAbs().rowwise().sum().maxCoeff());
    trial.setZero(n);
    ahead.setZero(n);
    before.setZero(n);
    double momentum = 1;
    const double enough = weights.tolerance * r.cwiseProduct(scale).norm();
    for (int i = 0; i < weights.max_iterations; ++i) {
      slope.noalias() = Ns * ahead;
      slope += r.cwiseProduct(scale);
      trial = ahead - slope / steep;
      for (std::size_t c = 0; c < laws.size(); ++c) {
        double* at = trial.data() + begin[c];
        Law law = laws[c];
        if (law.kind == LawKind::Box) {
          law.lo /= scale[begin[c]];
          law.hi /= scale[begin[c]];
        }
        project(law, at, at);
      }
      if (steep * (trial - ahead).norm() <= enough) break;
      const bool uphill = (ahead - trial).dot(trial - before) > 0;
      const double next = uphill ? 1 : 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
      const double carry = uphill ? 0 : (momentum - 1) / next;
      ahead = trial + carry * (trial - before);
      before = trial;
      momentum = next;
    }
    lambda = trial.cwiseProduct(scale);
  }

  /// All terms for given impulses (rows of `s`).
  TransitionLoss terms(const Scene& s, const VecX& impulse) const {
    const CanonicalProblem& problem = s.assembly.problem;
    TransitionLoss out;
    // ½|H (v_free − v') + Jᵀλ|²_{H⁻¹} = ½ gᵀHg + λᵀJ g + ½ λᵀ J H⁻¹ Jᵀ λ
    problem.H.multiply(s.gap, Hg);
    push.noalias() = s.solved * impulse;
    out.prediction = 0.5 * s.gap.dot(Hg) + Hg.dot(push) + 0.5 * impulse.dot(s.rows * push);
    Index at = 0;
    for (const Law& law : problem.laws) {
      const double* w = s.w.data() + at;
      const double* x = impulse.data() + s.bilateral + at;
      if (law.kind == LawKind::Box) {
        const double slack = w[0] > 0 ? x[0] - law.lo : x[0] - law.hi;
        out.dissipation += weights.dissipation * w[0] * slack;
      } else if (law.kind == LawKind::Orthant || law.is_frictional()) {
        const double tau =
            1 / std::max(1e-300, s.rows.row(s.bilateral + at).dot(s.solved.col(s.bilateral + at)));
        out.complementarity += weights.complementarity * x[0] * std::max(0.0, w[0]);
        const double overlap = std::min(0.0, w[0]);
        out.penetration += 0.5 * weights.penetration * tau * overlap * overlap;
        if (law.is_frictional()) {
          double lost = x[0] * shift_of(law, w);
          for (int i = 1; i < law.dim; ++i) lost += x[i] * w[i];
          out.dissipation += weights.dissipation * lost;
        }
      }
      at += law.dim;
    }
    for (const ContactBlock& block : s.assembly.blocks) {
      const double x = impulse[s.bilateral + block.row];
      out.complementarity += block.softness * x * x;
    }
    out.value = out.prediction + out.complementarity + out.dissipation + out.penetration;
    return out;
  }

  /// dL/dμ and dL/dε of one contact block.
  struct ByMaterial {
    double friction = 0, restitution = 0;
  };
  ByMaterial by_material(const Parameters& p, const VecX& v, double h, std::size_t c) const {
    const ContactBlock& block = scene.assembly.blocks[c];
    const Law& law = scene.assembly.problem.laws[static_cast<std::size_t>(block.block)];
    const Index at = scene.bilateral + block.row;
    const double* w = scene.w.data() + block.row;
    ByMaterial out;
    if (law.is_frictional() && law.mu > 0) {
      for (int i = 1; i <= law.tangent_dim(); ++i)
        out.friction += (r[at + i] + N.row(at + i).dot(lambda)) * lambda[at + i] / law.mu;
      out.friction += weights.dissipation * lambda[at] * tangent_norm(law, w);
    }
    const VecX normal = scene.rows.row(at);
    const double approach = normal.dot(v.head(normal.size()));
    const double closing = scene.contacts.contacts[c].gap + h * normal.dot(scene.assembly.v_free);
    if (approach < -threshold(p) && (scene.contacts.contacts[c].gap <= 0 || closing <= 0)) {
      const double tau = 1 / std::max(1e-300, normal.dot(scene.solved.col(at)));
      out.restitution = approach * (w[0] > 0 ? weights.complementarity * lambda[at]
                                             : weights.penetration * tau * w[0]);
    }
    return out;
  }

  void differentiate(const Parameters& p, const VecX& q, const VecX& v, const VecX& next, double t,
                     double h, double* gradient) {
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      gradient[k] = 0;
      if (roles[k] == Role::Other) {
        gradient[k] = by_other(p, q, v, next, t, h, wanted[k]);
        continue;
      }
      if (scene.assembly.blocks.empty()) continue;
      dual_parameters.assign(p.values.data(), p.values.data() + p.values.size());
      dual_parameters[static_cast<std::size_t>(wanted[k])].d[0] = 1;
      for (std::size_t c = 0; c < scene.assembly.blocks.size(); ++c) {
        const Contact& contact = scene.contacts.contacts[c];
        const ContactMaterialT<Dual<1>> m =
            contact_material(model, dual_parameters.data(), model.shape(contact.shape_a).material,
                             model.shape(contact.shape_b).material);
        const ByMaterial by = by_material(p, v, h, c);
        gradient[k] += m.friction.d[0] * by.friction + m.restitution.d[0] * by.restitution;
      }
    }
  }

  /// Impulses are held; the contacts of the changed problem get theirs by key.
  double by_other(const Parameters& p, const VecX& q, const VecX& v, const VecX& next, double t,
                  double h, Index parameter) {
    double side[2];
    const double step = 1e-6 * std::max(1e-3, std::abs(p.values[parameter]));
    for (int k = 0; k < 2; ++k) {
      Parameters changed = p;
      changed.values[parameter] += k == 0 ? -step : step;
      assemble(changed, q, v, next, t, h, probe);
      VecX held = VecX::Zero(probe.rows.rows());
      held.head(scene.bilateral) = lambda.head(scene.bilateral);
      const std::vector<Contact>& old = scene.contacts.contacts;
      for (std::size_t c = 0; c < probe.contacts.contacts.size(); ++c) {
        const auto same = std::find_if(old.begin(), old.end(), [&](const Contact& x) {
          return x.key == probe.contacts.contacts[c].key;
        });
        if (same == old.end()) continue;
        const auto at = static_cast<std::size_t>(same - old.begin());
        const ContactBlock& to = probe.assembly.blocks[c];
        const ContactBlock& from = scene.assembly.blocks[at];
        held.segment(probe.bilateral + to.row, std::min(to.dim, from.dim)) =
            lambda.segment(scene.bilateral + from.row, std::min(to.dim, from.dim));
      }
      // Joint rows come last and are the same in both.
      Index contact_rows[2] = {0, 0};
      for (const ContactBlock& b : probe.assembly.blocks) contact_rows[0] += b.dim;
      for (const ContactBlock& b : scene.assembly.blocks) contact_rows[1] += b.dim;
      const Index rest = static_cast<Index>(lambda.size()) - scene.bilateral - contact_rows[1];
      held.tail(rest) = lambda.tail(rest);
      side[k] = terms(probe, held).value;
    }
    return (side[1] - side[0]) / (2 * step);
  }
};

ImplicitLoss::ImplicitLoss(const Model& model, const StepSettings& settings,
                           std::vector<Index> parameters, const ImplicitWeights& weights)
    : impl_(std::make_unique<Impl>(model, settings, std::move(parameters), weights)) {}
ImplicitLoss::~ImplicitLoss() = default;
ImplicitLoss::ImplicitLoss(ImplicitLoss&&) noexcept = default;

TransitionLoss ImplicitLoss::operator()(const Parameters& parameters, const VecX& q, const VecX& v,
                                        const VecX& v_next, double t, double h, double* gradient) {
  Impl& x = *impl_;
  x.assemble(parameters, q, v, v_next, t, h, x.scene);
  x.solve_inner(x.scene);
  TransitionLoss out = x.terms(x.scene, x.lambda);
  // A share of the impulse that would carry the bodies' own change of velocity.
  double largest = 0;
  for (const ContactBlock& b : x.scene.assembly.blocks)
    largest = std::max(largest, x.lambda[x.scene.bilateral + b.row]);
  for (const ContactBlock& b : x.scene.assembly.blocks) {
    const double* l = x.lambda.data() + x.scene.bilateral + b.row;
    const Law& law = x.scene.assembly.problem.laws[static_cast<std::size_t>(b.block)];
    if (!(l[0] > 1e-6 * largest)) continue;
    ++out.pushing;
    if (law.is_frictional() && tangent_norm(law, l) > (1 - 1e-6) * law.mu * l[0]) ++out.sliding;
  }
  out.contacts = static_cast<Index>(x.scene.assembly.blocks.size());
  if (out.contacts > 0) out.unexplained = std::max(0.0, 0.5 * x.scene.gap.dot(x.Hg));
  if (gradient != nullptr) x.differentiate(parameters, q, v, v_next, t, h, gradient);
  return out;
}

}  // namespace orthant
