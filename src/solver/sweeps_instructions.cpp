// SPDX-License-Identifier: Apache-2.0
// solver/sweeps_instructions.cpp: which instruction sets there are, and their kernels.
#include "solver/sweeps_instructions.hpp"

namespace orthant {

bool available(SweepInstructions instructions) {
#if defined(__x86_64__)
  if (instructions == SweepInstructions::Avx2) return __builtin_cpu_supports("avx2") != 0;
  if (instructions == SweepInstructions::Avx512)
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0;
#else
  if (instructions == SweepInstructions::Avx2 || instructions == SweepInstructions::Avx512)
    return false;
#endif
  return true;
}

std::string_view name_of(SweepInstructions instructions) {
  switch (instructions) {
    case SweepInstructions::Best:
      return "best";
    case SweepInstructions::Plain:
      return "plain";
    case SweepInstructions::Avx2:
      return "avx2";
    case SweepInstructions::Avx512:
      return "avx512";
    case SweepInstructions::Scalar:
      return "scalar";
  }
  return "unknown";
}

const internal::SweepTable& internal::table_of(SweepInstructions instructions) {
  switch (instructions) {
    case SweepInstructions::Scalar:
      return kSweepsScalar;
    case SweepInstructions::Plain:
      return kSweepsPlain;
#if defined(__x86_64__)
    case SweepInstructions::Avx2:
      return kSweepsAvx2;
    case SweepInstructions::Avx512:
      return kSweepsAvx512;
#else
    case SweepInstructions::Avx2:
    case SweepInstructions::Avx512:
      return kSweepsPlain;
#endif
    case SweepInstructions::Best:
      break;
  }
  static const SweepInstructions best = available(SweepInstructions::Avx512)
                                            ? SweepInstructions::Avx512
                                        : available(SweepInstructions::Avx2)
                                            ? SweepInstructions::Avx2
                                            : SweepInstructions::Plain;
  return table_of(best);
}

}  // namespace orthant
