// SPDX-License-Identifier: Apache-2.0
// learn/trajectory.cpp: text => TrajectoryData, line by line, every complaint with its place.
#include "orthant/learn/trajectory.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "orthant/base/error.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {
namespace {

constexpr std::string_view kSpatial[] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                         "vx", "vy", "vz", "wx", "wy", "wz"};
constexpr std::string_view kPlanar[] = {"x", "y", "theta", "vx", "vy", "omega"};
constexpr double kUnitTolerance = 1e-3;  // of a quaternion's length: printed digits, not mistakes
constexpr double kTimeTolerance = 1e-6;  // of the spacing

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// Where the numbers of one moving body stand in a row.
struct BodyColumns {
  BodyId body{};
  std::vector<int> q, v;  // v empty: to be made from q
};

class Reader {
 public:
  Reader(const std::string& name, const Model& model, const TrajectoryCsvOptions& options)
      : name_(name), model_(model), options_(options) {}

  TrajectoryData read(const std::string& text) {
    std::istringstream in(text);
    std::string line;
    if (!std::getline(in, line)) throw Error(name_, "the file is empty; expected a header line");
    header(line);
    while (std::getline(in, line)) {
      ++line_;
      if (line.find_first_not_of(" \r,") != std::string::npos) row(line);
    }
    close();
    if (data_.trajectories.empty()) throw Error(name_, "no samples after the header line");
    data_.source = name_;
    return std::move(data_);
  }

 private:
  std::string place(std::string_view column = {}) const {
    std::string where = name_ + ":" + std::to_string(line_);
    if (!column.empty()) where += ": column '" + std::string(column) + "'";
    return where;
  }

  int find(std::string_view column) const {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == column) return static_cast<int>(i);
    return -1;
  }

  int need(const std::string& column) const {
    const int i = find(column);
    if (i >= 0) return i;
    const std::vector<std::string_view> names(columns_.begin(), columns_.end());
    const std::string near = nearest_spelling(column, names.data(), names.size());
    throw Error(place(), "column '" + column + "' is missing" +
                             (near.empty() ? "" : " (is it '" + near + "'?)"));
  }

  void header(const std::string& line) {
    for (const std::string_view cell : split(line)) columns_.emplace_back(cell);
    for (const char* id : {"toss", "trajectory", "run"})
      if (id_ < 0) id_ = find(id);
    time_ = find("t") >= 0 ? find("t") : find("time");
    if (time_ < 0 && !(options_.dt > 0))
      throw Error(place(), "no column 't' or 'time', and no sampling interval dt was given");
    if (options_.dt < 0 || !std::isfinite(options_.dt))
      throw Error("dt", "must be positive, not " + to_text(options_.dt));
    int with = 0, without = 0;
    for (const BodyId id : model_.dynamic_bodies()) {
      const Body& body = model_.body(id);
      const bool prefixed = model_.dynamic_count() > 1 || find(body.name + ".x") >= 0;
      const std::string prefix = prefixed ? body.name + "." : "";
      BodyColumns c;
      c.body = id;
      const std::span<const std::string_view> all =
          body.planar ? std::span<const std::string_view>(kPlanar) : kSpatial;
      const std::size_t positions = body.planar ? 3 : 7;
      for (std::size_t i = 0; i < positions; ++i) c.q.push_back(need(prefix + std::string(all[i])));
      const bool velocity = find(prefix + "vx") >= 0;
      for (std::size_t i = positions; velocity && i < all.size(); ++i)
        c.v.push_back(need(prefix + std::string(all[i])));
      (velocity ? with : without) += 1;
      bodies_.push_back(std::move(c));
    }
    if (bodies_.empty()) throw Error(name_, "the model has no body that moves");
    if (with > 0 && without > 0)
      throw Error(place(), "some bodies have velocities and some have none");
    data_.backward_velocity = without > 0 || options_.backward_velocity;
    differences_ = without > 0;
  }

  double number(const std::vector<std::string_view>& cells, int column) const {
    const std::string_view cell = cells[static_cast<std::size_t>(column)];
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value))
      throw Error(place(columns_[static_cast<std::size_t>(column)]),
                  "'" + std::string(cell) + "' is not a finite number");
    return value;
  }

  void row(const std::string& line) {
    const std::vector<std::string_view> cells = split(line);
    if (cells.size() != columns_.size())
      throw Error(place(), std::to_string(cells.size()) + " values, the header has " +
                               std::to_string(columns_.size()));
    const std::string id = id_ < 0 ? "0" : std::string(cells[static_cast<std::size_t>(id_)]);
    if (q_.empty() || id != current_) {
      close();
      current_ = id;
      first_line_ = line_;
    }
    if (time_ >= 0) times_.push_back(number(cells, time_));
    VecX q = model_.rest_state().q, v = model_.rest_state().v;
    for (const BodyColumns& c : bodies_) read_body(cells, c, q, v);
    q_.push_back(std::move(q));
    v_.push_back(std::move(v));
  }

  void read_body(const std::vector<std::string_view>& cells, const BodyColumns& c, VecX& q,
                 VecX& v) const {
    const Body& body = model_.body(c.body);
    double* x = q.data() + body.q_begin;
    double* u = v.data() + body.v_begin;
    for (std::size_t i = 0; i < c.q.size(); ++i) x[i] = number(cells, c.q[i]);
    if (!body.planar) {
      const double length = std::sqrt(x[3] * x[3] + x[4] * x[4] + x[5] * x[5] + x[6] * x[6]);
      if (!(std::abs(length - 1) <= kUnitTolerance))
        throw Error(place(columns_[static_cast<std::size_t>(c.q[3])]),
                    "the quaternion is not unit: its length is " + to_text(length));
      for (int i = 3; i < 7; ++i) x[i] /= length;
    }
    if (c.v.empty()) return;
    for (std::size_t i = 0; i < c.v.size(); ++i) u[i] = number(cells, c.v[i]);
    if (body.planar || options_.angular == AngularAxes::World) return;
    const Vec3 world = rotate(Quat{x[3], x[4], x[5], x[6]}, Vec3(u[3], u[4], u[5]));
    for (int i = 0; i < 3; ++i) u[3 + i] = world[i];
  }

  /// Ends the motion that is being read.
  void close() {
    if (q_.empty()) return;
    const auto count = static_cast<Index>(q_.size());
    const std::string where =
        name_ + ":" + std::to_string(first_line_) + ": motion '" + current_ + "'";
    if (count < options_.min_samples)
      throw Error(where, "has " + std::to_string(count) + " samples, needs at least " +
                             std::to_string(options_.min_samples));
    for (const MeasuredMotion& other : data_.trajectories)
      if (other.name == current_) throw Error(where, "its rows are not consecutive");
    MeasuredMotion out;
    out.name = current_;
    out.dt = spacing(where);
    out.q.resize(model_.q_size(), count);
    out.v.resize(model_.v_size(), count);
    for (Index i = 0; i < count; ++i) {
      out.q.col(i) = q_[static_cast<std::size_t>(i)];
      out.v.col(i) = v_[static_cast<std::size_t>(i)];
    }
    if (differences_) take_differences(out);
    data_.trajectories.push_back(std::move(out));
    q_.clear();
    v_.clear();
    times_.clear();
  }

  double spacing(const std::string& where) const {
    if (time_ < 0) return options_.dt;
    const double dt = (times_.back() - times_.front()) / static_cast<double>(times_.size() - 1);
    if (!(dt > 0)) throw Error(where, "times do not increase");
    for (std::size_t i = 1; i < times_.size(); ++i) {
      const double step = times_[i] - times_[i - 1];
      if (std::abs(step - dt) > kTimeTolerance * dt + 1e-12 * std::abs(times_[i]))
        throw Error(where, "times are not even: " + to_text(step) + " s before sample " +
                               std::to_string(i) + ", " + to_text(dt) + " s on average");
    }
    return dt;
  }

  void take_differences(MeasuredMotion& t) const {
    VecX delta;
    for (Index i = 1; i < t.samples(); ++i) {
      boxminus(model_, t.q.col(i), t.q.col(i - 1), delta);
      t.v.col(i) = delta / t.dt;
    }
    t.v.col(0) = t.v.col(1);
  }

  const std::string& name_;
  const Model& model_;
  const TrajectoryCsvOptions& options_;
  std::vector<std::string> columns_;
  std::vector<BodyColumns> bodies_;
  int id_ = -1, time_ = -1;
  bool differences_ = false;
  int line_ = 1, first_line_ = 1;
  std::string current_;
  std::vector<VecX> q_, v_;
  std::vector<double> times_;
  TrajectoryData data_;
};

}  // namespace

TrajectoryData parse_trajectories(const std::string& text, const std::string& name,
                                  const Model& model, const TrajectoryCsvOptions& options) {
  return Reader(name, model, options).read(text);
}

TrajectoryData read_trajectories(const std::string& path, const Model& model,
                                 const TrajectoryCsvOptions& options) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "cannot be opened");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_trajectories(text.str(), path, model, options);
}

void validate(const Model& model, const TrajectoryData& data, Index min_samples) {
  if (data.trajectories.empty()) throw Error("data", "there are no motions");
  for (const MeasuredMotion& t : data.trajectories) {
    const std::string where = "motion '" + t.name + "'";
    if (t.q.rows() != model.q_size() || t.v.rows() != model.v_size() || t.q.cols() != t.v.cols())
      throw Error(where, "its sizes do not fit the model");
    if (t.samples() < min_samples)
      throw Error(where, "has " + std::to_string(t.samples()) + " samples, needs at least " +
                             std::to_string(min_samples));
    if (!(t.dt > 0) || !std::isfinite(t.dt)) throw Error(where, "dt must be positive");
    if (!t.q.allFinite() || !t.v.allFinite()) throw Error(where, "has numbers that are not finite");
  }
}

TrajectoryData subset(const TrajectoryData& data, std::size_t begin, std::size_t end) {
  TrajectoryData out;
  out.source = data.source;
  out.backward_velocity = data.backward_velocity;
  for (std::size_t i = begin; i < end && i < data.trajectories.size(); ++i)
    out.trajectories.push_back(data.trajectories[i]);
  return out;
}

State state_at(const Model& model, const TrajectoryData& data, std::size_t trajectory,
               Index sample) {
  const MeasuredMotion& t = data.trajectories[trajectory];
  State state = model.rest_state();
  state.q = t.q.col(sample);
  state.v = t.v.col(sample);
  // Mean of the intervals before and after: exact in flight.
  if (data.backward_velocity && sample + 1 < t.samples())
    state.v = 0.5 * (t.v.col(sample) + t.v.col(sample + 1));
  state.t = t.dt * sample;
  return state;
}

}  // namespace orthant
