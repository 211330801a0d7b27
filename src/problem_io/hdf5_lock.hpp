// SPDX-License-Identifier: Apache-2.0
// problem_io/hdf5_lock.hpp: the one lock around the HDF5 library, which is not thread-safe.
#pragma once

#include <mutex>

namespace orthant {

/// Held by every reader and writer of HDF5 files in this library while a file is open.
std::mutex& hdf5_mutex();

}  // namespace orthant
