// SPDX-License-Identifier: Apache-2.0
// solver/few_rows.cpp: look at all rows, take in those that push or overlap, solve the islands that
// these make, again. Rows are only taken in; an island without a new row keeps its answer.
// Over a team each member looks at its own rows and solves the islands of its own bodies alone.
// Islands with bodies of several members are put together on all of them and shared out: they lie
// at the surface of the parts, so bytes follow the surface. The residual is a maximum and an exact
// sum, islands are the same problems whoever solves them: the same bits for any number of members.
#include "solver/few_rows.hpp"

#include <algorithm>

#include "orthant/base/error.hpp"
#include "problem/judge_part.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxRounds = 60;

/// A row as it travels.
struct SentRow {
  RowName name;
  Index block[2], bodies, fresh;
  double b, tau, lambda;
  double values[12];
};
struct SentBody {
  Index block, fresh;
  double v[6];
};

bool before(const SentRow& a, const SentRow& b) { return a.name < b.name; }

SentRow sent_row(const CanonicalProblem& p, Index c, const RowName& name, double tau, double lambda,
                 bool fresh) {
  SentRow row{name, {-1, -1}, 0, fresh ? 1 : 0, p.b[c], tau, lambda, {}};
  for (const BlockRows::Entry& entry : p.D.entries(c)) row.block[row.bodies++] = entry.block;
  std::copy_n(p.D.values(c), 6 * row.bodies, row.values);
  return row;
}

template <class T>
void put_list(std::vector<std::byte>& out, const std::vector<T>& list) {
  put(out, list.size());
  for (const T& item : list) put(out, item);
}
template <class T>
void take_list(const std::byte*& at, std::vector<T>& list) {
  std::size_t count = 0;
  take(at, count);
  for (; count > 0; --count) take(at, list.emplace_back());
}

/// Rows and bodies of all members, in order.
struct Gathered {
  std::vector<SentRow> rows;
  std::vector<SentBody> bodies;

  void gather(Team& team) {
    std::vector<std::byte> bytes;
    put_list(bytes, rows);
    put_list(bytes, bodies);
    const std::vector<std::byte> all = team.gather(bytes);
    rows.clear();
    bodies.clear();
    for (const std::byte* at = all.data(); at != all.data() + all.size();) {
      take_list(at, rows);
      take_list(at, bodies);
    }
    std::sort(rows.begin(), rows.end(), before);
    std::sort(bodies.begin(), bodies.end(),
              [](const SentBody& a, const SentBody& b) { return a.block < b.block; });
  }
};

SentBody sent_body(const VecX& v, Index block, Index begin, bool fresh) {
  SentBody body{block, fresh ? 1 : 0, {}};
  std::copy_n(v.data() + begin, 6, body.v);
  return body;
}

/// D, laws and b of rows; place(block): its number in the problem.
template <class Place>
void append_rows(const std::vector<SentRow>& rows, CanonicalProblem& p, VecX& lambda,
                 Place&& place) {
  p.D.clear();
  p.laws.assign(rows.size(), Law::orthant(1));
  p.b.resize(static_cast<Index>(rows.size()));
  p.e.resize(0);
  lambda.resize(p.b.size());
  Index c = 0;
  for (const SentRow& row : rows) {
    p.D.begin_row(1);
    for (Index k = 0; k < row.bodies; ++k) {
      const Index block = place(row.block[k]);
      std::copy_n(row.values + 6 * k, 6, p.D.add(block, p.H.block_begin(block), 6));
    }
    p.b[c] = row.b;
    lambda[c++] = row.lambda;
  }
}

}  // namespace

struct FewRowsWork {
  std::vector<unsigned char> taken, fresh, counted;
  Misses misses;
  Solution start;
  VecX impulse;
  // Islands with bodies of several members.
  Gathered border;
  CanonicalProblem problem;
  VelocitySolver inverse;
  Solution x;
  SolveWorkspace solver;
};

namespace {

/// What members tell each other in a round.
struct Look {
  PartResidual residual;
  std::int64_t rows = 0, taken = 0, fresh = 0, iterations = 0, islands = 0;
  double hardest = -1;
  Method method = Method::Automatic;  // of the hardest island
};

class FewRows {
 public:
  FewRows(const Islands& islands, const ProblemPart* part, Solution& x, SolveReport& report)
      : islands_(islands),
        p_(islands.p),
        part_(part),
        work_(islands.work),
        own_(islands.work.few_rows.get()),
        x_(x),
        report_(report) {}

  bool run() {
    own_.start = x_;
    const double tolerance = own_.misses.tolerance = islands_.settings.tolerance;
    x_.lambda = x_.lambda.cwiseMax(0.0);
    own_.taken.assign(static_cast<std::size_t>(p_.row_count()), 0);
    own_.counted.assign(part_ != nullptr ? own_.taken.size() : 0, 0);
    for (std::size_t c = 0; c < own_.counted.size(); ++c)
      own_.counted[c] = part_->is_counted(p_, static_cast<Index>(c)) ? 1 : 0;
    look();
    if (!(residual_.balance <= tolerance)) {  // velocities that are not those of the impulses
      own_.impulse = p_.k;
      p_.D.multiply_transpose_add(1, x_.lambda, own_.impulse);
      islands_.inverse.solve(own_.impulse, x_.v);
      if (part_ != nullptr) part_->refresh(x_.v);
      std::ranges::fill(own_.taken, 0);
      look();
    }
    for (int round = 0; residual_.value > tolerance; ++round) {
      if (round == kMaxRounds || seen_.fresh == 0 || kFewPush * seen_.taken > seen_.rows ||
          !solve())
        return give_up();
      look();
    }
    report_.residual = residual_;
    report_.outcome = Outcome::Converged;
    report_.iterations = static_cast<int>(seen_.iterations);
    report_.island_count = static_cast<Index>(seen_.islands);
    if (seen_.hardest >= 0) report_.method = seen_.method;
    x_.w = work_.judge.w;
    return true;
  }

  Index closed_forms() const { return totals_.closed_forms; }

 private:
  bool give_up() {
    std::swap(x_, own_.start);
    report_.iterations = 0;
    report_.attempts.clear();
    if (SolveTrace* trace = islands_.limits.trace; trace != nullptr && trace->explain)
      trace->solves.back().islands.clear();
    return false;
  }

  /// The judge of all rows. Those left out that push or overlap come in; fresh are those that miss
  /// the tolerance, or whose bodies do.
  void look() {
    const std::span<const unsigned char> bodies =
        part_ != nullptr ? part_->own : std::span<const unsigned char>();
    Look& seen = seen_;
    seen = {};
    seen.iterations = report_.iterations;
    seen.islands = islands_here_;
    seen.hardest = totals_.hardest;
    seen.method = totals_.method;
    seen.residual = judge_part(p_, work_.scale, x_, bodies, own_.counted, work_.judge, own_.misses);
    own_.fresh = own_.misses.rows;
    for (std::size_t c = 0; c < own_.taken.size(); ++c) {
      const auto i = static_cast<Index>(c);
      for (const BlockRows::Entry& entry : p_.D.entries(i))
        own_.fresh[c] |= own_.misses.bodies[static_cast<std::size_t>(entry.block)];
      const bool counted = part_ == nullptr || own_.counted[c] != 0;
      if (own_.taken[c] == 0 && (x_.lambda[i] > 0 || work_.judge.w[i] < 0)) {
        own_.taken[c] = 1;
        ++seen.fresh;
      }
      if (!counted) continue;
      ++seen.rows;
      seen.taken += own_.taken[c];
    }
    if (part_ != nullptr) {
      const std::vector<std::byte> all = part_->team.gather(std::as_bytes(std::span(&seen, 1)));
      seen = {};
      for (const std::byte* at = all.data(); at != all.data() + all.size();) {
        Look other;
        take(at, other);
        seen.residual.add(other.residual);
        seen.rows += other.rows;
        seen.taken += other.taken;
        seen.fresh += other.fresh;
        seen.islands += other.islands;
        seen.iterations += other.iterations;
        if (other.hardest > seen.hardest) seen.hardest = other.hardest, seen.method = other.method;
      }
    }
    residual_ = seen.residual.whole();
  }

  bool spans(Index island) const {
    return part_ != nullptr &&
           std::ranges::any_of(work_.split.velocities_of(island), [&](Index block) {
             return part_->own[static_cast<std::size_t>(block)] == 0;
           });
  }

  /// False: an island is too large to be solved by one.
  bool solve() {
    find_islands(p_, work_.split, own_.taken);
    islands_here_ = 0;  // those of several members count at the first
    std::size_t largest = 0;
    own_.border.rows.clear();
    own_.border.bodies.clear();
    for (Index i = 0; i < work_.split.count; ++i) {
      largest = std::max(largest, work_.split.blocks_of(i).size());
      if (spans(i)) {
        send(i);
      } else {
        ++islands_here_;
      }
    }
    if (part_ != nullptr) {
      own_.border.gather(part_->team);
      if (!own_.border.rows.empty()) build_border();
      for (Index i = 0; !own_.border.rows.empty() && i < border_split().count; ++i)
        largest = std::max(largest, border_split().blocks_of(i).size());
      if (!own_.border.rows.empty() && part_->team.rank() == 0)
        islands_here_ += border_split().count;
      const std::vector<std::byte> all = part_->team.gather(std::as_bytes(std::span(&largest, 1)));
      for (const std::byte* at = all.data(); at != all.data() + all.size();) {
        std::size_t other = 0;
        take(at, other);
        largest = std::max(largest, other);
      }
    }
    if (largest >= static_cast<std::size_t>(kTogetherRows)) return false;
    Islands inner = islands_;
    inner.fresh = own_.fresh;
    {
      const TeamScope scope(part_ != nullptr ? nullptr : team());
      totals_.add(solve_islands(inner, x_, report_));
    }
    if (part_ == nullptr) return true;
    if (!own_.border.rows.empty()) solve_border();
    part_->refresh(x_.v);
    return true;
  }

  // --- islands with bodies of several members ---

  IslandSplit& border_split() { return own_.solver.impl().split; }

  /// The rows of this part of the island, once among all members, and its own bodies. They are no
  /// longer fresh here: that it is solved is for all.
  void send(Index i) {
    for (const Index c : work_.split.blocks_of(i)) {
      const auto at = static_cast<std::size_t>(c);
      if (own_.counted[at] != 0)
        own_.border.rows.push_back(sent_row(p_, c, part_->names[at], work_.scale.tau[c],
                                            x_.lambda[c], own_.fresh[at] != 0));
      own_.fresh[at] = 0;
    }
    for (const Index block : work_.split.velocities_of(i))
      if (part_->own[static_cast<std::size_t>(block)] != 0)
        own_.border.bodies.push_back(
            sent_body(x_.v, block, p_.H.block_begin(block),
                      own_.misses.bodies[static_cast<std::size_t>(block)] != 0));
  }

  void build_border() {
    const Gathered& from = own_.border;
    CanonicalProblem& p = own_.problem;
    ProblemScale& scale = own_.solver.impl().scale;
    const auto n = static_cast<Index>(from.bodies.size());
    p.H.clear();
    p.k.resize(6 * n);
    scale.v_free.resize(6 * n);
    scale.weight.resize(6 * n);
    own_.x.v.resize(6 * n);
    own_.x.gamma.resize(0);
    for (Index i = 0; i < n; ++i) {
      const SentBody& body = from.bodies[static_cast<std::size_t>(i)];
      const Index at = p_.H.block_begin(body.block);
      std::copy_n(p_.H.block(body.block), 36, p.H.add_block(6));
      p.k.segment<6>(6 * i) = p_.k.segment<6>(at);
      scale.v_free.segment<6>(6 * i) = work_.scale.v_free.segment<6>(at);
      scale.weight.segment<6>(6 * i) = work_.scale.weight.segment<6>(at);
      std::copy_n(body.v, 6, own_.x.v.data() + 6 * i);
    }
    append_rows(from.rows, p, own_.x.lambda, [&](Index block) {
      const auto at =
          std::lower_bound(from.bodies.begin(), from.bodies.end(), block,
                           [](const SentBody& body, Index b) { return body.block < b; });
      if (at == from.bodies.end() || at->block != block)
        throw Error("rows in parts", "a row has a body that is nobody's");
      return static_cast<Index>(at - from.bodies.begin());
    });
    scale.tau.resize(p.b.size());
    for (std::size_t c = 0; c < from.rows.size(); ++c)
      scale.tau[static_cast<Index>(c)] = from.rows[c].tau;
    own_.x.w.setZero(p.b.size());
    find_islands(p, border_split());
  }

  void solve_border() {
    (void)own_.inverse.factorize(own_.problem.H);  // as that of all bodies was
    std::vector<unsigned char> fresh;
    for (Index c = 0; c < own_.problem.row_count(); ++c) {
      bool misses = own_.border.rows[static_cast<std::size_t>(c)].fresh != 0;
      for (const BlockRows::Entry& entry : own_.problem.D.entries(c))
        misses = misses || own_.border.bodies[static_cast<std::size_t>(entry.block)].fresh != 0;
      fresh.push_back(misses ? 1 : 0);
    }
    Islands border{own_.problem,   own_.inverse,         islands_.settings,  islands_.limits,
                   islands_.start, islands_.closed_form, own_.solver.impl(), fresh};
    SolveReport report;
    {
      const TeamScope scope(&part_->team);
      totals_.add(solve_islands(border, own_.x, report));
    }
    if (part_->team.rank() == 0) report_.iterations += report.iterations;
    for (std::size_t i = 0; i < own_.border.bodies.size(); ++i)
      x_.v.segment<6>(p_.H.block_begin(own_.border.bodies[i].block)) =
          own_.x.v.segment<6>(6 * static_cast<Index>(i));
    // Own rows are in the order of their names, too.
    std::size_t next = 0;
    for (std::size_t c = 0; c < part_->names.size() && next < own_.border.rows.size(); ++c) {
      while (next < own_.border.rows.size() && own_.border.rows[next].name < part_->names[c])
        ++next;
      if (next < own_.border.rows.size() && own_.border.rows[next].name == part_->names[c])
        x_.lambda[static_cast<Index>(c)] = own_.x.lambda[static_cast<Index>(next)];
    }
  }

  const Islands& islands_;
  const CanonicalProblem& p_;
  const ProblemPart* part_;
  SolveWorkspace::Impl& work_;
  FewRowsWork& own_;
  Solution& x_;
  SolveReport& report_;
  IslandTotals totals_;
  Residual residual_;
  Look seen_;
  std::int64_t islands_here_ = 0;
};

}  // namespace

bool may_have_few_rows(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || !p.C.empty() || !p.F.empty() ||
      p.D.empty())
    return false;
  for (const Law& law : p.laws)
    if (law.kind != LawKind::Orthant || law.dim != 1) return false;
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    const auto entries = p.D.entries(c);
    if (entries.empty() || entries.size() > 2) return false;
    for (const BlockRows::Entry& entry : entries)
      if (entry.width != 6 || p.H.block_size(entry.block) != 6) return false;
  }
  return true;
}

bool solve_few_rows(const Islands& islands, const ProblemPart* part, Solution& x,
                    SolveReport& report, Index& closed_forms) {
  FewRows few(islands, part, x, report);
  const bool solved = few.run();
  closed_forms = solved ? few.closed_forms() : 0;
  return solved;
}

void gather_whole(const CanonicalProblem& p, const ProblemPart& part, const Solution& x,
                  Whole& out) {
  Gathered all;
  for (Index c = 0; c < p.row_count(); ++c)
    if (part.is_counted(p, c))
      all.rows.push_back(
          sent_row(p, c, part.names[static_cast<std::size_t>(c)], 0, x.lambda[c], false));
  for (Index block = 0; block < p.H.block_count(); ++block)
    if (part.own[static_cast<std::size_t>(block)] != 0)
      all.bodies.push_back(sent_body(x.v, block, p.H.block_begin(block), false));
  all.gather(part.team);
  out.problem.H = p.H;
  out.problem.k = p.k;
  out.x.gamma.resize(0);
  append_rows(all.rows, out.problem, out.x.lambda, [](Index block) { return block; });
  out.x.v = x.v;
  for (const SentBody& body : all.bodies)
    std::copy_n(body.v, 6, out.x.v.data() + p.H.block_begin(body.block));
  out.x.w.setZero(out.x.lambda.size());
  out.names.clear();
  for (const SentRow& row : all.rows) out.names.push_back(row.name);
}

void take_from_whole(const Whole& whole, const ProblemPart& part, Solution& x) {
  x.v = whole.x.v;
  for (std::size_t c = 0; c < part.names.size(); ++c) {
    const auto at = std::lower_bound(whole.names.begin(), whole.names.end(), part.names[c]);
    if (at == whole.names.end() || *at != part.names[c])
      throw Error("rows in parts", "a member has a row that is nobody's");
    x.lambda[static_cast<Index>(c)] = whole.x.lambda[static_cast<Index>(at - whole.names.begin())];
    x.w[static_cast<Index>(c)] = whole.x.w[static_cast<Index>(at - whole.names.begin())];
  }
}

}  // namespace orthant::internal
