// SPDX-License-Identifier: Apache-2.0
// device/flatten.cpp: Model, StepSettings => the bytes of a BatchProgram. Everything that the
// kernels of this room do not take is refused here, by name.
#include <algorithm>
#include <cstring>
#include <optional>

#include "device/program.hpp"
#include "device/pull_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/device/batch.hpp"

namespace orthant {

namespace {

using device::BatchModel;

constexpr int kMaxBodies = 64;  // a path to the root is the bits of one word
constexpr int kMaxContacts =
    512;  // points that may touch: the matrix of a world grows with 9 times its square

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error("batch", what + " " + why + "; use step() or rollout_batch() on the CPU");
}

void check_settings(const StepSettings& s) {
  const auto only = [](bool holds, const char* field, const char* rule) {
    if (!holds) throw Error(std::string("batch: step settings.") + field, rule);
  };
  only(s.h > 0, "h", "must be > 0");
  only(s.friction == FrictionModel::Coulomb, "friction", "a batch takes coulomb only");
  only(s.constraints == ConstraintScheme::Manifold, "constraints", "a batch takes manifold only");
  only(s.integrator == Integrator::Euler, "integrator", "a batch takes euler only");
  only(!s.impact_events, "impact_events", "a batch does not locate impacts");
  only(s.max_halvings == 0, "max_halvings", "a batch does not halve steps");
  only(!s.periodic.any(), "periodic", "a batch takes no periodic box");
  only(s.accuracy == Accuracy::Exact, "accuracy",
       "a batch takes exact only; its tolerance is solver.tolerance");
}

device::JointType joint_type(const Joint& j) {
  using device::JointType;
  switch (j.kind) {
    case JointKind::Weld:
      return JointType::Weld;
    case JointKind::Revolute:
      return JointType::Revolute;
    case JointKind::Prismatic:
      return JointType::Prismatic;
    case JointKind::Ball:
      return JointType::Ball;
    case JointKind::Planar:
      return JointType::Planar;
    case JointKind::LockX:
      return JointType::LockX;
    case JointKind::LockY:
      return JointType::LockY;
    case JointKind::LockZ:
      return JointType::LockZ;
    case JointKind::LockRotation:
      return JointType::LockRotation;
    case JointKind::Distance:
      break;
  }
  refuse("joint '" + j.name + "'", "is a distance, which a batch does not take");
}

/// The arrays of a program while they are being filled.
struct Flat {
  const Model& model;
  std::vector<device::BodyData> bodies;
  std::vector<device::JointData> joints;
  std::vector<device::ActuatorData> actuators;
  std::vector<device::ContactData> contacts;
  std::vector<int> order, limits;
  std::vector<std::uint64_t> contact_path, limit_path;

  explicit Flat(const Model& from) : model(from) {
    add_bodies();
    add_joints();
    order_trees();
    add_contacts();
  }

  int dynamic(BodyId id) const {
    return id == kWorld ? -1 : static_cast<int>(model.body(id).dynamic);
  }
  int place(BodyId id) const {
    return id == kWorld ? -1 : static_cast<int>(model.body(id).q_begin);
  }

  void add_bodies() {
    if (model.law() != LawOfMotion::Inertial)
      refuse("overdamped motion", "is not taken by a batch");
    if (!model.flexible_parts().empty())
      refuse("flexible part '" + model.flexible_parts()[0].name + "'", "is not taken by a batch");
    if (!model.forces().empty())
      refuse("force '" + model.forces()[0].name + "'", "is not taken by a batch");
    for (const Body& body : model.bodies()) {
      if (body.planar) refuse("planar body '" + body.name + "'", "is not taken by a batch");
      if (body.motion == Motion::Kinematic)
        refuse("kinematic body '" + body.name + "'", "is not taken by a batch");
    }
    if (model.dynamic_count() == 0)
      refuse("a model in which nothing moves", "is not taken by a batch");
    if (model.dynamic_count() > kMaxBodies)
      refuse(std::to_string(model.dynamic_count()) + " bodies",
             "are more than the " + std::to_string(kMaxBodies) + " of a world in a batch");
    for (const BodyId id : model.dynamic_bodies()) {
      const Body& body = model.body(id);
      bodies.push_back({static_cast<int>(body.q_begin), static_cast<int>(body.mass),
                        static_cast<int>(body.inertia), -1, -1, 0});
    }
  }

  void add_joints() {
    for (std::size_t i = 0; i < model.joints().size(); ++i) {
      const Joint& j = model.joints()[i];
      const std::string name = "joint '" + j.name + "'";
      if (j.motor.kind != MotorKind::None)
        refuse(name, "has a motor or servo, which a batch does not take");
      if (j.follow.row != kNone) refuse(name, "follows another, which a batch does not take");
      if (j.dry_friction != kNone) refuse(name, "has dry friction, which a batch does not take");
      device::JointData data{};
      data.type = joint_type(j);
      data.rows = static_cast<int>(j.row_count);
      data.a = dynamic(j.a), data.b = dynamic(j.b);
      data.qa = place(j.a), data.qb = place(j.b);
      data.frames = static_cast<int>(j.parameter_begin);
      data.lower = static_cast<int>(j.lower), data.upper = static_cast<int>(j.upper);
      data.stiffness = static_cast<int>(j.stiffness), data.rest = static_cast<int>(j.rest);
      data.damping = static_cast<int>(j.damping), data.armature = static_cast<int>(j.armature);
      data.has_coordinate = j.has_coordinate() ? 1 : 0;
      data.middle = j.middle;
      data.actuator_begin = static_cast<int>(actuators.size());
      for (std::size_t k = 0; k < model.actuators().size(); ++k) {
        const Actuator& a = model.actuators()[k];
        if (a.kind != ActuatorKind::Joint)
          refuse("actuator '" + a.name + "'", "does not push along a joint, which a batch needs");
        if (static_cast<std::size_t>(a.joint) == i)
          actuators.push_back({static_cast<int>(k), static_cast<int>(a.parameter_begin),
                               static_cast<int>(a.max_force), a.lower, a.upper});
      }
      data.actuator_end = static_cast<int>(actuators.size());
      if (data.lower >= 0 || data.upper >= 0) limits.push_back(static_cast<int>(i));
      joints.push_back(data);
    }
  }

  /// Joins bodies into trees, roots first: those held to the ground, then the first free one.
  void order_trees() {
    const int n = static_cast<int>(bodies.size());
    std::vector<int> found;
    std::vector<bool> seen(bodies.size()), used(joints.size());
    const auto enter = [&](int body, int joint, int parent) {
      if (seen[static_cast<std::size_t>(body)])
        refuse("joint '" + model.joints()[static_cast<std::size_t>(joint)].name + "'",
               "closes a loop, which a batch does not take");
      seen[static_cast<std::size_t>(body)] = true;
      bodies[static_cast<std::size_t>(body)].joint = joint;
      bodies[static_cast<std::size_t>(body)].parent = parent;
      found.push_back(body);
    };
    for (std::size_t j = 0; j < joints.size(); ++j) {
      device::JointData& joint = joints[j];
      for (const int b : {joint.a, joint.b})
        if (b >= 0) bodies[static_cast<std::size_t>(b)].jointed = 1;
      if (joint.a >= 0 && joint.b >= 0) continue;
      used[j] = true;
      if (joint.a < 0 && joint.b < 0)
        refuse("joint '" + model.joints()[j].name + "'", "holds two bodies that do not move");
      joint.child = joint.a >= 0 ? 0 : 1;
      enter(std::max(joint.a, joint.b), static_cast<int>(j), -1);
    }
    for (int root = 0; static_cast<int>(found.size()) < n || root == 0;) {
      // Grow from what is there before a new root is chosen.
      for (std::size_t next = 0; next < found.size(); ++next)
        for (std::size_t j = 0; j < joints.size(); ++j) {
          device::JointData& joint = joints[j];
          if (used[j] || (joint.a != found[next] && joint.b != found[next])) continue;
          used[j] = true;
          joint.child = joint.a == found[next] ? 1 : 0;
          enter(joint.child == 0 ? joint.a : joint.b, static_cast<int>(j), found[next]);
        }
      while (root < n && seen[static_cast<std::size_t>(root)]) ++root;
      if (root == n) break;
      seen[static_cast<std::size_t>(root)] = true;
      found.push_back(root);
    }
    order.assign(found.rbegin(), found.rend());
    for (const int l : limits)
      limit_path.push_back(path(joints[static_cast<std::size_t>(l)].a) |
                           path(joints[static_cast<std::size_t>(l)].b));
  }

  std::uint64_t path(int body) const {
    std::uint64_t bits = 0;
    for (; body >= 0; body = bodies[static_cast<std::size_t>(body)].parent)
      bits |= std::uint64_t{1} << body;
    return bits;
  }

  void add_contacts() {
    const auto shapes = model.shapes();
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (std::size_t j = i + 1; j < shapes.size(); ++j) {
        if (model.excluded(shapes[i].id, shapes[j].id)) continue;
        const bool swapped = shapes[i].shape.kind() > shapes[j].shape.kind();
        add_pair(swapped ? shapes[j] : shapes[i], swapped ? shapes[i] : shapes[j]);
      }
    if (contacts.size() > kMaxContacts)
      refuse(std::to_string(contacts.size()) + " points that may touch",
             "are more than the " + std::to_string(kMaxContacts) + " of a world in a batch");
  }

  /// Shape kinds ascend.
  void add_pair(const ShapeInstance& one, const ShapeInstance& two) {
    const ShapeKind a = one.shape.kind(), b = two.shape.kind();
    int points = 0;
    device::ContactData c{};
    if (b == ShapeKind::HalfSpace) {
      c.type = device::PairType::CorePlane;
      points = a == ShapeKind::Sphere    ? 1
               : a == ShapeKind::Capsule ? 2
               : a == ShapeKind::Box     ? 8
                                         : 0;
    } else if (a == ShapeKind::Sphere && b <= ShapeKind::Box) {
      c.type = b == ShapeKind::Sphere    ? device::PairType::PointPoint
               : b == ShapeKind::Capsule ? device::PairType::PointEdge
                                         : device::PairType::PointBox;
      points = 1;
    }
    if (points == 0)
      refuse(
          "the pair of shapes '" + one.name + "' and '" + two.name + "'",
          "(" + std::string(name_of(a)) + ", " + std::string(name_of(b)) +
              ") is not taken by a batch: spheres, capsules and boxes on half-spaces, spheres on "
              "spheres, capsules and boxes are");
    c.shape1 = static_cast<int>(a), c.shape2 = static_cast<int>(b);
    c.body1 = dynamic(one.body), c.body2 = dynamic(two.body);
    c.q1 = place(one.body), c.q2 = place(two.body);
    c.size1 = static_cast<int>(one.parameter_begin),
    c.size2 = static_cast<int>(two.parameter_begin);
    c.offset1 = static_cast<int>(one.offset_begin), c.offset2 = static_cast<int>(two.offset_begin);
    add_material(one, two, c);
    for (c.corner = 0; c.corner < points; ++c.corner) {
      contacts.push_back(c);
      contact_path.push_back(path(c.body1) | path(c.body2));
    }
  }

  void add_material(const ShapeInstance& one, const ShapeInstance& two, device::ContactData& c) {
    const Material& a = model.material(one.material);
    const Material& b = model.material(two.material);
    c.friction1 = static_cast<int>(a.friction), c.friction2 = static_cast<int>(b.friction);
    c.combine = static_cast<int>(std::max(a.combine, b.combine));
    const Parameters parameters = model.default_parameters();
    const ContactMaterial made = contact_material(model, parameters, one.material, two.material);
    const std::string name = "the materials '" + a.name + "' and '" + b.name + "'";
    if (made.restitution != 0) refuse(name, "bounce (restitution), which a batch does not take");
    if (made.rolling_friction != 0)
      refuse(name, "have rolling friction, which a batch does not take");
    if (made.compliance != 0) refuse(name, "are compliant, which a batch does not take");
    for (const MaterialPair& pair : model.material_pairs()) {
      const bool same = (pair.a == one.material && pair.b == two.material) ||
                        (pair.a == two.material && pair.b == one.material);
      if (!same || pair.friction == kNone) continue;
      c.friction1 = c.friction2 = static_cast<int>(pair.friction);
      c.combine = static_cast<int>(CombineRule::Average);  // of one number with itself
    }
  }
  static std::string_view name_of(ShapeKind kind) {
    constexpr std::string_view names[] = {
        "sphere",          "capsule",  "box",  "hull",  "half-space", "ellipsoid",
        "super-ellipsoid", "cylinder", "cone", "torus", "mesh"};
    static_assert(std::size(names) == static_cast<std::size_t>(ShapeKind::Mesh) + 1);
    return names[static_cast<int>(kind)];
  }
};

/// Where the parts of a world's workspace begin.
void lay_out(BatchModel& m) {
  BatchModel::Layout& at = m.at;
  int next = 0;
  const auto take = [&](int& place, int count) {
    place = next;
    next += count;
  };
  const int nb = m.bodies, nj = std::max(m.joints, 1), rows = m.rows;
  take(at.q, m.q_size);
  take(at.k, 6 * nb);
  take(at.v, 6 * nb);
  take(at.e, 6 * nj);
  take(at.factor, device::kFactor * nb);
  take(at.gamma, 6 * nj);
  take(at.s, 6 * nb);
  take(at.y, 6 * nb);
  take(at.coordinate, device::kCoordinate * nj);
  take(at.turn, 6 * nb);
  take(at.delta, 6 * nb);
  take(at.lambda, rows);
  take(at.w, rows);
  take(at.b, rows);
  take(at.lo, m.limits);
  take(at.hi, m.limits);
  take(at.mu, m.contacts);
  take(at.tau, m.contacts);
  take(at.law, 3 * m.contacts);
  take(at.gap, m.contacts);
  take(at.adjoint, 5 * rows);
  take(at.row, 12 * rows);
  take(at.path, 12 * rows * nb);
  take(at.N, rows * rows);
  take(at.A, rows * rows);
  at.forward_size = next;
  take(at.by_q, 6 * nb);
  take(at.by_v, 6 * nb);
  take(at.weight, 6 * nb);
  take(at.weight_gamma, 6 * nj);
  take(at.rounds, device::kKeptRounds * m.q_size);
  at.size = next;
  next = 0;
  take(at.index, m.contacts + m.limits + 2 * rows);
  take(at.state, m.contacts + m.limits);
  take(at.touched, nb);
  at.integers = next;
}

}  // namespace

BatchProgram::BatchProgram(const Model& model, const StepSettings& settings,
                           const BatchSettings& batch) {
  check_settings(settings);
  const Flat flat(model);
  device::ProgramHeader header{};
  std::memcpy(header.magic, device::kMagic, sizeof(header.magic));
  BatchModel& m = header.model;
  m.bodies = static_cast<int>(flat.bodies.size());
  m.joints = static_cast<int>(flat.joints.size());
  m.actuators = static_cast<int>(flat.actuators.size());
  m.contacts = static_cast<int>(flat.contacts.size());
  m.limits = static_cast<int>(flat.limits.size());
  m.q_size = static_cast<int>(model.q_size());
  m.v_size = static_cast<int>(model.v_size());
  m.parameters = static_cast<int>(model.parameter_table().size());
  m.controls = static_cast<int>(model.control_count());
  m.gravity = static_cast<int>(model.gravity());
  m.rows = 3 * m.contacts + m.limits;
  m.warm = m.rows;
  lay_out(m);
  const bool projects = settings.stabilisation == Stabilisation::Projection;
  const bool baumgarte = settings.stabilisation == Stabilisation::Baumgarte;
  header.settings = {settings.h,
                     baumgarte ? settings.baumgarte : 0,
                     settings.contact_margin,
                     settings.solver.tolerance,
                     baumgarte ? 0 : settings.projection_tolerance,
                     batch.max_sweeps,
                     projects ? batch.max_rounds : 0,
                     settings.projection_tolerance};
  std::size_t size = device::rounded(sizeof(header));
  const auto count = [&](const auto& array) {
    size += device::rounded(sizeof(array[0]) * array.size());
  };
  const auto all = [&](auto&& each) {
    each(flat.bodies);
    each(flat.joints);
    each(flat.actuators);
    each(flat.contacts);
    each(flat.order);
    each(flat.limits);
    each(flat.contact_path);
    each(flat.limit_path);
  };
  all(count);
  header.size = size;
  bytes_.assign(size, 0);
  std::memcpy(bytes_.data(), &header, sizeof(header));
  std::size_t at = device::rounded(sizeof(header));
  all([&](const auto& array) {
    if (!array.empty())
      std::memcpy(bytes_.data() + at, array.data(), sizeof(array[0]) * array.size());
    at += device::rounded(sizeof(array[0]) * array.size());
  });
}

}  // namespace orthant
