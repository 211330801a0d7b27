// SPDX-License-Identifier: Apache-2.0
// orthant/main.cpp: arguments => command => exit code.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"

namespace orthant::app {
namespace {

constexpr auto kCommands = {add_new,     add_check,    add_run,       add_view,
                            add_plot,    add_export,   add_solve,     add_info,
                            add_convert, add_validate, add_reproduce, add_completion,
                            add_fit,     add_grad,     add_bench,     add_sweep};

constexpr const char* kFooter =
    "Examples:\n"
    "  orthant new heap                        a scene to start from: heap.yaml\n"
    "  orthant run heap.yaml -o heap_run\n"
    "  orthant view heap_run\n"
    "  orthant solve problem.dat\n"
    "  orthant info problem.hdf5\n"
    "  orthant convert problem.dat problem.hdf5\n"
    "  orthant validate incline bouncing_ball\n"
    "  orthant reproduce ellipsoids\n"
    "  orthant fit cube tosses.csv --params friction,restitution --train 60 -o fit.yaml\n"
    "  orthant grad heap.yaml --loss 'position(crate).x' --steps 100\n"
    "  orthant bench stack dominoes\n"
    "  orthant sweep heap.yaml --set mu=0.1:0.9:9 -o sweep\n";

int main_of(int argc, char** argv) {
  Program program("orthant", "Hard contact, exact gradients.", version(), kFooter);
  for (const auto add : kCommands) add(program);
  int exit_code = kSuccess;
  const Run run = program.parse(argc, argv, exit_code);
  try {
    if (run) exit_code = run();
    // What is still in the buffer may meet a full disk.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
    fmt::print(stderr, "orthant: standard output cannot be written: {}\n", std::strerror(errno));
    return kBadInput;
  } catch (const std::system_error& error) {  // of fmt::print and of files: full disk, no rights
    fmt::print(stderr, "orthant: {}\n", error.what());
    return kBadInput;
  } catch (const Error& error) {
    fmt::print(stderr, "orthant: {}\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "orthant: not enough memory\n");
    return kBadInput;
  }
}

}  // namespace
}  // namespace orthant::app

int main(int argc, char** argv) {
  try {
    return orthant::app::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orthant: internal error: %s\n", error.what());
    return orthant::app::kInternalError;
  }
}
