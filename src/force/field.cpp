// SPDX-License-Identifier: Apache-2.0
// force/field.cpp: formulas at the centres of bodies => force, torque, derivatives.
#include "orthant/force/field.hpp"

#include <cmath>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

FormulaPoint point(const Body& body, const VecX& q, const VecX& v, double t) {
  FormulaPoint at;
  at.x = body_pose(body, q.data()).x;
  for (Index i = 0; i < (body.planar ? 2 : 3) && body.v_begin != kNone; ++i)
    at.v[i] = v[body.v_begin + i];
  at.t = t;
  return at;
}

void add_at_centre(const Body& body, const Vec3& force, VecX& f) {
  for (Index i = 0; i < (body.planar ? 2 : 3); ++i) f[body.v_begin + i] += force[i];
}

/// Formulas of a vector at the centre of one body.
class AtBody : public ForceCallback {
 public:
  AtBody(VectorFormula formulas, std::string body, std::string where)
      : formulas_(std::move(formulas)), name_(std::move(body)), where_(std::move(where)) {}

 protected:
  /// A model is edited by divisions, so that a body is known by its name.
  const Body& body(const Model& model) const { return model.body(model.find_body(name_)); }

  /// The vector, and J[i] its derivatives by place and velocity.
  Vec3 evaluate(const FormulaPoint& at, std::array<std::array<double, 6>, 3>* J) const {
    Vec3 out = Vec3::Zero();
    for (std::size_t i = 0; i < formulas_->size() && i < 3; ++i)
      out[static_cast<Index>(i)] =
          J != nullptr ? (*formulas_)[i].value(at, (*J)[i]) : (*formulas_)[i].value(at);
    bool finite = out.allFinite();
    for (std::size_t i = 0; J != nullptr && i < formulas_->size(); ++i)
      for (const double d : (*J)[i]) finite = finite && std::isfinite(d);
    if (finite) return out;
    std::string place;
    for (const double c : at.x) place += (place.empty() ? "" : ", ") + std::to_string(c);
    throw Error(where_, "the formula is not finite at (" + place +
                            "), t = " + std::to_string(at.t) + ", where body '" + name_ + "' is");
  }

 private:
  VectorFormula formulas_;
  std::string name_, where_;
};

class FieldForce : public AtBody {
 public:
  using AtBody::AtBody;

  void add_force(const Model& model, const Parameters&, const VecX& q, const VecX& v, double t,
                 VecX& f) const override {
    const Body& b = body(model);
    add_at_centre(b, evaluate(point(b, q, v, t), nullptr), f);
  }
  bool derivatives(const Model& model, const Parameters&, const VecX& q, const VecX& v, double t,
                   std::span<double> f_q, std::span<double> f_v) const override {
    const Body& b = body(model);
    std::array<std::array<double, 6>, 3> J = {};
    (void)evaluate(point(b, q, v, t), &J);
    const Index n = b.planar ? 2 : 3;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(i * b.v_size + j);
        f_q[at] = J[i][j];
        f_v[at] = J[i][j + 3];
      }
    return true;
  }
};

class FlowForce : public AtBody {
 public:
  FlowForce(VectorFormula formulas, std::string body, double drag_ratio, double aspect,
            std::string where)
      : AtBody(std::move(formulas), std::move(body), std::move(where)),
        ratio_(drag_ratio),
        shape_((aspect * aspect - 1) / (aspect * aspect + 1)) {}

  void add_force(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                 double t, VecX& f) const override {
    const Body& b = body(model);
    const double length = parameters.values[b.length], drag = parameters.values[b.drag] * length;
    std::array<std::array<double, 6>, 3> J = {};
    const Vec3 u = evaluate(point(b, q, v, t), &J);
    const Vec3 axis = rotate(body_pose(b, q.data()).p, Vec3(1, 0, 0));
    const Vec3 force = drag * (u - (1 - 1 / ratio_) * axis.dot(u) * axis);
    Mat3 G;  // ∇u
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 3; ++j) G(i, j) = J[i][j];
    const Vec3 spin = 0.5 * Vec3(G(2, 1) - G(1, 2), G(0, 2) - G(2, 0), G(1, 0) - G(0, 1));
    const Vec3 strained = 0.5 * (G + G.transpose()) * axis;
    const Vec3 turn = drag * length * length / 12 * (spin + shape_ * axis.cross(strained));
    add_at_centre(b, force, f);
    if (b.planar)
      f[b.v_begin + 2] += turn[2];
    else
      f.segment<3>(b.v_begin + 3) += turn;
  }

 private:
  double ratio_, shape_;
};

class PairForce : public AtBody {
 public:
  PairForce(VectorFormula formulas, std::string body, BodyNames others, std::string where)
      : AtBody(std::move(formulas), std::move(body), std::move(where)),
        others_(std::move(others)) {}

  void add_force(const Model& model, const Parameters&, const VecX& q, const VecX& v, double t,
                 VecX& f) const override {
    const Body& a = body(model);
    const FormulaPoint here = point(a, q, v, t);
    Vec3 sum = Vec3::Zero();
    for (const std::string& name : *others_) {
      const Body& b = model.body(model.find_body(name));
      if (&a == &b) continue;
      const FormulaPoint there = point(b, q, v, t);
      sum += evaluate({here.x - there.x, here.v - there.v, t}, nullptr);
    }
    add_at_centre(a, sum, f);
  }

 private:
  BodyNames others_;
};

}  // namespace

VectorFormula vector_formula(const std::vector<std::string>& texts, const std::string& where) {
  std::vector<Formula> out;
  if (texts.size() == 1) {
    for (int c = 0; c < 3; ++c) out.emplace_back(texts[0], where, c);
    return std::make_shared<const std::vector<Formula>>(std::move(out));
  }
  if (texts.size() != 2 && texts.size() != 3)
    throw Error(where, "expected one formula, or one for each component (2 or 3), found " +
                           std::to_string(texts.size()));
  for (const std::string& text : texts) out.emplace_back(text, where);
  return std::make_shared<const std::vector<Formula>>(std::move(out));
}

std::shared_ptr<const ForceCallback> field_force(VectorFormula formulas, std::string body,
                                                 std::string where) {
  return std::make_shared<FieldForce>(std::move(formulas), std::move(body), std::move(where));
}

std::shared_ptr<const ForceCallback> flow_force(VectorFormula formulas, std::string body,
                                                double drag_ratio, double aspect,
                                                std::string where) {
  return std::make_shared<FlowForce>(std::move(formulas), std::move(body), drag_ratio, aspect,
                                     std::move(where));
}

std::shared_ptr<const ForceCallback> pair_force(VectorFormula formulas, std::string body,
                                                BodyNames others, std::string where) {
  return std::make_shared<PairForce>(std::move(formulas), std::move(body), std::move(others),
                                     std::move(where));
}

}  // namespace orthant
