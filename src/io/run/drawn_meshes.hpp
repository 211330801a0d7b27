// SPDX-License-Identifier: Apache-2.0
// io/run/drawn_meshes.hpp: files of visuals => triangles, few enough for a page.
#pragma once

#include <string>
#include <vector>

#include "orthant/io/scene.hpp"
#include "orthant/shape/surface.hpp"

namespace orthant::io {

/// Triangles of all visuals of a run together: about 5 MB of its page.
inline constexpr std::size_t kMaxDrawnTriangles = 200'000;

class DrawnMeshes {
 public:
  /// Reads the files. One that cannot be read is left out and named; one with more than its share
  /// of the triangles is made coarser.
  explicit DrawnMeshes(const std::vector<Visual>& visuals);

  /// Of visual i; empty where it has no file.
  const Surface& surface(std::size_t i) const { return surfaces_[i]; }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::vector<Surface> surfaces_;
  std::vector<std::string> left_out_;
};

/// The surface with at most `most` triangles: corners in one cell of a grid become one.
Surface coarser(const Surface& surface, std::size_t most);

}  // namespace orthant::io
