// SPDX-License-Identifier: Apache-2.0
// device/program.hpp: the bytes of a BatchProgram: header, then the arrays one after another. They
// have no addresses, so they are copied to a device as they are and opened there.
#pragma once

#include "device/batch_model.hpp"

namespace orthant::device {

struct ProgramHeader {
  char magic[8];  ///< "ORTHBAT" and the version of this layout
  BatchModel model;
  Settings settings;
  std::size_t size;  ///< of all
};
inline constexpr char kMagic[8] = {'O', 'R', 'T', 'H', 'B', 'A', 'T', '1'};

inline std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

/// The model with its arrays in the bytes that begin at `base` (which need not be readable here).
inline BatchModel open_program(const ProgramHeader& header, const unsigned char* base) {
  BatchModel m = header.model;
  std::size_t at = rounded(sizeof(ProgramHeader));
  const auto take = [&]<class T>(const T*& array, int count) {
    array = reinterpret_cast<const T*>(base + at);
    at += rounded(sizeof(T) * static_cast<std::size_t>(count));
  };
  take(m.body, m.bodies);
  take(m.joint, m.joints);
  take(m.actuator, m.actuators);
  take(m.contact, m.contacts);
  take(m.order, m.bodies);
  take(m.limit, m.limits);
  take(m.contact_path, m.contacts);
  take(m.limit_path, m.limits);
  return m;
}

}  // namespace orthant::device
