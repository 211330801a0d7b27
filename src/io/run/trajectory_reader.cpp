// SPDX-License-Identifier: Apache-2.0
// io/run/trajectory_reader.cpp: segments => Trajectory; signals of it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/run/checkpoint.hpp"
#include "io/run/hdf5_data.hpp"
#include "io/run/population_signals.hpp"
#include "io/run/recorder.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {
namespace {

using io::DataReader;
using io::Shape64;

/// Appends rows `kept` (of `width` numbers) of `from`.
template <class T, class S>
void append(std::vector<T>& to, const std::vector<S>& from, const std::vector<std::size_t>& kept,
            std::size_t width) {
  for (const std::size_t row : kept)
    for (std::size_t i = 0; i < width; ++i) to.push_back(static_cast<T>(from[row * width + i]));
}

/// Takes the whole of `from` where nothing is left out, which is the rule.
template <class T>
void append_all(std::vector<T>& to, std::vector<T>&& from, const std::vector<std::size_t>& kept,
                std::size_t width, bool all) {
  if (all && to.empty())
    to = std::move(from);
  else if (all)
    to.insert(to.end(), from.begin(), from.end());
  else
    append(to, from, kept, width);
}

void append_contacts(Trajectory& t, const DataReader& in, const std::vector<std::size_t>& frames,
                     hsize_t T) {
  const std::vector<std::int64_t> offset = in.integers("contacts/offset", {T + 1});
  const hsize_t K = static_cast<hsize_t>(offset.back());
  std::vector<std::size_t> kept;
  for (std::size_t f = 0; f < static_cast<std::size_t>(T); ++f)
    if (offset[f] < 0 || offset[f + 1] < offset[f] || offset[f + 1] > offset.back())
      in.fail("contacts/offset", "must ascend");
  std::vector<double> gap = in.doubles("contacts/gap", {K});  // first: K is what the file holds
  for (const std::size_t f : frames) {
    for (std::int64_t c = offset[f]; c < offset[f + 1]; ++c)
      kept.push_back(static_cast<std::size_t>(c));
    t.contact_offset.push_back(t.contact_offset.back() + offset[f + 1] - offset[f]);
  }
  append(t.contact_a, in.integers("contacts/body_a", {K}), kept, 1);
  append(t.contact_b, in.integers("contacts/body_b", {K}), kept, 1);
  append(t.contact_set, in.integers("contacts/set", {K}), kept, 1);
  const bool all = kept.size() == K;
  append_all(t.contact_point, in.doubles("contacts/point", {K, 3}), kept, 3, all);
  append_all(t.contact_normal, in.doubles("contacts/normal", {K, 3}), kept, 3, all);
  append_all(t.contact_impulse, in.doubles("contacts/impulse", {K, 3}), kept, 3, all);
  append_all(t.contact_gap, std::move(gap), kept, 1, all);
}

/// Rows of the bodies of kept frames => a place for every body that there ever is.
void append_growing(Trajectory& t, const DataReader& in, const std::vector<std::size_t>& frames,
                    hsize_t T, bool velocities) {
  const std::vector<std::int64_t> offset = in.integers("bodies/offset", {T + 1});
  const auto R = static_cast<hsize_t>(std::max<std::int64_t>(offset.back(), 0));
  const std::vector<std::int64_t> number = in.integers("bodies/number", {R});
  const std::vector<double> length = in.doubles("bodies/length", {R});
  const std::vector<double> pose = in.doubles("pose", {R, 7});
  velocities = velocities && in.has("velocity");
  const std::vector<double> velocity =
      velocities ? in.doubles("velocity", {R, 6}) : std::vector<double>();
  const std::size_t N = t.bodies.size();
  for (const std::size_t f : frames) {
    if (offset[f] < 0 || offset[f + 1] < offset[f] || offset[f + 1] > offset.back())
      in.fail("bodies/offset", "must ascend");
    const std::size_t first = t.alive.size();
    t.alive.resize(first + N, 0);
    t.length.resize(first + N, 0);
    t.pose.resize(7 * (first + N), 0);
    for (std::size_t b = 0; b < N; ++b) t.pose[7 * (first + b) + 3] = 1;
    if (velocities) t.velocity.resize(6 * (first + N), 0);
    for (auto r = static_cast<std::size_t>(offset[f]); r < static_cast<std::size_t>(offset[f + 1]);
         ++r) {
      if (number[r] < 0 || static_cast<std::size_t>(number[r]) >= N)
        in.fail("bodies/number", "has a body that is not in the lineage");
      const std::size_t at = first + static_cast<std::size_t>(number[r]);
      t.alive[at] = 1;
      t.length[at] = length[r];
      std::copy_n(pose.data() + 7 * r, 7, t.pose.data() + 7 * at);
      if (velocities) std::copy_n(velocity.data() + 6 * r, 6, t.velocity.data() + 6 * at);
    }
  }
}

void append_segment(Trajectory& t, const std::string& path, const TrajectoryOptions& options,
                    std::int64_t& seen, std::int64_t& last) {
  const DataReader in(path);
  const std::int64_t version = in.integers("format_version", {1})[0];
  if (version != io::kTrajectoryVersion)
    in.fail("format_version", "must be " + std::to_string(io::kTrajectoryVersion) + ", found " +
                                  std::to_string(version));
  const hsize_t N = t.bodies.size();
  std::vector<double> time = in.doubles("time", {H5S_UNLIMITED});
  const hsize_t T = time.size();
  std::vector<std::int64_t> step = in.integers("step", {T});
  std::vector<std::size_t> kept;
  for (std::size_t f = 0; f < time.size(); ++f) {
    // A segment that was begun before a kill may be written again: each step once.
    if (step[f] <= last) continue;
    last = step[f];
    if (seen++ % options.every == 0) kept.push_back(f);
  }
  const bool all = kept.size() == time.size();
  append_all(t.time, std::move(time), kept, 1, all);
  append_all(t.step, std::move(step), kept, 1, all);
  if (t.grows())
    append_growing(t, in, kept, T, options.velocities);
  else
    append_all(t.pose, in.doubles("pose", {T, N, 7}), kept, 7 * static_cast<std::size_t>(N), all);
  if (!t.grows() && options.velocities && in.has("velocity"))
    append_all(t.velocity, in.doubles("velocity", {T, N, 6}), kept, 6 * static_cast<std::size_t>(N),
               all);
  if (t.node_count() > 0) {
    const auto M = static_cast<hsize_t>(t.node_count());
    append_all(t.node, in.doubles("node", {T, M, 3}), kept, 3 * static_cast<std::size_t>(M), all);
  }
  if (options.contacts && in.has("contacts/offset")) {
    if (t.contact_offset.empty()) t.contact_offset.push_back(0);
    append_contacts(t, in, kept, T);
  }
  append_all(t.kinetic, in.doubles("report/kinetic", {T}), kept, 1, all);
  append_all(t.potential, in.doubles("report/potential", {T}), kept, 1, all);
  append_all(t.residual, in.doubles("report/residual", {T}), kept, 1, all);
  append_all(t.deepest, in.doubles("report/deepest", {T}), kept, 1, all);
  append_all(t.joint_error, in.doubles("report/joint_error", {T}), kept, 1, all);
  append_all(t.contacts, in.integers("report/contacts", {T}), kept, 1, all);
  append_all(t.iterations, in.integers("report/iterations", {T}), kept, 1, all);
  append_all(t.outcome, in.integers("report/outcome", {T}), kept, 1, all);
  if (in.has("report/solves")) {  // runs of earlier versions have neither
    append_all(t.constraints, in.integers("report/constraints", {T}), kept, 1, all);
    append_all(t.solves, in.integers("report/solves", {T}), kept, 1, all);
  }
}

struct RunSignal {
  std::string_view name, unit;
};
constexpr RunSignal kSignals[] = {
    {"energy", "J"},
    {"kinetic", "J"},
    {"potential", "J"},
    {"contacts", ""},
    {"residual", ""},
    {"deepest", "m"},
    {"joint_error", "m, rad"},
    {"iterations", ""},
    {"pressed", ""},
    {"sliding", ""},
    {"force", "N"},
    {"constraints", ""},
    {"solves", ""},
    {"bodies", ""},
    {"order", ""},
    {"local_order", ""},
};
struct BodySignal {
  std::string_view name, unit;
};
constexpr BodySignal kBodySignals[] = {
    {"x", "m"},      {"y", "m"},      {"z", "m"},      {"qw", ""},       {"qx", ""},
    {"qy", ""},      {"qz", ""},      {"vx", "m/s"},   {"vy", "m/s"},    {"vz", "m/s"},
    {"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}, {"speed", "m/s"}, {"angle", "rad"},
};

[[noreturn]] void fail_unknown(std::string_view what, const std::string& name,
                               const std::vector<std::string_view>& known) {
  const std::string near = nearest_spelling(name, known.data(), known.size());
  std::string text = "there is no such " + std::string(what);
  if (!near.empty()) text += " (did you mean '" + near + "'?)";
  if (known.size() <= 40) {
    text += "; there are ";
    for (std::size_t i = 0; i < known.size(); ++i)
      text += (i > 0 ? ", " : "") + std::string(known[i]);
  }
  throw Error(std::string(what) + " '" + name + "'", text);
}

/// Contacts of frame f that are pressed, slide, and the sum of their forces.
void contact_sums(const Trajectory& t, std::size_t f, double& pressed, double& sliding,
                  double& force) {
  pressed = sliding = force = 0;
  if (!t.has_contacts()) return;
  for (std::int64_t c = t.contact_offset[f]; c < t.contact_offset[f + 1]; ++c) {
    const auto i = static_cast<std::size_t>(c);
    pressed += t.contact_set[i] != 0;
    sliding += t.contact_set[i] == static_cast<std::uint8_t>(ContactState::Slide);
    const double* p = t.contact_impulse.data() + 3 * i;
    force += std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / t.h;
  }
}

Signal body_signal(const Trajectory& t, const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const std::string body = name.substr(5, dot == std::string::npos ? dot : dot - 5);
  const auto found = std::find(t.bodies.begin(), t.bodies.end(), body);
  if (found == t.bodies.end())
    fail_unknown("body", body, std::vector<std::string_view>(t.bodies.begin(), t.bodies.end()));
  const std::string part = dot == std::string::npos ? "" : name.substr(dot + 1);
  std::vector<std::string_view> parts;
  for (const BodySignal& s : kBodySignals) parts.push_back(s.name);
  const auto which = std::find(parts.begin(), parts.end(), part) - parts.begin();
  if (which == static_cast<std::ptrdiff_t>(parts.size()))
    fail_unknown("signal of a body", part, parts);
  Signal out{name, std::string(kBodySignals[which].unit), {}};
  const std::size_t N = t.bodies.size(), b = static_cast<std::size_t>(found - t.bodies.begin());
  const bool needs_velocity = which >= 7 && which < 14;
  if (needs_velocity && t.velocity.empty()) throw Error(name, "velocities were not recorded");
  for (std::size_t f = 0; f < t.time.size(); ++f) {
    if (!t.is_alive(f, b)) {
      out.values.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const double* x = t.pose.data() + 7 * (f * N + b);
    const double* v = needs_velocity ? t.velocity.data() + 6 * (f * N + b) : nullptr;
    double value = 0;
    if (which < 7)
      value = x[which];
    else if (which < 13)
      value = v[which - 7];
    else if (which == 13)
      value = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    else  // of the whole turn
      value = 2 * std::atan2(std::sqrt(x[4] * x[4] + x[5] * x[5] + x[6] * x[6]), std::abs(x[3]));
    out.values.push_back(value);
  }
  return out;
}

}  // namespace

namespace {

/// The long axis of a body in its own frame; zero where it is fixed or has none.
Vec3 long_axis(const nlohmann::json& body) {
  if (body.at("fixed").get<bool>() || body.at("shapes").size() != 1) return Vec3::Zero();
  const nlohmann::json& shape = body.at("shapes").at(0);
  const std::string type = shape.at("type");
  Vec3 axis = Vec3::Zero();
  if (type == "capsule" || type == "stadium") axis[0] = 1;
  if (type == "ellipsoid" || type == "ellipse") {
    const auto semi = shape.at("semi_axes").get<std::vector<double>>();
    const auto longest = std::max_element(semi.begin(), semi.end());
    if (std::count(semi.begin(), semi.end(), *longest) == 1) axis[longest - semi.begin()] = 1;
  }
  const nlohmann::json& q = shape.at("quaternion");
  return rotate(Quat{q.at(0), q.at(1), q.at(2), q.at(3)}, axis);
}

/// Bodies that were born in the run, from its last segment.
void add_descendants(Trajectory& t, const std::string& folder) {
  const std::vector<std::int64_t> segments = io::segments_of(folder);
  if (segments.empty()) return;
  const DataReader in(io::segment_path(folder, segments.back()));
  if (!in.has("lineage")) return;
  const auto read = [&](const char* name, hsize_t count) { return in.integers(name, {count}); };
  const std::vector<std::int64_t> mother = read("lineage/mother", H5S_UNLIMITED);
  const std::vector<std::int64_t> ancestor = read("lineage/ancestor", mother.size());
  t.born = read("lineage/born", mother.size());
  t.mother.assign(mother.begin(), mother.end());
  t.ancestor.assign(ancestor.begin(), ancestor.end());
  const std::size_t first = t.bodies.size();
  for (std::size_t b = 0; b < mother.size(); ++b) {
    const std::int64_t from = ancestor[b];
    if (from < 0 || static_cast<std::size_t>(from) >= first || (b < first) != (mother[b] == -1) ||
        mother[b] >= static_cast<std::int64_t>(b))
      in.fail("lineage", "does not fit the bodies of the scene");
    if (b < first) continue;
    t.bodies.push_back(t.bodies[static_cast<std::size_t>(from)] + "/" + std::to_string(b));
    const std::size_t at = 3 * static_cast<std::size_t>(from);
    for (std::size_t c = 0; c < 3; ++c) t.axis.push_back(t.axis[at + c]);
  }
  if (mother.size() < first) in.fail("lineage", "does not fit the bodies of the scene");
}

/// What model.json says of a run: everything but the frames.
Trajectory without_frames(const std::string& folder) {
  if (!is_run(folder)) {
    throw Error(folder, std::filesystem::is_directory(folder)
                            ? "holds no run (there is no checkpoint.h5)"
                            : "there is no such folder");
  }
  Trajectory t;
  try {
    const auto model = nlohmann::json::parse(read_file(folder + "/model.json"));
    t.name = model.at("name").get<std::string>();
    t.planar = model.at("planar").get<bool>();
    t.h = model.at("h").get<double>();
    for (const auto& body : model.at("bodies")) {
      t.bodies.push_back(body.at("name"));
      const Vec3 axis = long_axis(body);
      t.axis.insert(t.axis.end(), axis.data(), axis.data() + 3);
    }
    if (model.contains("parts")) {
      t.part_begin.push_back(0);
      for (const auto& part : model.at("parts")) {
        t.parts.push_back(part.at("name"));
        t.part_begin.push_back(t.part_begin.back() + part.at("node_count").get<std::int64_t>());
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(folder + "/model.json", std::string("is damaged: ") + error.what());
  }
  add_descendants(t, folder);
  return t;
}

constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();

}  // namespace

Trajectory read_trajectory(const std::string& folder, const TrajectoryOptions& options) {
  Trajectory t = without_frames(folder);
  if (options.every < 1) throw Error("every", "must be >= 1");
  std::int64_t seen = 0, last = kBeforeAll;
  for (const std::int64_t segment : io::segments_of(folder))
    append_segment(t, io::segment_path(folder, segment), options, seen, last);
  if (t.time.empty()) throw Error(folder, "holds no frames");
  return t;
}

TrajectorySize trajectory_size(const std::string& folder) {
  const Trajectory t = without_frames(folder);
  TrajectorySize size{.bodies = t.body_count(), .nodes = t.node_count()};
  for (const std::int64_t segment : io::segments_of(folder)) {
    const DataReader in(io::segment_path(folder, segment));
    const std::size_t frames = in.doubles("time", {H5S_UNLIMITED}).size();
    size.frames += static_cast<std::int64_t>(frames);
    if (frames > 0 && in.has("contacts/offset"))
      size.contacts += in.integers("contacts/offset", {frames + 1}).back();
  }
  return size;
}

RunSignals read_signals(const std::string& folder, const std::vector<std::string>& names,
                        std::int64_t every) {
  const Trajectory empty = without_frames(folder);
  if (every < 1) throw Error("every", "must be >= 1");
  RunSignals out{.frames = empty, .signals = {}};
  std::int64_t seen = 0, last = kBeforeAll;
  for (const std::int64_t segment : io::segments_of(folder)) {
    Trajectory part = empty;
    append_segment(part, io::segment_path(folder, segment), {.every = every}, seen, last);
    if (part.time.empty()) continue;
    out.frames.time.insert(out.frames.time.end(), part.time.begin(), part.time.end());
    for (std::size_t i = 0; i < names.size(); ++i) {
      Signal signal = signal_of(part, names[i]);
      if (out.signals.size() == i)
        out.signals.push_back(std::move(signal));
      else
        out.signals[i].values.insert(out.signals[i].values.end(), signal.values.begin(),
                                     signal.values.end());
    }
  }
  if (out.frames.time.empty()) throw Error(folder, "holds no frames");
  return out;
}

std::uint64_t hash_of(const Trajectory& t) {
  io::Hash hash;
  for (const auto* x : {&t.time, &t.pose, &t.velocity, &t.length, &t.node, &t.contact_point,
                        &t.contact_normal, &t.contact_impulse, &t.contact_gap, &t.kinetic,
                        &t.potential, &t.residual, &t.deepest, &t.joint_error})
    hash.add_all(*x);
  for (const auto* x : {&t.step, &t.contact_offset, &t.contacts, &t.iterations, &t.outcome})
    hash.add_all(*x);
  hash.add_all(t.contact_a);
  hash.add_all(t.contact_b);
  hash.add_all(t.contact_set);
  hash.add_all(t.alive);
  hash.add_all(t.mother);
  hash.add_all(t.born);
  return hash.value();
}

std::vector<std::string_view> signal_names() {
  std::vector<std::string_view> names;
  for (const RunSignal& s : kSignals) names.push_back(s.name);
  return names;
}

Signal signal_of(const Trajectory& t, std::string_view name) {
  if (name.starts_with("body/")) return body_signal(t, std::string(name));
  const auto known = std::find_if(std::begin(kSignals), std::end(kSignals),
                                  [&](const RunSignal& s) { return s.name == name; });
  if (known == std::end(kSignals)) {
    std::vector<std::string_view> names = signal_names();
    names.emplace_back("body/NAME.z");
    fail_unknown("signal", std::string(name), names);
  }
  Signal out{std::string(name), std::string(known->unit), {}};
  const std::size_t T = t.time.size();
  const auto copy = [&](const auto& values) { out.values.assign(values.begin(), values.end()); };
  if (name == "kinetic") copy(t.kinetic);
  if (name == "potential") copy(t.potential);
  if (name == "contacts") copy(t.contacts);
  if (name == "residual") copy(t.residual);
  if (name == "deepest") copy(t.deepest);
  if (name == "joint_error") copy(t.joint_error);
  if (name == "iterations") copy(t.iterations);
  if (name == "constraints" || name == "solves") {
    if (t.solves.size() != T) throw Error(std::string(name), "was not recorded");
    copy(name == "solves" ? t.solves : t.constraints);
  }
  if (name == "bodies" || name == "order" || name == "local_order")
    out.values = io::population_signal(t, name);
  if (name == "energy")
    for (std::size_t f = 0; f < T; ++f) out.values.push_back(t.kinetic[f] + t.potential[f]);
  if (out.values.empty()) {
    if (!t.has_contacts()) throw Error(std::string(name), "contacts were not recorded");
    for (std::size_t f = 0; f < T; ++f) {
      double sums[3];
      contact_sums(t, f, sums[0], sums[1], sums[2]);
      out.values.push_back(sums[name == "pressed" ? 0 : name == "sliding" ? 1 : 2]);
    }
  }
  return out;
}

}  // namespace orthant
