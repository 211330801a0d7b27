// SPDX-License-Identifier: Apache-2.0
// python/src/bind_identify.cpp: complementarity problems from samples, and blocks that slide
// written in every way. Samples are rows in Python, columns in the library.
#include "common.hpp"
#include "orthant/learn/formulations.hpp"
#include "orthant/learn/identify.hpp"
#include "settings.hpp"

namespace orthant::python {

using formulations::Block;

void fields(Tag<Block>, auto&& field) {
  field("mu", &Block::mu, "Friction [-].");
  field("m", &Block::m, "Mass [kg].");
  field("g", &Block::g, "Gravity [m/s^2].");
  field("dt", &Block::dt, "Step [s].");
}

void fields(Tag<IdentifiedRow>, auto&& field) {
  using R = IdentifiedRow;
  field("complementarity", &R::complementarity, "Mean of lambda_i w_i, that of w_i being 1.");
  field("violation", &R::violation, "Largest -w_i.");
  field("tight", &R::tight, "Samples with lambda_i > 0.");
  field("freedom", &R::freedom, "Dimensions that the samples leave open, besides the scale.");
  field("open", &R::open, "What the row may be combined of, by name.");
}

void fields(Tag<BilevelFit>, auto&& field) {
  field("mu", &BilevelFit::mu, "Friction found [-].");
  field("iterations", &BilevelFit::iterations, "Of the descent.");
  field("note", &BilevelFit::note, "Empty, or why friction could not be moved.");
}

namespace {

LcpSamples samples_of(nb::handle lambda, nb::handle features) {
  LcpSamples s;
  s.lambda = to_matrix(lambda, "lambda_").transpose();
  s.features = to_matrix(features, "features", static_cast<Index>(s.lambda.cols())).transpose();
  return s;
}

/// Rows (v, u, v').
std::vector<BilevelSample> transitions_of(nb::handle x) {
  const RowMatX rows = to_matrix(x, "transitions", kAny, 3);
  std::vector<BilevelSample> out;
  for (Index i = 0; i < rows.rows(); ++i) out.push_back({rows(i, 0), rows(i, 1), rows(i, 2)});
  return out;
}

nb::dict python_identify(nb::object lambda, nb::object features,
                         const std::vector<std::string>& lambda_names,
                         const std::vector<std::string>& feature_names, double l1, double tolerance,
                         nb::object allowed) {
  LcpSamples s = samples_of(lambda, features);
  s.lambda_names = lambda_names;
  s.feature_names = feature_names;
  IdentifyOptions options{.l1 = l1, .tolerance = tolerance, .allowed = {}};
  if (!allowed.is_none()) options.allowed = (to_matrix(allowed, "allowed").array() != 0).matrix();
  IdentifiedLcp found;
  {
    const nb::gil_scoped_release release;
    found = identify_lcp(s, options);
  }
  nb::dict out;
  out["M"] = to_numpy(RowMatX(found.M));
  out["W"] = to_numpy(RowMatX(found.W));
  out["rows"] = nb::cast(found.rows);
  out["converged"] = found.converged;
  out["notes"] = nb::cast(found.notes);
  return out;
}

nb::dict python_structured(nb::object lambda, nb::object features, const nb::list& M,
                           const nb::list& W, double l1) {
  const LcpSamples s = samples_of(lambda, features);
  LcpBasis basis;
  for (nb::handle x : M) basis.M.emplace_back(to_matrix(x, "M of the basis"));
  for (nb::handle x : W) basis.W.emplace_back(to_matrix(x, "W of the basis"));
  StructuredLcp found;
  {
    const nb::gil_scoped_release release;
    found = identify_structured(s, basis, l1);
  }
  nb::dict out;
  out["coefficients"] = to_numpy(std::move(found.coefficients));
  out["M"] = to_numpy(RowMatX(found.M));
  out["W"] = to_numpy(RowMatX(found.W));
  out["complementarity"] = found.complementarity;
  out["freedom"] = found.freedom;
  out["converged"] = found.converged;
  return out;
}

nb::tuple python_friction_loss(nb::object lambda, nb::object features, nb::object targets,
                               nb::object A, nb::object G, double prediction,
                               double complementarity, double sign) {
  const LcpSamples s = samples_of(lambda, features);
  const Index n = static_cast<Index>(s.lambda.rows()), p = static_cast<Index>(s.features.rows());
  const RowMatX a = to_matrix(A, "A", n, p), g = to_matrix(G, "G", n, n);
  VecX x(n * (p + n));
  Eigen::Map<RowMatX>(x.data(), n, p) = a;
  Eigen::Map<RowMatX>(x.data() + n * p, n, n) = g;
  const MatX goal =
      to_matrix(targets, "targets", static_cast<Index>(s.lambda.cols()), n).transpose();
  const CostValue value = friction_loss(s, goal, x, {prediction, complementarity, sign});
  return nb::make_tuple(
      value.cost, to_numpy(RowMatX(Eigen::Map<const RowMatX>(value.gradient.data(), n, p))),
      to_numpy(RowMatX(Eigen::Map<const RowMatX>(value.gradient.data() + n * p, n, n))));
}

void bind_formulations(nb::module_& m) {
  bind_settings<Block>(m, "Block", "A block on a table: friction, mass, gravity, step.");
  m.def("falling_block", &formulations::falling_block, nb::arg("x"), nb::arg("v"), nb::arg("g"),
        nb::arg("dt"),
        "Falls on a surface: z is the height after the step, w the force. Unit mass.");
  m.def("sliding_forward", &formulations::sliding_forward, nb::arg("block"), nb::arg("v"),
        nb::arg("u"), "Slides forwards alone: z is the speed after, w the unused friction.");
  m.def("sliding_direct", &formulations::sliding_direct, nb::arg("block"), nb::arg("v_plus"),
        nb::arg("v_minus"), nb::arg("u"),
        "Both directions: z are the two parts of the speed after, w the unused friction of each.");
  m.def("sliding_direct2", &formulations::sliding_direct2, nb::arg("block"), nb::arg("v"),
        nb::arg("u"), "Direct formulation 2: has no solution unless v + dt u = 0.");
  m.def("sliding_traditional", &formulations::sliding_traditional, nb::arg("block"), nb::arg("v"),
        nb::arg("u"),
        "z = (lambda+, lambda-, gamma): friction along and against x, sliding speed.");
  m.def("sliding_mixed", &formulations::sliding_mixed, nb::arg("block"), nb::arg("v"), nb::arg("u"),
        "The same with the speed after the step as a free unknown.");
  m.def(
      "point_mass",
      [](const Block& block, nb::object v, nb::object u, double bounce) {
        const VecX V = to_vector(v, "v", 2), U = to_vector(u, "u", 2);
        return formulations::point_mass(block, Vec2(V), Vec2(U), bounce);
      },
      nb::arg("block"), nb::arg("v"), nb::arg("u"), nb::arg("bounce") = 0.0,
      "A point mass on the ground, its normal force unknown, too.");
  m.def(
      "planar_direct",
      [](const Block& block, nb::object v, nb::object u, int directions) {
        const VecX V = to_vector(v, "v", 2), U = to_vector(u, "u", 2);
        const formulations::PlanarStep x =
            formulations::planar_direct(block, Vec2(V), Vec2(U), directions);
        return nb::make_tuple(to_numpy(VecX(x.v)), x.iterations, x.converged);
      },
      nb::arg("block"), nb::arg("v"), nb::arg("u"), nb::arg("directions") = 4,
      nb::sig("def planar_direct(block: Block, v: object, u: object, directions: int = 4) -> "
              "tuple[numpy.typing.NDArray[numpy.float64], int, bool]"),
      "A unit mass on a table seen from above, the direction of sliding by a fixed point: velocity "
      "after, iterations, converged.");
  m.def(
      "traditional_matrix", [] { return to_numpy(RowMatX(formulations::traditional_matrix())); },
      nb::sig("def traditional_matrix() -> numpy.typing.NDArray[numpy.float64]"),
      "M of sliding_traditional().");
  m.def(
      "traditional_vector",
      [](const Block& block, double v, double u) {
        return to_numpy(formulations::traditional_vector(block, v, u));
      },
      nb::arg("block"), nb::arg("v"), nb::arg("u"),
      nb::sig("def traditional_vector(block: Block, v: float, u: float) -> "
              "numpy.typing.NDArray[numpy.float64]"),
      "q of sliding_traditional().");
}

}  // namespace

void bind_identify(nb::module_& m) {
  bind_formulations(m);
  bind_report<IdentifiedRow>(m, "IdentifiedRow", "What samples tell about one row.");
  bind_report<BilevelFit>(m, "BilevelFit", "Friction by the two-level loss.");
  m.def("identify_lcp", &python_identify, nb::arg("lambda_"), nb::arg("features"),
        nb::arg("lambda_names"), nb::arg("feature_names"), nb::arg("l1"), nb::arg("tolerance"),
        nb::arg("allowed").none(),
        nb::sig("def identify_lcp(lambda_: object, features: object, lambda_names: list[str], "
                "feature_names: list[str], l1: float, tolerance: float, allowed: object | None) -> "
                "dict[str, typing.Any]"));
  m.def("identify_structured", &python_structured, nb::arg("lambda_"), nb::arg("features"),
        nb::arg("M"), nb::arg("W"), nb::arg("l1"),
        nb::sig("def identify_structured(lambda_: object, features: object, M: list[typing.Any], "
                "W: list[typing.Any], l1: float) -> dict[str, typing.Any]"));
  m.def("friction_loss", &python_friction_loss, nb::arg("lambda_"), nb::arg("features"),
        nb::arg("targets"), nb::arg("A"), nb::arg("G"), nb::arg("prediction"),
        nb::arg("complementarity"), nb::arg("sign"),
        nb::sig("def friction_loss(lambda_: object, features: object, targets: object, A: object, "
                "G: object, prediction: float, complementarity: float, sign: float) -> "
                "tuple[typing.Any, ...]"));
  m.def(
      "fit_bilevel_friction",
      [](nb::object transitions, double start, double upper, double slide_weight) {
        const std::vector<BilevelSample> samples = transitions_of(transitions);
        const nb::gil_scoped_release release;
        return fit_bilevel_friction(samples, start, upper, slide_weight);
      },
      nb::arg("transitions"), nb::arg("start"), nb::arg("upper") = 20.0,
      nb::arg("slide_weight") = 0.0,
      nb::sig("def fit_bilevel_friction(transitions: object, start: float, upper: float = 20.0, "
              "slide_weight: float = 0.0) -> BilevelFit"),
      "Friction of a sliding block (m = g = dt = 1) from transitions (v, u, v'), one per row, by "
      "the two-level loss; slide_weight: what it costs that a block which slid sticks.");
}

}  // namespace orthant::python
