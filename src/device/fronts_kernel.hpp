// SPDX-License-Identifier: Apache-2.0
// device/fronts_kernel.hpp: multifrontal Cholesky of a sparse matrix of 3 × 3 blocks over the tree
// of dissection.hpp, and solves with it: in stages of teams, one text on the host and on a device.
//   a front F = (F11 F21ᵀ; F21 F22):  L11 L11ᵀ = F11,  L21 = F21 L11⁻ᵀ,  F22 − L21 L21ᵀ → the
//   parent
// Matrices are stored by columns, the lower half of each; panels of kPanel columns are eliminated
// one after another, and instead of a panel's triangle its inverse is kept, so that a solve is made
// of products. Every number is a sum in a fixed order, so host and device have the same bits.
// A team is the threads of a block on a device, and has
//   shared                         kShared numbers
//   each(count, body)              body(i), then waits for all
//   sums(count, length, term, out) out[c] = Σ term(c, i) in 32 lanes joined by halves, then waits
#pragma once

#include "device/cells_kernel.hpp"
#include "device/dissection.hpp"
#include "device/scalar_kernel.hpp"

namespace orthant::device {

constexpr int kTeam = 256, kTile = 64, kShared = 2 * kPanel * kTile;
constexpr int kColumnsTogether = 8;  // of a child, added to its parent
constexpr int kRowsTogether = kTeam - kPanel;

struct FrontWork {
  const Front* front;
  const int *bodies, *places;
  double *matrix, *panel, *vector, *half;
  const double* right;  // 3 numbers per body
  double* solution;
};

struct FrontView {
  Front f;
  int own, size;
  double *matrix, *panel, *vector, *half;
  ORTHANT_HD FrontView(const FrontWork& w, int number)
      : f(w.front[number]),
        own(3 * f.own),
        size(3 * (f.own + f.bound)),
        matrix(w.matrix + f.matrix),
        panel(w.panel + static_cast<std::size_t>(f.panel) * kPanel * kPanel),
        vector(w.vector + f.vector),
        half(w.half + f.vector) {}
  ORTHANT_HD double& operator()(int i, int j) const {
    return matrix[i + static_cast<std::size_t>(j) * static_cast<std::size_t>(size)];
  }
};

/// F22 of one child of each front, added to it.
struct AddChild {
  FrontWork w;
  int first, child;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView to(w, first + y);
    if (to.f.child[child] < 0) return;
    const FrontView from(w, to.f.child[child]);
    const int bound = from.size - from.own, begin = x * kColumnsTogether;
    if (begin >= bound) return;
    const int* places = w.places + from.f.place;
    team.each(kColumnsTogether * bound, [&](int t) {
      const int i = t % bound, j = begin + t / bound;
      if (j > i) return;
      to(3 * places[i / 3] + i % 3, 3 * places[j / 3] + j % 3) += from(from.own + i, from.own + j);
    });
  }
};

/// Panel `panel` of each front: every team makes its triangle, then kRowsTogether rows below it.
struct EliminatePanel {
  FrontWork w;
  int first, panel;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView f(w, first + y);
    const int begin = panel * kPanel;
    if (begin >= f.own) return;
    const int columns = f.own - begin < kPanel ? f.own - begin : kPanel;
    const int row = begin + columns + x * kRowsTogether;
    if (x > 0 && row >= f.size) return;
    double* L = team.shared;  // by columns; the rest of the panel is that of the identity
    double* inverse = L + kPanel * kPanel;
    team.each(kPanel * kPanel, [&](int t) {
      const int i = t % kPanel, j = t / kPanel;
      L[t] = i < columns && j < columns ? (j <= i ? f(begin + i, begin + j) : 0) : (i == j ? 1 : 0);
    });
    for (int k = 0; k < columns; ++k) {
      team.each(kPanel, [&](int j) { inverse[j] = L[j + k * kPanel] / L[k + k * kPanel]; });
      team.each(kPanel * kPanel, [&](int t) {
        const int i = t % kPanel, j = t / kPanel;
        if (k < j && j <= i) L[t] -= L[i + k * kPanel] * inverse[j];
      });
    }
    team.each(kPanel, [&](int j) { inverse[j] = 1 / root(L[j + j * kPanel]); });
    team.each(kPanel * kPanel, [&](int t) { L[t] *= inverse[t / kPanel]; });
    const int below = f.size - row < kRowsTogether ? f.size - row : kRowsTogether;
    // L21 = F21 L11⁻ᵀ by rows; behind them, in the first team, the columns of L11⁻¹.
    team.each(below + (x == 0 ? kPanel : 0), [&](int t) {
      double v[kPanel];
      if (t < below) {
        ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) v[k] =
            k < columns ? f(row + t, begin + k) : 0;
      } else {
        ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) v[k] = k == t - below ? 1 : 0;
      }
      ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) {
        v[k] *= inverse[k];
        ORTHANT_UNROLL for (int j = k + 1; j < kPanel; ++j) v[j] -= L[j + k * kPanel] * v[k];
      }
      if (t < below) {
        ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) if (k < columns) f(row + t, begin + k) =
            v[k];
      } else {
        double* to = f.panel + (panel * kPanel + (t - below)) * kPanel;
        ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) to[k] = v[k];
      }
    });
  }
};

/// What is right of a panel: F −= L L^T, a tile of kTile × kTile per team, 4 × 4 numbers at once.
struct UpdateTile {
  FrontWork w;
  int first, panel;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView f(w, first + y);
    const int begin = panel * kPanel;
    if (begin >= f.own) return;
    const int columns = f.own - begin < kPanel ? f.own - begin : kPanel;
    int down = 0;
    while ((down + 1) * (down + 2) / 2 <= x) ++down;
    const int right = x - down * (down + 1) / 2;
    const int row = begin + columns + down * kTile, column = begin + columns + right * kTile;
    if (row >= f.size) return;
    double *A = team.shared, *B = A + kPanel * kTile;
    team.each(kPanel * kTile, [&](int t) {
      const int i = t % kTile, k = t / kTile;
      A[t] = k < columns && row + i < f.size ? f(row + i, begin + k) : 0;
      B[t] = k < columns && column + i < f.size ? f(column + i, begin + k) : 0;
    });
    team.each(kTile * kTile / 16, [&](int t) {
      const int i = t % 16, j = t / 16;
      double sum[4][4] = {};
      for (int k = 0; k < kPanel; ++k) {
        double a[4], b[4];
        ORTHANT_UNROLL for (int p = 0; p < 4; ++p) {
          a[p] = A[k * kTile + i + 16 * p];
          b[p] = B[k * kTile + j + 16 * p];
        }
        ORTHANT_UNROLL for (int p = 0; p < 4; ++p) ORTHANT_UNROLL for (int q = 0; q < 4; ++q)
            sum[p][q] += a[p] * b[q];
      }
      ORTHANT_UNROLL for (int q = 0; q < 4; ++q) ORTHANT_UNROLL for (int p = 0; p < 4; ++p) {
        const int r = row + i + 16 * p, c = column + j + 16 * q;
        if (r < f.size && c <= r) f(r, c) -= sum[p][q];
      }
    });
  }
};

/// L y = right, from the leaves up: what the children left for a front.
struct CollectUp {
  FrontWork w;
  int first;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int /*x*/, int y) const {
    const FrontView f(w, first + y);
    const int* bodies = w.bodies + f.f.bodies;
    team.each(f.size, [&](int i) {
      f.vector[i] = i < f.own ? w.right[3 * static_cast<std::size_t>(bodies[i / 3]) + i % 3] : 0;
    });
    for (const int child : f.f.child) {
      if (child < 0) continue;
      const FrontView from(w, child);
      const int* places = w.places + from.f.place;
      team.each(from.size - from.own,
                [&](int i) { f.vector[3 * places[i / 3] + i % 3] += from.vector[from.own + i]; });
    }
  }
};
/// y of a panel, in `half`, by every team; then kTeam rows below it.
struct SolveUp {
  FrontWork w;
  int first, panel;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView f(w, first + y);
    const int begin = panel * kPanel;
    if (begin >= f.own) return;
    const int columns = f.own - begin < kPanel ? f.own - begin : kPanel;
    const int row = begin + columns + x * kTeam;
    if (x > 0 && row >= f.size) return;
    double *part = team.shared, *from = part + kPanel;
    const double* inverse = f.panel + begin * kPanel;
    team.each(kPanel, [&](int i) { from[i] = i < columns ? f.vector[begin + i] : 0; });
    team.each(kPanel, [&](int i) {
      double sum = 0;
      ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) sum +=
          k <= i ? inverse[k * kPanel + i] * from[k] : 0;
      part[i] = sum;
      if (x == 0 && i < columns) f.half[begin + i] = sum;
    });
    const int below = f.size - row < kTeam ? f.size - row : kTeam;
    team.each(below, [&](int i) {
      double sum = 0;
      ORTHANT_UNROLL for (int k = 0; k < kPanel; ++k) if (k < columns) sum +=
          f(row + i, begin + k) * part[k];
      f.vector[row + i] -= sum;
    });
  }
};

/// L^T x = y, from the root down: y less what the bound takes of it.
struct CollectDown {
  FrontWork w;
  int first;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView f(w, first + y);
    const int begin = x * kPanel;
    if (begin >= f.own) return;
    const int columns = f.own - begin < kPanel ? f.own - begin : kPanel;
    const int* bodies = w.bodies + f.f.bodies;
    const auto of_bound = [&](int i) {
      const int at = f.own + i;
      return w.solution[3 * static_cast<std::size_t>(bodies[at / 3]) + at % 3];
    };
    double* part = team.shared;
    team.sums(
        columns, f.size - f.own,
        [&](int k, int i) { return f(f.own + i, begin + k) * of_bound(i); }, part);
    team.each(columns, [&](int k) { f.half[begin + k] -= part[k]; });
  }
};
/// x of a panel by every team; then what it takes of kPanel columns before it.
struct SolveDown {
  FrontWork w;
  int first, panel;
  template <class Team>
  ORTHANT_HD void operator()(Team& team, int x, int y) const {
    const FrontView f(w, first + y);
    const int begin = panel * kPanel;
    if (begin >= f.own || x > panel || (x == panel && panel > 0)) return;
    const int columns = f.own - begin < kPanel ? f.own - begin : kPanel;
    double *part = team.shared, *from = part + kPanel, *taken = from + kPanel;
    const double* inverse = f.panel + begin * kPanel;
    team.each(kPanel, [&](int i) { from[i] = i < columns ? f.half[begin + i] : 0; });
    team.each(kPanel, [&](int k) {
      double sum = 0;
      ORTHANT_UNROLL for (int i = 0; i < kPanel; ++i) sum +=
          i >= k ? inverse[k * kPanel + i] * from[i] : 0;
      part[k] = sum;
    });
    if (x == 0) {
      const int* bodies = w.bodies + f.f.bodies;
      team.each(columns, [&](int i) {
        const int at = begin + i;
        w.solution[3 * static_cast<std::size_t>(bodies[at / 3]) + at % 3] = part[i];
      });
    }
    if (panel == 0) return;
    const int column = x * kPanel;
    team.sums(
        kPanel, columns, [&](int k, int i) { return f(begin + i, column + k) * part[i]; }, taken);
    team.each(kPanel, [&](int k) { f.half[column + k] -= taken[k]; });
  }
};

struct ClearNumber {
  double* at;
  ORTHANT_HD void operator()(std::size_t i) const { at[i] = 0; }
};

/// The tree on a back end. A back end has what rods_run.hpp asks for, and
///   upload(buffer, vector)   the vector in memory of the back end
///   teams(x, y, body)        body(team, i, j) for i < x, j < y
///   Recording, replay(recording, run), forget(recording)   run(), whose calls of teams() are the
///                            same each time until it is forgotten
template <class Backend>
class Fronts {
 public:
  explicit Fronts(Backend& backend) : on_(backend) {}
  ~Fronts() {
    on_.forget(factoring_), on_.forget(solving_);
    on_.release(front_), on_.release(slot_), on_.release(diagonal_), on_.release(bodies_);
    on_.release(places_), on_.release(matrix_), on_.release(panel_), on_.release(vector_),
        on_.release(half_);
  }
  Fronts(const Fronts&) = delete;
  Fronts& operator=(const Fronts&) = delete;

  void build(std::span<const double> xy, std::span<const std::array<int, 2>> pairs) {
    tree_.build(xy, pairs);
    on_.forget(factoring_);
    on_.forget(solving_);
    on_.upload(front_, tree_.front);
    on_.upload(bodies_, tree_.bodies);
    on_.upload(places_, tree_.places);
    on_.upload(slot_, tree_.slot);
    on_.upload(diagonal_, tree_.diagonal);
    on_.reserve(matrix_, tree_.matrices);
    on_.reserve(panel_, static_cast<std::size_t>(tree_.panels) * kPanel * kPanel);
    on_.reserve(vector_, static_cast<std::size_t>(tree_.vectors));
    on_.reserve(half_, static_cast<std::size_t>(tree_.vectors));
  }
  const Dissection& tree() const { return tree_; }

  /// The matrix: diagonal(body, at, stride) and off_diagonal(slot, matrix) write its blocks.
  template <class MakeDiagonal, class MakeOff>
  void factor(MakeDiagonal diagonal, MakeOff off_diagonal) {
    FrontWork w = work();
    on_.each(tree_.matrices, ClearNumber{w.matrix});
    diagonal.at = diagonal_.data;
    diagonal.matrix = off_diagonal.matrix = w.matrix;
    off_diagonal.slot = slot_.data;
    on_.each(tree_.diagonal.size(), diagonal);
    on_.each(tree_.slot.size(), off_diagonal);
    on_.replay(factoring_, [&] { eliminate(w); });
  }
  void solve(const double* right, double* solution) {
    FrontWork w = work();
    w.right = right;
    w.solution = solution;
    on_.replay(solving_, [&] { substitute(w); });
  }

 private:
  void eliminate(const FrontWork& w) {
    int bound = 0;  // most of the level below
    for (const FrontLevel& level : tree_.level) {
      if (bound > 0)
        for (int child = 0; child < 2; ++child)
          on_.teams(up(bound, kColumnsTogether), level.count, AddChild{w, level.begin, child});
      for (int panel = 0; panel * kPanel < level.own; ++panel) {
        const int rows = level.size - panel * kPanel;
        on_.teams(std::max(1, up(rows, kRowsTogether)), level.count,
                  EliminatePanel{w, level.begin, panel});
        const int tiles = up(rows, kTile);
        on_.teams(tiles * (tiles + 1) / 2, level.count, UpdateTile{w, level.begin, panel});
      }
      bound = level.size;
    }
  }
  void substitute(const FrontWork& w) {
    for (const FrontLevel& level : tree_.level) {
      on_.teams(1, level.count, CollectUp{w, level.begin});
      for (int panel = 0; panel < up(level.own, kPanel); ++panel)
        on_.teams(up(level.size - panel * kPanel, kTeam), level.count,
                  SolveUp{w, level.begin, panel});
    }
    for (auto level = tree_.level.rbegin(); level != tree_.level.rend(); ++level) {
      const int panels = up(level->own, kPanel);
      if (panels > 0) on_.teams(panels, level->count, CollectDown{w, level->begin});
      for (int panel = panels - 1; panel >= 0; --panel)
        on_.teams(std::max(1, panel), level->count, SolveDown{w, level->begin, panel});
    }
  }
  static int up(int count, int by) { return (count + by - 1) / by; }
  FrontWork work() const {
    return {front_.data,  bodies_.data, places_.data, matrix_.data, panel_.data,
            vector_.data, half_.data,   nullptr,      nullptr};
  }
  Backend& on_;
  Dissection tree_;
  typename Backend::Recording factoring_{}, solving_{};
  Buffer<Front> front_;
  Buffer<Slot> slot_;
  Buffer<Diagonal> diagonal_;
  Buffer<int> bodies_, places_;
  Buffer<double> matrix_, panel_, vector_, half_;
};

}  // namespace orthant::device
