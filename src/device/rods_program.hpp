// SPDX-License-Identifier: Apache-2.0
// device/rods_program.hpp: the bytes of a RodProgram.
#pragma once

#include "device/rods_kernel.hpp"

namespace orthant::device {

constexpr char kRodMagic[8] = {'O', 'R', 'T', 'R', 'O', 'D', '0', '2'};

struct RodHeader {
  char magic[8];
  RodModel model;
};

}  // namespace orthant::device
