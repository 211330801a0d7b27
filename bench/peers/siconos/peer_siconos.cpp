// SPDX-License-Identifier: Apache-2.0
// peers/siconos/peer_siconos.cpp: FILE FORM TOLERANCE SECONDS => one JSON line a Siconos solver.
// The file is a friction problem in text form, FORM says which: local or global. Each solver runs
// in a child process with a time limit: several of them abort or never end on hard files. The two
// errors are computed here from the reaction alone, with the formulas of docs/notation.md, whatever
// Siconos reports. Times are processor times, and so is the limit. A global problem is also
// condensed and given to the local solvers; what condensing it takes is a number of its own.
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

extern "C" {
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <GlobalFrictionContactProblem.h>
#include <GlobalRollingFrictionContactProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <RollingFrictionContactProblem.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>
}

namespace {

/// Which driver a solver belongs to.
enum class Driver { Planar, Spatial, Rolling, Global, GlobalRolling };

struct Candidate {
  Driver driver;
  int id;
  const char* name;
};
// The first of each driver is the one Siconos uses by default.
constexpr Candidate kSolvers[] = {
    {Driver::Spatial, SICONOS_FRICTION_3D_NSGS, "NSGS"},
    {Driver::Spatial, SICONOS_FRICTION_3D_NSGSV, "NSGSV"},
    {Driver::Spatial, SICONOS_FRICTION_3D_PROX, "PROX"},
    {Driver::Spatial, SICONOS_FRICTION_3D_TFP, "TFP"},
    {Driver::Spatial, SICONOS_FRICTION_3D_NSN_AC, "NSN_AC"},
    {Driver::Spatial, SICONOS_FRICTION_3D_DSFP, "DSFP"},
    {Driver::Spatial, SICONOS_FRICTION_3D_VI_EG, "VI_EG"},
    {Driver::Spatial, SICONOS_FRICTION_3D_VI_FPP, "VI_FPP"},
    {Driver::Spatial, SICONOS_FRICTION_3D_FPP, "FPP"},
    {Driver::Spatial, SICONOS_FRICTION_3D_EG, "EG"},
    {Driver::Spatial, SICONOS_FRICTION_3D_NSN_FB, "NSN_FB"},
    {Driver::Spatial, SICONOS_FRICTION_3D_NSN_NM, "NSN_NM"},
    {Driver::Spatial, SICONOS_FRICTION_3D_ACLMFP, "ACLMFP"},
    {Driver::Spatial, SICONOS_FRICTION_3D_ADMM, "ADMM"},
    {Driver::Planar, SICONOS_FRICTION_2D_NSGS, "2D_NSGS"},
    {Driver::Planar, SICONOS_FRICTION_2D_CPG, "2D_CPG"},
    {Driver::Planar, SICONOS_FRICTION_2D_LEMKE, "2D_LEMKE"},
    {Driver::Rolling, SICONOS_ROLLING_FRICTION_3D_NSGS, "R_NSGS"},
    {Driver::Rolling, SICONOS_ROLLING_FRICTION_3D_ADMM, "R_ADMM"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_NSGS_WR, "G_NSGS_WR"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_NSN_AC_WR, "G_NSN_AC_WR"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_NSGS, "G_NSGS"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_NSN_AC, "G_NSN_AC"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_VI_FPP, "G_VI_FPP"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_VI_EG, "G_VI_EG"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_ACLMFP, "G_ACLMFP"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_ADMM, "G_ADMM"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_ADMM_WR, "G_ADMM_WR"},
    {Driver::Global, SICONOS_GLOBAL_FRICTION_3D_IPM, "G_IPM"},
    {Driver::GlobalRolling, SICONOS_GLOBAL_ROLLING_FRICTION_3D_NSGS_WR, "GR_NSGS_WR"},
};

constexpr double kShort = 0.05;  // seconds: a run below it is repeated, the best counts
constexpr int kRepeats = 5;

/// What a child sends back.
struct Result {
  double seconds = 0;
  double condense = 0;  // to bring the file into the form the solver takes
  double siconos = NAN;
  double scale_free = NAN;
};

/// A local problem of any dimension, as the errors see it.
struct Local {
  int dim = 0, contacts = 0;
  NumericsMatrix* M = nullptr;
  const double* q = nullptr;
  const double* mu = nullptr;
  const double* mu_r = nullptr;
};
Local view(const FrictionContactProblem& p) {
  return {p.dimension, p.numberOfContacts, p.M, p.q, p.mu, nullptr};
}
Local view(const RollingFrictionContactProblem& p) {
  return {p.dimension, p.numberOfContacts, p.M, p.q, p.mu, p.mu_r};
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

double length(const double* x, int n) { return n == 2 ? std::hypot(x[0], x[1]) : std::abs(x[0]); }

/// Tangents and torques of one contact: place, size and friction coefficient of each group.
struct Groups {
  int count, size;
  double c[2];
};
Groups groups_of(const Local& p, int contact) {
  if (p.dim == 5) return {2, 2, {p.mu[contact], p.mu_r[contact]}};
  return {1, p.dim - 1, {p.mu[contact], 0}};
}

/// Projection of one contact's vector on the cone |z_g| <= c_g z_n: clip the most violated group,
/// then the other if it still is.
void project(const Groups& groups, double* z) {
  bool clipped[2] = {false, false};
  double size[2], x = std::max(z[0], 0.0);
  for (int g = 0; g < groups.count; ++g) size[g] = length(z + 1 + g * groups.size, groups.size);
  for (int round = 0; round < groups.count; ++round) {
    int worst = -1;
    double most = 0;
    for (int g = 0; g < groups.count; ++g) {
      if (clipped[g] || size[g] <= groups.c[g] * x) continue;
      const double excess = groups.c[g] > 0 ? size[g] / groups.c[g] - x : size[g];
      if (worst < 0 || excess > most) worst = g, most = excess;
    }
    if (worst < 0) break;
    clipped[worst] = true;
    double numerator = z[0], denominator = 1;
    for (int g = 0; g < groups.count; ++g) {
      if (!clipped[g]) continue;
      numerator += groups.c[g] * size[g];
      denominator += groups.c[g] * groups.c[g];
    }
    x = std::max(numerator / denominator, 0.0);
  }
  z[0] = x;
  for (int g = 0; g < groups.count; ++g) {
    for (int i = 0; clipped[g] && i < groups.size; ++i)
      z[1 + g * groups.size + i] *= groups.c[g] * x / size[g];
  }
}

/// |r − Π(r − τ (u + shift e_n))|, τ one number per contact.
double natural_map(const Local& p, const std::vector<double>& r, const std::vector<double>& u,
                   const std::vector<double>& tau) {
  double sum = 0;
  for (int c = 0; c < p.contacts; ++c) {
    const double* rc = &r[p.dim * c];
    const double* uc = &u[p.dim * c];
    const Groups groups = groups_of(p, c);
    double z[5];
    for (int i = 0; i < p.dim; ++i) z[i] = rc[i] - tau[c] * uc[i];
    for (int g = 0; g < groups.count; ++g)
      z[0] -= tau[c] * groups.c[g] * length(uc + 1 + g * groups.size, groups.size);
    project(groups, z);
    for (int i = 0; i < p.dim; ++i) sum += (rc[i] - z[i]) * (rc[i] - z[i]);
  }
  return std::sqrt(sum);
}

Result measure(const Local& p, const std::vector<double>& r, double seconds) {
  const std::size_t n = r.size();
  const std::vector<double> q(p.q, p.q + n);
  std::vector<double> u = q;
  NM_gemv(1.0, p.M, const_cast<double*>(r.data()), 1.0, u.data());
  std::vector<double> tau(p.contacts, 1.0);
  const double largest = std::max({norm(q), norm(r), norm(u)});
  Result result{seconds, 0, largest > 0 ? natural_map(p, r, u, tau) / largest : 0, 0};
  for (int c = 0; c < p.contacts; ++c) {
    double trace = 0;
    for (int i = 0; i < p.dim; ++i) trace += NM_get_value(p.M, p.dim * c + i, p.dim * c + i);
    tau[c] = trace > 0 ? p.dim / trace : 1;
  }
  const double size = norm(r);
  const double error = natural_map(p, r, u, tau);
  result.scale_free = size > 0 ? error / size : error;
  return result;
}

/// Processor time, not the wall clock: what else the machine does must not count against Siconos.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// From here on the child may use so much processor time; 0: as much as it likes.
void set_limit(double seconds) {
  itimerval limit{};
  limit.it_value.tv_sec = static_cast<time_t>(seconds);
  limit.it_value.tv_usec = static_cast<suseconds_t>(1e6 * (seconds - std::floor(seconds)));
  setitimer(ITIMER_PROF, &limit, nullptr);
}

/// The storage Siconos is fastest with; its condensation and some files give another.
void store_in_blocks(FrictionContactProblem* p) {
  if (p->M->storageType != NM_SPARSE) return;
  SparseBlockStructuredMatrix* blocks = SBM_new();
  if (SBM_from_csparse(p->dimension, NM_csc(p->M), blocks) != 0) return;
  p->M = NM_new_SBM(p->M->size0, p->M->size1, blocks);
}

/// What a solver is asked for and may use: the limit holds for each of its runs.
struct Terms {
  double tolerance, seconds;
};

/// Runs `solve(r, u, options)` from zero, again while it is short; the best time counts.
template <class Solve>
double best_time(const Candidate& solver, const Terms& terms, std::size_t n, std::vector<double>& r,
                 Solve&& solve) {
  double best = HUGE_VAL;
  for (int k = 0; k < kRepeats; ++k) {
    SolverOptions* options = solver_options_create(solver.id);
    options->dparam[SICONOS_DPARAM_TOL] = terms.tolerance;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 1000000;
    r.assign(n, 0.0);
    std::vector<double> u(n, 0.0);
    set_limit(terms.seconds);
    const double start = processor_seconds();
    solve(r.data(), u.data(), options);
    best = std::min(best, processor_seconds() - start);
    set_limit(0);
    solver_options_delete(options);
    if (best > kShort) break;
  }
  return best;
}

Result run_friction(FrictionContactProblem* p, const Candidate& solver, const Terms& terms) {
  std::vector<double> r;
  const Local given = view(*p);
  store_in_blocks(p);
  const auto n = static_cast<std::size_t>(p->dimension) * p->numberOfContacts;
  const double seconds = best_time(solver, terms, n, r, [&](double* x, double* u, auto* o) {
    (void)(solver.driver == Driver::Planar ? fc2d_driver(p, x, u, o) : fc3d_driver(p, x, u, o));
  });
  return measure(given, r, seconds);
}

Result run_rolling(RollingFrictionContactProblem* p, const Candidate& solver, const Terms& terms) {
  std::vector<double> r;
  const auto n = static_cast<std::size_t>(p->dimension) * p->numberOfContacts;
  const double seconds = best_time(solver, terms, n, r, [&](double* x, double* u, auto* o) {
    (void)rolling_fc3d_driver(p, x, u, o);
  });
  return measure(view(*p), r, seconds);
}

/// The problem of a file in every form a solver may take it; read and condensed once, before the
/// children are made.
struct Forms {
  FrictionContactProblem* local = nullptr;
  RollingFrictionContactProblem* rolling = nullptr;
  GlobalFrictionContactProblem* global = nullptr;
  GlobalRollingFrictionContactProblem* global_rolling = nullptr;
  double condense = 0;
};

/// Condenses a problem read anew, again while it is short: reading keeps a second call from finding
/// the factors of the first.
template <class Read, class Condense>
auto condensed(Read&& read, Condense&& condense, double& best) {
  best = HUGE_VAL;
  for (int k = 0;; ++k) {
    auto* global = read();
    const double start = processor_seconds();
    auto* local = condense(global);
    best = std::min(best, processor_seconds() - start);
    if (k + 1 == kRepeats || best > kShort) return local;
  }
}

Forms read_forms(const char* file, bool global, int dim) {
  Forms forms;
  if (!global && dim == 5) forms.rolling = rollingFrictionContact_new_from_filename(file);
  if (!global && dim != 5) forms.local = frictionContact_new_from_filename(file);
  if (!global) return forms;
  if (dim == 5) {
    const auto read = [&] { return globalRollingFrictionContact_new_from_filename(file); };
    forms.rolling = condensed(
        read, globalRollingFrictionContact_reformulation_RollingFrictionContact, forms.condense);
    forms.global_rolling = read();
  } else {
    const auto read = [&] { return globalFrictionContact_new_from_filename(file); };
    forms.local =
        condensed(read, globalFrictionContact_reformulation_FrictionContact, forms.condense);
    forms.global = read();
  }
  return forms;
}

Result run(const Forms& forms, const Candidate& solver, const Terms& terms) {
  std::vector<double> r;
  if (solver.driver == Driver::Global) {
    GlobalFrictionContactProblem* p = forms.global;
    std::vector<double> v(p->M->size0, 0.0);
    const auto n = static_cast<std::size_t>(p->dimension) * p->numberOfContacts;
    const double seconds = best_time(solver, terms, n, r, [&](double* x, double* u, auto* o) {
      (void)gfc3d_driver(p, x, u, v.data(), o);
    });
    return measure(view(*forms.local), r, seconds);
  }
  if (solver.driver == Driver::GlobalRolling) {
    GlobalRollingFrictionContactProblem* p = forms.global_rolling;
    std::vector<double> v(p->M->size0, 0.0);
    const auto n = static_cast<std::size_t>(5) * p->numberOfContacts;
    const double seconds = best_time(solver, terms, n, r, [&](double* x, double* u, auto* o) {
      (void)g_rolling_fc3d_driver(p, x, u, v.data(), o);
    });
    return measure(view(*forms.rolling), r, seconds);
  }
  Result result = solver.driver == Driver::Rolling ? run_rolling(forms.rolling, solver, terms)
                                                   : run_friction(forms.local, solver, terms);
  result.condense = forms.condense;
  return result;
}

bool applies(Driver driver, bool global, int dim) {
  switch (driver) {
    case Driver::Planar:
      return dim == 2;
    case Driver::Spatial:
      return dim == 3;
    case Driver::Rolling:
      return dim == 5;
    case Driver::Global:
      return global && dim == 3;
    case Driver::GlobalRolling:
      return global && dim == 5;
  }
  return false;
}

/// Runs one solver in a child; nothing but its result can come back.
void run_isolated(const Forms& forms, const Candidate& solver, const Terms& terms) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  const pid_t child = fork();
  if (child == 0) {
    // Siconos prints warnings to standard output, which is ours.
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(2);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    // One that waits for ever uses no processor.
    alarm(static_cast<unsigned>(60 + 100 * terms.seconds));
    const Result result = run(forms, solver, terms);
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
        "{\"solver\": \"%s\", \"seconds\": %.6g, \"condense\": %.6g, \"siconos\": %.6g, "
        "\"scale_free\": %.6g}\n",
        solver.name, result.seconds, result.condense, result.siconos, result.scale_free);
  } else {
    const bool late =
        WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF);
    std::printf("{\"solver\": \"%s\", \"failed\": \"%s\"}\n", solver.name,
                late ? "time limit" : "ended abnormally");
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool global = argc == 5 && std::strcmp(argv[2], "global") == 0;
  if (argc != 5 || (!global && std::strcmp(argv[2], "local") != 0)) {
    std::fputs("usage: peer_siconos FILE local|global TOLERANCE SECONDS\n", stderr);
    return 2;
  }
  // The dimension is the first number of the file.
  int dim = 0;
  std::FILE* file = std::fopen(argv[1], "r");
  if (file == nullptr || std::fscanf(file, "%d", &dim) != 1) return 2;
  std::fclose(file);
  // Siconos prints while it reads, and standard output is for the results.
  const int out = dup(1);
  if (out < 0 || std::freopen("/dev/null", "w", stdout) == nullptr) return 2;
  const Forms forms = read_forms(argv[1], global, dim);
  std::fflush(stdout);
  if (dup2(out, 1) < 0) return 2;
  for (const Candidate& solver : kSolvers) {
    if (applies(solver.driver, global, dim))
      run_isolated(forms, solver, {std::atof(argv[3]), std::atof(argv[4])});
  }
  return 0;
}
