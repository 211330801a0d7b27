// SPDX-License-Identifier: Apache-2.0
// reproduce/session.hpp: a long experiment => checkpoints, from which another session goes on to
// the same bits. One function a progress type names its fields, for writing and for reading.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "orthant/model/state.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {

/// Fields in or out of a list of 64-bit words, in one order.
class Archive {
 public:
  Archive() = default;
  explicit Archive(std::vector<std::uint64_t> words) : words_(std::move(words)), reading_(true) {}
  template <class... Fields>
  void operator()(Fields&... fields) {
    (field(fields), ...);
  }
  const std::vector<std::uint64_t>& words() const { return words_; }
  bool at_end() const { return at_ == words_.size(); }

 private:
  void word(std::uint64_t& w);
  void field(std::uint64_t& x) { word(x); }
  void field(double& x) {
    std::uint64_t w = std::bit_cast<std::uint64_t>(x);
    word(w);
    x = std::bit_cast<double>(w);
  }
  void field(std::int64_t& x) { cast(x); }
  void field(int& x) { cast(x); }
  void field(std::uint32_t& x) { cast(x); }
  void field(std::uint16_t& x) { cast(x); }
  void field(std::int8_t& x) { cast(x); }
  void field(Vec3& x) { (*this)(x[0], x[1], x[2]); }
  void field(VecX& x);
  void field(ContactKey& key);
  void field(State& state);
  void field(WarmStart& warm);
  template <class T>
  void field(std::vector<T>& list) {
    std::uint64_t size = list.size();
    word(size);
    list.resize(checked(size));
    for (T& x : list) field(x);
  }
  /// Anything with visit(Archive&).
  template <class T>
    requires requires(T& x, Archive& a) { x.visit(a); }
  void field(T& x) {
    x.visit(*this);
  }
  template <class T>
  void cast(T& x) {
    auto w = static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    word(w);
    x = static_cast<T>(static_cast<std::int64_t>(w));
  }
  /// A length read from a file is no larger than what is left of it.
  std::size_t checked(std::uint64_t size) const;

  std::vector<std::uint64_t> words_;
  std::size_t at_ = 0;
  bool reading_ = false;
};

/// Checkpoints of one run of an experiment, DIR/<name>.checkpoint; none without a directory.
class Session {
 public:
  /// `name`: with all that the run depends on (size, form), so that no other is taken for it.
  Session(const Options& options, const std::string& experiment, const std::string& name);

  /// Fills `progress` where a checkpoint is to be gone on from. Throws Error: damaged, another run.
  template <class Progress>
  bool resume(Progress& progress) {
    std::vector<std::uint64_t> words;
    if (!read(words)) return false;
    Archive archive(std::move(words));
    archive(progress);
    if (!archive.at_end()) fail("is damaged: it holds more than the run needs");
    return true;
  }
  /// After a step: true when the session is to end here, its checkpoint written.
  template <class Progress>
  bool ends_after_step(Progress& progress) {
    ++steps_;
    const bool end = options_.steps > 0 && steps_ >= options_.steps;
    if (end || steps_ % kEvery == 0) save(progress);
    return end;
  }
  template <class Progress>
  void save(Progress& progress) const {
    if (path_.empty()) return;
    Archive archive;
    archive(progress);
    write(archive.words());
  }
  /// The checkpoint of a run that is over is removed.
  void finish() const;
  /// Where the session ended before the run did.
  void tell_unfinished(Result& result) const;

 private:
  static constexpr std::int64_t kEvery = 25;  // steps
  bool read(std::vector<std::uint64_t>& words) const;
  bool read_file(std::vector<std::uint64_t>& words) const;
  void write(const std::vector<std::uint64_t>& words) const;
  [[noreturn]] void fail(const std::string& what) const;

  const Options& options_;
  std::string path_, name_;
  std::int64_t steps_ = 0;
};

/// FNV-1a over the bits of a state: equal only for equal runs.
std::uint64_t hash_of(const State& state);

}  // namespace orthant::reproduce
