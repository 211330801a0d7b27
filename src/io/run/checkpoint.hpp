// SPDX-License-Identifier: Apache-2.0
// io/run/checkpoint.hpp: all that a run needs to go on to the same bits <=> checkpoint.h5.
#pragma once

#include <cstdint>
#include <string>

#include "io/run/growing_bodies.hpp"
#include "orthant/io/run.hpp"

namespace orthant::io {

struct Checkpoint {
  State state;
  WarmStart warm;
  std::int64_t next_segment = 0;
  std::int64_t frames = 0;
  RunTotals totals;
  GrownBodies grown = {};
};

void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// Throws Error where the file is damaged. Whether the state fits the model is the caller's to ask:
/// where bodies grow the model comes from the checkpoint.
Checkpoint read_checkpoint(const std::string& path);

/// FNV-1a over the bytes of numbers.
class Hash {
 public:
  void add(const void* data, std::size_t size);
  template <class Vector>
  void add_all(const Vector& values) {
    add(values.data(), static_cast<std::size_t>(values.size()) * sizeof(*values.data()));
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::uint64_t hash_of(const State& state, const WarmStart& warm);

}  // namespace orthant::io
