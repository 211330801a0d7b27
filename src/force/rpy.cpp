// SPDX-License-Identifier: Apache-2.0
// force/rpy.cpp: which sum is used, and the sums over pairs.
#include "orthant/force/rpy.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "force/rpy_grid.hpp"
#include "force/rpy_wave.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kPlainSums = 1e-9;  // tolerance below which nothing is put on a grid
constexpr double kExact = 1e-15;     // what plain sums are cut at
constexpr std::size_t kMaxRadii = 6;
// Times [ns] that balance the two parts of a split sum (bench_rpy): of a pair of near spheres, and
// of a point of the grid and a doubling of their number.
constexpr double kPairTime = 7, kPointTime = 9;
constexpr std::size_t kGrain = 64;
constexpr std::size_t kBlock = 64;  // spheres looked at in one go
constexpr std::size_t kParts = 16;  // of the near sum, whatever the number of threads

/// Points of the interpolation along an axis and spacing of the grid times ξ for a tolerance. Found
/// by comparison with sums over pairs (docs/relcp.md).
struct GridRule {
  double tolerance;
  int order;
  double spacing;
};
constexpr GridRule kGridRules[] = {
    {1e-3, 6, 0.37}, {1e-4, 8, 0.32}, {1e-5, 10, 0.28}, {1e-6, 12, 0.25}, {0, 16, 0.21}};

/// Spheres sorted into cells of a fraction of a distance, to find those within it.
class Cells {
 public:
  /// Takes places within the box, where there is one.
  Cells(std::span<const Vec3> x, double cut, const std::optional<std::array<Vec3, 2>>& box)
      : periodic_(box.has_value()) {
    lower_ = x[0];
    Vec3 upper = x[0];
    for (const Vec3& p : x) {
      lower_ = lower_.cwiseMin(p);
      upper = upper.cwiseMax(p);
    }
    if (box) {
      lower_ = (*box)[0];
      upper = (*box)[1];
    }
    extent_ = upper - lower_;
    for (int d = 0; d < 3; ++d) {
      n_[d] = static_cast<int>(std::clamp(std::floor(kCells * extent_[d] / cut), 1.0, 512.0));
      size_[d] = extent_[d] > 0 ? extent_[d] / n_[d] : 1;
    }
    const auto count = static_cast<std::size_t>(n_[0] * n_[1] * n_[2]);
    begin_.assign(count + 1, 0);
    std::vector<std::size_t> cell(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      cell[i] = cell_of(place_of(x[i]));
      ++begin_[cell[i] + 1];
    }
    for (std::size_t c = 0; c < count; ++c) begin_[c + 1] += begin_[c];
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    order_.resize(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) order_[next[cell[i]]++] = static_cast<Index>(i);
    find_columns(cut);
  }

  /// visit(first, last, shift): all sorted spheres that may be within the cut of the place p are
  /// those of the runs [first, last), moved by `shift`.
  template <class Visit>
  void runs(const Vec3& p, Visit&& visit) const {
    const std::array<int, 3> at = place_of(p);
    for (const Column& column : columns_) {
      std::array<int, 3> cell = {at[0] + column.a, at[1] + column.b, at[2] - column.reach};
      Vec3 shift = Vec3::Zero();
      bool inside = true;
      for (int d = 0; d < 2; ++d) {
        const int image = image_of(cell[d], d);
        inside = inside && (periodic_ || image == 0);
        cell[d] -= image * n_[d];
        shift[d] = image * extent_[d];
      }
      if (!inside) continue;
      // The cells of a column stand one behind the other; across a side of the box it goes on.
      int last = at[2] + column.reach;
      if (!periodic_) {
        cell[2] = std::max(cell[2], 0);
        last = std::min(last, n_[2] - 1);
      }
      while (cell[2] <= last) {
        const int image = image_of(cell[2], 2), base = image * n_[2];
        const int end = std::min(last, base + n_[2] - 1);
        shift[2] = image * extent_[2];
        const std::size_t from = cell_of({cell[0], cell[1], cell[2] - base});
        visit(begin_[from], begin_[from + static_cast<std::size_t>(end - cell[2]) + 1], shift);
        cell[2] = end + 1;
      }
    }
  }

  /// The spheres cell by cell.
  const std::vector<Index>& order() const { return order_; }

 private:
  static constexpr double kCells = 4;  // per cut: smaller ones have fewer spheres out of reach
  struct Column {
    int a = 0, b = 0;  // cells away along the first two axes
    int reach = 0;     // cells on either side along the third
  };

  void find_columns(double cut) {
    std::array<int, 3> reach;
    for (int d = 0; d < 3; ++d) {
      reach[d] = static_cast<int>(std::ceil(cut / size_[d]));
      if (!periodic_) reach[d] = std::min(reach[d], n_[d] - 1);
    }
    const auto apart = [&](int cells, int d) {
      return std::max(std::abs(cells) - 1, 0) * size_[d];
    };
    for (int a = -reach[0]; a <= reach[0]; ++a)
      for (int b = -reach[1]; b <= reach[1]; ++b) {
        const double rest = cut * cut - std::pow(apart(a, 0), 2) - std::pow(apart(b, 1), 2);
        if (rest < 0) continue;
        const int along = static_cast<int>(std::ceil(std::sqrt(rest) / size_[2]));
        columns_.push_back({a, b, std::min(along, reach[2])});
      }
  }

  /// How many boxes away a cell is.
  int image_of(int cell, int d) const {
    return cell >= 0 ? cell / n_[d] : -1 - (-1 - cell) / n_[d];
  }
  std::array<int, 3> place_of(const Vec3& p) const {
    std::array<int, 3> at;
    for (int d = 0; d < 3; ++d)
      at[d] =
          static_cast<int>(std::clamp(std::floor((p[d] - lower_[d]) / size_[d]), 0.0, n_[d] - 1.0));
    return at;
  }
  std::size_t cell_of(const std::array<int, 3>& at) const {
    return static_cast<std::size_t>((at[0] * n_[1] + at[1]) * n_[2] + at[2]);
  }

  bool periodic_;
  Vec3 lower_, extent_, size_;
  std::array<int, 3> n_;
  std::vector<Column> columns_;
  std::vector<std::size_t> begin_;
  std::vector<Index> order_;
};

}  // namespace

RpyPair rpy_pair(double r, double a, double b) {
  const double larger = std::max(a, b), difference = (a - b) * (a - b);
  if (r > a + b) {
    const double squares = (a * a + b * b) / (r * r), scale = 1 / (8 * kPi * r);
    return {scale * (1 + squares / 3), scale * (1 - squares)};
  }
  if (r * r <= difference || r == 0) return {1 / (6 * kPi * larger), 0};
  const double cube = 32 * r * r * r, scale = 1 / (6 * kPi * a * b);
  const double sum = difference + 3 * r * r, rest = difference - r * r;
  return {scale * (0.5 * (a + b) - sum * sum / cube), scale * 3 * rest * rest / cube};
}

struct RpyMobility::Impl {
  std::vector<Vec3> x;
  std::vector<double> a;
  RpySettings settings;

  // --- of split sums ---
  bool split = false, plain = false;
  double xi = 0, cut = 0;
  std::vector<Index> place;   // of sphere i of the sorted ones, as the caller counts
  std::vector<double> radii;  // the different ones
  std::vector<int> radius_class;
  std::vector<internal::NearKernel> kernels;  // by radius and radius
  std::optional<internal::WaveGrid> grid;
  std::optional<Cells> cells;
  std::vector<Vec3> waves;  // of plain sums, one of each pair ±k

  /// Those of a class with all others.
  const internal::NearKernel* kernels_of(int radius) const {
    return kernels.data() + static_cast<std::size_t>(radius) * radii.size();
  }

  Vec3 extent() const {
    if (settings.box) return (*settings.box)[1] - (*settings.box)[0];
    Vec3 lower = x[0], upper = x[0];
    for (const Vec3& p : x) {
      lower = lower.cwiseMin(p);
      upper = upper.cwiseMax(p);
    }
    return upper - lower;
  }

  void check() {
    const auto refuse = [](const std::string& what, const char* rule, double found) {
      throw Error("mobility", what + " must be " + rule + ", found " + to_text(found));
    };
    if (!(settings.viscosity > 0) || !std::isfinite(settings.viscosity))
      refuse("the viscosity", "positive and finite", settings.viscosity);
    if (!(settings.tolerance > 0 && settings.tolerance < 1))
      refuse("the tolerance", "between 0 and 1", settings.tolerance);
    if (x.size() != a.size())
      throw Error("mobility", "as many radii as centres are needed, found " +
                                  std::to_string(a.size()) + " and " + std::to_string(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(a[i] > 0) || !std::isfinite(a[i]))
        refuse("the radius of sphere " + std::to_string(i), "positive and finite", a[i]);
      if (!x[i].allFinite())
        throw Error("mobility", "sphere " + std::to_string(i) + " is at a place that is no number");
    }
    if (settings.box)
      for (int d = 0; d < 3; ++d)
        if (!((*settings.box)[1][d] > (*settings.box)[0][d]))
          refuse("the extent of the box", "positive in all three directions",
                 (*settings.box)[1][d] - (*settings.box)[0][d]);
  }

  void classify() {
    radii = a;
    std::sort(radii.begin(), radii.end());
    radii.erase(std::unique(radii.begin(), radii.end()), radii.end());
    if (radii.size() > kMaxRadii)
      throw Error("mobility", "has " + std::to_string(radii.size()) +
                                  " different radii; sums of many spheres and of periodic boxes "
                                  "allow " +
                                  std::to_string(kMaxRadii));
    for (const double radius : a)
      radius_class.push_back(
          static_cast<int>(std::lower_bound(radii.begin(), radii.end(), radius) - radii.begin()));
  }

  /// ξ and the cut of the near part, such that near part and transforms take about the same time.
  void choose(const GridRule& rule) {
    const double reach = std::sqrt(-std::log(plain ? kExact : settings.tolerance)) + 0.5;
    const Vec3 size = extent();
    const bool periodic = settings.box.has_value();
    double volume = 1;
    for (int d = 0; d < 3; ++d) volume *= std::max(size[d], 2 * radii.back());
    const double count = static_cast<double>(x.size()), density = count / volume;
    const double most = 0.5 * (periodic ? size.minCoeff() : size.maxCoeff() + 8 * radii.back());
    if (plain) {
      cut = most;
      xi = reach / cut;
      return;
    }
    double best = std::numeric_limits<double>::infinity();
    for (double c = most; c > 1e-3 * most; c *= 0.9) {
      const double near = count * std::min(count, density * 4.2 * c * c * c);
      const double points =
          internal::WaveGrid::point_count(size, rule.spacing * c / reach, rule.order, periodic);
      // Nanoseconds: per pair, and per point and doubling of the grid for six transforms.
      const double work = kPairTime * near + kPointTime * points * std::log2(points + 2);
      if (work < best) {
        best = work;
        cut = c;
      }
    }
    xi = reach / cut;
  }

  /// Spheres that are near each other stand near each other in memory, in the box if there is one.
  void sort_by_cell() {
    if (settings.box) {
      const auto& [lower, upper] = *settings.box;
      const Vec3 size = upper - lower;
      for (Vec3& p : x)
        for (int d = 0; d < 3; ++d) p[d] -= size[d] * std::floor((p[d] - lower[d]) / size[d]);
    }
    cells.emplace(x, cut, settings.box);
    place = cells->order();
    const std::vector<Vec3> old_x = x;
    const std::vector<double> old_a = a;
    const std::vector<int> old_class = radius_class;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const auto from = static_cast<std::size_t>(place[i]);
      x[i] = old_x[from];
      a[i] = old_a[from];
      radius_class[i] = old_class[from];
    }
  }

  void build_near() {
    for (const double p : radii)
      for (const double q : radii) kernels.emplace_back(xi, p, q, cut, plain);
  }

  /// The near part is evaluated anew in every product: stored, its pairs would be the memory that
  /// bounds the number of neighbours, and with it the balance between them and the grid. Every pair
  /// is met once. Each of a fixed number of parts adds up on its own, so that the sum does not
  /// depend on threads.
  void add_near(const VecX& f, VecX& u) const {
    const std::size_t part_size = (x.size() + kParts - 1) / kParts;
    std::array<VecX, kParts> parts;
    parallel_for(kParts, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        parts[p].setZero(u.size());
        for (std::size_t i = p * part_size; i < std::min((p + 1) * part_size, x.size()); ++i) {
          Vec3 sum = kernels_of(radius_class[i])[radius_class[i]].at(0).identity *
                     f.segment<3>(static_cast<Index>(3 * i));
          cells->runs(x[i], [&](std::size_t first, std::size_t last, const Vec3& shift) {
            const Vec3 from = x[i] - shift;
            for (first = std::max(first, i + 1); first < last; first += kBlock)
              add_block(i, from, first, std::min(last, first + kBlock), f, sum, parts[p]);
          });
          parts[p].segment<3>(static_cast<Index>(3 * i)) += sum;
        }
      }
    });
    for (const VecX& part : parts) u += part / settings.viscosity;
  }

  /// Spheres [first, last) and sphere i on each other. About half of them are out of reach: they
  /// are left out first, without a branch that could be mispredicted.
  void add_block(std::size_t i, const Vec3& from, std::size_t first, std::size_t last,
                 const VecX& f, Vec3& sum, VecX& u) const {
    std::array<std::size_t, kBlock> near;
    std::size_t count = 0;
    const double reach = cut * cut;
    for (std::size_t j = first; j < last; ++j) {
      near[count] = j;
      count += static_cast<std::size_t>((from - x[j]).squaredNorm() < reach);
    }
    const internal::NearKernel* kernel = kernels_of(radius_class[i]);
    const Vec3 own = f.segment<3>(static_cast<Index>(3 * i));
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t j = near[s];
      const Vec3 r = from - x[j], g = f.segment<3>(static_cast<Index>(3 * j));
      const RpyPair m = kernel[radius_class[j]].at(r.squaredNorm());
      sum += m.identity * g + m.along * r.dot(g) * r;
      u.segment<3>(static_cast<Index>(3 * j)) += m.identity * own + m.along * r.dot(own) * r;
    }
  }

  void add_pairs(const VecX& f, VecX& u) const {
    parallel_for(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        Vec3 sum = f.segment<3>(static_cast<Index>(3 * i)) / (6 * kPi * a[i]);
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (j == i) continue;
          const Vec3 r = x[i] - x[j], g = f.segment<3>(static_cast<Index>(3 * j));
          const double square = r.squaredNorm();
          const RpyPair m = rpy_pair(std::sqrt(square), a[i], a[j]);
          sum += m.identity * g;
          if (square > 0) sum += (m.along * r.dot(g) / square) * r;
        }
        u.segment<3>(static_cast<Index>(3 * i)) += sum / settings.viscosity;
      }
    });
  }

  /// All wave vectors that count, one of each ±k.
  void find_waves() {
    const Vec3 size = extent();
    const double last = 2 * xi * std::sqrt(-std::log(kExact) + 5);
    std::array<int, 3> n;
    for (int d = 0; d < 3; ++d) n[d] = static_cast<int>(std::ceil(last * size[d] / (2 * kPi)));
    for (int i = 0; i <= n[0]; ++i)
      for (int j = -n[1]; j <= n[1]; ++j)
        for (int k = -n[2]; k <= n[2]; ++k) {
          if (i == 0 && (j < 0 || (j == 0 && k <= 0))) continue;
          const Vec3 wave = 2 * kPi * Vec3(i, j, k).cwiseQuotient(size);
          if (wave.norm() < last) waves.push_back(wave);
        }
  }

  /// Plain Ewald sum: structure factors of every wave vector.
  void add_waves(const VecX& f, VecX& u) const {
    const double volume = extent().prod();
    constexpr std::size_t kWaves = 256;
    std::vector<VecX> partial(chunk_count(waves.size(), kWaves));
    parallel_for_chunks(
        waves.size(), kWaves, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
          VecX& out = partial[chunk];
          out.setZero(f.size());
          std::vector<double> cosine(x.size()), sine(x.size());
          for (std::size_t w = begin; w < end; ++w) {
            const Vec3& k = waves[w];
            const Vec3 unit = k.normalized();
            std::vector<Vec3> c(radii.size(), Vec3::Zero()), s(radii.size(), Vec3::Zero());
            for (std::size_t i = 0; i < x.size(); ++i) {
              const double phase = k.dot(x[i]);
              cosine[i] = std::cos(phase);
              sine[i] = std::sin(phase);
              const Vec3 g = f.segment<3>(static_cast<Index>(3 * i));
              const auto p = static_cast<std::size_t>(radius_class[i]);
              c[p] += cosine[i] * g;
              s[p] += sine[i] * g;
            }
            for (std::size_t q = 0; q < radii.size(); ++q) {
              Vec3 even = Vec3::Zero(), odd = Vec3::Zero();
              for (std::size_t p = 0; p < radii.size(); ++p) {
                const double m = 2 * internal::wave_amplitude(k.norm(), xi, radii[p], radii[q]);
                even += m * (c[p] - unit.dot(c[p]) * unit);
                odd += m * (s[p] - unit.dot(s[p]) * unit);
              }
              for (std::size_t i = 0; i < x.size(); ++i)
                if (static_cast<std::size_t>(radius_class[i]) == q)
                  out.segment<3>(static_cast<Index>(3 * i)) += cosine[i] * even + sine[i] * odd;
            }
          }
        });
    for (const VecX& part : partial) u += part / (volume * settings.viscosity);
  }
};

RpyMobility::RpyMobility(std::vector<Vec3> centres, std::vector<double> radii,
                         const RpySettings& settings)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.x = std::move(centres);
  m.a = std::move(radii);
  m.settings = settings;
  m.check();
  m.plain = settings.tolerance < kPlainSums;
  m.split = !m.x.empty() && (settings.box.has_value() ||
                             (!m.plain && static_cast<Index>(m.x.size()) > settings.direct_up_to));
  if (!m.split) return;
  m.classify();
  const GridRule* rule = std::begin(kGridRules);
  while (rule->tolerance > 1.001 * settings.tolerance) ++rule;
  m.choose(*rule);
  m.sort_by_cell();
  m.build_near();
  if (m.plain)
    m.find_waves();
  else
    m.grid.emplace(m.x, m.radius_class, m.radii, m.xi, rule->spacing / m.xi, rule->order,
                   settings.box);
}
RpyMobility::~RpyMobility() = default;
RpyMobility::RpyMobility(RpyMobility&&) noexcept = default;
RpyMobility& RpyMobility::operator=(RpyMobility&&) noexcept = default;

Index RpyMobility::count() const { return static_cast<Index>(impl_->x.size()); }
bool RpyMobility::is_direct() const { return !impl_->split || impl_->plain; }

void RpyMobility::apply(const VecX& f, VecX& u) const {
  const Impl& m = *impl_;
  if (f.size() != 3 * count())
    throw Error("mobility", "three forces per sphere are needed, found " +
                                std::to_string(f.size()) + " numbers for " +
                                std::to_string(count()) + " spheres");
  VecX sum = VecX::Zero(f.size());
  if (!m.split) {
    m.add_pairs(f, sum);
  } else {
    VecX sorted(f.size()), out = VecX::Zero(f.size());
    for (Index i = 0; i < count(); ++i)
      sorted.segment<3>(3 * i) = f.segment<3>(3 * m.place[static_cast<std::size_t>(i)]);
    m.add_near(sorted, out);
    if (m.plain)
      m.add_waves(sorted, out);
    else
      m.grid->add(sorted, m.settings.viscosity, out);
    for (Index i = 0; i < count(); ++i)
      sum.segment<3>(3 * m.place[static_cast<std::size_t>(i)]) = out.segment<3>(3 * i);
  }
  u.swap(sum);
}

}  // namespace orthant
