// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_convert.cpp: orthant convert IN OUT => the same problem in another format.
#include <memory>
#include <string>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem_io/problem_file.hpp"

namespace orthant::app {
namespace {

struct ConvertOptions {
  std::string in, out, kind, format;
};

/// By the name: .hdf5 and .h5 are HDF5 (FCLIB where it can hold the problem), all else is text.
FileFormat guess_format(const std::string& name, ProblemKind kind) {
  const bool hdf5 = name.ends_with(".hdf5") || name.ends_with(".h5");
  if (!hdf5) return FileFormat::Text;
  const bool friction = kind == ProblemKind::FrictionLocal || kind == ProblemKind::FrictionGlobal;
  return friction ? FileFormat::Fclib : FileFormat::Native;
}

int run_convert(const ConvertOptions& options) {
  std::optional<ProblemKind> kind;
  if (!options.kind.empty()) kind = problem_kind_of(options.kind);
  std::optional<FileFormat> format;
  if (!options.format.empty()) format = file_format_of(options.format);
  const ProblemFile file = read_problem(options.in, kind);
  write_problem(options.out, file, format.value_or(guess_format(options.out, file.kind)));
  return kSuccess;
}

}  // namespace

void add_convert(Program& program) {
  const auto options = std::make_shared<ConvertOptions>();
  Command command = program.command("convert", "Write a problem in another format");
  command.option("in", options->in, "problem file").value_name("IN").required();
  command.option("out", options->out, "file to write").value_name("OUT").required();
  command.option("--format", options->format,
                 "text, fclib (HDF5, friction only) or native (HDF5, any problem); default: "
                 "by the name of OUT");
  command.option("--kind", options->kind, "force the kind of IN, as in solve");
  command.footer("Example:\n  orthant convert stack.dat stack.hdf5 --format fclib\n");
  command.run([options] { return run_convert(*options); });
}

}  // namespace orthant::app
