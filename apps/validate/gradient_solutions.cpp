// SPDX-License-Identifier: Apache-2.0
// validate/gradient_solutions.cpp: kinks, redundant contacts, complementarity problems, files.
//   LCP on its clamping set: df_C = −N_CC⁻¹ (dN_CC f_C + dr_C), df_S = 0
// At a kink no two-sided difference exists: each element is compared with the difference on its
// side.
#include <Eigen/LU>
#include <Eigen/SVD>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "orthant/base/mix.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "validate/gradients.hpp"
#include "validate/simulate.hpp"
#ifdef ORTHANT_HAS_FILES
#include "orthant/problem_io/problem_file.hpp"
#endif

namespace orthant::validation {
namespace {

/// The same numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(mix_bits(state_ += kGoldenRatio) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// One step at a kink: an input, a velocity that is read, and which element belongs to + of it.
struct Kink {
  const char* name;
  Model model;
  bool by_control;  // input: the first control, otherwise the initial velocity `input`
  double control;
  Index input, output;
  KinkChoice plus;
  double slope_plus, slope_minus;  // closed forms
};

void check_kink(const Kink& kink, Checks& out) {
  const Parameters parameters = kink.model.default_parameters();
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  const auto run = [&](double change, StepRecord* record) {
    State x = kink.model.rest_state();
    VecX u = VecX::Constant(kink.model.control_count(), kink.control);
    (kink.by_control ? u[0] : x.v[kink.input]) += change;
    WarmStart warm;
    StepWorkspace work;
    (void)step(kink.model, parameters, settings, u, x, warm, work, record);
    return x.v[kink.output];
  };
  StepRecord record;
  const double here = run(0, &record), eps = 1e-6;
  double worst = 0;
  for (const bool plus : {true, false}) {
    const KinkChoice other =
        kink.plus == KinkChoice::Clamp ? KinkChoice::Separate : KinkChoice::Clamp;
    StepGradientSettings with;
    with.solution.kink = plus ? kink.plus : other;
    StepGradient gradient(kink.model, parameters, settings, record, with);
    const StepCotangent g =
        gradient.pull_back({VecX(), VecX::Unit(kink.model.v_size(), kink.output)});
    const double ours = kink.by_control ? g.u[0] : g.v[kink.input];
    const double difference = (run(plus ? eps : -eps, nullptr) - here) / (plus ? eps : -eps);
    const double closed = plus ? kink.slope_plus : kink.slope_minus;
    worst = std::max({worst, std::abs(ours - difference), std::abs(ours - closed)});
    if (gradient.certificate().floating == 0) worst = std::nan("");  // a kink must be named
  }
  out.push_back({std::string("gradients/kinks/") + kink.name, worst, 1e-6, "absolute"});
}

BodySpec planar_floor() {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .planar = true,
          .shapes = {{.shape = Shape::half_plane(), .material = "m"}}};
}

/// v⁺ = max(−Φ/h, v − g h), at the height where both are equal.
Kink grazing() {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0});
  b.add_body(floor_body("m"));
  b.add_body({.name = "ball",
              .position = {0, 0, 0.1 + 9.81 * 1e-4},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  return {"grazing", b.build(), false, 0, 2, 2, KinkChoice::Separate, 1, 0};
}

/// v⁺ = max(0, u − μ m g) h, at the threshold.
Kink onset_of_slip() {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(planar_floor());
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}},
              .mass = 1});
  b.add_joint({.name = "upright", .kind = JointKind::LockRotation, .a = "block"});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "block", .force = {1, 0, 0}});
  return {"stick_slip", b.build(), true, 0.5 * 9.81, 0, 0, KinkChoice::Separate, 0.01, 0};
}

/// A runs into B, and B reaches C just as the step ends: two bodies share the momentum of A if it
/// is any slower, three if it is any faster.
Kink simultaneous_impact() {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0});
  b.set_gravity(Vec3::Zero());
  for (const double x : {0.0, 0.2, 0.405})
    b.add_body({.motion = Motion::Planar,
                .position = {x, 0, 0},
                .velocity = {x == 0 ? 1.0 : 0.0, 0, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}},
                .mass = 1});
  return {"simultaneous_impact", b.build(), false, 0, 0, 3, KinkChoice::Clamp, 1.0 / 3, 0.5};
}

#ifdef ORTHANT_HAS_FILES
/// Folder of the samples, looked for from here upwards; empty where there is none.
std::filesystem::path samples() {
  namespace fs = std::filesystem;
  fs::path folder = fs::current_path();
  for (int i = 0; i < 6; ++i, folder = folder.parent_path())
    for (const char* place : {"tests/data/fclib", "../shared/data/fclib"})
      if (fs::is_directory(folder / place)) return folder / place;
  return {};
}

/// Of w, along one direction, relative to the differences; < 0: a contact changed its set.
/// By q: a change that redundant contacts can follow, so one of the momenta, or W times impulses.
double file_error(const CanonicalProblem& problem, bool by_mu) {
  SolveSettings settings;
  settings.tolerance = 1e-13;
  Solution x = zero_solution(problem);
  (void)solve(problem, settings, x);
  SolutionGradient gradient(problem, scale_of(problem), x);
  if (gradient.certificate().residual > 1e-10) return -1;
  Random random(7);
  const auto fill = [&](VecX& y, double lo, double hi) {
    for (Index i = 0; i < y.size(); ++i) y[i] = random.uniform(lo, hi);
  };
  ProblemDerivative change = zero_derivative(problem);
  const bool global = problem.velocity_count() > 0;
  const VecX& data = global ? problem.k : problem.b;
  const double size = data.size() > 0 ? data.lpNorm<Eigen::Infinity>() : 0;
  if (by_mu) {
    fill(change.mu, 0.2, 1);
  } else if (global) {
    fill(change.k, -size, size);
  } else {
    VecX impulses = VecX::Zero(problem.row_count());
    fill(impulses, -1, 1);
    problem.F.multiply_add(1, impulses, change.b);
    change.b *= size / std::max(change.b.lpNorm<Eigen::Infinity>(), 1e-300);
  }
  const Solution dx = gradient.push_forward(change);
  // Far less than the velocities themselves, or a change of the largest momentum is no small one.
  const double speed = x.w.norm() + problem.b.norm();
  const double eps = std::min(1e-6, 1e-5 * speed / std::max(dx.w.norm(), 1e-300));
  std::array<VecX, 4> w;
  constexpr std::array kPlaces = {1.0, -1.0, 2.0, -2.0};
  for (std::size_t i = 0; i < w.size(); ++i) {
    CanonicalProblem moved = problem;
    moved.b += kPlaces[i] * eps * change.b;
    moved.k += kPlaces[i] * eps * change.k;
    for (std::size_t c = 0; c < moved.laws.size(); ++c)
      moved.laws[c].mu += kPlaces[i] * eps * change.mu[static_cast<Index>(c)];
    Solution y = x;
    (void)solve(moved, settings, y);
    const SolutionGradient there(moved, scale_of(moved), y);
    if (there.certificate().residual > 1e-10 ||
        there.certificate().states != gradient.certificate().states)
      return -1;
    w[i] = there.answer().w;
  }
  const VecX difference = (8 * (w[0] - w[1]) - (w[2] - w[3])) / (12 * eps);
  return (dx.w - difference).norm() / std::max({difference.norm(), dx.w.norm(), speed});
}
#endif

}  // namespace

void gradient_kinks(Checks& out) {
  check_kink(grazing(), out);
  check_kink(onset_of_slip(), out);
  check_kink(simultaneous_impact(), out);
}

void gradient_box_on_four_contacts(Checks& out) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(floor_body("m"));
  b.add_body({.name = "box",
              .position = {0, 0, 0.1},
              .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1), .material = "m"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  (void)step(model, parameters, settings, {}, x, warm, work, &record);
  StepGradient gradient(model, parameters, settings, record);
  // It stands where it is put; a gap opened by a lift or a tilt closes within the step, and while a
  // tilt closes the base sticks, 0.1 below the centre.
  MatX expected = MatX::Zero(12, 12);
  for (const int i : {0, 1, 5}) expected(i, i) = 1;
  for (const int i : {2, 3, 4}) expected(6 + i, i) = -1 / settings.h;
  expected(0, 4) = -0.1, expected(6, 4) = -0.1 / settings.h;
  expected(1, 3) = 0.1, expected(7, 3) = 0.1 / settings.h;
  out.push_back({"gradients/box_on_four_contacts",
                 (gradient.jacobian().A - expected).cwiseAbs().maxCoeff() * settings.h, 1e-8,
                 "relative"});
}

void gradient_lcps(Checks& out) {
  constexpr int kCount = 10000;
  constexpr double kCondition = 1e6;
  double worst = 0;
  int compared = 0;
  for (int seed = 1; compared < kCount; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Index n = 2 + static_cast<Index>(random.uniform(0, 7));
    MatX R(n, n);
    for (Index i = 0; i < n * n; ++i) R(i / n, i % n) = random.uniform(-1, 1);
    const MatX N = R * R.transpose();
    VecX f = VecX::Zero(n), w = VecX::Zero(n);
    std::vector<Index> clamping;
    for (Index i = 0; i < n; ++i) {
      const bool clamps = random.uniform(0, 1) < 0.6;
      (clamps ? f : w)[i] = random.uniform(0.1, 1);
      if (clamps) clamping.push_back(i);
    }
    if (clamping.empty()) continue;
    const MatX Ncc = N(clamping, clamping);
    const VecX sigma = Eigen::JacobiSVD<MatX>(Ncc).singularValues();
    if (sigma[0] > kCondition * sigma[sigma.size() - 1]) continue;
    ++compared;
    const CanonicalProblem p = make_lcp(N, w - N * f);
    Solution x = zero_solution(p);
    x.lambda = f;
    SolutionGradient gradient(p, scale_of(p), x);
    ProblemDerivative change = zero_derivative(p);
    for (double& value : change.F) value = random.uniform(-1, 1);
    for (Index i = 0; i < n; ++i) change.b[i] = random.uniform(-1, 1);
    VecX right = change.b;  // dN f + dr; dense, stored row by row
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        right[i] += change.F[static_cast<std::size_t>(i * n + j)] * f[j];
    VecX expected = VecX::Zero(n);
    expected(clamping) = Ncc.fullPivLu().solve(VecX(-right(clamping)));
    worst = std::max(
        worst, (gradient.push_forward(change).lambda - expected).norm() / (expected.norm() + 1e-3));
  }
  out.push_back({"gradients/lcp/closed_form_of_10000", worst, 1e-8, "relative"});
}

void gradient_files([[maybe_unused]] Checks& out) {
#ifdef ORTHANT_HAS_FILES
  const std::filesystem::path folder = samples();
  if (folder.empty()) return;
  constexpr Index kLargest = 60;  // contacts; the larger ones take longer than all the rest
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (const bool by_mu : {false, true}) {
    double worst = 0;
    int compared = 0, all = 0;
    for (const std::string& file : files) {
      const CanonicalProblem problem = to_problem(read_problem(file));
      if (problem.block_count() == 0 || problem.block_count() > kLargest) continue;
      ++all;
      const double error = file_error(problem, by_mu);
      if (error < 0) continue;
      ++compared;
      worst = std::max(worst, error);
    }
    const std::string name = std::string("gradients/files/") + (by_mu ? "mu" : "q");
    out.push_back({name + "/error", worst, 1e-6, "relative"});
    out.push_back({name + "/not_compared", static_cast<double>(all - compared) / std::max(all, 1),
                   0.25, "share"});
  }
#endif
}

}  // namespace orthant::validation
