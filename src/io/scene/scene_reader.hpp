// SPDX-License-Identifier: Apache-2.0
// io/scene/scene_reader.hpp: the stages of reading a scene.
#pragma once

#include "io/scene/field_value.hpp"

namespace orthant::io {

/// Tree of a file with its includes merged in.
YamlPtr read_tree(const std::string& path, ReadContext& context);
/// Writes each "key=value" of the options into the tree, works out `parameters` => variables.
YamlPtr apply_settings(YamlPtr root, ReadContext& context);
/// Tree => description, members of populations and robots included.
SceneDescription describe(const YamlPtr& root, ReadContext& context);
/// The members of the populations, appended to bodies and joints.
void expand_populations(const SceneDescription& scene, ReadContext& context,
                        std::vector<BodyDescription>& bodies,
                        std::vector<JointDescription>& joints);
/// Links and joints of a URDF file (or of its `text`), appended to bodies and joints of the scene.
void add_urdf(const UrdfDescription& urdf, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text = nullptr);
/// Points of an STL (text or binary) or OBJ file. Throws Error.
std::vector<Vec3> read_mesh_points(const std::string& path);
/// At most kMaxHullVertices points whose hull is that of `points`, or nearly so; `exact` says
/// which.
std::vector<Vec3> hull_points(const std::vector<Vec3>& points, const std::string& name,
                              bool& exact);
/// Meshes of `type: file`, read and written out as `type: mesh`.
void resolve_flexible(std::vector<FlexibleDescription>& parts, const ReadContext& context);
FlexibleSpec flexible_spec(const FlexibleDescription& d, const ReadContext& context);
/// The nodes between two corners, borders included. Throws Error(where, …) where there are none.
std::vector<Index> nodes_in(const Mesh& mesh, const std::optional<Vec3>& lower,
                            const std::optional<Vec3>& upper, const Where& where);
/// Orientation from whichever way it was given.
Quat orientation_of(const std::optional<Quat>& orientation, const std::optional<Vec3>& rotation,
                    const Where& where);
/// Description => everything a run needs. Errors of the builder get their place in the file.
LoadedScene build_scene(const SceneDescription& scene, ReadContext& context);
/// The description as one YAML file.
std::string write_scene(const SceneDescription& scene);

}  // namespace orthant::io
