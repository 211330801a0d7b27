// SPDX-License-Identifier: Apache-2.0
// reproduce/reproduce.cpp: the list of experiments, and what they share: numbers, CSV, SVG, files.
#include "reproduce/reproduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "orthant/base/axis.hpp"
#include "orthant/base/error.hpp"

namespace orthant::reproduce {
namespace {

constexpr SourceText kSources[] = {
    {Source::Engine, "Differentiable physics engine",
     "appendices A and B of a 2D engine in a learning framework (de Avila Belbute-Peres et al.)"},
    {Source::Gradient, "Gradient of an LCP", "Werling: Differentiating an LCP"},
    {Source::Relcp, "ReLCP",
     "Palmer, Aktulga, Gao: ReLCP: scalable complementarity-based collision resolution for smooth "
     "rigid bodies"},
    {Source::Notes, "LCP notes", "Pfrommer: LCP notes"},
    {Source::InteriorPoint, "Interior point",
     "thesis on interior-point methods for rigid and flexible contact"},
    {Source::Own, "Beyond the documents", "cases of our own"},
};

constexpr std::array kExperiments = {
    Experiment{"discs", "gradient of 50 steps of discs in contact, beside other engines",
               Source::Engine, 3, 4, run_discs},
    Experiment{"mass", "a mass inferred from a motion with impacts", Source::Engine, 0.1, 0.1,
               run_mass},
    Experiment{"kinks", "elastic impact, books without pressure: every kink named",
               Source::Gradient, 0.1, 0.1, run_kinks},
    Experiment{"notes", "a sliding block: noise, models that stick, what is found from data",
               Source::Notes, 2, 16, run_notes},
    Experiment{"ellipsoids", "two ellipsoids pushed past each other, against the exact motion",
               Source::Relcp, 3, 45, run_ellipsoids},
    Experiment{"capsules", "three capsules that overlap: jitter, and none", Source::Relcp, 1, 1,
               run_capsules},
    Experiment{"compaction", "ellipsoids drawn into a dense packing, against sub-spheres",
               Source::Relcp, 3, 11700, run_compaction},
    Experiment{"packing", "all methods from a dilute suspension to a packing", Source::Relcp, 20,
               1500, run_packing},
    Experiment{"colony", "rods that grow and divide, from one cell", Source::Relcp, 3, 6500,
               run_colony},
    Experiment{"roughness", "a colony of smooth cells against sub-spheres: rows, order",
               Source::Relcp, 20, 55, run_roughness},
    Experiment{"chainmail", "interlaced rings pulled apart", Source::Relcp, 15, 360, run_chainmail},
    Experiment{"heap", "ellipsoids with friction heaped against a wall, against sub-spheres",
               Source::Relcp, 6, 1940, run_heap},
    Experiment{"warm_start", "the interior point from the answer of the step before",
               Source::InteriorPoint, 5, 1, run_warm_start},
    Experiment{"balls", "balls in the box: interior-point iterations by size",
               Source::InteriorPoint, 15, 900, run_balls},
    Experiment{"stacks", "spheres stacked, of equal masses and of 10^n kg", Source::InteriorPoint,
               5, 10, run_stacks},
    Experiment{"bending", "a soft beam bent over two cylinders, against penalty contact",
               Source::InteriorPoint, 20, 900, run_bending},
    Experiment{"hertz", "a soft ball pressed between plates, against Hertz", Source::Own, 5, 18,
               run_hertz},
    Experiment{"rods", "a suspension of active Brownian rods in a periodic box, at scale",
               Source::Own, 1, 801, run_rods},
};

/// Ticks at round numbers, or powers of ten; on an axis of few decades 2 and 5 times them as well.
std::vector<double> ticks(double lo, double hi, bool logarithmic) {
  if (!logarithmic) return Axis(lo, hi).ticks();
  std::vector<double> at;
  const double step = std::max(1.0, std::floor((hi - lo) / 6));
  const bool few = hi - lo < 2.5;
  for (double e = few ? std::floor(lo) : std::ceil(lo); e <= hi + 1e-9; e += step)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double t = e + std::log10(factor);
      if ((few || factor == 1) && t >= lo - 1e-9 && t <= hi + 1e-9) at.push_back(t);
    }
  return at;
}

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }
std::span<const SourceText> sources() { return kSources; }

const Experiment& find_experiment(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Experiment& e : kExperiments) {
    if (e.name == name) return e;
    names.push_back(e.name);
  }
  std::string message = "there is no experiment of this name";
  const std::string near = nearest_spelling(name, names.data(), names.size());
  if (!near.empty()) message += " (did you mean " + near + "?)";
  throw Error(name, message);
}

std::string number(double x, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, x == 0 ? 0.0 : x);  // no "-0"
  return text;
}

std::string to_csv(std::span<const std::string> names,
                   std::span<const std::vector<double>> columns) {
  std::ostringstream out;
  out.precision(12);
  for (std::size_t j = 0; j < names.size(); ++j) out << (j ? "," : "") << names[j];
  out << '\n';
  for (std::size_t i = 0; !columns.empty() && i < columns[0].size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) out << (j ? "," : "") << columns[j][i];
    out << '\n';
  }
  return out.str();
}

std::string plot_svg(std::string_view title, std::string_view x_label, std::string_view y_label,
                     std::span<const Curve> curves, bool log_x, bool log_y) {
  constexpr double kH = 420, kL = 70, kT = 40, kB = 50;
  std::size_t longest = 0;
  for (const Curve& c : curves) longest = std::max(longest, c.name.size());
  // The legend takes what its names need, 7 per letter; the frame keeps its width.
  const double kR = std::max(100.0, 45 + 7 * static_cast<double>(longest)), kW = 490 + kR;
  static constexpr const char* kColours[] = {"#1b6ca8", "#c44536", "#3a7d44", "#8e5ea2",
                                             "#e09f3e", "#444444", "#17a2b8", "#b5179e"};
  double x0 = HUGE_VAL, x1 = -HUGE_VAL, y0 = HUGE_VAL, y1 = -HUGE_VAL;
  const auto map_x = [&](double x) { return log_x ? std::log10(x) : x; };
  const auto map_y = [&](double y) { return log_y ? std::log10(y) : y; };
  const auto usable = [&](double x, double y) {
    return std::isfinite(map_x(x)) && std::isfinite(map_y(y));
  };
  for (const Curve& c : curves)
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      if (!usable(c.x[i], c.y[i])) continue;
      x0 = std::min(x0, map_x(c.x[i]));
      x1 = std::max(x1, map_x(c.x[i]));
      y0 = std::min(y0, map_y(c.y[i]));
      y1 = std::max(y1, map_y(c.y[i]));
    }
  if (x0 > x1) x0 = x1 = y0 = y1 = 0;  // not a single point
  // Constant up to rounding: widened, and no curve lies on the frame.
  const Axis across(x0, x1), up(y0, y1, 0.04);
  x0 = across.lo, x1 = across.hi, y0 = up.lo, y1 = up.hi;
  const auto px = [&](double x) { return kL + (x - x0) / (x1 - x0) * (kW - kL - kR); };
  const auto py = [&](double y) { return kH - kB - (y - y0) / (y1 - y0) * (kH - kT - kB); };
  std::ostringstream out;
  out.precision(5);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kW << "\" height=\"" << kH
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n<text x=\""
      << kL << "\" y=\"22\" font-size=\"15\">" << title << "</text>\n";
  for (const double t : ticks(x0, x1, log_x))
    out << "<line x1=\"" << px(t) << "\" x2=\"" << px(t) << "\" y1=\"" << kT << "\" y2=\""
        << kH - kB << "\" stroke=\"#ddd\"/><text x=\"" << px(t) << "\" y=\"" << kH - kB + 16
        << "\" text-anchor=\"middle\">" << (log_x ? number(std::pow(10, t)) : across.text(t))
        << "</text>\n";
  for (const double t : ticks(y0, y1, log_y))
    out << "<line x1=\"" << kL << "\" x2=\"" << kW - kR << "\" y1=\"" << py(t) << "\" y2=\""
        << py(t) << "\" stroke=\"#ddd\"/><text x=\"" << kL - 6 << "\" y=\"" << py(t) + 4
        << "\" text-anchor=\"end\">" << (log_y ? number(std::pow(10, t)) : up.text(t))
        << "</text>\n";
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const char* colour = kColours[c % std::size(kColours)];
    out << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"1.6\" points=\"";
    for (std::size_t i = 0; i < curves[c].x.size(); ++i)
      if (usable(curves[c].x[i], curves[c].y[i]))
        out << px(map_x(curves[c].x[i])) << ',' << py(map_y(curves[c].y[i])) << ' ';
    const double y = kT + 14 + 18 * static_cast<double>(c);
    out << "\"/>\n<line x1=\"" << kW - kR + 10 << "\" x2=\"" << kW - kR + 32 << "\" y1=\"" << y
        << "\" y2=\"" << y << "\" stroke=\"" << colour << "\" stroke-width=\"2\"/><text x=\""
        << kW - kR + 38 << "\" y=\"" << y + 4 << "\">" << curves[c].name << "</text>\n";
  }
  out << "<text x=\"" << 0.5 * (kL + kW - kR) << "\" y=\"" << kH - 12
      << "\" text-anchor=\"middle\">" << x_label << "</text>\n<text transform=\"rotate(-90)\" x=\""
      << -0.5 * (kT + kH - kB) << "\" y=\"12\" text-anchor=\"middle\">" << y_label
      << "</text>\n</svg>\n";
  return out.str();
}

void write_file(const Options& options, std::string_view name, const std::string& text,
                Result& result) {
  if (options.directory.empty()) return;
  if (!options.writes) return;
  std::filesystem::create_directories(options.directory);
  const std::string path = (std::filesystem::path(options.directory) / name).string();
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw Error(path, "cannot be written");
  result.files.push_back(path);
}

}  // namespace orthant::reproduce
