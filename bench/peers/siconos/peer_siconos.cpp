// SPDX-License-Identifier: Apache-2.0
// peers/siconos/peer_siconos.cpp: FILE TOLERANCE SECONDS => one JSON line a Siconos solver.
// The file is a local 3D friction problem in text form. Each solver runs in a child process with a
// time limit: several of them abort or never end on hard files. The two errors are computed here
// from the reaction alone, with the formulas of docs/notation.md, whatever Siconos reports.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
}

namespace {

struct Candidate {
  int id;
  const char* name;
};
constexpr Candidate kSolvers[] = {
    {SICONOS_FRICTION_3D_NSGS, "NSGS"},     {SICONOS_FRICTION_3D_NSGSV, "NSGSV"},
    {SICONOS_FRICTION_3D_PROX, "PROX"},     {SICONOS_FRICTION_3D_TFP, "TFP"},
    {SICONOS_FRICTION_3D_NSN_AC, "NSN_AC"}, {SICONOS_FRICTION_3D_DSFP, "DSFP"},
    {SICONOS_FRICTION_3D_VI_EG, "VI_EG"},   {SICONOS_FRICTION_3D_VI_FPP, "VI_FPP"},
    {SICONOS_FRICTION_3D_FPP, "FPP"},       {SICONOS_FRICTION_3D_EG, "EG"},
    {SICONOS_FRICTION_3D_NSN_FB, "NSN_FB"}, {SICONOS_FRICTION_3D_NSN_NM, "NSN_NM"},
    {SICONOS_FRICTION_3D_ACLMFP, "ACLMFP"}, {SICONOS_FRICTION_3D_ADMM, "ADMM"},
};

/// What a child sends back.
struct Result {
  double seconds = 0;
  double siconos = NAN;
  double scale_free = NAN;
};

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

/// Projection of one contact's vector on the cone |z_t| <= mu z_n.
void project(double mu, double* z) {
  const double t = std::hypot(z[1], z[2]);
  if (t <= mu * z[0]) return;
  if (mu * t <= -z[0]) {
    z[0] = z[1] = z[2] = 0;
    return;
  }
  const double n = (z[0] + mu * t) / (1 + mu * mu);
  z[1] *= mu * n / t;
  z[2] *= mu * n / t;
  z[0] = n;
}

/// |r − Π(r − τ (u + mu |u_t| e_n))|, τ one number a contact.
double natural_map(const FrictionContactProblem& p, const std::vector<double>& r,
                   const std::vector<double>& u, const std::vector<double>& tau) {
  double sum = 0;
  for (int c = 0; c < p.numberOfContacts; ++c) {
    const double* rc = &r[3 * c];
    const double* uc = &u[3 * c];
    double z[3];
    for (int i = 0; i < 3; ++i) z[i] = rc[i] - tau[c] * uc[i];
    z[0] -= tau[c] * p.mu[c] * std::hypot(uc[1], uc[2]);
    project(p.mu[c], z);
    for (int i = 0; i < 3; ++i) sum += (rc[i] - z[i]) * (rc[i] - z[i]);
  }
  return std::sqrt(sum);
}

Result measure(FrictionContactProblem& p, const std::vector<double>& r, double seconds) {
  const std::size_t n = r.size();
  const std::vector<double> q(p.q, p.q + n);
  std::vector<double> u = q;
  NM_gemv(1.0, p.M, const_cast<double*>(r.data()), 1.0, u.data());
  std::vector<double> tau(p.numberOfContacts, 1.0);
  const double largest = std::max({norm(q), norm(r), norm(u)});
  Result result{seconds, largest > 0 ? natural_map(p, r, u, tau) / largest : 0, 0};
  for (int c = 0; c < p.numberOfContacts; ++c) {
    double trace = 0;
    for (int i = 0; i < 3; ++i) trace += NM_get_value(p.M, 3 * c + i, 3 * c + i);
    tau[c] = trace > 0 ? 3 / trace : 1;
  }
  const double length = norm(r);
  const double error = natural_map(p, r, u, tau);
  result.scale_free = length > 0 ? error / length : error;
  return result;
}

Result run(const char* file, const Candidate& solver, double tolerance) {
  FrictionContactProblem* p = frictionContact_new_from_filename(file);
  const int n = 3 * p->numberOfContacts;
  SolverOptions* options = solver_options_create(solver.id);
  options->dparam[SICONOS_DPARAM_TOL] = tolerance;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
  std::vector<double> r(n, 0.0), u(n, 0.0);
  const auto start = std::chrono::steady_clock::now();
  (void)fc3d_driver(p, r.data(), u.data(), options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return measure(*p, r, elapsed.count());
}

/// Runs one solver in a child; nothing but its result can come back.
void run_isolated(const char* file, const Candidate& solver, double tolerance, int seconds) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  const pid_t child = fork();
  if (child == 0) {
    // Siconos prints warnings to standard output, which is ours.
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(2);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    alarm(static_cast<unsigned>(seconds));
    const Result result = run(file, solver, tolerance);
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 2);
  }
  close(ends[1]);
  Result result;
  const bool good = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (good && std::isfinite(result.siconos) && std::isfinite(result.scale_free)) {
    std::printf(
        "{\"solver\": \"%s\", \"seconds\": %.6g, \"siconos\": %.6g, \"scale_free\": %.6g}\n",
        solver.name, result.seconds, result.siconos, result.scale_free);
  } else {
    const bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    std::printf("{\"solver\": \"%s\", \"failed\": \"%s\"}\n", solver.name,
                late ? "time limit" : "ended abnormally");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: peer_siconos FILE TOLERANCE SECONDS\n", stderr);
    return 2;
  }
  for (const Candidate& solver : kSolvers) {
    run_isolated(argv[1], solver, std::atof(argv[2]), std::atoi(argv[3]));
  }
  return 0;
}
