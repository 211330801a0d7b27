// SPDX-License-Identifier: Apache-2.0
// Any bytes as a text problem: refused with an Error, or read, valid and written back unchanged.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "orthant/base/error.hpp"
#include "orthant/problem_io/problem_file.hpp"

namespace {

using namespace orthant;

void expect(bool condition) {
  if (!condition) std::abort();
}

void read(std::string_view text, std::optional<ProblemKind> kind) {
  ProblemFile file;
  try {
    file = parse_problem_text(text, "fuzz", kind);
  } catch (const Error&) {
    return;
  }
  validate(to_problem(file), "fuzz");
  const ProblemFile copy = parse_problem_text(problem_text(file), "copy", file.kind);
  expect(copy.M == file.M && copy.H == file.H);
  expect(copy.q == file.q && copy.w == file.w && copy.mu == file.mu && copy.mu_r == file.mu_r);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text, std::nullopt);
  // The size picks one kind to force, so that seeds stay plain files.
  read(text, static_cast<ProblemKind>(size % 4));
  return 0;
}
