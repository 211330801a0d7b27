// SPDX-License-Identifier: Apache-2.0
// python/src/common.cpp: NumPy arrays <=> our vectors.
#include "common.hpp"

#include <algorithm>
#include <memory>

#include "orthant/base/error.hpp"

namespace orthant::python {

namespace {

std::string text_of(const nb::object& x) { return nb::cast<std::string>(nb::str(x)); }

/// A NumPy array of doubles, C order, with the given number of dimensions.
nb::object as_doubles(nb::handle x, std::string_view where, int ndim) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(x);
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind != "f" && kind != "i" && kind != "u") {
    throw nb::type_error(
        (std::string(where) + ": expected real numbers, got " +
         (kind == "O" ? std::string(nb::inst_name(x).c_str()) : text_of(array.attr("dtype"))))
            .c_str());
  }
  const int found = nb::cast<int>(array.attr("ndim"));
  if (found != ndim) {
    throw Error(where, "expected " + std::to_string(ndim) + " dimension(s), got shape " +
                           text_of(array.attr("shape")));
  }
  return numpy.attr("ascontiguousarray")(array, "float64");
}

void check_size(std::string_view where, const char* what, Index expected, std::size_t found) {
  if (expected != kAny && static_cast<std::size_t>(expected) != found)
    throw Error(where, "expected " + std::to_string(expected) + " " + what + ", got " +
                           std::to_string(found));
}

std::vector<Index> to_indices(nb::handle x, std::string_view where) {
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(x, "int64");
  const auto a = nb::cast<nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>>(array);
  std::vector<Index> out(a.shape(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t value = a.data()[i];
    if (value < 0 || value > std::numeric_limits<Index>::max())
      throw Error(where, "index " + std::to_string(value) + " is out of range");
    out[i] = static_cast<Index>(value);
  }
  return out;
}

nb::object int_array(const Index* data, std::size_t size) {
  auto values = std::make_unique<std::vector<Index>>(data, data + size);
  const std::size_t shape[1] = {size};
  Index* first = values->data();
  const nb::capsule owner(values.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<Index>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Index, nb::ndim<1>>(first, 1, shape, owner));
}

}  // namespace

VecX to_vector(nb::handle x, std::string_view where, Index size) {
  nb::ndarray<const double, nb::ndim<1>, nb::device::cpu> a;
  nb::object holder;
  if (!nb::try_cast(x, a, false)) {  // the slow way: lists, integers, other types
    holder = as_doubles(x, where, 1);
    a = nb::cast<nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>>(holder);
  }
  check_size(where, "values", size, a.shape(0));
  VecX out(static_cast<Eigen::Index>(a.shape(0)));
  const std::int64_t stride = a.stride(0);
  for (Eigen::Index i = 0; i < out.size(); ++i) out[i] = a.data()[i * stride];
  return out;
}

Vec3 to_vec3(nb::handle x, std::string_view where) {
  const VecX v = to_vector(x, where);
  if (v.size() == 2) return Vec3(v[0], v[1], 0);
  check_size(where, "values (in the plane 2)", 3, static_cast<std::size_t>(v.size()));
  return v;
}

Vec3 to_spin(nb::handle x, std::string_view where) {
  double about_z = 0;
  if (nb::try_cast(x, about_z)) return Vec3(0, 0, about_z);
  return to_vec3(x, where);
}

RowMatX to_matrix(nb::handle x, std::string_view where, Index rows, Index cols) {
  const nb::object holder = as_doubles(x, where, 2);
  const auto a = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig>>(holder);
  check_size(where, "rows", rows, a.shape(0));
  check_size(where, "columns", cols, a.shape(1));
  return Eigen::Map<const RowMatX>(a.data(), static_cast<Eigen::Index>(a.shape(0)),
                                   static_cast<Eigen::Index>(a.shape(1)));
}

bool is_sparse(nb::handle x) { return nb::hasattr(x, "tocsc"); }

SparseMatrix to_sparse(nb::handle x, std::string_view where) {
  if (!is_sparse(x)) return to_matrix(x, where).sparseView();
  nb::object csc = x.attr("tocsc")();
  if (!nb::cast<bool>(csc.attr("has_canonical_format"))) {
    csc = csc.attr("copy")();  // the caller's matrix stays as it is
    csc.attr("sum_duplicates")();
  }
  const nb::tuple shape = nb::cast<nb::tuple>(csc.attr("shape"));
  const auto rows = nb::cast<Index>(shape[0]), cols = nb::cast<Index>(shape[1]);
  const std::vector<Index> inner = to_indices(csc.attr("indices"), where),
                           outer = to_indices(csc.attr("indptr"), where);
  const VecX values = to_vector(csc.attr("data"), where);
  // SciPy checks this only when asked; an index out of range must not reach memory.
  const bool fits = outer.size() == static_cast<std::size_t>(cols) + 1 && outer.front() == 0 &&
                    std::is_sorted(outer.begin(), outer.end()) &&
                    static_cast<std::size_t>(outer.back()) <= inner.size() &&
                    outer.back() <= values.size() &&
                    std::all_of(inner.begin(), inner.end(), [&](Index i) { return i < rows; });
  if (!fits) throw Error(where, "the sparse matrix is not well formed");
  return Eigen::Map<const SparseMatrix>(rows, cols, outer.back(), outer.data(), inner.data(),
                                        values.data());
}

Array1 to_numpy(VecX x) {
  auto values = std::make_unique<VecX>(std::move(x));
  const std::size_t shape[1] = {static_cast<std::size_t>(values->size())};
  double* data = values->data();
  const nb::capsule owner(values.release(), [](void* p) noexcept { delete static_cast<VecX*>(p); });
  return Array1(data, 1, shape, owner);
}

Array1 to_numpy(std::span<const double> x) {
  return to_numpy(VecX(Eigen::Map<const VecX>(x.data(), static_cast<Eigen::Index>(x.size()))));
}

Array to_numpy(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto kept = std::make_unique<std::vector<double>>(std::move(values));
  double* data = kept->data();
  const nb::capsule owner(kept.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return Array(data, shape.size(), shape.begin(), owner);
}

Array to_numpy(RowMatX x) {
  auto values = std::make_unique<RowMatX>(std::move(x));
  const std::size_t shape[2] = {static_cast<std::size_t>(values->rows()),
                                static_cast<std::size_t>(values->cols())};
  double* data = values->data();
  const nb::capsule owner(values.release(),
                          [](void* p) noexcept { delete static_cast<RowMatX*>(p); });
  return Array(data, 2, shape, owner);
}

nb::object to_scipy(const SparseMatrix& given) {
  SparseMatrix A = given;
  A.makeCompressed();
  const auto n = static_cast<std::size_t>(A.nonZeros());
  return nb::module_::import_("scipy.sparse")
      .attr("csc_matrix")(
          nb::make_tuple(to_numpy(std::span<const double>(A.valuePtr(), n)),
                         int_array(A.innerIndexPtr(), n),
                         int_array(A.outerIndexPtr(), static_cast<std::size_t>(A.cols()) + 1)),
          nb::make_tuple(A.rows(), A.cols()));
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace orthant::python
