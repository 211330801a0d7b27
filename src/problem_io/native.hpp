// SPDX-License-Identifier: Apache-2.0
// problem_io/native.hpp: the group /orthant_problem of an HDF5 file <=> CanonicalProblem.
#pragma once

#include "orthant/problem/problem.hpp"
#include "problem_io/hdf5_file.hpp"

namespace orthant::problem_io {

bool has_native(const Hdf5Reader& in);
CanonicalProblem read_native(const Hdf5Reader& in);
void write_native(Hdf5Writer& out, const CanonicalProblem& problem);

}  // namespace orthant::problem_io
