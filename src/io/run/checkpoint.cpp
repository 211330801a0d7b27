// SPDX-License-Identifier: Apache-2.0
// io/run/checkpoint.cpp: State, WarmStart and totals, every bit of them.
#include "io/run/checkpoint.hpp"

#include <array>

#include "io/run/hdf5_data.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr int kCheckpointVersion = 4;      // 3: with a checksum; 4: with bodies that grew
constexpr std::size_t kKeyNumbers = 8;     // of a ContactKey, as integers
constexpr std::size_t kEntryNumbers = 12;  // of the vectors of a WarmStart::Entry

std::vector<double> list(const VecX& x) { return {x.data(), x.data() + x.size()}; }
VecX vec(const std::vector<double>& x) {
  return Eigen::Map<const VecX>(x.data(), static_cast<Eigen::Index>(x.size()));
}

/// One list of the totals, so that writing and reading cannot disagree.
template <class Totals, class Integer, class Real>
void walk(Totals& t, Integer&& integer, Real&& real) {
  for (auto* x : {&t.steps, &t.failed_steps, &t.iterations, &t.contacts, &t.most_contacts,
                  &t.events_exhausted, &t.cut_steps, &t.cuts, &t.inverted_steps, &t.constraints,
                  &t.solves, &t.most_solves})
    integer(*x);
  for (auto* x : {&t.residual, &t.deepest, &t.joint_error, &t.seconds, &t.seconds_collision,
                  &t.seconds_assembly, &t.seconds_solve, &t.seconds_projection, &t.seconds_record})
    real(*x);
}

/// A key as the integers that are stored. The image packs into one number: three bytes.
std::array<std::int64_t, kKeyNumbers> numbers_of(const ContactKey& k) {
  const std::int64_t image =
      (k.image[0] + 128) * 65536 + (k.image[1] + 128) * 256 + (k.image[2] + 128);
  return {k.body_a, k.body_b, k.shape_a, k.shape_b, k.feature, image, 0, 0};
}

/// Of every number in it: HDF5 itself notices a damaged header, not a flipped bit of the data.
std::int64_t checksum_of(const Checkpoint& c) {
  Hash hash;
  const std::uint64_t state = hash_of(c.state, c.warm);
  hash.add(&state, sizeof state);
  for (const WarmStart::Entry& e : c.warm.contacts) hash.add_all(numbers_of(e.key));
  hash.add(&c.next_segment, sizeof c.next_segment);
  hash.add(&c.frames, sizeof c.frames);
  const auto add = [&](const auto& x) { hash.add(&x, sizeof x); };
  walk(c.totals, add, add);
  hash.add_all(c.grown.lineage.mother);
  hash.add_all(c.grown.lineage.ancestor);
  hash.add_all(c.grown.lineage.born);
  hash.add_all(c.grown.lineage.length);
  hash.add_all(c.grown.uids);
  hash.add_all(c.grown.parameters);
  return static_cast<std::int64_t>(hash.value());
}

void write_warm(const WarmStart& warm, DataWriter& out) {
  std::vector<std::int64_t> keys;
  std::vector<double> values;
  for (const WarmStart::Entry& e : warm.contacts) {
    const auto& [k, impulse, torque, normal, point] = e;  // another member stops the build here
    for (const std::int64_t x : numbers_of(k)) keys.push_back(x);
    for (const Vec3& v : {impulse, torque, normal, point})
      values.insert(values.end(), v.data(), v.data() + 3);
  }
  const hsize_t count = warm.contacts.size();
  out.group("warm");
  out.array("warm/keys", keys, {count, kKeyNumbers});
  out.array("warm/values", values, {count, kEntryNumbers});
  out.array("warm/joints", list(warm.joints));
}

WarmStart read_warm(const DataReader& in) {
  const std::vector<std::int64_t> keys = in.integers("warm/keys", {H5S_UNLIMITED, kKeyNumbers});
  const hsize_t count = keys.size() / kKeyNumbers;
  const std::vector<double> values = in.doubles("warm/values", {count, kEntryNumbers});
  WarmStart warm;
  warm.contacts.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < warm.contacts.size(); ++i) {
    const std::int64_t* k = keys.data() + i * kKeyNumbers;
    WarmStart::Entry& e = warm.contacts[i];
    e.key.body_a = static_cast<BodyUid>(k[0]);
    e.key.body_b = static_cast<BodyUid>(k[1]);
    e.key.shape_a = static_cast<std::uint16_t>(k[2]);
    e.key.shape_b = static_cast<std::uint16_t>(k[3]);
    e.key.feature = static_cast<std::uint32_t>(k[4]);
    e.key.image = {static_cast<std::int8_t>((k[5] >> 16 & 255) - 128),
                   static_cast<std::int8_t>((k[5] >> 8 & 255) - 128),
                   static_cast<std::int8_t>((k[5] & 255) - 128)};
    const double* v = values.data() + kEntryNumbers * i;
    e.impulse_W = Vec3(v[0], v[1], v[2]);
    e.torque_W = Vec3(v[3], v[4], v[5]);
    e.normal_W = Vec3(v[6], v[7], v[8]);
    e.point_W = Vec3(v[9], v[10], v[11]);
  }
  warm.joints = vec(in.doubles("warm/joints", {H5S_UNLIMITED}));
  return warm;
}

/// By name, once for writing and reading: integers, then doubles.
template <class Grown, class Integers, class Doubles>
void walk_grown(Grown& g, Integers&& integers, Doubles&& doubles) {
  integers("grown/mother", g.lineage.mother);
  integers("grown/ancestor", g.lineage.ancestor);
  integers("grown/born", g.lineage.born);
  integers("grown/uids", g.uids);
  doubles("grown/length", g.lineage.length);
}

}  // namespace

void write_checkpoint(const std::string& path, const Checkpoint& c) {
  DataWriter out(path);
  out.array("format_version", std::vector<std::int32_t>{kCheckpointVersion});
  const auto& [q, v, t, step, rng] = c.state;  // another member stops the build here
  out.array("q", list(q));
  out.array("v", list(v));
  out.array("t", std::vector<double>{t});
  out.array("step", std::vector<std::int64_t>{step});
  out.array("rng", std::vector<std::int64_t>{static_cast<std::int64_t>(rng[0]),
                                             static_cast<std::int64_t>(rng[1])});
  out.array("next_segment", std::vector<std::int64_t>{c.next_segment});
  out.array("frames", std::vector<std::int64_t>{c.frames});
  write_warm(c.warm, out);
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  walk(
      c.totals, [&](std::int64_t x) { integers.push_back(x); },
      [&](double x) { reals.push_back(x); });
  out.array("totals_integer", integers);
  out.array("totals_real", reals);
  if (!c.grown.uids.empty()) {
    out.group("grown");
    const auto put = [&](const char* name, const auto& values) { out.array(name, values); };
    walk_grown(c.grown, put, put);
    out.array("grown/parameters", list(c.grown.parameters));
  }
  out.array("checksum", std::vector<std::int64_t>{checksum_of(c)});
  out.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  const DataReader in(path);
  const std::int64_t version = in.integers("format_version", {1})[0];
  if (version != kCheckpointVersion)
    in.fail("format_version",
            "must be " + std::to_string(kCheckpointVersion) + ", found " + std::to_string(version));
  Checkpoint c;
  c.state.q = vec(in.doubles("q", {H5S_UNLIMITED}));
  c.state.v = vec(in.doubles("v", {H5S_UNLIMITED}));
  c.state.t = in.doubles("t", {1})[0];
  c.state.step = in.integers("step", {1})[0];
  const std::vector<std::int64_t> rng = in.integers("rng", {2});
  c.state.rng = {static_cast<std::uint64_t>(rng[0]), static_cast<std::uint64_t>(rng[1])};
  c.next_segment = in.integers("next_segment", {1})[0];
  c.frames = in.integers("frames", {1})[0];
  c.warm = read_warm(in);
  const std::vector<std::int64_t> integers = in.integers("totals_integer", {12});
  const std::vector<double> reals = in.doubles("totals_real", {9});
  std::size_t i = 0, r = 0;
  walk(c.totals, [&](std::int64_t& x) { x = integers[i++]; }, [&](double& x) { x = reals[r++]; });
  if (in.has("grown")) {
    walk_grown(
        c.grown,
        [&](const char* name, auto& values) {
          const std::vector<std::int64_t> read = in.integers(name, {H5S_UNLIMITED});
          values.assign(read.begin(), read.end());
        },
        [&](const char* name, auto& values) { values = in.doubles(name, {H5S_UNLIMITED}); });
    c.grown.parameters = vec(in.doubles("grown/parameters", {H5S_UNLIMITED}));
  }
  if (in.integers("checksum", {1})[0] != checksum_of(c))
    in.fail("checksum", "does not fit the content: the file is damaged");
  return c;
}

void Hash::add(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ bytes[i]) * 0x100000001b3U;
}

std::uint64_t hash_of(const State& state, const WarmStart& warm) {
  Hash hash;
  hash.add_all(state.q);
  hash.add_all(state.v);
  hash.add(&state.t, sizeof state.t);
  hash.add(&state.step, sizeof state.step);
  hash.add_all(state.rng);
  for (const WarmStart::Entry& e : warm.contacts)
    for (const Vec3& x : {e.impulse_W, e.torque_W, e.normal_W, e.point_W}) hash.add_all(x);
  hash.add_all(warm.joints);
  return hash.value();
}

}  // namespace orthant::io
