// SPDX-License-Identifier: Apache-2.0
// force/fe/flexible.cpp: (model, parameters, q, v, h) => forces, H and k of the nodes.
//   H = M + h²K + h(αM + βK)        k = M v + h (f(x) + g M) + h²K v_at,   x = q + h v_at
// The pattern of H is part of the model, and each element knows its slots: assembly is one pass
// over the elements with no search and no allocation. K is positive semi-definite element by
// element (force/corotational_kernel.hpp), M positive: H is positive definite.
#include "force/fe/flexible.hpp"

#include <Eigen/SVD>
#include <algorithm>

#include "force/corotational_kernel.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/force/flexible.hpp"

namespace orthant {

namespace internal {

void polar_by_svd(const double (*F)[3], double (*R)[3]) {
  Mat3 A;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) A(i, j) = F[i][j];
  const Eigen::JacobiSVD<Mat3> svd(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Mat3 U = svd.matrixU();
  if ((U * svd.matrixV().transpose()).determinant() < 0) U.col(2) *= -1;
  const Mat3 rotation = U * svd.matrixV().transpose();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) R[i][j] = rotation(i, j);
}

namespace {

/// The numbers of one part.
struct PartData {
  LameT<double> lame;
  double density, damping_mass, damping_stiffness;
};

PartData data_of(const FlexiblePart& part, const Parameters& x) {
  return {lame(x[part.young], x[part.poisson], part.dim == 2 && !part.plane_strain),
          x[part.density], x[part.damping_mass], x[part.damping_stiffness]};
}

template <int D>
const ElementRestT<D>& rest_of(const FlexiblePart& part, Index e) {
  static_assert(sizeof(ElementRestT<D>) == sizeof(double) * ((D + 1) * D + 1));
  return *reinterpret_cast<const ElementRestT<D>*>(part.rest.data() +
                                                   static_cast<std::size_t>(e) * ((D + 1) * D + 1));
}

/// Rows of `from` (positions or velocities laid out by `place`) at the corners of an element.
template <int D>
void gather_positions(const FlexiblePart& part, const VecX& q, Index e, double (*x)[D]) {
  for (int a = 0; a <= D; ++a) {
    const double* from = q.data() + part.q_begin + D * part.elements[e][a];
    for (int i = 0; i < D; ++i) x[a][i] = from[i];
  }
}
template <int D>
void gather_velocities(const FlexiblePart& part, const VecX& v, Index e, double (*x)[D]) {
  for (int a = 0; a <= D; ++a) {
    const Index at = part.v_begin[part.elements[e][a]];
    for (int i = 0; i < D; ++i) x[a][i] = at < 0 || at + D > v.size() ? 0 : v[at + i];
  }
}

template <class Visit>
void for_each_part(const Model& model, Visit&& visit) {
  for (const FlexiblePart& part : model.flexible_parts()) {
    if (part.dim == 3) {
      visit(part, std::integral_constant<int, 3>{});
    } else {
      visit(part, std::integral_constant<int, 2>{});
    }
  }
}

/// Gravity and loads on the free nodes, times `factor`.
void add_loads(const Model& model, const Parameters& parameters, double factor, VecX& f) {
  const double* g = parameters.values.data() + model.gravity();
  for (const FlexiblePart& part : model.flexible_parts()) {
    const double density = factor * parameters[part.density];
    for (const Index node : part.free_nodes)
      for (int i = 0; i < part.dim; ++i)
        f[part.v_begin[node] + i] += density * part.node_volume[node] * g[i];
  }
  for (const NodeForce& force : model.node_forces()) {
    const FlexiblePart& part = model.flexible_parts()[force.part];
    const double share = factor / static_cast<double>(force.nodes.size());
    for (const Index node : force.nodes) {
      if (part.block[node] < 0) continue;
      for (int i = 0; i < part.dim; ++i)
        f[part.v_begin[node] + i] += share * parameters[force.parameter_begin + i];
    }
  }
}

template <int D>
void scatter(const FlexiblePart& part, Index e, const double (*f)[D], VecX& out) {
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a];
    if (part.block[node] < 0) continue;
    for (int i = 0; i < D; ++i) out[part.v_begin[node] + i] += f[a][i];
  }
}

/// Writes pattern and zero values of one part's columns; returns where its values begin.
Index begin_columns(const FlexiblePart& part, Index column, Index value, Index* outer,
                    Index* inner) {
  const Index first = column;  // also the row of its first free node
  for (std::size_t b = 0; b + 1 < part.neighbour_begin.size(); ++b) {
    const Index begin = part.neighbour_begin[b], end = part.neighbour_begin[b + 1];
    for (int j = 0; j < part.dim; ++j) {
      outer[column++] = value;
      for (Index n = begin; n < end; ++n)
        for (int i = 0; i < part.dim; ++i)
          inner[value++] = first + part.dim * part.neighbour[n] + i;
    }
  }
  return value;
}

/// One pass over the elements of a part: values of H (from `values`), and k.
template <int D>
void assemble_part(const FlexiblePart& part, const PartData& data, const VecX& q, const VecX& v,
                   const VecX& v_at, double h, double* values, VecX& k) {
  constexpr int kCorners = D + 1;
  const double stiff = h * h + h * data.damping_stiffness;
  const double keep = 1 + h * data.damping_mass;
  const bool relinearised = v_at.size() > 0;
  std::vector<Index> number(static_cast<std::size_t>(part.node_count), -1);
  for (std::size_t b = 0; b < part.free_nodes.size(); ++b)
    number[part.free_nodes[b]] = static_cast<Index>(b);

  for (Index e = 0; e < part.element_count(); ++e) {
    const ElementRestT<D>& rest = rest_of<D>(part, e);
    const auto& corner = part.elements[e];
    double x[kCorners][D], at[kCorners][D] = {}, push[kCorners][D] = {};
    gather_positions<D>(part, q, e, x);
    if (relinearised) {
      gather_velocities<D>(part, v_at, e, at);
      for (int a = 0; a < kCorners; ++a)
        for (int i = 0; i < D; ++i) x[a][i] += h * at[a][i];
    }
    const CorotatedT<D, double> c = corotate<D>(rest, x);
    add_element_force<D>(rest, data.lame, c, h, push);
    if (relinearised) add_element_stiffness_times<D>(rest, data.lame, c, at, h * h, push);
    // What driven corners do: their columns are known.
    bool driven = false;
    double given[kCorners][D] = {};
    for (int a = 0; a < kCorners; ++a) {
      if (part.block[corner[a]] >= 0 || part.v_begin[corner[a]] < 0) continue;
      driven = true;
      for (int i = 0; i < D; ++i) given[a][i] = v[part.v_begin[corner[a]] + i];
    }
    if (driven) add_element_stiffness_times<D>(rest, data.lame, c, given, -stiff, push);
    scatter<D>(part, e, push, k);

    double r[kCorners][D];  // gradients turned with the element
    for (int a = 0; a < kCorners; ++a)
      for (int i = 0; i < D; ++i) {
        r[a][i] = 0;
        for (int j = 0; j < D; ++j) r[a][i] += c.R[i][j] * rest.gradient[a][j];
      }
    const double mu = stiff * rest.volume * data.lame.mu;
    const double lambda = stiff * rest.volume * data.lame.lambda;
    const double mass = data.density * rest.volume / (kCorners * (D + 2));
    const Index* slot = part.slot.data() + static_cast<std::size_t>(e) * kCorners * kCorners;
    for (int a = 0; a < kCorners; ++a) {
      for (int b = 0; b <= a; ++b) {
        const Index lower = slot[a * kCorners + b];
        if (lower < 0) continue;
        double dot = 0, block[D][D];  // products in brackets: symmetric to the last bit
        for (int i = 0; i < D; ++i) dot += r[a][i] * r[b][i];
        dot *= mu;
        if (part.consistent_mass) dot += keep * mass * (a == b ? 2 : 1);
        for (int i = 0; i < D; ++i) {
          for (int j = 0; j < D; ++j)
            block[i][j] = lambda * (r[a][i] * r[b][j]) + mu * (r[b][i] * r[a][j]);
          block[i][i] += dot;
        }
        const auto add = [&](Index place, Index column, bool transposed) {
          const Index begin = part.neighbour_begin[column];
          const Index rows = D * (part.neighbour_begin[column + 1] - begin);
          double* to = values + D * (static_cast<std::ptrdiff_t>(D) * begin + (place - begin));
          for (int j = 0; j < D; ++j, to += rows)
            for (int i = 0; i < D; ++i) to[i] += transposed ? block[j][i] : block[i][j];
        };
        add(lower, number[corner[b]], false);
        if (a != b) add(slot[b * kCorners + a], number[corner[a]], true);
      }
    }
    if (part.consistent_mass) {
      double momentum[kCorners][D], old[kCorners][D];
      gather_velocities<D>(part, v, e, old);
      for (int i = 0; i < D; ++i) {
        double sum = 0;
        for (int a = 0; a < kCorners; ++a) sum += old[a][i];
        for (int a = 0; a < kCorners; ++a) {
          // A driven corner keeps its velocity: it has the same momentum before and after.
          momentum[a][i] = mass * (old[a][i] + sum);
          for (int b = 0; b < kCorners; ++b)
            if (part.block[corner[b]] < 0)
              momentum[a][i] -= keep * mass * (a == b ? 2 : 1) * old[b][i];
        }
      }
      scatter<D>(part, e, momentum, k);
    }
  }
  if (part.consistent_mass) return;
  for (std::size_t b = 0; b < part.free_nodes.size(); ++b) {
    const Index node = part.free_nodes[b], begin = part.neighbour_begin[b];
    const Index rows = D * (part.neighbour_begin[b + 1] - begin);
    const Index own =
        static_cast<Index>(std::lower_bound(part.neighbour.begin() + begin,
                                            part.neighbour.begin() + part.neighbour_begin[b + 1],
                                            static_cast<Index>(b)) -
                           part.neighbour.begin());
    double* to = values + D * (static_cast<std::ptrdiff_t>(D) * begin + (own - begin));
    const double mass = data.density * part.node_volume[node];
    for (int i = 0; i < D; ++i) {
      to[i * rows + i] += keep * mass;
      k[part.v_begin[node] + i] += mass * v[part.v_begin[node] + i];
    }
  }
}

/// Columns of the bodies' H, whichever form it has.
Index copy_columns(const VelocityMatrix& bodies, Index* outer, Index* inner, double* values) {
  Index at = 0, column = 0;
  if (bodies.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& A = bodies.sparse_matrix();
    for (; column < A.outerSize(); ++column) {
      outer[column] = at;
      for (SparseMatrix::InnerIterator it(A, column); it; ++it) {
        inner[at] = static_cast<Index>(it.row());
        values[at++] = it.value();
      }
    }
    return at;
  }
  for (Index b = 0; b < bodies.block_count(); ++b) {
    const Index n = bodies.block_size(b), begin = bodies.block_begin(b);
    for (Index j = 0; j < n; ++j) {
      outer[column++] = at;
      for (Index i = 0; i < n; ++i) {
        inner[at] = begin + i;
        values[at++] = bodies.block(b)[i * n + j];
      }
    }
  }
  return at;
}

}  // namespace

void add_flexible_force(const Model& model, const Parameters& parameters, const VecX& q,
                        const VecX& v, VecX& f) {
  add_loads(model, parameters, 1, f);
  for_each_part(model, [&](const FlexiblePart& part, auto dim) {
    constexpr int D = decltype(dim)::value;
    const PartData data = data_of(part, parameters);
    for (Index e = 0; e < part.element_count(); ++e) {
      double x[D + 1][D], u[D + 1][D], push[D + 1][D] = {};
      gather_positions<D>(part, q, e, x);
      gather_velocities<D>(part, v, e, u);
      const CorotatedT<D, double> c = corotate<D>(rest_of<D>(part, e), x);
      add_element_force<D>(rest_of<D>(part, e), data.lame, c, 1.0, push);
      if (data.damping_stiffness > 0)
        add_element_stiffness_times<D>(rest_of<D>(part, e), data.lame, c, u,
                                       -data.damping_stiffness, push);
      scatter<D>(part, e, push, f);
    }
    for (const Index node : part.free_nodes)
      for (int i = 0; i < D; ++i)
        f[part.v_begin[node] + i] -=
            data.damping_mass * data.density * part.node_volume[node] * v[part.v_begin[node] + i];
  });
}

void assemble_flexible(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, const VecX& v_at, double h, const VelocityMatrix& bodies,
                       VelocityMatrix& H, VecX& k) {
  const Index n = model.dynamic_v_size();
  Index count = static_cast<Index>(bodies.all_values().size());
  for (const FlexiblePart& part : model.flexible_parts())
    count += part.dim * part.dim * static_cast<Index>(part.neighbour.size());
  std::vector<Index> offsets(bodies.offsets().begin(), bodies.offsets().end());
  for (const FlexiblePart& part : model.flexible_parts())
    for (std::size_t b = 0; b < part.free_nodes.size(); ++b)
      offsets.push_back(offsets.back() + part.dim);
  SparseMatrix& S = H.reset_sparse(n, count, std::move(offsets));
  Index* outer = S.outerIndexPtr();
  Index* inner = S.innerIndexPtr();
  double* values = S.valuePtr();
  std::fill(values, values + count, 0.0);
  Index value = copy_columns(bodies, outer, inner, values), column = bodies.rows();
  k.conservativeResize(n);
  k.tail(n - column).setZero();
  add_loads(model, parameters, h, k);
  for_each_part(model, [&](const FlexiblePart& part, auto dim) {
    constexpr int D = decltype(dim)::value;
    double* own = values + value;
    value = begin_columns(part, column, value, outer, inner);
    column += D * static_cast<Index>(part.free_nodes.size());
    assemble_part<D>(part, data_of(part, parameters), q, v, v_at, h, own, k);
  });
  outer[n] = value;
  ORTHANT_ASSERT(value == count && column == n);
}

void append_node_mass(const Model& model, const Parameters& parameters, VelocityMatrix& M) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (const Index node : part.free_nodes) {
      double* block = M.add_block(part.dim);
      for (int i = 0; i < part.dim; ++i)
        block[i * part.dim + i] = parameters[part.density] * part.node_volume[node];
    }
}

double flexible_kinetic_energy(const Model& model, const Parameters& parameters, const VecX& v) {
  double energy = 0;
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i)
      energy += 0.5 * parameters[part.density] * part.node_volume[i] *
                node_velocity(part, v, i).squaredNorm();
  return energy;
}

double flexible_potential_energy(const Model& model, const Parameters& parameters, const VecX& q) {
  const double* g = parameters.values.data() + model.gravity();
  const Vec3 gravity(g[0], g[1], g[2]);
  double energy = 0;
  for_each_part(model, [&](const FlexiblePart& part, auto dim) {
    constexpr int D = decltype(dim)::value;
    const PartData data = data_of(part, parameters);
    for (Index e = 0; e < part.element_count(); ++e) {
      double x[D + 1][D];
      gather_positions<D>(part, q, e, x);
      energy += element_energy<D>(rest_of<D>(part, e), data.lame, x);
    }
    for (Index i = 0; i < part.node_count; ++i)
      energy -= data.density * part.node_volume[i] * gravity.dot(node_position(part, q, i));
  });
  for (const NodeForce& force : model.node_forces()) {
    const FlexiblePart& part = model.flexible_parts()[force.part];
    for (const Index node : force.nodes)
      for (int i = 0; i < part.dim; ++i)
        energy -= parameters[force.parameter_begin + i] / static_cast<double>(force.nodes.size()) *
                  node_position(part, q, node)[i];
  }
  return energy;
}

}  // namespace internal

Index inverted_elements(const Model& model, const VecX& q) {
  Index count = 0;
  internal::for_each_part(model, [&](const FlexiblePart& part, auto dim) {
    constexpr int D = decltype(dim)::value;
    for (Index e = 0; e < part.element_count(); ++e) {
      double x[D + 1][D], F[D][D];
      internal::gather_positions<D>(part, q, e, x);
      deformation_gradient<D>(internal::rest_of<D>(part, e), x, F);
      count += !(determinant<D>(F) > 0);
    }
  });
  return count;
}

std::vector<double> element_stress_norms(const Model& model, const Parameters& parameters,
                                         const VecX& q, Index place) {
  const FlexiblePart& wanted = model.flexible_parts()[place];
  std::vector<double> out;
  internal::for_each_part(model, [&](const FlexiblePart& part, auto dim) {
    constexpr int D = decltype(dim)::value;
    if (&part != &wanted) return;
    const internal::PartData data = internal::data_of(part, parameters);
    for (Index e = 0; e < part.element_count(); ++e) {
      double x[D + 1][D], sigma[D][D];
      internal::gather_positions<D>(part, q, e, x);
      const CorotatedT<D, double> c = corotate<D>(internal::rest_of<D>(part, e), x);
      element_stress<D>(data.lame, c, sigma);
      double mean = 0, square = 0;
      for (int i = 0; i < D; ++i) mean += sigma[i][i];
      // Plane strain has a stress across the plane; plane stress has none.
      const double across = D == 2 && part.plane_strain ? parameters[part.poisson] * mean : 0;
      mean = (mean + across) / 3;
      for (int i = 0; i < D; ++i)
        for (int j = 0; j < D; ++j) {
          const double s = sigma[i][j] - (i == j ? mean : 0);
          square += s * s;
        }
      if (D == 2) square += (across - mean) * (across - mean);
      out.push_back(std::sqrt(1.5 * square));
    }
  });
  return out;
}

}  // namespace orthant
