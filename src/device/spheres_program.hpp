// SPDX-License-Identifier: Apache-2.0
// device/spheres_program.hpp: the bytes of a SphereProgram: a header, then its arrays.
#pragma once

#include <cstddef>
#include <cstring>

#include "device/spheres_kernel.hpp"

namespace orthant::device {

constexpr char kSphereMagic[8] = {'O', 'R', 'T', 'S', 'P', 'H', '0', '1'};

struct SphereHeader {
  char magic[8];
  std::size_t size;
  SphereModel model;  // its pointers mean nothing here
};

/// The arrays of `model` lie behind the header at `base`, in this order.
inline SphereModel open_spheres(const SphereHeader& header, const unsigned char* base) {
  SphereModel m = header.model;
  const unsigned char* at = base + sizeof(SphereHeader);
  const auto take = [&](auto& pointer, std::size_t count) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(at);
    at += sizeof(*pointer) * count;
  };
  const auto n = static_cast<std::size_t>(m.count), k = static_cast<std::size_t>(m.materials);
  take(m.radius, n);
  take(m.inverse_mass, n);
  take(m.friction, k * k);
  take(m.plane, static_cast<std::size_t>(m.planes));
  take(m.material, n);
  return m;
}

}  // namespace orthant::device
