// SPDX-License-Identifier: Apache-2.0
// device/rods.cpp: settings => the bytes of a RodProgram; its steps on the host; division.
#include "orthant/device/rods.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "device/host_teams.hpp"
#include "device/rods_program.hpp"
#include "device/rods_run.hpp"
#include "orthant/base/error.hpp"
#include "orthant/model/division.hpp"

namespace orthant {

namespace {

using device::kSumLanes;
using device::RodTotals;

RodTotals join_lanes(RodTotals (&lanes)[kSumLanes]) {
  for (int half = kSumLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] = device::join(lanes[l], lanes[l + half]);
  return lanes[0];
}

/// The grid of solve_rods() on threads of the host.
class HostGrid {
 public:
  template <class Body>
  void each(std::size_t count, const Body& body) {
    constexpr std::size_t kGrain = 2048;
    parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(i);
    });
  }
  template <class Term>
  RodTotals total(std::size_t count, const Term& term, RodTotals* partial) {
    const std::size_t chunks = chunk_count(count, kSumLanes);
    parallel_for_chunks(count, kSumLanes, [&](std::size_t begin, std::size_t end, std::size_t c) {
      RodTotals lanes[kSumLanes] = {};
      for (std::size_t i = begin; i < end; ++i) lanes[i - begin] = term(i);
      partial[c] = join_lanes(lanes);
    });
    RodTotals lanes[kSumLanes] = {};
    for (std::size_t c = 0; c < chunks; ++c)
      lanes[c % kSumLanes] = device::join(lanes[c % kSumLanes], partial[c]);
    return join_lanes(lanes);
  }
  bool first() const { return true; }
};

struct RodBackend : device::HostTeams {
  template <class Term>
  RodTotals total(std::size_t count, const Term& term, RodTotals* scratch) {
    return HostGrid().total(count, term, scratch);
  }
  device::RodSolve solve(const device::RodWork& w) {
    HostGrid grid;
    device::solve_rods(grid, w);
    return *w.solve;
  }
};

void require(bool holds, const char* field, const char* rule) {
  if (!holds) throw Error(std::string("rods: ") += field, rule);
}

device::RodModel checked(const RodSettings& s) {
  const auto positive = [](const char* field, double x) {
    require(x > 0 && std::isfinite(x), field, "must be > 0");
  };
  positive("h", s.h);
  positive("radius", s.radius);
  positive("near", s.near);
  positive("overlap", s.overlap);
  positive("tolerance", s.tolerance);
  require(s.tolerance <= 0.5 * s.overlap, "tolerance", "must be at most half of overlap");
  require(std::isfinite(s.growth) && s.growth >= 0, "growth", "must be >= 0");
  require(std::isfinite(std::exp(s.h * s.growth)), "growth", "must leave exp(h growth) finite");
  require(s.max_iterations > 0, "max_iterations", "must be > 0");
  require(s.max_recursions >= 0, "max_recursions", "must be >= 0");
  require(s.interior_from >= 0, "interior_from", "must be >= 0");
  return {s.radius,       std::exp(s.h * s.growth), s.near,           s.overlap,
          s.tolerance,    s.max_iterations,         s.max_recursions, s.as_step ? 1 : 0,
          s.interior_from};
}

}  // namespace

struct RodProgram::Impl {
  RodSettings settings;
  device::RodModel model;
  RodBackend backend;
  device::RodRun<RodBackend> run;

  explicit Impl(const RodSettings& s) : settings(s), model(checked(s)), run(backend, model) {}
};

RodProgram::RodProgram(const RodSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
RodProgram::~RodProgram() = default;
RodProgram::RodProgram(RodProgram&&) noexcept = default;
RodProgram& RodProgram::operator=(RodProgram&&) noexcept = default;

void RodProgram::forget() { impl_->run.forget(); }
const RodSettings& RodProgram::settings() const { return impl_->settings; }

RodReport RodProgram::step(std::span<double> q, std::span<double> length) {
  require(q.size() == 3 * length.size(), "q", "must have three numbers per rod");
  require(length.size() < (std::size_t{1} << 28), "length", "at most 2^28 rods");
  for (const double l : length)
    require(!(l <= 2 * impl_->settings.radius), "length", "must be more than the width");
  return impl_->run.step(length.size(), q.data(), length.data());
}

std::vector<unsigned char> RodProgram::bytes() const {
  device::RodHeader header{};
  std::memcpy(header.magic, device::kRodMagic, sizeof(header.magic));
  header.model = impl_->model;
  std::vector<unsigned char> bytes(sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::size_t divide_rods(const RodDivision& division, Rods& rods) {
  const std::size_t n = rods.uid.size();
  require(rods.q.size() == 3 * n && rods.length.size() == n, "q, length, uid",
          "must be of the same rods");
  require(division.at > 0 && std::isfinite(division.at), "at", "must be > 0");
  require(std::isfinite(division.jitter), "jitter", "must be finite");
  require(std::adjacent_find(rods.uid.begin(), rods.uid.end(), std::greater_equal<>()) ==
              rods.uid.end(),
          "uid", "must ascend");
  Rods next;
  const auto add = [&](double x, double y, double angle, double length, std::uint64_t uid) {
    next.q.insert(next.q.end(), {x, y, angle});
    next.length.push_back(length);
    next.uid.push_back(uid);
  };
  std::uint64_t uid = n > 0 ? rods.uid.back() + 1 : 0;
  for (std::size_t i = 0; i < n; ++i)
    if (!(rods.length[i] >= division.at))
      add(rods.q[3 * i], rods.q[3 * i + 1], rods.q[3 * i + 2], rods.length[i], rods.uid[i]);
  const std::size_t kept = next.uid.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double length = rods.length[i], angle = rods.q[3 * i + 2];
    if (!(length >= division.at)) continue;
    for (const double side : {-0.25, 0.25}) {
      const double turn = planar_turn({.jitter = division.jitter, .key = division.key}, uid);
      add(rods.q[3 * i] + side * length * std::cos(angle),
          rods.q[3 * i + 1] + side * length * std::sin(angle), angle + turn, 0.5 * length, uid);
      ++uid;
    }
  }
  rods = std::move(next);
  return n - kept;
}

}  // namespace orthant
