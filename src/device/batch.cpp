// SPDX-License-Identifier: Apache-2.0
// device/batch.cpp: a batch on the host: the kernels of this room, a world at a time, worlds on
// threads.
#include "orthant/device/batch.hpp"

#include <memory>

#include "device/device_for.hpp"
#include "device/program.hpp"
#include "device/pull_kernel.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

namespace {

const device::ProgramHeader& header_of(const std::vector<unsigned char>& bytes) {
  return *reinterpret_cast<const device::ProgramHeader*>(bytes.data());
}

void require_size(const char* name, std::size_t got, std::size_t expected) {
  if (got != expected)
    throw Error("batch", std::string(name) + ": expected " + std::to_string(expected) +
                             " numbers, got " + std::to_string(got));
}

/// Scratch of one thread; its contents mean nothing between worlds.
struct Scratch {
  std::vector<double> numbers;
  std::vector<int> integers;

  device::World<1> world(const device::BatchModel& m, const device::Settings& s,
                         const double* parameters, const double* u, bool gradient) {
    numbers.resize(static_cast<std::size_t>(gradient ? m.at.size : m.at.forward_size));
    integers.resize(static_cast<std::size_t>(m.at.integers));
    return {m, s, parameters, u, {numbers.data()}, {integers.data()}};
  }
};
Scratch& thread_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

std::size_t BatchProgram::q_size() const {
  return static_cast<std::size_t>(header_of(bytes_).model.q_size);
}
std::size_t BatchProgram::v_size() const {
  return static_cast<std::size_t>(header_of(bytes_).model.v_size);
}
std::size_t BatchProgram::control_count() const {
  return static_cast<std::size_t>(header_of(bytes_).model.controls);
}
std::size_t BatchProgram::parameter_count() const {
  return static_cast<std::size_t>(header_of(bytes_).model.parameters);
}
std::size_t BatchProgram::warm_size() const {
  return static_cast<std::size_t>(header_of(bytes_).model.warm);
}
std::size_t BatchProgram::contact_count() const {
  return static_cast<std::size_t>(header_of(bytes_).model.contacts);
}
std::size_t BatchProgram::workspace_bytes(bool gradient) const {
  const device::BatchModel::Layout& at = header_of(bytes_).model.at;
  return static_cast<std::size_t>(gradient ? at.size : at.forward_size) * sizeof(double) +
         static_cast<std::size_t>(at.integers) * sizeof(int);
}

void BatchProgram::step(std::span<double> q, std::span<double> v, std::span<double> warm,
                        std::span<const double> u, std::span<const double> parameters,
                        std::span<double> report) const {
  const std::size_t worlds = q.size() / q_size();
  require_size("q", q.size(), worlds * q_size());
  require_size("v", v.size(), worlds * v_size());
  require_size("warm", warm.size(), worlds * warm_size());
  if (!u.empty()) require_size("u", u.size(), worlds * control_count());
  if (parameters.size() != parameter_count())
    require_size("parameters", parameters.size(), worlds * parameter_count());
  require_size("report", report.size(), worlds * device::kReportNumbers);
  const device::BatchModel m = device::open_program(header_of(bytes_), bytes_.data());
  const device::Settings& s = header_of(bytes_).settings;
  const std::size_t stride = parameters.size() == parameter_count() ? 0 : parameter_count();
  device::device_for(worlds, [&](std::size_t i) {
    const device::World<1> w =
        thread_scratch().world(m, s, parameters.data() + i * stride,
                               u.empty() ? nullptr : u.data() + i * control_count(), false);
    device::step_world(
        w, q.data() + i * q_size(), v.data() + i * v_size(), warm.data() + i * warm_size(),
        *reinterpret_cast<device::WorldReport*>(report.data() + i * device::kReportNumbers));
  });
}

void BatchProgram::pull_back(std::span<const double> q, std::span<const double> v,
                             std::span<const double> warm, std::span<const double> u,
                             std::span<const double> parameters, std::span<const double> by_q_next,
                             std::span<const double> by_v_next, std::span<double> by_q,
                             std::span<double> by_v, std::span<double> by_u,
                             std::span<double> by_parameters, std::span<const unsigned char> wanted,
                             std::span<double> certificate) const {
  const std::size_t worlds = q.size() / q_size(), n = v_size();
  require_size("q", q.size(), worlds * q_size());
  require_size("v", v.size(), worlds * n);
  require_size("warm", warm.size(), worlds * warm_size());
  if (!u.empty()) require_size("u", u.size(), worlds * control_count());
  if (parameters.size() != parameter_count())
    require_size("parameters", parameters.size(), worlds * parameter_count());
  for (const auto& [name, size] : {std::pair{"by_q_next", by_q_next.size()},
                                   {"by_v_next", by_v_next.size()},
                                   {"by_q", by_q.size()},
                                   {"by_v", by_v.size()}})
    require_size(name, size, worlds * n);
  if (!by_u.empty()) require_size("by_u", by_u.size(), worlds * control_count());
  if (!by_parameters.empty())
    require_size("by_parameters", by_parameters.size(), worlds * parameter_count());
  if (!wanted.empty()) require_size("wanted", wanted.size(), parameter_count());
  require_size("certificate", certificate.size(), worlds * device::kCertificateNumbers);
  const device::BatchModel m = device::open_program(header_of(bytes_), bytes_.data());
  const device::Settings& s = header_of(bytes_).settings;
  const std::size_t stride = parameters.size() == parameter_count() ? 0 : parameter_count();
  device::device_for(worlds, [&](std::size_t i) {
    const device::World<1> w =
        thread_scratch().world(m, s, parameters.data() + i * stride,
                               u.empty() ? nullptr : u.data() + i * control_count(), true);
    const device::Gradient g{
        by_v.data() + i * n, by_u.empty() ? nullptr : by_u.data() + i * control_count(),
        by_parameters.empty() ? nullptr : by_parameters.data() + i * parameter_count(),
        wanted.empty() ? nullptr : wanted.data()};
    device::pull_back_world(w, q.data() + i * q_size(), v.data() + i * n,
                            warm.data() + i * warm_size(), by_q_next.data() + i * n,
                            by_v_next.data() + i * n, by_q.data() + i * n, g,
                            *reinterpret_cast<device::WorldCertificate*>(
                                certificate.data() + i * device::kCertificateNumbers));
  });
}

}  // namespace orthant
