// SPDX-License-Identifier: Apache-2.0
// io/output.hpp: a run => CSV, ParaView files, plots, a page to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/io/trajectory.hpp"

namespace ORTHANT_EXPORT orthant {

/// One row per frame and body: time, body, pose, velocity. Throws Error.
void write_csv(const Trajectory& trajectory, const std::string& path);
/// One row per frame, the form that learn/trajectory.hpp reads: run, time, then for each body
/// body.x, …; in a planar world x, y, theta (turns counted), vx, vy, omega. Throws Error.
void write_wide_csv(const Trajectory& trajectory, const std::string& run, const std::string& path);

/// bodies_*.vtp (a point per body: orientation, velocity, size), shapes_*.vtp (their surfaces),
/// contacts_*.vtp (force vectors, normals, set), parts_*.vtu (flexible parts: displacement, von
/// Mises stress), and bodies.pvd, shapes.pvd, contacts.pvd, parts.pvd with the times, which
/// ParaView opens as series. `run` is the folder the trajectory was read from.
void write_vtk(const Trajectory& trajectory, const std::string& run, const std::string& folder);

/// Curves over time as an SVG picture; one axis, the unit of the first signal.
std::string plot_svg(const Trajectory& trajectory, const std::vector<Signal>& signals,
                     const std::string& title);
/// The same as the content of a PNG file, 1600 pixels wide.
std::string plot_png(const Trajectory& trajectory, const std::vector<Signal>& signals,
                     const std::string& title);

/// What the viewer colours flexible parts by.
enum class PartColour : std::uint8_t { Displacement, Stress };

/// The JSON of the viewer (format "orthant-view").
std::string view_json(const Trajectory& trajectory, const std::string& run,
                      PartColour colour = PartColour::Displacement);
/// The page with the JSON in it: one file that works from disk. Throws Error for a page without
/// the place where the data go.
std::string view_page(const std::string& json);

}  // namespace orthant
