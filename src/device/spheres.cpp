// SPDX-License-Identifier: Apache-2.0
// device/spheres.cpp: Model => the bytes of a SphereProgram, and its steps on the host.
#include "orthant/device/spheres.hpp"

#include <algorithm>
#include <string>

#include "device/host_backend.hpp"
#include "device/spheres_program.hpp"
#include "device/spheres_run.hpp"
#include "orthant/base/error.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {

namespace {

using device::HostBackend;

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw Error("spheres", what + " " + why);
}

void require(bool holds, const char* field, const char* rule) {
  if (!holds) throw Error(std::string("spheres: ") += field, rule);
}

void check_settings(const StepSettings& s) {
  require(s.friction == FrictionModel::Coulomb, "step settings.friction", "coulomb only");
  require(s.constraints == ConstraintScheme::Manifold, "step settings.constraints",
          "manifold only");
  require(s.integrator == Integrator::Euler, "step settings.integrator", "euler only");
  require(!s.impact_events, "step settings.impact_events", "impacts are not located");
  require(!s.periodic.any(), "step settings.periodic", "no periodic box");
}

void check_arrays(const SphereArrays& a, double h, const SphereSettings& spheres, double margin) {
  require(h > 0 && std::isfinite(h), "h", "must be > 0");
  require(margin >= 0 && std::isfinite(margin), "margin", "must be >= 0");
  require(spheres.sweeps >= 1, "sweeps", "must be >= 1");
  require(spheres.compliance >= 0 && spheres.compliance < 1, "compliance", "must be in [0, 1)");
  require(a.gravity.allFinite(), "gravity", "must be finite");
  require(a.mass.size() == a.radius.size(), "mass", "must have one number per sphere");
  require(a.material.empty() || a.material.size() == a.radius.size(), "material",
          "must have one number per sphere");
  require(a.radius.size() < (std::size_t{1} << 30), "radius", "at most 2^30 spheres");
  require(a.friction.rows() == a.friction.cols() && a.friction.rows() > 0, "friction",
          "must be a square matrix");
  require(a.friction.minCoeff() >= 0 && a.friction.allFinite(), "friction", "must be >= 0");
  const auto each = [](const char* field, const auto& values, const char* rule, auto&& holds) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!holds(values[i])) {
        std::string what = "spheres: ";
        what += field;
        (what += '[') += std::to_string(i);
        throw Error(what += ']', rule);
      }
  };
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  const auto known = [&](int material) { return material >= 0 && material < a.friction.rows(); };
  each("radius", a.radius, "must be > 0", positive);
  each("mass", a.mass, "must be > 0", positive);
  each("material", a.material, "must be a row of friction", known);
  each("planes", a.planes, "must have a unit normal, a finite offset and a row of friction",
       [&](const SphereArrays::Plane& p) {
         return std::abs(p.normal.norm() - 1) < 1e-9 && std::isfinite(p.offset) &&
                known(p.material);
       });
}

/// Model => arrays; what has no place in them is refused by name.
class ModelReader {
 public:
  ModelReader(const Model& m, const Parameters& p) : model_(m), parameters_(p) {
    if (m.law() != LawOfMotion::Inertial) refuse("overdamped motion", "is not taken");
    if (!m.joints().empty())
      refuse("joint '" + m.joints()[0].name + "'", "is not taken: spheres are free");
    if (!m.forces().empty())
      refuse("force '" + m.forces()[0].name + "'", "is not taken: gravity alone acts");
    if (!m.flexible_parts().empty())
      refuse("flexible part '" + m.flexible_parts()[0].name + "'", "is not taken");
    const auto n = static_cast<std::size_t>(m.dynamic_count());
    arrays_.radius.resize(n);
    arrays_.mass.resize(n);
    arrays_.material.resize(n);
    const double* g = p.values.data() + m.gravity();
    arrays_.gravity = Vec3(g[0], g[1], g[2]);
    for (const BodyId id : m.dynamic_bodies())
      if (m.body(id).shape_begin == m.body(id).shape_end)
        refuse("body '" + m.body(id).name + "'", "has no shape");
    for (const ShapeInstance& shape : m.shapes()) add_shape(shape);
    add_friction();
  }
  const SphereArrays& arrays() const { return arrays_; }

 private:
  void add_shape(const ShapeInstance& shape) {
    const Body& body = model_.body(shape.body);
    const VecX& x = parameters_.values;
    const std::string name = "body '" + body.name + "'";
    const int material = static_cast<int>(index_of(shape.material));
    if (body.planar || body.motion == Motion::Kinematic)
      refuse(name, "is planar or kinematic, which is not taken");
    if (!body.is_dynamic()) {
      if (shape.shape.kind() != ShapeKind::HalfSpace)
        refuse(name, "is fixed and no half-space, which is not taken");
      const Pose pose = shape_pose(body, shape, model_.rest_state().q.data(), x.data());
      const Vec3 n = rotate(pose.p, Vec3(0, 0, 1));
      arrays_.planes.push_back({n, n.dot(pose.x), material});
      return;
    }
    if (shape.shape.kind() != ShapeKind::Sphere || body.shape_end != body.shape_begin + 1)
      refuse(name, "is not one sphere");
    const double r = x[shape.parameter_begin], mass = x[body.mass];
    if (!x.segment<3>(shape.offset_begin).isZero(0))
      refuse(name, "has its sphere beside its centre of mass");
    const double inertia = 0.4 * mass * r * r;
    for (int k = 0; k < 3; ++k)
      if (std::abs(x[body.inertia + k] - inertia) > 1e-6 * inertia)
        refuse(name, "does not have the inertia of a homogeneous sphere");
    const auto i = static_cast<std::size_t>(body.dynamic);
    arrays_.radius[i] = r;
    arrays_.mass[i] = mass;
    arrays_.material[i] = material;
  }

  void add_friction() {
    const auto k = static_cast<std::int32_t>(model_.materials().size());
    arrays_.friction.resize(k, k);
    for (std::int32_t a = 0; a < k; ++a)
      for (std::int32_t b = 0; b < k; ++b) {
        const ContactMaterial made =
            contact_material(model_, parameters_, MaterialId{a}, MaterialId{b});
        if (made.restitution != 0 || made.rolling_friction != 0 || made.compliance != 0)
          refuse("material '" + model_.materials()[static_cast<std::size_t>(a)].name + "'",
                 "has restitution, rolling friction or compliance, which is not taken");
        arrays_.friction(a, b) = made.friction;
      }
  }

  const Model& model_;
  const Parameters& parameters_;
  SphereArrays arrays_;
};

}  // namespace

struct SphereProgram::Impl {
  std::vector<unsigned char> bytes;
  std::vector<Index> place;  // in State::q, by sphere
  HostBackend backend;
  std::unique_ptr<device::SphereRun<HostBackend>> run;

  const device::SphereHeader& header() const {
    return *reinterpret_cast<const device::SphereHeader*>(bytes.data());
  }
};

SphereProgram::SphereProgram(const SphereArrays& arrays, double h, const SphereSettings& spheres,
                             double margin)
    : impl_(std::make_unique<Impl>()) {
  check_arrays(arrays, h, spheres, margin);
  const Vec3& g = arrays.gravity;
  std::vector<double> inverse_mass(arrays.mass.size()),
      friction(arrays.friction.data(), arrays.friction.data() + arrays.friction.size());
  std::ranges::transform(arrays.mass, inverse_mass.begin(), [](double m) { return 1 / m; });
  std::vector<int> material = arrays.material;
  material.resize(arrays.radius.size(), 0);
  std::vector<device::SpherePlane> planes;
  for (const SphereArrays::Plane& p : arrays.planes)
    planes.push_back({{p.normal.x(), p.normal.y(), p.normal.z()}, p.offset, p.material});

  device::SphereHeader header{};
  std::memcpy(header.magic, device::kSphereMagic, sizeof(header.magic));
  device::SphereModel& m = header.model;
  m.count = static_cast<int>(arrays.radius.size());
  m.planes = static_cast<int>(planes.size());
  m.materials = static_cast<int>(arrays.friction.rows());
  m.largest = arrays.radius.empty() ? 0 : *std::ranges::max_element(arrays.radius);
  m.h = h;
  m.compliance = spheres.compliance;
  m.margin = margin;
  m.push = g.norm() * h;
  m.gravity = {g.x(), g.y(), g.z()};
  m.sweeps = spheres.sweeps;
  std::vector<unsigned char>& bytes = impl_->bytes;
  bytes.resize(sizeof(header));
  const auto append = [&](const auto& array) {
    const auto* data = reinterpret_cast<const unsigned char*>(array.data());
    bytes.insert(bytes.end(), data, data + sizeof(array[0]) * array.size());
  };
  append(arrays.radius);
  append(inverse_mass);
  append(friction);
  append(planes);
  append(material);
  header.size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof(header));
  impl_->run = std::make_unique<device::SphereRun<HostBackend>>(
      impl_->backend, device::open_spheres(header, bytes.data()));
}

namespace {

/// Checked before anything is read from the model.
SphereArrays read_model(const Model& model, const Parameters& parameters, const StepSettings& s) {
  check_settings(s);
  validate(model, parameters, "parameters");
  return ModelReader(model, parameters).arrays();
}

}  // namespace

SphereProgram::SphereProgram(const Model& model, const Parameters& parameters,
                             const StepSettings& settings, const SphereSettings& spheres)
    : SphereProgram(read_model(model, parameters, settings), settings.h, spheres,
                    settings.contact_margin) {
  for (const BodyId id : model.dynamic_bodies()) impl_->place.push_back(model.body(id).q_begin);
}
SphereProgram::~SphereProgram() = default;
SphereProgram::SphereProgram(SphereProgram&&) noexcept = default;
SphereProgram& SphereProgram::operator=(SphereProgram&&) noexcept = default;

std::size_t SphereProgram::count() const {
  return static_cast<std::size_t>(impl_->header().model.count);
}
const std::vector<unsigned char>& SphereProgram::bytes() const { return impl_->bytes; }
void SphereProgram::forget() { impl_->run->forget(); }

namespace {

void require_sizes(std::size_t count, std::size_t q, std::size_t v) {
  const auto require = [](const char* name, std::size_t got, std::size_t expected) {
    if (got != expected)
      throw Error("spheres", std::string(name) + ": expected " + std::to_string(expected) +
                                 " numbers, got " + std::to_string(got));
  };
  require("q", q, 7 * count);
  require("v", v, 6 * count);
}

}  // namespace

void SphereProgram::gather(const State& state, std::span<double> q, std::span<double> v) const {
  require_sizes(count(), q.size(), v.size());
  if (impl_->place.size() != count()) refuse("a program of arrays", "has no state of a model");
  for (std::size_t i = 0; i < count(); ++i)
    std::copy_n(state.q.data() + impl_->place[i], 7, q.data() + 7 * i);
  std::copy_n(state.v.data(), v.size(), v.data());
}
void SphereProgram::scatter(std::span<const double> q, std::span<const double> v,
                            State& state) const {
  require_sizes(count(), q.size(), v.size());
  if (impl_->place.size() != count()) refuse("a program of arrays", "has no state of a model");
  for (std::size_t i = 0; i < count(); ++i)
    std::copy_n(q.data() + 7 * i, 7, state.q.data() + impl_->place[i]);
  std::copy_n(v.data(), v.size(), state.v.data());
}

SphereReport SphereProgram::step(std::span<double> q, std::span<double> v) {
  require_sizes(count(), q.size(), v.size());
  return impl_->run->step(q.data(), v.data());
}

}  // namespace orthant
