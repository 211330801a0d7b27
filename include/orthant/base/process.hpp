// SPDX-License-Identifier: Apache-2.0
// base/process.hpp: what this process has used, for reports and benchmarks. Never read inside a
// decision: same input, same bits.
#pragma once

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Processor time of all threads so far [s]: what a shared machine does not blur.
double processor_seconds();
/// Largest memory since the start, or since reset_peak_memory() [bytes].
double peak_memory();
/// Gives free memory back; Linux forgets the largest size so far, where it is allowed to.
void reset_peak_memory();

}  // namespace orthant
