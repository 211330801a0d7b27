// SPDX-License-Identifier: Apache-2.0
// problem_io/fclib.hpp: the FCLIB groups of an HDF5 file <=> ProblemFile.
#pragma once

#include "orthant/problem_io/problem_file.hpp"
#include "problem_io/hdf5_file.hpp"

namespace orthant::problem_io {

/// Whether the file has one of the groups we know.
bool has_fclib(const Hdf5Reader& in);
ProblemFile read_fclib(const Hdf5Reader& in, std::optional<ProblemKind> kind);
void write_fclib(Hdf5Writer& out, const ProblemFile& file);

}  // namespace orthant::problem_io
