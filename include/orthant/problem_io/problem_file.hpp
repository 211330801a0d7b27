// SPDX-License-Identifier: Apache-2.0
// problem_io/problem_file.hpp: a problem file <=> a value <=> a canonical problem.
//
//   Lcp             0 <= z ⊥ w = M z + q >= 0
//   Mlcp            w = M z + q, some rows equations (w = 0, z free), the rest as Lcp
//   FrictionLocal   u = W r + V l + q,  Vᵀ r + R l + s = 0,      friction law (r, u)
//   FrictionGlobal  M v = H r + G l + f,  Gᵀ v + b = 0,  u = Hᵀ v + w,  friction law (r, u)
//   Canonical       any CanonicalProblem, saved by Orthant
//
// Formats: docs/formats.md. Every reader throws Error with the file, the position (line:column of a
// text, dataset of an HDF5 file), what was found and what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem_io/stored_matrix.hpp"

namespace ORTHANT_EXPORT orthant {

enum class ProblemKind : std::uint8_t { Lcp, Mlcp, FrictionLocal, FrictionGlobal, Canonical };
std::string_view name_of(ProblemKind kind);  ///< "lcp", "mlcp", "friction_local", …
/// Also takes the short forms "local" and "global". Throws Error with the allowed names.
ProblemKind problem_kind_of(std::string_view name);

enum class FileFormat : std::uint8_t {
  Text,    ///< the text formats of LCP, MLCP and friction problems
  Fclib,   ///< HDF5, friction problems only
  Native,  ///< HDF5, every canonical problem
};
std::string_view name_of(FileFormat format);
FileFormat file_format_of(std::string_view name);

/// What a file says, in the file's own order and storage. Members a kind does not name stay empty.
struct ProblemFile {
  ProblemKind kind = ProblemKind::Lcp;
  FileFormat format = FileFormat::Text;  ///< where it came from

  // Lcp, Mlcp: M, q. FrictionLocal: M is W, q. FrictionGlobal: M, H, q is f, w.
  StoredMatrix M;
  VecX q;

  // Mlcp: consecutive rows in blocks, each of equations or of complementary pairs
  std::vector<Index> row_block_ends;
  std::vector<std::uint8_t> row_block_is_equation;

  // friction
  int dim = 3;               ///< numbers per contact: 2, 3, or 5 (rolling)
  std::vector<double> mu;    ///< one per contact
  std::vector<double> mu_r;  ///< one per contact when dim is 5
  StoredMatrix H;            ///< FrictionGlobal: velocities x contact rows
  VecX w;                    ///< FrictionGlobal

  // bilateral rows, only in FCLIB files and rare there
  bool has_bilateral = false;
  StoredMatrix G;  ///< FrictionGlobal: G. FrictionLocal: V
  StoredMatrix R;  ///< FrictionLocal
  VecX b;          ///< FrictionGlobal: b. FrictionLocal: s

  std::optional<CanonicalProblem> canonical;  ///< Canonical

  std::string title, description, math_info;  ///< FCLIB
  bool has_info = false;

  Index contact_count() const { return static_cast<Index>(mu.size()); }
  /// Unknowns of the file's own formulation: z, or r (without multipliers of bilateral rows).
  Index unknown_count() const;
};

/// Reads any format; HDF5 is recognised by its first bytes, never by the name. Text carries no tag:
/// the kind is inferred from the counts unless `kind` forces it.
ProblemFile read_problem(const std::string& path, std::optional<ProblemKind> kind = {});

/// The text formats from memory; `name` stands for the file in messages.
ProblemFile parse_problem_text(std::string_view text, std::string_view name,
                               std::optional<ProblemKind> kind = {});

/// Writes under a temporary name in the same folder and renames: a reader never sees half a file.
/// Throws Error when the format cannot hold the problem.
void write_problem(const std::string& path, const ProblemFile& file, FileFormat format);

/// The text write_problem() writes.
std::string problem_text(const ProblemFile& file);

/// The canonical problem of a file. `exact`: Coulomb's law; false: its convex relaxation. Rows of λ
/// and w are in the file's order; multipliers of FrictionLocal's bilateral rows come last.
CanonicalProblem to_problem(const ProblemFile& file, bool exact = true);

/// Saves any canonical problem whose H is a matrix; every value bitwise.
void save_problem(const std::string& path, const CanonicalProblem& problem);
/// Reads what save_problem() wrote. An unknown format_version is refused.
CanonicalProblem load_problem(const std::string& path);

}  // namespace orthant
