// SPDX-License-Identifier: Apache-2.0
// force/force.cpp: (model, parameters, q, v, u, t, h) => H, k and energies.
//   H = M + h^2 J'KJ + h J'CJ + J'AJ,   k = M v* + h f + (h J'CJ + J'AJ) v,   a sum over springs,
// dampers and armatures A
// H is filled block by block; pairs of blocks appear only where a spring joins two dynamic bodies,
// and only then H becomes sparse.
#include "orthant/force/force.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "force/callback.hpp"
#include "force/coast.hpp"
#include "force/elements.hpp"
#include "force/fe/flexible.hpp"
#include "force/free_rotation_kernel.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/force/flexible.hpp"

namespace orthant {

using internal::SpringElement;

namespace {

constexpr std::size_t kGrain = 512;  // bodies a chunk: some ten microseconds of work

bool is_isotropic(const double* inertia) {
  return inertia[0] == inertia[1] && inertia[1] == inertia[2] && inertia[3] == 0 &&
         inertia[4] == 0 && inertia[5] == 0;
}

bool couples(const Model& model, BodyId a, BodyId b) {
  return a != kWorld && b != kWorld && model.body(a).is_dynamic() && model.body(b).is_dynamic();
}

bool has_coupling(const Model& model) {
  for (const Force& force : model.forces())
    if (force.kind == ForceKind::Spring && couples(model, force.a, force.b)) return true;
  for (const Joint& joint : model.joints())
    if (joint.has_spring() && couples(model, joint.a, joint.b)) return true;
  return false;
}

void size_blocks(const Model& model, VelocityMatrix& H) {
  H.clear();
  for (const BodyId id : model.dynamic_bodies()) H.add_block(model.body(id).v_size);
}

/// factor M, or factor Mob^-1, of one body into its zeroed block.
void fill_mass(const Model& model, const Body& body, const double* x, const VecX& q, double factor,
               double* block) {
  const Index n = body.v_size;
  double linear = factor, angular = factor;
  if (model.law() == LawOfMotion::Overdamped) {
    const double drag = x[body.drag], length = x[body.length];
    linear *= drag * length;
    angular *= drag * length * length * length / 12;
  } else {
    linear *= x[body.mass];
    const double* I = x + body.inertia;
    if (!body.planar && !is_isotropic(I)) {
      const Mat3 W = world_inertia(body_pose(body, q.data()).p, inertia_matrix(I));
      for (int i = 0; i < 3; ++i) {
        block[i * n + i] = linear;
        for (int j = 0; j < 3; ++j) block[(3 + i) * n + 3 + j] = factor * W(i, j);
      }
      return;
    }
    angular *= I[0];
  }
  const Index turn = body.planar ? 2 : 3;
  for (Index i = 0; i < n; ++i) block[i * n + i] = i < turn ? linear : angular;
}

/// v* and the tangent travelled in h, of one body.
void coast_body(const Body& body, const double* x, const VecX& q, const VecX& v, double h,
                Dynamics& dynamics) {
  const internal::Coast coast = internal::coast_of(body, x, q, v, h);
  dynamics.coast_velocity.segment(body.v_begin, body.v_size) = coast.velocity.head(body.v_size);
  dynamics.coast_delta.segment(body.v_begin, body.v_size) = coast.delta.head(body.v_size);
}

/// block += J'SJ, symmetric to the last bit.
void add_square(const internal::ElementRows& J, const internal::ElementMatrix& S, double* block) {
  const Index n = static_cast<Index>(J.cols());
  const internal::ElementRows SJ = S * J;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j) {
      const double x = J.col(i).dot(SJ.col(j));
      block[i * n + j] += x;
      if (i != j) block[j * n + i] += x;
    }
}

/// H += J'SJ: blocks of the two bodies, and their coupling as triplets.
void add_matrix(const Model& model, const SpringElement& e, const internal::ElementMatrix& S,
                Dynamics& dynamics, VelocityMatrix& H) {
  const std::pair<BodyId, const internal::ElementRows*> ends[] = {{e.a, &e.J_a}, {e.b, &e.J_b}};
  for (const auto& [id, J] : ends)
    if (J->cols() > 0 && model.body(id).is_dynamic())
      add_square(*J, S, H.block(model.body(id).dynamic));
  if (!couples(model, e.a, e.b)) return;
  const Body &A = model.body(e.a), &B = model.body(e.b);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6> cross =
      e.J_a.transpose() * S * e.J_b;
  Dynamics::Coupling& coupling = dynamics.couplings.emplace_back();
  coupling.a = A.dynamic;
  coupling.b = B.dynamic;
  for (Index i = 0; i < A.v_size; ++i)
    for (Index j = 0; j < B.v_size; ++j) coupling.values[i * B.v_size + j] = cross(i, j);
}

/// What one spring adds to H and k. `kinematic`: how fast its ends are moved by prescribed bodies.
void add_spring(const Model& model, const SpringElement& e, const VecX& v, double h,
                Dynamics& dynamics, VelocityMatrix& H, VecX& k) {
  const internal::ElementMatrix S = e.stiffness * (h * h) + e.damping * h + e.inertia;
  internal::ElementVector push = internal::ElementVector::Zero(e.force.size());
  const std::pair<BodyId, const internal::ElementRows*> ends[] = {{e.a, &e.J_a}, {e.b, &e.J_b}};
  for (const auto& [id, J] : ends) {
    if (J->cols() == 0) continue;
    const internal::ElementVector rate = *J * internal::velocity_of(model, id, v);
    push += (h * h) * (e.ahead * rate);
    if (model.body(id).is_dynamic()) {
      push += h * (e.damping * rate) + e.inertia * rate;
    } else {
      push -= (h * h) * (e.stiffness * rate);  // the prescribed end moves on during the step
    }
  }
  for (const auto& [id, J] : ends) {
    if (J->cols() == 0 || !model.body(id).is_dynamic()) continue;
    const Body& body = model.body(id);
    k.segment(body.v_begin, body.v_size) += J->transpose() * push;
  }
  add_matrix(model, e, S, dynamics, H);
}

void add_callback(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                  double t, const Force& force, double h, VelocityMatrix& H, VecX& k) {
  const Body& body = model.body(force.a);
  const Index n = body.v_size;
  double f_q[36] = {}, f_v[36] = {};
  const auto size = static_cast<std::size_t>(n) * n;
  if (!force.callback->derivatives(model, parameters, q, v, t, {f_q, size}, {f_v, size})) return;
  const ForceMatrix Q = implicit_part(f_q, n), V = implicit_part(f_v, n);
  double* block = H.block(body.dynamic);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) block[i * n + j] -= h * h * Q(i, j) + h * V(i, j);
  k.segment(body.v_begin, n) -= h * (V * v.segment(body.v_begin, n));
}

/// The diagonal blocks and the couplings, as one sparse matrix.
void make_sparse(const VelocityMatrix& blocks, Dynamics& dynamics, VelocityMatrix& H) {
  std::vector<Dynamics::Place>& places = dynamics.places;
  places.clear();
  for (Index i = 0; i < blocks.block_count(); ++i) places.push_back({i, i, kNone});
  for (std::size_t c = 0; c < dynamics.couplings.size(); ++c) {
    const Dynamics::Coupling& x = dynamics.couplings[c];
    places.push_back({x.b, x.a, static_cast<Index>(c)});
    places.push_back({x.a, x.b, static_cast<Index>(c)});
  }
  std::sort(places.begin(), places.end(), [](const auto& x, const auto& y) {
    return std::tie(x.column, x.row, x.coupling) < std::tie(y.column, y.row, y.coupling);
  });
  const auto same = [&](std::size_t i, std::size_t j) {
    return places[i].column == places[j].column && places[i].row == places[j].row;
  };
  Index nonzeros = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (i == 0 || !same(i - 1, i))
      nonzeros += blocks.block_size(places[i].row) * blocks.block_size(places[i].column);
  SparseMatrix& S = H.reset_sparse(blocks.rows(), nonzeros, blocks.offsets());
  Index *outer = S.outerIndexPtr(), *inner = S.innerIndexPtr(), at = 0;
  double* values = S.valuePtr();
  outer[0] = 0;
  for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
    const Index column = places[first].column;
    while (end < places.size() && places[end].column == column) ++end;
    for (Index k = 0; k < blocks.block_size(column); ++k) {
      for (std::size_t i = first; i < end; ++i) {
        const Dynamics::Place& place = places[i];
        const Index n = blocks.block_size(place.row);
        if (i == first || !same(i - 1, i)) {
          for (Index r = 0; r < n; ++r) {
            inner[at + r] = blocks.block_begin(place.row) + r;
            values[at + r] = 0;
          }
          at += n;
        }
        const Dynamics::Coupling* x =
            place.coupling == kNone ? nullptr
                                    : &dynamics.couplings[static_cast<std::size_t>(place.coupling)];
        const double* block = x == nullptr ? blocks.block(column) : x->values;
        // Column k of the block, or of the transposed one.
        const bool across = x != nullptr && x->a == column;
        const Index stride = across ? 1 : blocks.block_size(column);
        block += across ? k * n : k;
        for (Index r = 0; r < n; ++r) values[at - n + r] += block[r * stride];
      }
      outer[blocks.block_begin(column) + k + 1] = at;
    }
  }
}

}  // namespace

ForceMatrix implicit_part(const double* derivative, Index n) {
  const ForceMatrix A = Eigen::Map<const ForceMatrix>(derivative, n, n);
  const ForceMatrix even = 0.5 * (A + A.transpose());
  const Eigen::SelfAdjointEigenSolver<ForceMatrix> eigen(even);
  const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 6, 1> clipped = eigen.eigenvalues().cwiseMin(0);
  const ForceMatrix P =
      eigen.eigenvectors() * clipped.asDiagonal() * eigen.eigenvectors().transpose();
  return 0.5 * (P + P.transpose());
}

namespace {

void assemble_body_mass(const Model& model, const Parameters& parameters, const VecX& q,
                        VelocityMatrix& M) {
  size_blocks(model, M);
  const std::span<const BodyId> bodies = model.dynamic_bodies();
  const double* x = parameters.values.data();
  parallel_for(bodies.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      fill_mass(model, model.body(bodies[i]), x, q, 1, M.block(static_cast<Index>(i)));
  });
}

}  // namespace

void assemble_mass(const Model& model, const Parameters& parameters, const VecX& q,
                   VelocityMatrix& M) {
  assemble_body_mass(model, parameters, q, M);
  internal::append_node_mass(model, parameters, M);
  Dynamics armature;
  for (const Joint& joint : model.joints()) {
    if (joint.armature == kNone) continue;
    const SpringElement e = internal::joint_spring(model, parameters, q, {}, joint);
    add_matrix(model, e, e.inertia, armature, M);
  }
  if (armature.couplings.empty()) return;
  armature.blocks = std::move(M);
  M = {};
  make_sparse(armature.blocks, armature, M);
}

namespace {

void bodies_force(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                  double t, const VecX& u, double ahead, VecX& f) {
  f.setZero(model.dynamic_v_size());
  internal::add_explicit(model, parameters, q, v, t, u, f);
  internal::for_each_spring(model, parameters, q, v, ahead, [&](const SpringElement& e) {
    if (e.a != kWorld && model.body(e.a).is_dynamic()) {
      const Body& body = model.body(e.a);
      f.segment(body.v_begin, body.v_size) += e.J_a.transpose() * e.force;
    }
    if (e.b != kWorld && model.body(e.b).is_dynamic()) {
      const Body& body = model.body(e.b);
      f.segment(body.v_begin, body.v_size) += e.J_b.transpose() * e.force;
    }
  });
}

/// Flight of the nodes without any force: straight on.
void coast_nodes(const Model& model, const VecX& v, double h, Dynamics& dynamics) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (const Index node : part.free_nodes)
      for (Index i = part.v_begin[node]; i < part.v_begin[node] + part.dim; ++i) {
        dynamics.coast_velocity[i] = v[i];
        dynamics.coast_delta[i] = h * v[i];
      }
}

void assemble_bodies(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                     double t, const VecX& u, double h, Dynamics& dynamics, VelocityMatrix& out,
                     VecX& k) {
  ORTHANT_ASSERT(q.size() == model.q_size() && v.size() == model.v_size() && h > 0);
  const double* x = parameters.values.data();
  const bool inertial = model.law() == LawOfMotion::Inertial;
  const double middle = t + 0.5 * h;
  dynamics.coupled = has_coupling(model);
  VelocityMatrix& H = dynamics.coupled ? dynamics.blocks : out;
  size_blocks(model, H);
  const double ahead = inertial ? h : 0;
  bodies_force(model, parameters, q, v, middle, u, ahead, dynamics.force);
  dynamics.coast_velocity.resize(model.dynamic_v_size());
  dynamics.coast_delta.resize(model.dynamic_v_size());
  k.resize(model.dynamic_v_size());
  const std::span<const BodyId> bodies = model.dynamic_bodies();
  parallel_for(bodies.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      const Body& body = model.body(bodies[b]);
      double* block = H.block(static_cast<Index>(b));
      fill_mass(model, body, x, q, inertial ? 1 : h, block);
      if (inertial) {
        coast_body(body, x, q, v, h, dynamics);
      } else {
        dynamics.coast_velocity.segment(body.v_begin, body.v_size).setZero();
        dynamics.coast_delta.segment(body.v_begin, body.v_size).setZero();
      }
      for (Index i = 0; i < body.v_size; ++i) {
        double s = h * dynamics.force[body.v_begin + i];
        if (inertial) {
          for (Index j = 0; j < body.v_size; ++j)
            s += block[i * body.v_size + j] * dynamics.coast_velocity[body.v_begin + j];
        }
        k[body.v_begin + i] = s;
      }
    }
  });

  dynamics.couplings.clear();
  internal::for_each_spring(model, parameters, q, v, ahead, [&](const SpringElement& e) {
    add_spring(model, e, v, h, dynamics, H, k);
  });
  for (const Force& force : model.forces())
    if (force.kind == ForceKind::Callback)
      add_callback(model, parameters, q, v, middle, force, h, H, k);
  if (dynamics.coupled) make_sparse(H, dynamics, out);
}

}  // namespace

void applied_force(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                   double t, const VecX& u, VecX& f) {
  bodies_force(model, parameters, q, v, t, u, 0, f);
  if (!model.flexible_parts().empty()) internal::add_flexible_force(model, parameters, q, v, f);
}

void assemble_dynamics_at(const Model& model, const Parameters& parameters, const VecX& q,
                          const VecX& v, const VecX& v_at, double t, const VecX& u, double h,
                          Dynamics& dynamics, VelocityMatrix& H, VecX& k) {
  if (model.flexible_parts().empty())
    return assemble_bodies(model, parameters, q, v, t, u, h, dynamics, H, k);
  assemble_bodies(model, parameters, q, v, t, u, h, dynamics, dynamics.bodies, k);
  coast_nodes(model, v, h, dynamics);
  internal::assemble_flexible(model, parameters, q, v, v_at, h, dynamics.bodies, H, k);
  dynamics.coupled = true;
}

void assemble_metric(const Model& model, const Parameters& parameters, const VecX& q, double h,
                     Dynamics& scratch, VelocityMatrix& H) {
  if (model.flexible_parts().empty()) return assemble_body_mass(model, parameters, q, H);
  assemble_body_mass(model, parameters, q, scratch.bodies);
  const VecX at_rest = VecX::Zero(model.v_size());
  VecX k = VecX::Zero(model.dynamic_v_size());  // of no use here
  internal::assemble_flexible(model, parameters, q, at_rest, {}, h, scratch.bodies, H, k);
}

void assemble_dynamics(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, double t, const VecX& u, double h, Dynamics& dynamics,
                       VelocityMatrix& H, VecX& k) {
  assemble_dynamics_at(model, parameters, q, v, {}, t, u, h, dynamics, H, k);
}

internal::Coast internal::coast_of(const Body& body, const double* x, const VecX& q, const VecX& v,
                                   double h) {
  Coast coast;
  coast.velocity.head(body.v_size) = v.segment(body.v_begin, body.v_size);
  coast.delta.head(body.v_size) = h * coast.velocity.head(body.v_size);
  const double* I = x + body.inertia;
  if (body.planar || is_isotropic(I)) return coast;
  const Vec3 omega = coast.velocity.tail<3>();
  if (omega == Vec3::Zero()) return coast;
  const FreeRotationT<double> r =
      free_rotation<double>(inertia_matrix(I), body_pose(body, q.data()).p, omega, h);
  if (!r.omega.allFinite() || !r.turn.allFinite()) return coast;  // absurd spin: explicit is finite
  coast.velocity.tail<3>() = r.omega;
  coast.delta.tail<3>() = r.turn;
  return coast;
}

void coast(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v, double h,
           Dynamics& dynamics) {
  dynamics.coast_velocity.resize(model.dynamic_v_size());
  dynamics.coast_delta.resize(model.dynamic_v_size());
  const std::span<const BodyId> bodies = model.dynamic_bodies();
  parallel_for(bodies.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      coast_body(model.body(bodies[b]), parameters.values.data(), q, v, h, dynamics);
  });
  coast_nodes(model, v, h, dynamics);
}

void free_flight(const Dynamics& dynamics, const VecX& v_next, double h, VecX& delta) {
  const Index n = static_cast<Index>(dynamics.coast_delta.size());
  ORTHANT_ASSERT(v_next.size() >= n && delta.size() >= n);
  delta.head(n) = dynamics.coast_delta + (0.5 * h) * (v_next.head(n) - dynamics.coast_velocity);
}

void add_gyroscopic(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                    VecX& f) {
  if (model.law() == LawOfMotion::Overdamped) return;
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    const double* I = parameters.values.data() + body.inertia;
    if (body.planar || is_isotropic(I)) continue;
    const Vec3 omega = v.segment<3>(body.v_begin + 3);
    const Mat3 W = world_inertia(body_pose(body, q.data()).p, inertia_matrix(I));
    f.segment<3>(body.v_begin + 3) -= omega.cross(Vec3(W * omega));
  }
}

namespace {

/// The same bits for any number of threads: parts are cut by the number of bodies alone.
template <class Term>
double sum_over_bodies(const Model& model, Term&& term) {
  constexpr std::size_t kParts = 64;
  const std::span<const BodyId> bodies = model.dynamic_bodies();
  const std::size_t grain = std::max<std::size_t>(kGrain, (bodies.size() + kParts - 1) / kParts);
  std::array<double, kParts> parts{};
  parallel_for_chunks(bodies.size(), grain,
                      [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                        for (std::size_t i = begin; i < end; ++i)
                          parts[chunk] += term(model.body(bodies[i]));
                      });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace

double kinetic_energy(const Model& model, const Parameters& parameters, const VecX& q,
                      const VecX& v) {
  double energy = sum_over_bodies(model, [&](const Body& body) {
    const double mass = parameters[body.mass];
    const double* u = v.data() + body.v_begin;
    const double* I = parameters.values.data() + body.inertia;
    if (body.planar) return 0.5 * (mass * (u[0] * u[0] + u[1] * u[1]) + I[0] * u[2] * u[2]);
    const Vec3 omega = rotate(conjugate(body_pose(body, q.data()).p), Vec3(u[3], u[4], u[5]));
    return 0.5 * (mass * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) +
                  omega.dot(inertia_matrix(I) * omega));
  });
  for (const Joint& joint : model.joints())
    if (joint.armature != kNone) {
      const double rate = internal::joint_speed(model, parameters, q, v, joint);
      energy += 0.5 * parameters[joint.armature] * rate * rate;
    }
  return energy + internal::flexible_kinetic_energy(model, parameters, v);
}

double potential_energy(const Model& model, const Parameters& parameters, const VecX& q, double t) {
  const double* g = parameters.values.data() + model.gravity();
  double energy = sum_over_bodies(model, [&](const Body& body) {
    double height = 0;
    for (int i = 0; i < (body.planar ? 2 : 3); ++i) height -= g[i] * q[body.q_begin + i];
    return parameters[body.mass] * height;
  });
  const VecX at_rest;
  internal::for_each_spring(model, parameters, q, at_rest, 0,
                            [&](const SpringElement& e) { energy += e.energy; });
  for (const Force& force : model.forces())
    if (force.kind == ForceKind::Callback)
      energy += force.callback->potential(model, parameters, q, t);
  return energy + internal::flexible_potential_energy(model, parameters, q);
}

}  // namespace orthant
