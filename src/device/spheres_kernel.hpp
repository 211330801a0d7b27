// SPDX-License-Identifier: Apache-2.0
// device/spheres_kernel.hpp: one step of a world of very many spheres, in stages that run on the
// host or on a device: one text, the same bits.
//   D_n v⁺ + Φ/h + ε W_nn λ_n >= 0,  exact Coulomb friction in every contact, gaps in the solve
// Stages are functors over an index range; a back end runs them, sorts and scans:
//   free velocities -> cells of bodies, sorted -> pairs counted, scanned, filled -> sweeps ->
//   advance
// Sweeps are Gauss–Seidel by colours: no two contacts of a colour share a body that moves, so a
// thread has a contact and the order of threads does not matter. Colours are given greedily, cell
// by cell, in eight turns: the edge of a cell is twice the reach of a contact, so two cells of one
// turn share no body. Contacts that reach farther (fast bodies), and those for which no colour is
// left, come after the others, one by one.
#pragma once

#include <cstdint>

#include "device/cells_kernel.hpp"
#include "device/scalar_kernel.hpp"

namespace orthant::device {

using Vec = V3<double>;

struct SpherePlane {
  Vec normal;
  double offset;  // n·x of its points
  int material;
};

/// What does not change from step to step. Arrays by sphere, in the caller's order.
struct SphereModel {
  int count, planes, materials;
  const double *radius, *inverse_mass;
  const int* material;
  const SpherePlane* plane;
  const double* friction;  // by pair of materials
  double largest;          // radius
  double h, compliance, margin, push;
  Vec gravity;
  int sweeps;
};

struct SphereContact {
  int a, b;  // places in the sorted order; b < 0: the plane −1 − b
  Vec normal;
  double lever_a, lever_b, bias, friction;
  double mass_n, mass_t;  // that the contact feels along its normal and across it
  Vec impulse, last;      // on a; `last`: before the sweep, for the momentum
};
/// Contacts by groups of 32, number after number: neighbouring threads read neighbouring words.
struct SphereContacts {
  static constexpr std::size_t kLanes = 32, kNumbers = 16;
  static constexpr int kNormal = 1, kImpulse = 10, kLast = 13;
  double* data;

  ORTHANT_HD static std::size_t size(std::size_t count) {
    return (count + kLanes - 1) / kLanes * kLanes * kNumbers;
  }
  ORTHANT_HD double* at(std::size_t i) const {
    return data + i / kLanes * (kLanes * kNumbers) + i % kLanes;
  }
  ORTHANT_HD static Vec read(const double* at, int k) {
    return {at[kLanes * k], at[kLanes * (k + 1)], at[kLanes * (k + 2)]};
  }
  ORTHANT_HD static void write(double* at, int k, const Vec& x) {
    at[kLanes * k] = x.x;
    at[kLanes * (k + 1)] = x.y;
    at[kLanes * (k + 2)] = x.z;
  }
  /// The bodies are two integers in the place of one number.
  ORTHANT_HD static int* bodies(double* at) { return reinterpret_cast<int*>(at); }

  ORTHANT_HD SphereContact get(std::size_t i) const {
    double* const x = at(i);
    return {bodies(x)[0],  bodies(x)[1],      read(x, kNormal), x[4 * kLanes],
            x[5 * kLanes], x[6 * kLanes],     x[7 * kLanes],    x[8 * kLanes],
            x[9 * kLanes], read(x, kImpulse), read(x, kLast)};
  }
  ORTHANT_HD void set(std::size_t i, const SphereContact& c) const {
    double* const x = at(i);
    bodies(x)[0] = c.a;
    bodies(x)[1] = c.b;
    write(x, kNormal, c.normal);
    const double numbers[] = {c.lever_a, c.lever_b, c.bias, c.friction, c.mass_n, c.mass_t};
    for (std::size_t k = 0; k < 6; ++k) x[(4 + k) * kLanes] = numbers[k];
    set_impulses(i, c);
  }
  ORTHANT_HD void set_impulses(std::size_t i, const SphereContact& c) const {
    write(at(i), kImpulse, c.impulse);
    write(at(i), kLast, c.last);
  }
};
struct SpherePlace {
  Vec x;
  double r;
};
/// Velocities and inverse inertia of a body: one cache line, read and written whole.
struct alignas(16) SphereMotion {
  Vec v;
  double inverse_mass;
  Vec w;
  double inverse_inertia;
};
struct SphereTotals {
  double sum, most;
};
/// Nesterov's sequence, started anew whenever the change of a sweep grows.
struct SphereMomentum {
  double t, beta, change;
};

constexpr int kTurns = 8, kColours = 64, kFanIn = 64;
constexpr double kFarCells = 8;  // a body looks at most so many cells ahead in a step

/// A contact that is still being found.
struct SphereGap {
  Vec normal;
  double gap, friction, size;
};

/// All that the stages read and write; pointers of the back end.
struct SphereWork {
  SphereModel m;
  double *q, *v;  // of the caller: 7 and 6 numbers per sphere
  double edge;    // of a cell
  std::uint64_t* key;
  int *order, *rank, *cell_of, *cell_begin, *first, *late_first, *late, *sequence;
  std::uint64_t *cell_key, *colours, *colour;  // colours: of a body's contacts, a bit each
  int cells;
  SpherePlace* place;
  SphereMotion *motion, *before;
  unsigned char* touched;
  SphereContact* found;    // in the order of their bodies
  SphereContacts contact;  // in that of their colours
  int* position;           // of a contact found among those in the order of colours
  // of the last step
  const int *old_order, *old_rank, *old_first, *old_position;
  SphereContacts old_contact;
  SphereTotals* totals;
  SphereMomentum* momentum;
};

// --- cells ---

/// Turn first, then z, y, x: cells of a turn are neighbours in the sorted order.
ORTHANT_HD inline std::uint64_t cell_key(std::uint64_t x, std::uint64_t y, std::uint64_t z) {
  const std::uint64_t turn = (x & 1) | (y & 1) << 1 | (z & 1) << 2;
  return turn << (3 * kAxisBits) | z << (2 * kAxisBits) | y << kAxisBits | x;
}
ORTHANT_HD inline Vec read(const double* x) { return {x[0], x[1], x[2]}; }
ORTHANT_HD inline void write(double* to, const Vec& x) {
  to[0] = x.x;
  to[1] = x.y;
  to[2] = x.z;
}
ORTHANT_HD inline double norm(const Vec& x) { return root(dot(x, x)); }
/// Speed after gravity, squared and not; a body that is not finite has none.
struct SpeedOfSphere {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const bool good = finite(w.q + 7 * i, 7) && finite(w.v + 6 * i, 6);
    const Vec u = read(w.v + 6 * i) + w.m.gravity * w.m.h;
    const double square = good ? dot(u, u) : 0;
    w.totals[i] = {square, square};
  }
};

struct CountNotFinite {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const bool good = finite(w.q + 7 * i, 7) && finite(w.v + 6 * i, 6);
    w.totals[i] = {good ? 0.0 : 1.0, 0};
  }
};
/// totals[i] of one level => a kFanIn-th of them. Entry i adds i, i + outs, …: neighbours read
/// neighbours.
struct AddTotals {
  const SphereTotals* in;
  SphereTotals* out;
  std::size_t count, outs;
  ORTHANT_HD void operator()(std::size_t i) const {
    SphereTotals sum{0, 0};
    for (std::size_t k = i; k < count; k += outs)
      sum = {sum.sum + in[k].sum, larger(sum.most, in[k].most)};
    out[i] = sum;
  }
};

struct KeyOfSphere {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const double* x = w.q + 7 * i;
    w.key[i] = cell_key(axis_cell(x[0], w.edge), axis_cell(x[1], w.edge), axis_cell(x[2], w.edge));
    w.order[i] = static_cast<int>(i);
  }
};

/// Bodies in the order of their cells. One that is not finite keeps no radius: it meets nothing.
struct PlaceSphere {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    const std::size_t i = static_cast<std::size_t>(w.order[s]);
    const double r = w.m.radius[i], inverse = w.m.inverse_mass[i];
    const bool good = finite(w.q + 7 * i, 7) && finite(w.v + 6 * i, 6);
    w.rank[i] = static_cast<int>(s);
    w.place[s] = {good ? read(w.q + 7 * i) : Vec{0, 0, 0}, good ? r : -1};
    w.motion[s] = {good ? read(w.v + 6 * i) + w.m.gravity * w.m.h : Vec{0, 0, 0}, inverse,
                   good ? read(w.v + 6 * i + 3) : Vec{0, 0, 0}, inverse / (0.4 * r * r)};
    w.touched[s] = 0;
    w.colours[s] = 0;
    w.cell_of[s] = s == 0 || w.key[s] != w.key[s - 1] ? 1 : 0;  // scanned afterwards
  }
};
/// After the scan cell_of[s] is the number of cells that begin before s.
struct BeginCell {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    const bool begins = s == 0 || w.key[s] != w.key[s - 1];
    if (!begins) return;
    w.cell_begin[w.cell_of[s]] = static_cast<int>(s);
    w.cell_key[w.cell_of[s]] = w.key[s];
  }
};

// --- contacts ---

ORTHANT_HD inline double friction_of(const SphereWork& w, int material_a, int material_b) {
  return w.m.friction[material_a * w.m.materials + material_b];
}

/// Contacts of one body with planes and with the bodies it is the faster of, each pair once.
/// visit(b, gap, near): `near` where the pair lies within the reach of its cell.
template <class Visit>
ORTHANT_HD void visit_contacts(const SphereWork& w, int s, Visit&& visit) {
  const SpherePlace here = w.place[s];
  const Vec u = w.motion[s].v;
  const double h = w.m.h, reach = 0.5 * w.edge;
  const int material = w.m.material[w.order[s]];
  if (!(here.r > 0)) return;
  for (int p = 0; p < w.m.planes; ++p) {
    const SpherePlane plane = w.m.plane[p];
    const double gap = dot(plane.normal, here.x) - plane.offset - here.r;
    if (gap > w.m.margin * here.r + h * larger(0, -dot(plane.normal, u))) continue;
    visit(-1 - p, SphereGap{plane.normal, gap, friction_of(w, material, plane.material), here.r},
          true);
  }
  const double speed = dot(u, u);
  double range = here.r + w.m.largest * (1 + w.m.margin) + 2 * h * root(speed);
  range = range < kFarCells * w.edge ? range : kFarCells * w.edge;
  std::uint64_t low[3], high[3];
  const double x[3] = {here.x.x, here.x.y, here.x.z};
  for (int d = 0; d < 3; ++d) {
    low[d] = axis_cell(x[d] - range, w.edge);
    high[d] = axis_cell(x[d] + range, w.edge);
  }
  for (std::uint64_t cz = low[2]; cz <= high[2]; ++cz)
    for (std::uint64_t cy = low[1]; cy <= high[1]; ++cy)
      for (std::uint64_t cx = low[0]; cx <= high[0]; ++cx) {
        const std::uint64_t key = cell_key(cx, cy, cz);
        const int cell = lower_bound(w.cell_key, w.cells, key);
        if (cell == w.cells || w.cell_key[cell] != key) continue;
        for (int t = w.cell_begin[cell]; t < w.cell_begin[cell + 1]; ++t) {
          const SpherePlace there = w.place[t];
          const Vec apart = here.x - there.x;
          const double d2 = dot(apart, apart), touch = here.r + there.r;
          if (t == s || !(there.r > 0) || d2 > (range + there.r) * (range + there.r)) continue;
          const Vec other = w.motion[t].v;
          const double others = dot(other, other);
          if (others > speed || (others == speed && t < s)) continue;
          const double d = root(d2);
          const Vec n = d > 0 ? apart * (1 / d) : Vec{0, 0, 1};
          const double mine = -dot(n, u), theirs = dot(n, other);
          const double closing = larger(larger(0, mine + theirs), larger(mine, theirs));
          const double size = here.r < there.r ? here.r : there.r;
          if (d - touch > w.m.margin * size + h * closing) continue;
          visit(t,
                SphereGap{n, d - touch, friction_of(w, material, w.m.material[w.order[t]]), size},
                d < reach);
        }
      }
}

struct CountContacts {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    int count = 0, late = 0;
    visit_contacts(w, static_cast<int>(s), [&](int, const SphereGap&, bool near) {
      ++count;
      late += near ? 0 : 1;
    });
    w.first[s] = count;
    w.late_first[s] = late;
  }
};

/// What the pair pushed with in the last step, on body a: found in the list of either body.
ORTHANT_HD inline Vec old_impulse(const SphereWork& w, int a, int b) {
  if (w.old_contact.data == nullptr) return {0, 0, 0};
  const int i = w.order[a], j = b < 0 ? b : w.order[b];
  const int lists = b < 0 ? 1 : 2;
  for (int side = 0; side < lists; ++side) {
    const int owner = side == 0 ? i : j, other = side == 0 ? j : i;
    const int s = w.old_rank[owner];
    for (int c = w.old_first[s]; c < w.old_first[s + 1]; ++c) {
      double* const old = w.old_contact.at(static_cast<std::size_t>(w.old_position[c]));
      const int partner = SphereContacts::bodies(old)[1];
      if ((partner < 0 ? partner : w.old_order[partner]) != other) continue;
      const Vec x = SphereContacts::read(old, SphereContacts::kImpulse);
      return side == 0 ? x : -x;
    }
  }
  return {0, 0, 0};
}

struct FillContacts {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    const int a = static_cast<int>(s);
    int next = w.first[s], next_late = w.late_first[s];
    visit_contacts(w, a, [&](int b, const SphereGap& found, bool near) {
      SphereContact c;
      const SphereMotion &A = w.motion[a], &B = w.motion[b < 0 ? w.m.count : b];
      c.a = a;
      c.b = b;
      c.normal = found.normal;
      c.lever_a = w.place[a].r + 0.5 * found.gap;
      c.lever_b = b < 0 ? 0 : w.place[b].r + 0.5 * found.gap;
      // A state that comes overlapped must not burst: the push is limited.
      const double push = larger(w.m.push, 0.01 * found.size / w.m.h);
      c.bias = larger(found.gap / w.m.h, -push);
      c.friction = found.friction;
      const double mobility = A.inverse_mass + B.inverse_mass;
      c.mass_n = 1 / mobility;
      c.mass_t = 1 / (mobility + c.lever_a * c.lever_a * A.inverse_inertia +
                      c.lever_b * c.lever_b * B.inverse_inertia);
      c.impulse = old_impulse(w, a, b);
      c.last = c.impulse;
      w.touched[a] = 1;
      if (b >= 0) w.touched[b] = 1;
      if (!near) w.late[next_late++] = next;
      w.colour[next] = near ? 0 : kColours;
      w.sequence[next] = next;
      w.found[next++] = c;
    });
  }
};

// --- colours ---

/// The lowest bit that is not set; kColours where all are.
ORTHANT_HD inline int lowest_free(std::uint64_t used) {
  const std::uint64_t free = ~used;
  if (free == 0) return kColours;
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(free)) - 1;
#else
  return __builtin_ctzll(free);
#endif
}
ORTHANT_HD inline void give_colour(const SphereWork& w, int contact) {
  const int a = w.found[contact].a, b = w.found[contact].b;
  const std::uint64_t used = w.colours[a] | (b >= 0 ? w.colours[b] : 0);
  const int colour = lowest_free(used);
  w.colour[contact] = static_cast<std::uint64_t>(colour);
  if (colour == kColours) return;
  w.colours[a] |= std::uint64_t{1} << colour;
  if (b >= 0) w.colours[b] |= std::uint64_t{1} << colour;
}
struct ColourCell {
  SphereWork w;
  int begin;
  ORTHANT_HD void operator()(std::size_t i) const {
    const int cell = begin + static_cast<int>(i);
    for (int c = w.first[w.cell_begin[cell]]; c < w.first[w.cell_begin[cell + 1]]; ++c)
      if (w.colour[c] != kColours) give_colour(w, c);
  }
};
/// Run for a single index: the contacts that no cell holds.
struct ColourLate {
  SphereWork w;
  int count;
  ORTHANT_HD void operator()(std::size_t) const {
    for (int i = 0; i < count; ++i) give_colour(w, w.late[i]);
  }
};

/// After the sort by colour: contacts of a colour lie side by side.
struct ArrangeContact {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    w.contact.set(i, w.found[w.sequence[i]]);
    w.position[w.sequence[i]] = static_cast<int>(i);
  }
};

// --- sweeps ---

ORTHANT_HD inline void push(const SphereContact& c, const Vec& impulse, SphereMotion& a,
                            SphereMotion& b) {
  const Vec turn = cross(c.normal, impulse);
  a.v = a.v + impulse * a.inverse_mass;
  a.w = a.w - turn * (c.lever_a * a.inverse_inertia);
  b.v = b.v - impulse * b.inverse_mass;
  b.w = b.w - turn * (c.lever_b * b.inverse_inertia);
}

/// The impulse with which the contact alone obeys its law, the other impulses as they are. W of two
/// spheres is diagonal, so normal and friction are closed forms:
///   λ_n ← [λ_n − m_n (w_n + ε λ_n/m_n)/(1 + ε)]₊,  λ_t likewise, cut to |λ_t| <= μ λ_n
ORTHANT_HD inline Vec own_answer(const SphereContact& c, const SphereMotion& a,
                                 const SphereMotion& b, double compliance) {
  const Vec rate = a.v - b.v - cross(a.w * c.lever_a + b.w * c.lever_b, c.normal);
  const double slip_n = dot(c.normal, rate), pushed = dot(c.normal, c.impulse);
  const double soft = 1 / (1 + compliance);
  const double n = larger(0, (pushed - c.mass_n * (slip_n + c.bias)) * soft);
  const Vec held = c.impulse - c.normal * pushed, slip = rate - c.normal * slip_n;
  Vec t = (held - slip * c.mass_t) * soft;
  const double most = c.friction * n, square = dot(t, t);
  if (square > most * most) t = t * (most / root(square));
  return c.normal * n + t;
}

/// Momentum of the contact, then its own answer; the squared change in the measure of its mass.
ORTHANT_HD inline double solve_contact(const SphereWork& w, SphereContact& c) {
  SphereMotion here = w.motion[c.a], there = w.motion[c.b < 0 ? w.m.count : c.b];
  const Vec now = c.impulse;
  c.impulse = now + (now - c.last) * w.momentum->beta;
  c.last = now;
  const Vec change = own_answer(c, here, there, w.m.compliance) - c.impulse;
  c.impulse = c.impulse + change;
  push(c, change, here, there);
  w.motion[c.a] = here;
  if (c.b >= 0) w.motion[c.b] = there;
  return dot(change, change) / c.mass_n;
}

/// The impulses of the last step act: once, before the sweeps.
struct PushContact {
  SphereWork w;
  int begin;
  ORTHANT_HD void operator()(std::size_t i) const {
    const SphereContact c = w.contact.get(static_cast<std::size_t>(begin) + i);
    SphereMotion still = w.motion[w.m.count];
    push(c, c.impulse, w.motion[c.a], c.b < 0 ? still : w.motion[c.b]);
  }
};
struct SweepContact {
  SphereWork w;
  int begin;
  ORTHANT_HD void operator()(std::size_t i) const {
    const std::size_t at = static_cast<std::size_t>(begin) + i;
    SphereContact c = w.contact.get(at);
    w.totals[at] = {solve_contact(w, c), 0};
    w.contact.set_impulses(at, c);
  }
};
/// Run for a single index: `count` of them, one by one.
template <class Each>
struct OneByOne {
  Each each;
  int count;
  ORTHANT_HD void operator()(std::size_t) const {
    for (int i = 0; i < count; ++i) each(static_cast<std::size_t>(i));
  }
};

/// Run for a single index, after the changes of all contacts were added up.
struct ChooseMomentum {
  SphereWork w;
  const SphereTotals* total;
  ORTHANT_HD void operator()(std::size_t) const {
    SphereMomentum& m = *w.momentum;
    if (total->sum > m.change) {
      m = {1, 0, total->sum};
      return;
    }
    const double t = 0.5 * (1 + root(1 + 4 * m.t * m.t));
    m = {t, (m.t - 1) / t, total->sum};
  }
};
/// v += β (v − v before the sweep), as the impulses do in the next sweep: they stay theirs.
struct CarrySphere {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    SphereMotion &x = w.motion[s], &old = w.before[s];
    const Vec v = x.v, turn = x.w;
    x.v = v + (v - old.v) * w.momentum->beta;
    x.w = turn + (turn - old.w) * w.momentum->beta;
    old.v = v;
    old.w = turn;
  }
};

/// How far the velocity of each contact is from its own exact answer.
struct JudgeContact {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const SphereContact c = w.contact.get(i);
    const SphereMotion &a = w.motion[c.a], &b = w.motion[c.b < 0 ? w.m.count : c.b];
    const Vec change = own_answer(c, a, b, w.m.compliance) - c.impulse;
    w.totals[i] = {0, norm(change) / c.mass_t};
  }
};
/// Overlap when the step began, by the levers: r + Φ/2 each.
struct DeepestContact {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t i) const {
    const SphereContact c = w.contact.get(i);
    w.totals[i] = {0, larger(0, 2 * (w.place[c.a].r - c.lever_a))};
  }
};

// --- advance ---

/// q ⊞ h v⁺ for bodies near others, second-order flight for those without a contact.
struct AdvanceSphere {
  SphereWork w;
  ORTHANT_HD void operator()(std::size_t s) const {
    if (!(w.place[s].r > 0)) return;  // not finite: left as it was
    const std::size_t i = static_cast<std::size_t>(w.order[s]);
    double *q = w.q + 7 * i, *v = w.v + 6 * i;
    const SphereMotion& m = w.motion[s];
    const Vec path = w.touched[s] != 0 ? m.v * w.m.h : (read(v) + m.v) * (0.5 * w.m.h);
    write(q, read(q) + path);
    const Q4<double> p = boxplus(Q4<double>{q[3], q[4], q[5], q[6]}, m.w * w.m.h);
    q[3] = p.w;
    q[4] = p.x;
    q[5] = p.y;
    q[6] = p.z;
    write(v, m.v);
    write(v + 3, m.w);
  }
};

}  // namespace orthant::device
