// SPDX-License-Identifier: Apache-2.0
// evaluate_contact in dual numbers: against central differences of itself for every kind of
// feature, by both poses and every shape parameter; against differences of the whole search; and
// the envelope theorem, d gap = n.(dp_A - dp_B), which the rows of D rely on.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

struct Case {
  Shape a, b;
  Pose X, Y;
  ContactPoint point;
  bool nearest;  // the first of its manifold
};

/// Gap, normal, points as ten numbers.
template <class T>
std::array<T, 10> flatten(const ContactPointT<T>& c) {
  return {c.gap,        c.normal[0],  c.normal[1],  c.normal[2],  c.point_a[0],
          c.point_a[1], c.point_a[2], c.point_b[0], c.point_b[1], c.point_b[2]};
}

/// A pose moved by (translation, world rotation).
template <class T>
PoseT<T> moved(const Pose& X, const T* delta) {
  const PoseT<T> Z = pose_cast<T>(X);
  return {Z.x + Vec3T<T>(delta[0], delta[1], delta[2]),
          boxplus(Z.p, Vec3T<T>(delta[3], delta[4], delta[5]))};
}

template <class T>
ContactPointT<T> evaluate(const Case& c, const T* pose, const std::vector<T>& pa,
                          const std::vector<T>& pb) {
  return evaluate_contact(c.point.feature, c.a.view(pa.data()), moved(c.X, pose),
                          c.b.view(pb.data()), moved(c.Y, pose + 6));
}

template <class T>
std::vector<T> parameters(const Shape& s) {
  return {s.parameters().begin(), s.parameters().end()};
}

/// Differences of nearly touching corners or nearly parallel edges have large higher derivatives:
/// they say little about the formula. Such cases are left out here, the formula is the same.
bool well_conditioned(const Case& c) {
  const double core = c.point.gap + core_radius(c.a.view()) + core_radius(c.b.view());
  const ContactFeature& f = c.point.feature;
  const Shape& s1 = f.swapped ? c.b : c.a;
  const Shape& s2 = f.swapped ? c.a : c.b;
  const Pose& X1 = f.swapped ? c.Y : c.X;
  const Pose& X2 = f.swapped ? c.X : c.Y;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
    case FeatureKind::VertexEdge:
      return core > 0.1;
    case FeatureKind::EdgeEdge:
    case FeatureKind::ClippedEdge: {
      const auto e = internal::edge_primitive(s1.view(), X1, f.first);
      const auto g = internal::edge_primitive(s2.view(), X2, f.second);
      const Vec3 u = (e.p1 - e.p0).normalized(), w = (g.p1 - g.p0).normalized();
      return u.cross(w).norm() > 0.2 && (e.p1 - e.p0).norm() > 0.2 && (g.p1 - g.p0).norm() > 0.2;
    }
    case FeatureKind::VertexFace:
      return true;
    case FeatureKind::ClippedVertex: {
      const auto m = internal::face_primitive(s1.view(), X1, f.first);
      return std::abs(m.normal.dot(c.point.normal)) > 0.5;
    }
    case FeatureKind::Smooth:
    case FeatureKind::SubSpheres:
      return false;  // smooth_test.cpp
  }
  return false;
}

/// Cases of every kind of feature: key (dim, kind, swapped).
const std::map<std::tuple<int, FeatureKind, bool>, std::vector<Case>>& cases() {
  static const auto all = [] {
    std::map<std::tuple<int, FeatureKind, bool>, std::vector<Case>> found;
    Random random(77);
    constexpr ShapeKind kinds[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                   ShapeKind::Hull, ShapeKind::HalfSpace};
    for (int i = 0; i < 40000; ++i) {
      const int dim = 2 + (i & 1);
      const Shape a = test::random_shape(random, kinds[random.integer(5)], dim);
      const Shape b = test::random_shape(random, kinds[random.integer(4)], dim);
      const Pose X = test::random_pose(random, dim, 1.5), Y = test::random_pose(random, dim, 0.5);
      ContactPoint out[kMaxContacts];
      const int n = contacts(a, X, b, Y, 0.3, out);
      for (int k = 0; k < n; ++k) {
        auto& list = found[{dim, out[k].feature.kind, out[k].feature.swapped}];
        Case c{a, b, X, Y, out[k], k == 0};
        if (list.size() < 12 && well_conditioned(c)) list.push_back(c);
      }
    }
    return found;
  }();
  return all;
}

TEST(ContactDerivative, EveryKindOfFeatureIsCovered) {
  for (int dim : {2, 3})
    for (FeatureKind kind :
         {FeatureKind::VertexVertex, FeatureKind::VertexEdge, FeatureKind::EdgeEdge,
          FeatureKind::VertexFace, FeatureKind::ClippedEdge, FeatureKind::ClippedVertex})
      for (bool swapped : {false, true}) {
        const bool planar_kind = kind == FeatureKind::VertexVertex ||
                                 kind == FeatureKind::VertexFace ||
                                 kind == FeatureKind::ClippedVertex;
        if (dim == 2 && !planar_kind) continue;
        const auto found = cases().find({dim, kind, swapped});
        ASSERT_NE(found, cases().end()) << dim << " " << static_cast<int>(kind) << swapped;
        EXPECT_GE(found->second.size(), 10u) << dim << " " << static_cast<int>(kind) << swapped;
      }
}

TEST(ContactDerivative, ByPosesAgainstDifferences) {
  using D = Dual<12>;
  const double h = 1e-5;
  for (const auto& [key, list] : cases())
    for (const Case& c : list) {
      D delta[12];
      for (int i = 0; i < 12; ++i) delta[i] = D::variable(0, i);
      const auto dual = flatten(evaluate(c, delta, parameters<D>(c.a), parameters<D>(c.b)));
      const auto value = flatten(c.point);
      for (int k = 0; k < 10; ++k) EXPECT_NEAR(dual[k].v, value[k], 1e-12);
      for (int i = 0; i < 12; ++i) {
        double up[12] = {}, down[12] = {};
        up[i] = h;
        down[i] = -h;
        const auto hi = flatten(evaluate(c, up, parameters<double>(c.a), parameters<double>(c.b)));
        const auto lo =
            flatten(evaluate(c, down, parameters<double>(c.a), parameters<double>(c.b)));
        for (int k = 0; k < 10; ++k)
          EXPECT_NEAR(dual[k].d[i], (hi[k] - lo[k]) / (2 * h), 2e-7 * (1 + std::abs(dual[k].d[i])))
              << "kind " << static_cast<int>(std::get<1>(key)) << " output " << k << " input " << i;
      }
    }
}

TEST(ContactDerivative, ByParametersAgainstDifferences) {
  using D = Dual<1>;
  const double h = 1e-5;
  const double zero[12] = {};
  const D dual_zero[12];
  for (const auto& [key, list] : cases())
    for (const Case& c : list)
      for (int body = 0; body < 2; ++body) {
        const Shape& s = body == 0 ? c.a : c.b;
        for (int i = 0; i < s.parameter_count(); ++i) {
          std::vector<D> pa = parameters<D>(c.a), pb = parameters<D>(c.b);
          std::vector<D>& p = body == 0 ? pa : pb;
          p[i] = D::variable(p[i].v, 0);
          const auto dual = flatten(evaluate(c, dual_zero, pa, pb));
          const auto shifted = [&](double by) {
            std::vector<double> qa = parameters<double>(c.a), qb = parameters<double>(c.b);
            (body == 0 ? qa : qb)[i] += by;
            return flatten(evaluate(c, zero, qa, qb));
          };
          const auto hi = shifted(h), lo = shifted(-h);
          for (int k = 0; k < 10; ++k)
            EXPECT_NEAR(dual[k].d[0], (hi[k] - lo[k]) / (2 * h),
                        2e-7 * (1 + std::abs(dual[k].d[0])))
                << "kind " << static_cast<int>(std::get<1>(key)) << " " << s.parameter_name(i);
        }
      }
}

/// The search itself, differenced: where the features stay, its slope is the kernel's derivative.
TEST(ContactDerivative, OfTheWholeSearch) {
  using D = Dual<12>;
  const double h = 1e-5;
  int compared = 0, kinks = 0;
  for (const auto& [key, list] : cases())
    for (const Case& c : list) {
      if (!c.nearest) continue;
      const int dim = std::get<0>(key);
      D delta[12];
      for (int i = 0; i < 12; ++i) delta[i] = D::variable(0, i);
      const auto dual = flatten(evaluate(c, delta, parameters<D>(c.a), parameters<D>(c.b)));
      for (int i = 0; i < 12; ++i) {
        const int within = i % 6;
        if (dim == 2 && within != 0 && within != 1 && within != 5) continue;  // leaves the plane
        double up[12] = {}, down[12] = {};
        up[i] = h;
        down[i] = -h;
        const ContactPoint hi = distance(c.a, moved(c.X, up), c.b, moved(c.Y, up + 6));
        const ContactPoint lo = distance(c.a, moved(c.X, down), c.b, moved(c.Y, down + 6));
        if (hi.id != c.point.id || lo.id != c.point.id) {
          ++kinks;
          continue;
        }
        ++compared;
        const auto f = flatten(hi), g = flatten(lo);
        for (int k = 0; k < 10; ++k)
          EXPECT_NEAR(dual[k].d[i], (f[k] - g[k]) / (2 * h), 2e-7 * (1 + std::abs(dual[k].d[i])));
      }
    }
  EXPECT_GT(compared, 500);
  EXPECT_LT(kinks, compared / 20);
}

TEST(ContactDerivative, EnvelopeTheorem) {
  using D = Dual<12>;
  int checked = 0;
  for (const auto& [key, list] : cases()) {
    const FeatureKind kind = std::get<1>(key);
    if (kind == FeatureKind::ClippedEdge || kind == FeatureKind::ClippedVertex) continue;
    for (const Case& c : list) {
      D delta[12];
      for (int i = 0; i < 12; ++i) delta[i] = D::variable(0, i);
      const D gap = evaluate(c, delta, parameters<D>(c.a), parameters<D>(c.b)).gap;
      const Vec3 n = c.point.normal;
      const Vec3 turn_a = (c.point.point_a - c.X.x).cross(n);
      const Vec3 turn_b = (c.point.point_b - c.Y.x).cross(n);
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(gap.d[k], n[k], 1e-12);
        EXPECT_NEAR(gap.d[3 + k], turn_a[k], 1e-11);
        EXPECT_NEAR(gap.d[6 + k], -n[k], 1e-12);
        EXPECT_NEAR(gap.d[9 + k], -turn_b[k], 1e-11);
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(ContactDerivative, TangentsAreABasisEverywhereAndSmoothAwayFromTheCut) {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    Vec3 n = random.direction(), t1, t2;
    if (i == 0) n = Vec3(0, 0, -1);
    if (i == 1) n = Vec3(0, 0, 1);
    if (i == 2) n = Vec3(1, 0, 0);
    contact_tangents(n, t1, t2);
    Mat3 F;
    F << n, t1, t2;
    EXPECT_LT((F.transpose() * F - Mat3::Identity()).norm(), 1e-14);
    EXPECT_NEAR(F.determinant(), 1, 1e-14);
  }
  using D = Dual<1>;
  // n turning about y with speed 1: the basis stays one, so d(t1.n) = 0.
  const D angle = D::variable(0.3, 0);
  const Vec3T<D> n(sin(angle), D(0), cos(angle));
  Vec3T<D> t1, t2;
  contact_tangents(n, t1, t2);
  EXPECT_NEAR(t1.dot(n).d[0], 0, 1e-15);
  EXPECT_NEAR(t1.squaredNorm().d[0], 0, 1e-15);
  EXPECT_EQ(planar_tangent(Vec3(1, 0, 0)), Vec3(0, 1, 0));
}

}  // namespace
}  // namespace orthant
