// SPDX-License-Identifier: Apache-2.0
// force/rpy_grid.cpp: (forces at spheres) => grid => transforms => grid => velocities at spheres.
#include "force/rpy_grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/FFT>

#include "force/rpy_wave.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {
namespace {

using Complex = std::complex<double>;
constexpr std::size_t kLines = 64;     // transforms in one go
constexpr std::size_t kTile = 8;       // of them read and written together
constexpr std::size_t kSpheres = 256;  // interpolations in one go
constexpr int kMaxOrder = 16;

/// Places of the six components of a symmetric matrix.
constexpr int kComponent[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};

/// Complex transforms along an axis: `count` lines, line l begins at begin(l), `stride` apart.
/// Lines that stand beside each other in memory are read together: one cache line serves several.
template <class Begin>
void along(Complex* data, std::size_t count, std::size_t stride, int size, int filled, int kept,
           bool inverse, Begin&& begin) {
  parallel_for(count, kLines, [&](std::size_t first, std::size_t last) {
    Eigen::FFT<double> fft;
    const auto n = static_cast<std::size_t>(size);
    std::vector<Complex> in(kTile * n), out(kTile * n);
    std::array<Complex*, kTile> line;
    for (; first < last; first += kTile) {
      const std::size_t lines = std::min(kTile, last - first);
      for (std::size_t t = 0; t < lines; ++t) line[t] = data + begin(first + t);
      for (std::size_t i = 0; i < static_cast<std::size_t>(filled); ++i)
        for (std::size_t t = 0; t < lines; ++t) in[t * n + i] = line[t][i * stride];
      for (std::size_t t = 0; t < lines; ++t) {
        if (inverse)
          fft.inv(out.data() + t * n, in.data() + t * n, size);
        else
          fft.fwd(out.data() + t * n, in.data() + t * n, size);
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(kept); ++i)
        for (std::size_t t = 0; t < lines; ++t) line[t][i * stride] = out[t * n + i];
    }
  });
}

}  // namespace

int transform_size(int least) {
  for (int n = std::max(least, 1);; ++n) {
    int rest = n;
    for (const int prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1 && n % 2 == 0) return n;
  }
}

GridTransform::GridTransform(std::array<int, 3> filled, std::array<int, 3> size)
    : filled_(filled), size_(size) {}

std::size_t GridTransform::mode_count() const {
  return static_cast<std::size_t>(size_[0]) * static_cast<std::size_t>(size_[1]) *
         static_cast<std::size_t>(last_modes());
}

std::size_t GridTransform::field_size() const {
  return static_cast<std::size_t>(filled_[0]) * static_cast<std::size_t>(filled_[1]) *
         static_cast<std::size_t>(filled_[2]);
}

void GridTransform::forward(const std::vector<double>& field, std::vector<Complex>& modes) const {
  modes.resize(mode_count());
  const auto n1 = static_cast<std::size_t>(size_[1]), n2 = static_cast<std::size_t>(last_modes());
  const auto f0 = static_cast<std::size_t>(filled_[0]), f1 = static_cast<std::size_t>(filled_[1]),
             f2 = static_cast<std::size_t>(filled_[2]);
  parallel_for(f0 * f1, kLines, [&](std::size_t first, std::size_t last) {
    Eigen::FFT<double> fft;
    fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    std::vector<double> in(static_cast<std::size_t>(size_[2]), 0.0);
    for (std::size_t l = first; l < last; ++l) {
      std::copy_n(field.data() + l * f2, f2, in.data());
      fft.fwd(modes.data() + (l / f1 * n1 + l % f1) * n2, in.data(), size_[2]);
    }
  });
  along(modes.data(), f0 * n2, n2, size_[1], filled_[1], size_[1], false,
        [&](std::size_t l) { return l / n2 * n1 * n2 + l % n2; });
  along(modes.data(), n1 * n2, n1 * n2, size_[0], filled_[0], size_[0], false,
        [](std::size_t l) { return l; });
}

void GridTransform::inverse(std::vector<Complex>& modes, std::vector<double>& field) const {
  const auto n1 = static_cast<std::size_t>(size_[1]), n2 = static_cast<std::size_t>(last_modes());
  const auto f0 = static_cast<std::size_t>(filled_[0]), f1 = static_cast<std::size_t>(filled_[1]),
             f2 = static_cast<std::size_t>(filled_[2]);
  along(modes.data(), n1 * n2, n1 * n2, size_[0], size_[0], filled_[0], true,
        [](std::size_t l) { return l; });
  along(modes.data(), f0 * n2, n2, size_[1], size_[1], filled_[1], true,
        [&](std::size_t l) { return l / n2 * n1 * n2 + l % n2; });
  field.resize(field_size());
  parallel_for(f0 * f1, kLines, [&](std::size_t first, std::size_t last) {
    Eigen::FFT<double> fft;
    fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    std::vector<double> out(static_cast<std::size_t>(size_[2]));
    for (std::size_t l = first; l < last; ++l) {
      fft.inv(out.data(), modes.data() + (l / f1 * n1 + l % f1) * n2, size_[2]);
      std::copy_n(out.data(), f2, field.data() + l * f2);
    }
  });
}

double WaveGrid::point_count(const Vec3& extent, double spacing, int order, bool periodic) {
  double count = 1;
  for (int d = 0; d < 3; ++d)
    count *= periodic ? extent[d] / spacing : 2 * (extent[d] / spacing + order);
  return count;
}

WaveGrid::WaveGrid(std::span<const Vec3> centres, std::span<const int> radius_class,
                   std::span<const double> radii, double xi, double spacing, int order,
                   const std::optional<std::array<Vec3, 2>>& box)
    : centres_(centres),
      class_(radius_class),
      radii_(radii),
      xi_(xi),
      order_(std::min(order, kMaxOrder)),
      periodic_(box.has_value()) {
  Vec3 lower = centres[0], upper = centres[0];
  for (const Vec3& x : centres) {
    lower = lower.cwiseMin(x);
    upper = upper.cwiseMax(x);
  }
  if (box) {
    lower = (*box)[0];
    upper = (*box)[1];
  }
  std::array<int, 3> size{};
  for (int d = 0; d < 3; ++d) {
    const double extent = upper[d] - lower[d];
    const int intervals = static_cast<int>(std::ceil(extent / spacing));
    if (periodic_) {
      filled_[d] = size[d] = transform_size(std::max(intervals, order_));
      step_[d] = extent / size[d];
      origin_[d] = lower[d];
    } else {
      filled_[d] = intervals + order_ + 1;
      size[d] = transform_size(2 * filled_[d]);
      step_[d] = spacing;
      // Half a step beyond: the place of the outermost sphere must not hang on rounding.
      origin_[d] = lower[d] - (0.5 * order_ - 0.5) * spacing;
    }
  }
  for (int i = 0; i < order_; ++i) {
    double product = 1;
    for (int j = 0; j < order_; ++j)
      if (j != i) product *= i - j;
    denominators_.push_back(1 / product);
  }
  transform_.emplace(filled_, size);
  if (periodic_)
    make_periodic_kernel();
  else
    make_free_kernel();
}

std::size_t WaveGrid::pair_of(std::size_t a, std::size_t b) const {
  return std::max(a, b) * (std::max(a, b) + 1) / 2 + std::min(a, b);
}

void WaveGrid::make_free_kernel() {
  // W between points of the grid, as far apart as two of them are. What lies at negative distances
  // stands at the end of the grid; W is even, so its transform is real.
  const std::array<int, 3>& n = transform_->size();
  const GridTransform whole(n, n);
  std::vector<double> field(whole.field_size());
  std::vector<Complex> modes;
  for (std::size_t b = 0; b < radii_.size(); ++b)
    for (std::size_t a = 0; a <= b; ++a) {
      const WaveKernel kernel(xi_, radii_[a], radii_[b]);
      std::vector<RpyPair> octant(transform_->field_size());
      const auto octant_at = [&](int i, int j, int k) {
        return (static_cast<std::size_t>(i) * static_cast<std::size_t>(filled_[1]) +
                static_cast<std::size_t>(j)) *
                   static_cast<std::size_t>(filled_[2]) +
               static_cast<std::size_t>(k);
      };
      for (int i = 0; i < filled_[0]; ++i)
        for (int j = 0; j < filled_[1]; ++j)
          for (int k = 0; k < filled_[2]; ++k)
            octant[octant_at(i, j, k)] = kernel.at(step_.cwiseProduct(Vec3(i, j, k)).norm());
      std::vector<double>& out = kernel_.emplace_back(6 * transform_->mode_count());
      for (int r = 0; r < 3; ++r)
        for (int c = r; c < 3; ++c) {
          std::size_t at = 0;
          for (int i = 0; i < n[0]; ++i)
            for (int j = 0; j < n[1]; ++j)
              for (int k = 0; k < n[2]; ++k, ++at) {
                const int p[3] = {2 * i < n[0] ? i : i - n[0], 2 * j < n[1] ? j : j - n[1],
                                  2 * k < n[2] ? k : k - n[2]};
                field[at] = 0;
                if (std::abs(p[0]) >= filled_[0] || std::abs(p[1]) >= filled_[1] ||
                    std::abs(p[2]) >= filled_[2])
                  continue;
                const RpyPair w = octant[octant_at(std::abs(p[0]), std::abs(p[1]), std::abs(p[2]))];
                const Vec3 d = step_.cwiseProduct(Vec3(p[0], p[1], p[2]));
                const double square = d.squaredNorm();
                field[at] =
                    (r == c ? w.identity : 0) + (square > 0 ? w.along * d[r] * d[c] / square : 0);
              }
          whole.forward(field, modes);
          double* to = out.data() + static_cast<std::size_t>(kComponent[r][c]) * modes.size();
          for (std::size_t m = 0; m < modes.size(); ++m) to[m] = modes[m].real();
        }
    }
}

void WaveGrid::make_periodic_kernel() {
  const std::array<int, 3>& n = transform_->size();
  const int last = transform_->last_modes();
  double volume = 1;
  for (int d = 0; d < 3; ++d) volume *= step_[d];
  for (std::size_t b = 0; b < radii_.size(); ++b)
    for (std::size_t a = 0; a <= b; ++a) {
      std::vector<double>& out = kernel_.emplace_back(transform_->mode_count());
      std::size_t at = 0;
      for (int i = 0; i < n[0]; ++i)
        for (int j = 0; j < n[1]; ++j)
          for (int k = 0; k < last; ++k, ++at) {
            // The highest mode of an even grid has no sign; it is nothing here.
            if ((i == 0 && j == 0 && k == 0) || 2 * i == n[0] || 2 * j == n[1] || 2 * k == n[2])
              continue;
            Vec3 wave(2 * i < n[0] ? i : i - n[0], 2 * j < n[1] ? j : j - n[1], k);
            for (int d = 0; d < 3; ++d) wave[d] *= 2 * std::numbers::pi / (n[d] * step_[d]);
            out[at] = wave_amplitude(wave.norm(), xi_, radii_[a], radii_[b]) / volume;
          }
    }
}

template <class Visit>
void WaveGrid::around(std::size_t i, Visit&& visit) const {
  double weight[3][kMaxOrder];
  std::size_t place[3][kMaxOrder];
  const std::size_t stride[3] = {
      static_cast<std::size_t>(filled_[1]) * static_cast<std::size_t>(filled_[2]),
      static_cast<std::size_t>(filled_[2]), 1};
  for (int d = 0; d < 3; ++d) {
    const double x = (centres_[i][d] - origin_[d]) / step_[d];
    const double first = std::floor(x) - (order_ / 2 - 1), t = x - first;
    double before[kMaxOrder + 1], after = 1;  // products of t − j over j < i and j > i
    before[0] = 1;
    for (int j = 0; j < order_; ++j) before[j + 1] = before[j] * (t - j);
    for (int j = order_ - 1; j >= 0; --j) {
      weight[d][j] = before[j] * after * denominators_[static_cast<std::size_t>(j)];
      after *= t - j;
    }
    double wrapped = first;
    if (periodic_) {
      wrapped = std::fmod(first, filled_[d]);
      if (wrapped < 0) wrapped += filled_[d];
    }
    int at = std::clamp(static_cast<int>(wrapped), 0, filled_[d] - (periodic_ ? 1 : order_));
    for (int j = 0; j < order_; ++j, ++at) {
      if (at == filled_[d]) at = 0;
      place[d][j] = static_cast<std::size_t>(at) * stride[d];
    }
  }
  for (int a = 0; a < order_; ++a)
    for (int b = 0; b < order_; ++b) {
      const double ab = weight[0][a] * weight[1][b];
      const std::size_t row = place[0][a] + place[1][b];
      for (int c = 0; c < order_; ++c) visit(row + place[2][c], ab * weight[2][c]);
    }
}

void WaveGrid::add(const VecX& f, double viscosity, VecX& u) const {
  const std::size_t classes = radii_.size(), size = transform_->field_size(),
                    modes = transform_->mode_count();
  std::vector<std::vector<double>> fields(3 * classes, std::vector<double>(size, 0.0));
  for (std::size_t i = 0; i < centres_.size(); ++i) {
    double* grid[3];
    const auto c = static_cast<std::size_t>(class_[i]);
    for (std::size_t d = 0; d < 3; ++d) grid[d] = fields[3 * c + d].data();
    const double* force = f.data() + 3 * i;
    around(i, [&](std::size_t at, double weight) {
      for (int d = 0; d < 3; ++d) grid[d][at] += weight * force[d];
    });
  }
  std::vector<std::vector<Complex>> waves(3 * classes);
  for (std::size_t d = 0; d < waves.size(); ++d) transform_->forward(fields[d], waves[d]);
  const std::array<int, 3>& n = transform_->size();
  const auto last = static_cast<std::size_t>(transform_->last_modes());
  parallel_for(modes, 4096, [&](std::size_t begin, std::size_t end) {
    std::vector<Complex> in(3 * classes), out(3 * classes);
    for (std::size_t m = begin; m < end; ++m) {
      for (std::size_t d = 0; d < in.size(); ++d) in[d] = waves[d][m];
      std::fill(out.begin(), out.end(), Complex(0));
      Vec3 unit = Vec3::Zero();
      if (periodic_) {
        const int i = static_cast<int>(m / last) / n[1], j = static_cast<int>(m / last) % n[1];
        unit = Vec3(2 * i < n[0] ? i : i - n[0], 2 * j < n[1] ? j : j - n[1],
                    static_cast<double>(m % last));
        for (int d = 0; d < 3; ++d) unit[d] /= n[d] * step_[d];
        unit /= std::max(unit.norm(), 1e-300);
      }
      for (std::size_t to = 0; to < classes; ++to)
        for (std::size_t from = 0; from < classes; ++from) {
          const std::vector<double>& kernel = kernel_[pair_of(to, from)];
          if (periodic_) {
            const Complex along =
                unit[0] * in[3 * from] + unit[1] * in[3 * from + 1] + unit[2] * in[3 * from + 2];
            for (std::size_t d = 0; d < 3; ++d)
              out[3 * to + d] += kernel[m] * (in[3 * from + d] - unit[static_cast<int>(d)] * along);
          } else {
            for (std::size_t r = 0; r < 3; ++r)
              for (std::size_t c = 0; c < 3; ++c)
                out[3 * to + r] += kernel[static_cast<std::size_t>(kComponent[r][c]) * modes + m] *
                                   in[3 * from + c];
          }
        }
      for (std::size_t d = 0; d < in.size(); ++d) waves[d][m] = out[d];
    }
  });
  for (std::size_t d = 0; d < waves.size(); ++d) transform_->inverse(waves[d], fields[d]);
  parallel_for(centres_.size(), kSpheres, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double sum[3] = {0, 0, 0};
      const double* grid[3];
      const auto c = static_cast<std::size_t>(class_[i]);
      for (std::size_t d = 0; d < 3; ++d) grid[d] = fields[3 * c + d].data();
      around(i, [&](std::size_t at, double weight) {
        for (int d = 0; d < 3; ++d) sum[d] += weight * grid[d][at];
      });
      for (std::size_t d = 0; d < 3; ++d) u[static_cast<Index>(3 * i + d)] += sum[d] / viscosity;
    }
  });
}

}  // namespace orthant::internal
