// SPDX-License-Identifier: Apache-2.0
// reproduce/session.cpp: checkpoints on disk: a line of text that names the run, its words, their
// hash. Written whole or not at all.
#include "reproduce/session.hpp"

#include <cstring>
#include <filesystem>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::reproduce {
namespace {

constexpr const char* kFormat = "orthant-experiment 1 ";  // format_version 1

std::uint64_t fnv(const void* data, std::size_t size, std::uint64_t hash = 0xcbf29ce484222325U) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3U;
  return hash;
}

}  // namespace

void Archive::word(std::uint64_t& w) {
  if (!reading_) {
    words_.push_back(w);
    return;
  }
  if (at_ >= words_.size()) throw Error("checkpoint", "is damaged: it ends too early");
  w = words_[at_++];
}

std::size_t Archive::checked(std::uint64_t size) const {
  if (reading_ && size > words_.size() - at_)
    throw Error("checkpoint", "is damaged: a list of " + std::to_string(size) + " numbers");
  return static_cast<std::size_t>(size);
}

void Archive::field(VecX& x) {
  auto size = static_cast<std::uint64_t>(x.size());
  word(size);
  x.conservativeResize(static_cast<Index>(checked(size)));
  for (double& value : x) field(value);
}

void Archive::field(ContactKey& key) {
  (*this)(key.body_a, key.body_b, key.shape_a, key.shape_b, key.feature, key.image[0], key.image[1],
          key.image[2]);
}

void Archive::field(State& s) {
  VecX none;  // format 1 has one more vector, which was always empty
  (*this)(s.q, s.v, s.t, none, s.step, s.rng[0], s.rng[1]);
}

void Archive::field(WarmStart& warm) {
  std::uint64_t size = warm.contacts.size();
  word(size);
  warm.contacts.resize(checked(size));
  for (WarmStart::Entry& e : warm.contacts)
    (*this)(e.key, e.impulse_W, e.torque_W, e.normal_W, e.point_W);
  field(warm.joints);
}

Session::Session(const Options& options, const std::string& experiment, const std::string& name)
    : options_(options), name_(experiment + " " + name) {
  if (options.directory.empty()) {
    if (options.resume || options.steps > 0)
      throw Error("experiment " + experiment, "a run in parts needs a folder for its checkpoint");
    return;
  }
  std::filesystem::create_directories(options.directory);
  path_ = (std::filesystem::path(options.directory) / (experiment + ".checkpoint")).string();
}

void Session::fail(const std::string& what) const { throw Error(path_, what); }

bool Session::read(std::vector<std::uint64_t>& words) const {
  const bool found = read_file(words);
  if (options_.meet) options_.meet();
  return found;
}

bool Session::read_file(std::vector<std::uint64_t>& words) const {
  if (!options_.resume || path_.empty() || !std::filesystem::exists(path_)) return false;
  const std::string file = orthant::read_file(path_);
  const std::string head = kFormat + name_ + "\n";
  const std::size_t line = file.find('\n');
  if (line == std::string::npos || file.compare(0, std::strlen(kFormat), kFormat) != 0)
    fail("is no checkpoint of this version");
  if (file.compare(0, line + 1, head) != 0)
    fail("belongs to another run: " +
         file.substr(std::strlen(kFormat), line - std::strlen(kFormat)));
  const std::size_t bytes = file.size() - head.size();
  if (bytes < sizeof(std::uint64_t) || bytes % sizeof(std::uint64_t) != 0) fail("is cut short");
  words.resize(bytes / sizeof(std::uint64_t));
  std::memcpy(words.data(), file.data() + head.size(), bytes);
  const std::uint64_t hash = words.back();
  words.pop_back();
  if (fnv(words.data(), words.size() * sizeof(std::uint64_t)) != hash) fail("is damaged");
  return true;
}

void Session::write(const std::vector<std::uint64_t>& words) const {
  if (options_.meet) options_.meet();
  if (!options_.writes) return;
  const std::size_t bytes = words.size() * sizeof(std::uint64_t);
  const std::uint64_t hash = fnv(words.data(), bytes);
  std::string file = kFormat + name_ + "\n";
  file.append(reinterpret_cast<const char*>(words.data()), bytes);
  file.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  orthant::write_file(path_, file);
}

void Session::finish() const {
  if (!path_.empty() && options_.writes) std::filesystem::remove(path_);
}

void Session::tell_unfinished(Result& result) const {
  result.finished = false;
  result.notes.push_back("stopped after " + std::to_string(steps_) +
                         " steps of this session; the same command goes on");
}

std::uint64_t hash_of(const State& s) {
  const std::uint64_t hash = fnv(s.q.data(), static_cast<std::size_t>(s.q.size()) * sizeof(double));
  return fnv(s.v.data(), static_cast<std::size_t>(s.v.size()) * sizeof(double), hash);
}

}  // namespace orthant::reproduce
