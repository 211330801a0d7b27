// SPDX-License-Identifier: Apache-2.0
// device/rods_kernel.hpp: one step of a world of very many rods in the plane, in stages that run on
// the host or on a device: one text, the same bits.
//   min ½ |Jᵀλ|² in the metric of the mobility + c·λ,  λ >= 0;   u = W Jᵀλ is the way of a step
//   rows of round r:  J_r u + Φ(q ⊞ u_r) − J_r u_r >= 0  for every overlap at the trial q ⊞ u_r
// All is in lengths: no force acts, so drag and step only scale λ. W = 1/l and 12/l³ for a rod of
// length l (force/force.cpp).
// A solve is one run of Nesterov's accelerated projected gradient, in one persistent kernel on a
// device; restarts of the momentum cost products in large worlds. Its step is safe without a line
// search: with x̂ the rows of a body, each scaled to length one, S = Σ x̂ x̂ᵀ <= s = ‖S⁴‖^(1/4), so
// the diagonal Σ_bodies s N_rr majorises N.
#pragma once

#include <cstdint>

#include "device/cells_kernel.hpp"
#include "device/scalar_kernel.hpp"

namespace orthant::device {

struct RodModel {
  double radius, growth, near, overlap, tolerance;  // growth: factor of a step
  int max_iterations, max_recursions, as_step, interior_from;
};

/// A rod where it is looked at, in the order of cells. half: of its core.
struct alignas(16) RodPlace {
  double x, y, tx, ty, half;
  int rod;
};
/// How far a rod goes in a step, now and before the last iteration.
struct alignas(16) RodMove {
  double x, y, turn, last_x, last_y, last_turn;
};
struct alignas(16) RodMobility {
  double slide, turn, bound;  // bound: of the largest eigenvalue of the sum of its rows
};
/// g = n·(u_a − u_b) + arm_a θ_a − arm_b θ_b + c
struct alignas(32) RodRow {
  double nx, ny, arm_a, arm_b;
};
struct RodName {
  int a, b, end;  // end: 0, 1 of a; 2, 3 of b
};
struct alignas(16) RodRest {
  double c, inverse_bound, diagonal;  // diagonal of N
};
struct alignas(16) RodImpulse {
  double now, last;
};
/// A row as one of its bodies feels it.
struct alignas(32) RodLink {
  double x, y, arm;
  int row;
};
struct RodTotals {
  double sum, most;
};
struct RodSolve {
  int iterations;
  double residual;  // -1: not finite
};

constexpr int kSumLanes = 256;  // rows of a chunk of sums, and the threads of a block
constexpr int kJudgeEvery = 10;

struct RodWork {
  RodModel m;
  int count, rows;
  double *q, *length;  // of the caller
  double edge;         // of a cell
  std::uint64_t *key, *cell_key, *link_key;
  int *order, *cell_of, *cell_begin, *first, *link_begin, *link_entry;
  int cells;
  RodPlace* place;
  RodMove* move;
  RodMobility* mobility;
  RodRow* row;
  RodName* name;
  RodRest* rest;
  RodImpulse* impulse;
  RodLink* link;
  RodTotals* totals;
  RodSolve* solve;
  // of the last step
  const RodName* old_name;
  const RodImpulse* old_impulse;
  const RodLink* old_link;
  const int* old_link_begin;  // null: nothing is known
};

// --- rods ---

struct RodNotFinite {
  RodWork w;
  ORTHANT_HD RodTotals operator()(std::size_t i) const {
    const bool good = finite(w.q + 3 * i, 3) && finite(w.length + i, 1) &&
                      w.length[i] > 2 * w.m.radius && w.q[3 * i + 2] < 1e5 && w.q[3 * i + 2] > -1e5;
    return {good ? 0.0 : 1.0, good ? w.length[i] : 0};
  }
};

struct GrowRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const double l = w.length[i] *= w.m.growth;
    w.mobility[i] = {1 / l, 12 / (l * l * l), 0};
    // The motion of the last step foretells that of this one: rows linearised there need fewer
    // rounds. Half of it: the whole overshoots, in large worlds more from step to step.
    RodMove& u = w.move[i];
    u = w.m.as_step != 0 || w.old_link_begin == nullptr
            ? RodMove{0, 0, 0, 0, 0, 0}
            : RodMove{0.5 * u.x, 0.5 * u.y, 0.5 * u.turn, 0, 0, 0};
  }
};

ORTHANT_HD inline std::uint64_t rod_cell(std::uint64_t x, std::uint64_t y) {
  return y << kAxisBits | x;
}
struct KeyOfRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const RodMove& u = w.move[i];
    w.key[i] =
        rod_cell(axis_cell(w.q[3 * i] + u.x, w.edge), axis_cell(w.q[3 * i + 1] + u.y, w.edge));
    w.order[i] = static_cast<int>(i);
  }
};
struct PlaceRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    const int rod = w.order[s];
    const double* q = w.q + 3 * static_cast<std::size_t>(rod);
    const RodMove& u = w.move[rod];
    const double angle = q[2] + u.turn;
    w.place[s] = {
        q[0] + u.x, q[1] + u.y, cosine(angle), sine(angle), 0.5 * w.length[rod] - w.m.radius, rod};
    w.cell_of[s] = s == 0 || w.key[s] != w.key[s - 1] ? 1 : 0;  // scanned afterwards
  }
};
struct BeginRodCell {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    if (s > 0 && w.key[s] == w.key[s - 1]) return;
    w.cell_begin[w.cell_of[s]] = static_cast<int>(s);
    w.cell_key[w.cell_of[s]] = w.key[s];
  }
};

// --- distances ---

struct RodGap {
  double gap, nx, ny, px, py;  // normal from b to a; the point between the surfaces
  bool inside;                 // the nearest point of the other core is none of its ends
};

/// One end of one rod against the core of the other. Cores that cross are apart by less than
/// nothing: the normal then leads the end back.
ORTHANT_HD inline RodGap rod_gap(const RodPlace& a, const RodPlace& b, int end, bool cross,
                                 double radius) {
  const RodPlace &from = end < 2 ? a : b, &on = end < 2 ? b : a;
  const double side = (end & 1) != 0 ? from.half : -from.half;
  const double x = from.x + side * from.tx, y = from.y + side * from.ty;
  const double rx = x - on.x, ry = y - on.y;
  const double s = rx * on.tx + ry * on.ty, height = on.tx * ry - on.ty * rx;
  RodGap g;
  double far, nx, ny;
  g.inside = cross || (s <= on.half && -s <= on.half);
  if (g.inside) {
    const double sign = (height < 0) != cross ? -1 : 1;
    far = cross ? (height < 0 ? height : -height) : sign * height;
    nx = -sign * on.ty;
    ny = sign * on.tx;
  } else {
    const double clamped = s > 0 ? on.half : -on.half;
    const double dx = rx - clamped * on.tx, dy = ry - clamped * on.ty;
    far = root(dx * dx + dy * dy);
    nx = far > 0 ? dx / far : -on.ty;
    ny = far > 0 ? dy / far : on.tx;
  }
  g.gap = far - 2 * radius;
  g.px = x - 0.5 * far * nx;
  g.py = y - 0.5 * far * ny;
  g.nx = end < 2 ? nx : -nx;
  g.ny = end < 2 ? ny : -ny;
  return g;
}
ORTHANT_HD inline bool cores_cross(const RodPlace& a, const RodPlace& b) {
  const double dx = b.x - a.x, dy = b.y - a.y, turn = a.tx * b.ty - a.ty * b.tx;
  if (turn == 0) return false;
  const double s = (dx * b.ty - dy * b.tx) / turn, t = (dx * a.ty - dy * a.tx) / turn;
  return s <= a.half && -s <= a.half && t <= b.half && -t <= b.half;
}

/// visit(other, end, gap) for the rows nearer than `limit` of a rod with those of higher number;
/// returns its deepest overlap with any of these, at least 0.
template <class Visit>
ORTHANT_HD double visit_rows(const RodWork& w, int s, double limit, Visit&& visit) {
  const RodPlace here = w.place[s];
  double most = 0;
  const std::uint64_t cx = axis_cell(here.x, w.edge), cy = axis_cell(here.y, w.edge);
  for (std::uint64_t y = cy - 1; y != cy + 2; ++y) {
    // Three cells side by side are one run of keys.
    const int begin = lower_bound(w.cell_key, w.cells, rod_cell(cx - 1, y));
    const int end = begin + lower_bound(w.cell_key + begin, w.cells - begin, rod_cell(cx + 2, y));
    for (int t = w.cell_begin[begin]; t < w.cell_begin[end]; ++t) {
      const RodPlace there = w.place[t];
      if (there.rod <= here.rod) continue;
      const double dx = here.x - there.x, dy = here.y - there.y;
      const double reach = here.half + there.half + 2 * w.m.radius + w.m.near;
      if (dx * dx + dy * dy > reach * reach) continue;
      const bool cross = cores_cross(here, there);
      RodGap gap[4];
      int deepest = 0;
      ORTHANT_UNROLL for (int e = 0; e < 4; ++e) {
        gap[e] = rod_gap(here, there, e, cross, w.m.radius);
        // Of cores that cross the end that is nearest to leaving.
        const double depth = cross ? -gap[e].gap : gap[e].gap;
        const double least = cross ? -gap[deepest].gap : gap[deepest].gap;
        if (depth < least) deepest = e;
      }
      most = larger(most, -gap[deepest].gap);
      ORTHANT_UNROLL for (int e = 0; e < 4; ++e) {
        const bool wanted = e == deepest || (w.m.as_step == 0 && !cross && gap[e].inside);
        if (wanted && gap[e].gap < limit) visit(there.rod, e, gap[e]);
      }
    }
  }
  return most;
}

/// Gap of a row where the bodies have gone by u.
ORTHANT_HD inline double row_gap(const RodWork& w, std::size_t r) {
  const RodRow row = w.row[r];
  const RodName name = w.name[r];
  const RodMove &a = w.move[name.a], &b = w.move[name.b];
  return row.nx * (a.x - b.x) + row.ny * (a.y - b.y) + row.arm_a * a.turn - row.arm_b * b.turn +
         w.rest[r].c;
}
/// Whether an overlap at the trial asks for a row: where there is none of this end, or where those
/// there are do not foresee it. An overlap that they do foresee is the solver's to remove.
ORTHANT_HD inline bool asks_for_row(const RodWork& w, int a, int b, int end, double gap) {
  if (w.rows == 0) return true;
  double least = HUGE_VAL;
  for (int k = w.link_begin[a]; k < w.link_begin[a + 1]; ++k) {
    const int r = w.link[k].row;
    if (w.name[r].a != a || w.name[r].b != b || w.name[r].end != end) continue;
    const double g = row_gap(w, static_cast<std::size_t>(r));
    if (g < least) least = g;
  }
  return least - gap > 0.5 * w.m.overlap;
}

struct CountRows {
  RodWork w;
  double limit;
  ORTHANT_HD void operator()(std::size_t s) const {
    int rows = 0;
    const double most =
        visit_rows(w, static_cast<int>(s), limit, [&](int b, int end, const RodGap& gap) {
          if (asks_for_row(w, w.place[s].rod, b, end, gap.gap)) ++rows;
        });
    w.first[s] = rows;
    w.totals[s] = {0, most};
  }
};

/// Rows that a trial adds behind those there are. At first (no rows yet) they take the impulses of
/// the last step: those of the same end, and the first row of a pair those of ends that are gone.
/// Later a row takes over from the last one of its end, which it replaces but for the turn.
struct FillRows {
  RodWork w;
  double limit;
  int base;
  ORTHANT_HD void operator()(std::size_t s) const {
    int next = base + w.first[s], partner = -1, first_of_pair = 0;
    const RodPlace here = w.place[s];
    const int a = here.rod;
    const auto close_pair = [&] {
      if (partner >= 0 && base == 0) start_pair(a, partner, first_of_pair, next);
    };
    visit_rows(w, static_cast<int>(s), limit, [&](int b, int end, const RodGap& g) {
      if (!asks_for_row(w, a, b, end, g.gap)) return;
      if (b != partner) {
        close_pair();
        partner = b;
        first_of_pair = next;
      }
      const RodMove &ua = w.move[a], &ub = w.move[b];
      const double* qb = w.q + 3 * static_cast<std::size_t>(b);
      const double ax = g.px - here.x, ay = g.py - here.y;
      const double bx = g.px - (qb[0] + ub.x), by = g.py - (qb[1] + ub.y);
      const double arm_a = ax * g.ny - ay * g.nx, arm_b = bx * g.ny - by * g.nx;
      const double went =
          g.nx * (ua.x - ub.x) + g.ny * (ua.y - ub.y) + arm_a * ua.turn - arm_b * ub.turn;
      w.row[next] = {g.nx, g.ny, arm_a, arm_b};
      w.name[next] = {a, b, end};
      w.rest[next] = {g.gap - went, 0, 0};
      const double taken = base == 0 ? 0 : take_over(a, b, end);
      w.impulse[next] = {taken, taken};
      ++next;
    });
    close_pair();
  }
  ORTHANT_HD void start_pair(int a, int b, int begin, int end) const {
    if (w.old_link_begin == nullptr) return;
    for (int k = w.old_link_begin[a]; k < w.old_link_begin[a + 1]; ++k) {
      const RodName old = w.old_name[w.old_link[k].row];
      if (old.a != a || old.b != b) continue;
      int to = begin;
      for (int r = begin; r < end; ++r)
        if (w.name[r].end == old.end) to = r;
      w.impulse[to].now += w.old_impulse[w.old_link[k].row].now;
    }
  }
  ORTHANT_HD double take_over(int a, int b, int end) const {
    int last = -1;
    for (int k = w.link_begin[a]; k < w.link_begin[a + 1]; ++k) {
      const int r = w.link[k].row;
      if (w.name[r].a == a && w.name[r].b == b && w.name[r].end == end && r > last) last = r;
    }
    if (last < 0) return 0;
    const double taken = w.impulse[last].now;
    w.impulse[last] = {0, 0};
    return taken;
  }
};

// --- the problem ---

struct KeyOfLink {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t e) const {
    const RodName& name = w.name[e / 2];
    w.link_key[e] = static_cast<std::uint64_t>(e % 2 == 0 ? name.a : name.b);
    w.link_entry[e] = static_cast<int>(e);
  }
};
struct FillLink {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t k) const {
    const int e = w.link_entry[k], r = e / 2;
    const RodRow& row = w.row[r];
    w.link[k] = e % 2 == 0 ? RodLink{row.nx, row.ny, row.arm_a, r}
                           : RodLink{-row.nx, -row.ny, -row.arm_b, r};
  }
};
ORTHANT_HD inline void square(double (&S)[6]) {
  const double a = S[0], b = S[1], c = S[2], ab = S[3], ac = S[4], bc = S[5];
  S[0] = a * a + ab * ab + ac * ac;
  S[1] = ab * ab + b * b + bc * bc;
  S[2] = ac * ac + bc * bc + c * c;
  S[3] = a * ab + ab * b + ac * bc;
  S[4] = a * ac + ab * bc + ac * c;
  S[5] = ab * ac + b * bc + bc * c;
}
struct BoundRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    RodMobility& W = w.mobility[i];
    const double slide = root(W.slide), turn = root(W.turn);
    double S[6] = {0, 0, 0, 0, 0, 0};  // xx, yy, tt, xy, xt, yt
    for (int k = w.link_begin[i]; k < w.link_begin[i + 1]; ++k) {
      const RodLink& l = w.link[k];
      const double x = slide * l.x, y = slide * l.y, t = turn * l.arm;
      const double scale = 1 / (x * x + y * y + t * t);
      S[0] += scale * x * x, S[1] += scale * y * y, S[2] += scale * t * t;
      S[3] += scale * x * y, S[4] += scale * x * t, S[5] += scale * y * t;
    }
    square(S);
    square(S);
    W.bound = root(root(root(S[0] * S[0] + S[1] * S[1] + S[2] * S[2] +
                             2 * (S[3] * S[3] + S[4] * S[4] + S[5] * S[5]))));
  }
};
struct BoundRow {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t r) const {
    const RodRow& row = w.row[r];
    const RodMobility &A = w.mobility[w.name[r].a], &B = w.mobility[w.name[r].b];
    const double n = row.nx * row.nx + row.ny * row.ny;
    const double a = A.slide * n + A.turn * row.arm_a * row.arm_a;
    const double b = B.slide * n + B.turn * row.arm_b * row.arm_b;
    w.rest[r].diagonal = a + b;
    w.rest[r].inverse_bound = 1 / (A.bound * a + B.bound * b);
    w.impulse[r].last = w.impulse[r].now;
  }
};

// --- the solve ---

/// u = W Jᵀλ of one rod.
struct MoveRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    double x = 0, y = 0, turn = 0;
    for (int k = w.link_begin[i]; k < w.link_begin[i + 1]; ++k) {
      const RodLink l = w.link[k];
      const double push = w.impulse[l.row].now;
      x += l.x * push;
      y += l.y * push;
      turn += l.arm * push;
    }
    const RodMobility& W = w.mobility[i];
    RodMove& u = w.move[i];
    u = {W.slide * x, W.slide * y, W.turn * turn, u.x, u.y, u.turn};
  }
};
/// One gradient step from λ + β (λ − λ before).
struct AdvanceRow {
  RodWork w;
  double beta;
  ORTHANT_HD void operator()(std::size_t r) const {
    const RodRow row = w.row[r];
    const RodName name = w.name[r];
    const RodMove a = w.move[name.a], b = w.move[name.b];
    const RodImpulse old = w.impulse[r];
    const double x = a.x - b.x, y = a.y - b.y;
    const double lx = a.last_x - b.last_x, ly = a.last_y - b.last_y;
    const double now = row.nx * x + row.ny * y + row.arm_a * a.turn - row.arm_b * b.turn;
    const double last =
        row.nx * lx + row.ny * ly + row.arm_a * a.last_turn - row.arm_b * b.last_turn;
    const double g = now + beta * (now - last) + w.rest[r].c;
    const double next = old.now + beta * (old.now - old.last) - g * w.rest[r].inverse_bound;
    w.impulse[r] = {next > 0 ? next : 0, old.now};
  }
};
/// Natural residual of a row in length. The sum shows a NaN, which a comparison may hide.
struct JudgeRow {
  RodWork w;
  ORTHANT_HD RodTotals operator()(std::size_t r) const {
    const double g = row_gap(w, r), push = w.impulse[r].now * w.rest[r].diagonal;
    const double least = g < push ? g : push;
    return {g, least < 0 ? -least : least};
  }
};

/// All of one solve. A grid has
///   each(count, body)         body(i) for i in [0, count), then waits for all
///   total(count, term, out)   Σ and most of term(i): chunks of kSumLanes joined by halves, then
///                             the chunks in the same way; the same answer everywhere
template <class Grid>
ORTHANT_HD void solve_rods(Grid& grid, const RodWork& w) {
  const auto rows = static_cast<std::size_t>(w.rows), rods = static_cast<std::size_t>(w.count);
  grid.each(rows, BoundRow{w});
  grid.each(rods, MoveRod{w});
  double t = 1;
  int k = 0;
  RodTotals total{0, 0};
  for (;; ++k) {
    if (k % kJudgeEvery == 0) {
      total = grid.total(rows, JudgeRow{w}, w.totals);
      if (!(total.most > w.m.tolerance) || !(total.sum - total.sum == 0) || k >= w.m.max_iterations)
        break;
    }
    const double next = 0.5 * (1 + root(1 + 4 * t * t));
    grid.each(rows, AdvanceRow{w, (t - 1) / next});
    grid.each(rods, MoveRod{w});
    t = next;
  }
  if (grid.first()) *w.solve = {k, total.sum - total.sum == 0 ? total.most : -1};
}

/// q ⊞ u.
struct AdvanceRod {
  RodWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const RodMove& u = w.move[i];
    w.q[3 * i] += u.x;
    w.q[3 * i + 1] += u.y;
    w.q[3 * i + 2] += u.turn;
  }
};

/// Sums in an order that every back end keeps.
ORTHANT_HD inline RodTotals join(const RodTotals& a, const RodTotals& b) {
  return {a.sum + b.sum, larger(a.most, b.most)};
}
struct ReadTotals {
  const RodTotals* at;
  ORTHANT_HD RodTotals operator()(std::size_t i) const { return at[i]; }
};

}  // namespace orthant::device
