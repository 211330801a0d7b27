// SPDX-License-Identifier: Apache-2.0
// python/src/common.hpp: NumPy arrays <=> our vectors, with messages that name the argument.
// nanobind's own casters answer a wrong shape with a list of signatures; these say which argument,
// what was expected and what came. A view shares memory with its owner and keeps it alive.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orthant/math/types.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace nb = nanobind;

namespace orthant::python {

using Array = nb::ndarray<nb::numpy, double>;
using Array1 = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using RowMatX = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A name that does not exist: orthant.UnknownName, both an Error and a KeyError.
class UnknownName : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Any size.
inline constexpr Index kAny = -1;

/// A vector of real numbers from anything NumPy reads: any stride, integers too. Throws TypeError
/// for other types, Error for another shape; `where` names the argument.
VecX to_vector(nb::handle x, std::string_view where, Index size = kAny);
/// Three numbers, or two in the plane (z = 0).
Vec3 to_vec3(nb::handle x, std::string_view where);
/// The same for turns and torques; one number: about z.
Vec3 to_spin(nb::handle x, std::string_view where);
/// The same for matrices (rows or columns kAny: any).
RowMatX to_matrix(nb::handle x, std::string_view where, Index rows = kAny, Index cols = kAny);
/// From a SciPy sparse matrix or a dense one.
SparseMatrix to_sparse(nb::handle x, std::string_view where);
bool is_sparse(nb::handle x);

/// New arrays.
Array1 to_numpy(VecX x);
Array1 to_numpy(std::span<const double> x);
Array to_numpy(RowMatX x);
/// Takes over the values; shape as given.
Array to_numpy(std::vector<double> values, std::initializer_list<std::size_t> shape);
/// SciPy CSC of a sparse matrix.
nb::object to_scipy(const SparseMatrix& A);

/// A writable view of `x`, which lives inside `owner` and must never be resized.
inline Array1 view(VecX& x, nb::handle owner) {
  const std::size_t shape[1] = {static_cast<std::size_t>(x.size())};
  return Array1(x.data(), 1, shape, owner);
}

/// Throws the ctrl-C that came in while the GIL was away. Costs nothing in threads that are not
/// Python's main thread.
void check_signals();

void bind_problem(nb::module_& m);
void bind_solver(nb::module_& m);
void bind_model(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_step(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_gradient(nb::module_& m);
void bind_rollout_gradient(nb::module_& m);
void bind_learn(nb::module_& m);
void bind_io(nb::module_& m);
void bind_contacts(nb::module_& m);
void bind_flexible_part(nb::module_& m);
void bind_problem_batch(nb::module_& m);
void bind_optimise(nb::module_& m);

}  // namespace orthant::python
