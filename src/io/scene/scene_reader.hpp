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
void add_urdf(const RobotDescription& robot, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text = nullptr);
/// The same for MJCF. `whole`: the file is the scene, its time step that of the scene.
void add_mjcf(const RobotDescription& robot, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text = nullptr, bool whole = false);
/// A mesh with more is refused; an STL has three per triangle.
inline constexpr std::size_t kMaxMeshCorners = 6'000'000;
inline constexpr std::size_t kMaxMeshFile = std::size_t{256} << 20;  // bytes
/// Points of an STL (text or binary), OBJ, COLLADA, PLY, GLB or MSH (MuJoCo) file. Throws Error.
std::vector<Vec3> read_mesh_points(const std::string& path);
/// A surface: corners, and three of them per triangle.
struct MeshTriangles {
  std::vector<Vec3> corners;
  std::vector<std::array<std::int32_t, 3>> triangles;
};
/// Triangles of such a file; polygons are cut into fans. Throws Error.
MeshTriangles read_mesh_triangles(const std::string& path);
/// Triangles of all meshes in one scene: runs keep their scene as text.
inline constexpr std::size_t kMaxSceneTriangles = 200'000;
/// Corners and triangles of a file of one kind, from its contents; `path` for messages.
MeshTriangles dae_surface(const std::string& data, const std::string& path);
MeshTriangles ply_surface(const std::string& data, const std::string& path);
MeshTriangles glb_surface(const std::string& data, const std::string& path);
MeshTriangles msh_surface(const std::string& data, const std::string& path);
/// hull_points() of a file, each coordinate times its scale: one hull, or with `pieces` one for
/// every object (a line "o name") of an OBJ file. A piece whose corners lie in one plane is given a
/// thickness of kFlatThickness times its extent.
inline constexpr double kFlatThickness = 1e-3;
struct MeshHulls {
  std::vector<std::vector<Vec3>> hulls;
  bool exact = true, thickened = false;
  /// What differs from the file goes to the notes of its reader; `name`: of the mesh.
  template <class Reader>
  void list(const std::string& name, Reader& reader) const {
    if (!exact) reader.ignore("corners of the hull of '" + name + "' beyond what a hull may have");
    if (thickened)
      reader.note("mesh '" + name + "' is flat: its hull is a thousandth of its extent thick");
  }
};
MeshHulls mesh_hulls(const std::string& path, const Vec3& scale, bool pieces);
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
/// Rules of growth, checked against the model and the length of the run [s].
Growth make_growth(const SceneDescription& scene, const ModelBuilder& builder, const Model& model,
                   const Parameters& parameters, const State& state, double end_time,
                   Index max_bodies);
/// The shape of a description; `body` stands for it in messages where it has no name.
Shape make_shape(const ShapeDescription& shape, const std::string& body);
/// A cylinder along z of the frame the shape has so far: here axes lie along x.
void set_cylinder(ShapeDescription& shape, double radius, double half_length);
/// Orientation from whichever way it was given.
Quat orientation_of(const std::optional<Quat>& orientation, const std::optional<Vec3>& rotation,
                    const Where& where);
/// Description => everything a run needs. Errors of the builder get their place in the file.
LoadedScene build_scene(const SceneDescription& scene, ReadContext& context);
/// The description as one YAML file.
std::string write_scene(const SceneDescription& scene);

}  // namespace orthant::io
