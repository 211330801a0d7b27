// SPDX-License-Identifier: Apache-2.0
// io/scene/scene_build.cpp: description => Model, state, settings.
// The builder checks physics and names objects, not places in a file: its errors are caught here
// and given the line where the object stands.
#include <cmath>
#include <limits>
#include <map>

#include "io/scene/scene_reader.hpp"
#include "io/scene/tables.hpp"
#include "orthant/force/field.hpp"

namespace orthant::io {
namespace {

constexpr std::int64_t kDefaultSteps = 500;

/// A description with the place it came from; Error gets that place.
template <class F>
auto at(const Where& where, F&& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.where() == where.text()) throw;
    throw Error(where.text(), error.what());
  }
}

}  // namespace

Shape make_shape(const ShapeDescription& s, const std::string& body) {
  const std::string name = s.name.empty() ? body : s.name;
  // A list of the length that the type wants.
  const auto sized = [&](const std::vector<double>& list, const char* field,
                         std::size_t count) -> const double* {
    if (list.size() != count)
      throw Error(s.where.text(), "'" + std::string(field) + "' of a " +
                                      std::string(choice_name(s.type)) + " has " +
                                      std::to_string(count) + " numbers, found " +
                                      std::to_string(list.size()));
    return list.data();
  };
  const auto need_points = [&] {
    if (s.points.empty())
      throw Error(s.where.text(), "a " + std::string(choice_name(s.type)) + " needs 'points'" +
                                      (s.type != ShapeWord::Polygon ? " or 'file'" : ""));
  };
  switch (s.type) {
    case ShapeWord::Sphere:
      return Shape::sphere(s.radius, name);
    case ShapeWord::Capsule:
      return Shape::capsule(s.radius, s.half_length, name);
    case ShapeWord::Box: {
      const double* x = sized(s.half, "half", 3);
      return Shape::box(x[0], x[1], x[2], name);
    }
    case ShapeWord::Ellipsoid: {
      const double* x = sized(s.semi_axes, "semi_axes", 3);
      return Shape::ellipsoid(x[0], x[1], x[2], name);
    }
    case ShapeWord::SuperEllipsoid: {
      const double* x = sized(s.semi_axes, "semi_axes", 3);
      const double* e = sized(s.exponents, "exponents", 2);
      return Shape::super_ellipsoid(x[0], x[1], x[2], e[0], e[1], name);
    }
    case ShapeWord::Ellipse: {
      const double* x = sized(s.semi_axes, "semi_axes", 2);
      return Shape::ellipse(x[0], x[1], name);
    }
    case ShapeWord::Cylinder:
      return Shape::cylinder(s.radius, s.half_length, name);
    case ShapeWord::Cone:
      return Shape::cone(s.radius, s.half_length, name);
    case ShapeWord::Torus:
      return Shape::torus(s.major, s.minor, name);
    case ShapeWord::RoundedHull:
      need_points();
      return Shape::rounded_hull(s.points, s.radius, name);
    case ShapeWord::Mesh: {
      need_points();
      std::vector<std::array<std::int32_t, 3>> triangles;
      if (s.triangles.empty() || s.triangles.size() % 3 != 0)
        throw Error(s.where.text(), "'triangles' must hold 3 corners each, found " +
                                        std::to_string(s.triangles.size()) + " numbers");
      for (std::size_t i = 0; i < s.triangles.size(); i += 3) {
        std::array<std::int32_t, 3> t{};
        for (std::size_t k = 0; k < 3; ++k) {
          const double n = s.triangles[i + k];
          if (n != std::floor(n) || n >= static_cast<double>(s.points.size()))
            throw Error(s.where.text(), "'triangles' has the corner " + to_text(n) +
                                            "; allowed: 0 to " +
                                            std::to_string(s.points.size() - 1));
          t[k] = static_cast<std::int32_t>(n);
        }
        triangles.push_back(t);
      }
      return Shape::mesh(s.points, triangles, name);
    }
    case ShapeWord::HeightField: {
      const double* x = sized(s.half, "half", 2);
      if (s.heights.size() % static_cast<std::size_t>(s.rows) != 0)
        throw Error(s.where.text(), "'heights' has " + std::to_string(s.heights.size()) +
                                        " numbers, which " + std::to_string(s.rows) +
                                        " rows do not share evenly");
      return Shape::height_field(s.heights, s.rows, static_cast<int>(s.heights.size()) / s.rows,
                                 x[0], x[1], name);
    }
    case ShapeWord::Hull:
      need_points();
      return Shape::hull(s.points, name);
    case ShapeWord::HalfSpace:
      return Shape::half_space();
    case ShapeWord::Disc:
      return Shape::disc(s.radius, name);
    case ShapeWord::Stadium:
      return Shape::stadium(s.radius, s.half_length, name);
    case ShapeWord::Rectangle: {
      const double* x = sized(s.half, "half", 2);
      return Shape::rectangle(x[0], x[1], name);
    }
    case ShapeWord::HalfPlane:
      return Shape::half_plane();
    case ShapeWord::Polygon:
      break;
  }
  need_points();
  std::vector<Vec2> corners;
  corners.reserve(s.points.size());
  for (const Vec3& p : s.points) corners.emplace_back(p[0], p[1]);
  return Shape::polygon(corners, name);
}

namespace {

BodySpec spec_of(const BodyDescription& d, const WorldDescription& world) {
  BodySpec spec;
  spec.name = d.name;
  const bool planar = d.planar.value_or(world.planar);
  switch (d.motion) {
    case MotionWord::Fixed:
      spec.motion = Motion::Fixed;
      break;
    case MotionWord::Kinematic:
      spec.motion = Motion::Kinematic;
      break;
    case MotionWord::Dynamic:
      spec.motion = planar ? Motion::Planar : Motion::Spatial;
      break;
  }
  spec.planar = planar;
  spec.position = d.position;
  spec.orientation = orientation_of(d.orientation, d.rotation, d.where);
  spec.angle = d.angle;
  if (planar && (d.orientation || d.rotation))
    throw Error(d.where.text(), "a planar body turns by 'angle', not by orientation or rotation");
  if (!planar && d.angle != 0)
    throw Error(d.where.text(), "'angle' is for planar bodies; use rotation or orientation");
  spec.velocity = d.velocity;
  spec.angular_velocity = d.angular_velocity;
  for (const ShapeDescription& s : d.shapes) {
    const Shape shape = at(s.where, [&] { return make_shape(s, d.name); });
    ShapeSpec piece{.shape = planar ? shape.section() : shape};
    piece.offset.x = s.position;
    if (planar) {
      piece.offset = planar_pose(s.position[0], s.position[1], s.angle);
    } else {
      piece.offset.p = orientation_of(s.orientation, s.rotation, s.where);
      if (shape.dim() == 2)
        throw Error(s.where.text(),
                    "a " + std::string(choice_name(s.type)) + " is planar, its body is not");
    }
    piece.density = s.density;
    piece.material = s.material;
    piece.group = static_cast<std::uint32_t>(s.group);
    piece.mask = static_cast<std::uint32_t>(s.mask);
    piece.name = s.name;
    spec.shapes.push_back(std::move(piece));
  }
  spec.mass = d.mass;
  spec.inertia = d.inertia;
  spec.center_of_mass = d.center_of_mass;
  spec.drag = d.drag;
  spec.length = d.length;
  return spec;
}

class SceneBuilder {
 public:
  SceneBuilder(const SceneDescription& scene, ReadContext& context)
      : scene_(scene), context_(context) {}

  LoadedScene build() {
    if (scene_.world.gravity) builder_.set_gravity(*scene_.world.gravity);
    builder_.set_law(scene_.world.law);
    for (const MaterialDescription& m : scene_.materials) {
      remember("material", m.name, m.where);
      builder_.add_material(m);
    }
    for (const MaterialPairDescription& m : scene_.material_pairs) {
      remember("material pair", m.a + "+" + m.b, m.where);
      builder_.add_material_pair(m);
    }
    bodies_ = scene_.bodies;
    std::vector<JointDescription> joints = scene_.joints;
    if (static_cast<double>(bodies_.size()) > context_.options.max_bodies)
      throw Error(scene_.where.text(), "more than " + std::to_string(context_.options.max_bodies) +
                                           " bodies in the scene");
    expand_populations(scene_, context_, bodies_, joints);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      BodyDescription& body = bodies_[i];
      if (body.name.empty()) body.name = "body" + std::to_string(i);
      remember("body", body.name, body.where);
      for (const ShapeDescription& s : body.shapes)
        if (!s.name.empty()) remember("shape", s.name, s.where);
      builder_.add_body(spec_of(body, scene_.world));
    }
    for (std::size_t i = 0; i < joints.size(); ++i) {
      if (joints[i].name.empty()) joints[i].name = "joint" + std::to_string(i);
      remember("joint", joints[i].name, joints[i].where);
      builder_.add_joint(joints[i]);
    }
    for (const FrameDescription& f : scene_.frames) {
      remember("frame", f.name, f.where);
      builder_.add_frame(
          {f.name, f.body, {f.position, orientation_of(f.orientation, f.rotation, f.where)}});
    }
    for (const ExclusionDescription& e : scene_.exclusions) {
      remember("exclusion", e.a + "+" + e.b, e.where);
      builder_.exclude(e.a, e.b);
    }
    for (std::size_t i = 0; i < scene_.flexible.size(); ++i) add_flexible(scene_.flexible[i], i);
    for (const ForceDescription& f : scene_.forces) add_force(f);
    for (const ActuatorDescription& a : scene_.actuators) add_actuator(a);
    return finish();
  }

 private:
  void remember(const char* kind, const std::string& name, const Where& where) {
    // The later of two: a name given twice is refused where it is given again.
    places_[std::string(kind) + " '" + name + "'"] = where;
  }

  void add_flexible(const FlexibleDescription& d, std::size_t number) {
    FlexibleSpec spec = flexible_spec(d, context_);
    if (spec.name.empty()) spec.name = "part" + std::to_string(number);
    remember("flexible part", spec.name, d.where);
    parts_.emplace_back(spec.name, spec.mesh);
    builder_.add_flexible(std::move(spec));
  }

  /// Nodes that a force acts on; of an unknown part none: the builder says what is nearest.
  std::vector<Index> force_nodes(const ForceDescription& f) const {
    for (const auto& [name, mesh] : parts_)
      if (name == f.part) return nodes_in(mesh, f.lower, f.upper, f.where);
    return {};
  }

  void add_force(const ForceDescription& f) {
    remember("force", f.name, f.where);
    switch (f.type) {
      case ForceWord::Body:
        builder_.add_force(
            BodyForceSpec{f.name, f.body, f.force, f.torque, f.body_axes, f.times, f.factors});
        break;
      case ForceWord::Point:
        builder_.add_force(
            PointForceSpec{f.name, f.body, f.point, f.force, f.body_axes, f.times, f.factors});
        break;
      case ForceWord::Spring:
        builder_.add_force(
            SpringSpec{f.name, f.a, f.b, f.point_a, f.point_b, f.stiffness, f.damping, f.rest});
        break;
      case ForceWord::Nodes:
        builder_.add_force(NodeForceSpec{f.name, f.part, force_nodes(f), f.force});
        break;
      case ForceWord::Field:
      case ForceWord::Flow:
      case ForceWord::Pair:
        add_field(f);
        break;
    }
  }

  /// One callback for each body, so that each has its derivatives.
  void add_field(const ForceDescription& f) {
    const std::string where = f.formula.where.text();
    if (f.type == ForceWord::Flow && scene_.world.law != LawOfMotion::Overdamped)
      throw Error(f.where.text(), "a flow needs 'law: overdamped': its drag is that law's");
    const VectorFormula formula = vector_formula(f.formula.texts, where);
    std::vector<std::string> names = f.bodies;
    if (names.empty())
      for (const BodyDescription& body : bodies_)
        if (body.motion == MotionWord::Dynamic) names.push_back(body.name);
    constexpr std::size_t kMostInPairs = 2048;  // a formula for each two of them, in every step
    if (f.type == ForceWord::Pair && (names.size() < 2 || names.size() > kMostInPairs))
      throw Error(f.where.text(), "force '" + f.name + "' acts between 2 to " +
                                      to_text(kMostInPairs) + " bodies, found " +
                                      to_text(names.size()));
    const auto others = std::make_shared<const std::vector<std::string>>(names);
    const auto force_on = [&](const std::string& body) {
      if (f.type == ForceWord::Pair) return pair_force(formula, body, others, where);
      if (f.type == ForceWord::Flow)
        return flow_force(formula, body, scene_.step.drag_ratio, f.aspect, where);
      return field_force(formula, body, where);
    };
    for (const std::string& body : names) {
      const std::string name = f.name + "/" + body;
      remember("force", name, f.where);
      builder_.add_force(CallbackSpec{name, body, force_on(body)});
    }
    fields_ = true;
  }

  void add_actuator(const ActuatorDescription& a) {
    remember("actuator", a.name, a.where);
    if (a.type == ActuatorWord::Joint)
      builder_.add_actuator(
          JointActuatorSpec{a.name, a.joint, a.gear, a.max_force, a.lower, a.upper});
    else if (a.type == ActuatorWord::Target || a.type == ActuatorWord::Speed)
      builder_.add_actuator(ServoActuatorSpec{a.name, a.joint, a.type == ActuatorWord::Speed,
                                              a.gear, a.lower, a.upper});
    else
      builder_.add_actuator(BodyActuatorSpec{a.name, a.body, a.force, a.torque, a.body_axes});
    if (a.times.size() != a.values.size())
      throw Error(a.where.text(), "actuator '" + a.name + "': as many values as times, found " +
                                      std::to_string(a.values.size()) + " and " +
                                      std::to_string(a.times.size()));
    for (std::size_t i = 1; i < a.times.size(); ++i)
      if (!(a.times[i] > a.times[i - 1]))
        throw Error(a.where.text(), "actuator '" + a.name + "': times must ascend, found " +
                                        to_text(a.times[i]) + " after " + to_text(a.times[i - 1]));
    if (a.times.empty())
      controls_.push_back({{}, {a.control}});
    else
      controls_.push_back({a.times, a.values});
  }

  Model build_model() const {
    try {
      return builder_.build();
    } catch (const Error& error) {
      const Where where = place_of(error.where());
      throw Error(where.text(), error.what());
    }
  }

  /// Of the object in "body 'ball'.mass" or "shape 'x' of body 'ball'": the first one known.
  Where place_of(const std::string& who) const {
    for (std::size_t begin = 0; begin < who.size();) {
      const std::size_t quote = who.find('\'', begin);
      const std::size_t end = quote == std::string::npos ? quote : who.find('\'', quote + 1);
      if (end == std::string::npos) break;
      const auto place = places_.find(who.substr(begin, end + 1 - begin));
      if (place != places_.end()) return place->second;
      const std::size_t next = who.find(" of ", end);
      if (next == std::string::npos) break;
      begin = next + 4;
    }
    return {scene_.where.file, 0, 0};
  }

  /// Places are in the frame of the description; the model's body has its frame at its centre.
  std::vector<Visual> visuals_of(const Model& model, const State& state) const {
    std::vector<Visual> out;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const BodyDescription& d = bodies_[i];
      const Pose X_WS{d.position, orientation_of(d.orientation, d.rotation, d.where)};
      const Pose X_BS = compose(inverse(body_pose(model.bodies()[i], state.q.data())), X_WS);
      for (const VisualDescription& v : d.visuals) {
        Visual visual;
        visual.body = static_cast<Index>(i);
        visual.X_BV = compose(X_BS, Pose{v.shape.position, v.shape.orientation.value_or(Quat{})});
        visual.colour = v.colour.text;
        visual.file = v.shape.file;
        visual.scale = v.scale;
        if (visual.file.empty()) visual.shape = make_shape(v.shape, d.name);
        out.push_back(std::move(visual));
      }
    }
    return out;
  }

  LoadedScene finish() {
    Model model = build_model();
    if (model.bodies().empty() && model.flexible_parts().empty())
      throw Error(scene_.where.text(), "the scene has no bodies; add some under 'bodies'");
    Parameters parameters = model.default_parameters();
    State state = model.rest_state();
    if (fields_) {  // a formula that is not finite where its bodies start is an error of the file
      VecX force = VecX::Zero(model.v_size());
      for (const Force& f : model.forces())
        if (f.kind == ForceKind::Callback)
          f.callback->add_force(model, parameters, state.q, state.v, state.t, force);
    }
    state.rng[0] = static_cast<std::uint64_t>(scene_.run.seed);
    std::vector<std::string> colours;
    colours.reserve(bodies_.size());
    for (const BodyDescription& body : bodies_) colours.push_back(body.colour.text);
    std::vector<Visual> visuals = visuals_of(model, state);
    const StepSettings& s = scene_.step;
    if (s.pyramid_directions % 2 != 0)
      throw Error(scene_.where.text(), "step.pyramid_directions must be even, found " +
                                           std::to_string(s.pyramid_directions));
    std::int64_t steps = scene_.run.steps.value_or(kDefaultSteps);
    if (scene_.run.time) {
      const double count = std::ceil(*scene_.run.time / s.h - 1e-9);
      if (!(count < 9e15)) throw Error(scene_.where.text(), "run.time / step.h is too large");
      steps = static_cast<std::int64_t>(count);
    }
    if (scene_.world.viscosity > 0 && scene_.world.law != LawOfMotion::Overdamped)
      throw Error(scene_.where.text(), "world.viscosity needs 'law: overdamped'");
    Growth growth = make_growth(scene_, builder_, model, parameters, state,
                                static_cast<double>(steps) * s.h, context_.options.max_bodies);
    return {.name = scene_.name,
            .description = scene_.description,
            .model = std::move(model),
            .parameters = std::move(parameters),
            .state = std::move(state),
            .settings = s,
            .record = scene_.record,
            .steps = steps,
            .controls = std::move(controls_),
            .colours = std::move(colours),
            .visuals = std::move(visuals),
            .growth = std::move(growth),
            .fluid = {.viscosity = scene_.world.viscosity,
                      .tolerance = scene_.world.mobility_tolerance},
            .resolved = write_scene(scene_),
            .notes = context_.notes};
  }

  const SceneDescription& scene_;
  ReadContext& context_;
  ModelBuilder builder_;
  std::vector<BodyDescription> bodies_;
  std::vector<std::pair<std::string, Mesh>> parts_;  // meshes of flexible parts, by name
  std::vector<ControlTable> controls_;
  std::map<std::string, Where> places_;
  bool fields_ = false;  // some force is a formula
};

}  // namespace

Quat orientation_of(const std::optional<Quat>& orientation, const std::optional<Vec3>& rotation,
                    const Where& where) {
  if (orientation && rotation)
    throw Error(where.text(), "give either orientation or rotation, not both");
  if (rotation) return exp_rotation(*rotation);
  return orientation ? normalized(*orientation) : Quat{};
}

LoadedScene build_scene(const SceneDescription& scene, ReadContext& context) {
  return SceneBuilder(scene, context).build();
}

}  // namespace orthant::io
