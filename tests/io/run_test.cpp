// SPDX-License-Identifier: Apache-2.0
// Runs on disk: recorded truly, resumed to the same bits, refused when damaged, exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"
#include "orthant/io/run.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

LoadedScene heap(std::vector<std::string> set = {}) {
  set.emplace_back("balls=2");
  set.emplace_back("run.time=0.6");
  return parse_scene(starter_scene("heap"), "heap.yaml", {.set = std::move(set)});
}

void finish(SceneRun& run) {
  while (!run.done()) (void)run.step();
  run.save();
}

TEST(Run, ResumedRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  SceneRun whole(heap(), folder.file("whole"));
  finish(whole);
  for (const int cut : {1, 17, 30, 59}) {
    const std::string path = folder.file("cut" + std::to_string(cut));
    {
      SceneRun first(heap(), path);
      for (int i = 0; i < cut; ++i) (void)first.step();
      first.save();
    }
    SceneRun second(scene_of_run(path), path, {.resume = true});
    EXPECT_TRUE(second.resumed());
    EXPECT_EQ(second.state().step, cut);
    finish(second);
    EXPECT_EQ(second.hash(), whole.hash()) << cut;
    EXPECT_EQ(hash_of(read_trajectory(path)), hash_of(read_trajectory(folder.file("whole"))))
        << cut;
  }
}

TEST(Run, WhatLiesBeyondTheCheckpointIsComputedAgain) {
  const TemporaryFolder folder;
  SceneRun whole(heap({"record.checkpoint_every=10"}), folder.file("whole"));
  finish(whole);
  const std::string path = folder.file("run");
  std::string old_checkpoint;
  {
    SceneRun run(heap({"record.checkpoint_every=10"}), path);
    for (int i = 0; i < 20; ++i) (void)run.step();
    run.save();  // it is written beside the steps: wait for it
    old_checkpoint = read_file(path + "/checkpoint.h5");
    for (int i = 0; i < 20; ++i) (void)run.step();
  }
  // As after a kill between a segment and its checkpoint, with a half-written file beside it.
  write_file(path + "/checkpoint.h5", old_checkpoint);
  write_file(path + "/trajectory/000009.h5.abc123.tmp", "half");
  SceneRun run(scene_of_run(path), path, {.resume = true});
  EXPECT_EQ(run.state().step, 20);
  finish(run);
  EXPECT_EQ(run.hash(), whole.hash());
  EXPECT_EQ(hash_of(read_trajectory(path)), hash_of(read_trajectory(folder.file("whole"))));
  EXPECT_FALSE(std::filesystem::exists(path + "/trajectory/000009.h5.abc123.tmp"));
}

TEST(Run, RefusesToMixScenesOrOverwrite) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  {
    SceneRun run(heap(), path, {.steps = 3});
    finish(run);
  }
  EXPECT_THROW(SceneRun(heap(), path), Error);
  EXPECT_THROW(SceneRun(heap({"slope=0.3"}), path, {.resume = true}), Error);
  EXPECT_NO_THROW(SceneRun(heap({"slope=0.3"}), path, {.overwrite = true}));
  write_file(path + "/checkpoint.h5", "no HDF5");
  EXPECT_THROW(SceneRun(scene_of_run(path), path, {.resume = true}), Error);
  EXPECT_THROW((void)read_trajectory(folder.file("nowhere")), Error);
}

TEST(Run, NeverReplacesTheUsersOwnScene) {
  const TemporaryFolder folder;
  write_file(folder.file("scene.yaml"), starter_scene("heap"));
  EXPECT_THROW(SceneRun(load_scene(folder.file("scene.yaml")), folder.file("")), Error);
  EXPECT_EQ(read_file(folder.file("scene.yaml")), starter_scene("heap"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("trajectory")));
}

TEST(Run, KilledBeforeItsFirstCheckpointItBeginsAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun whole(heap(), folder.file("whole"), {.steps = 5});
  finish(whole);
  {
    const SceneRun run(heap(), path);
  }
  std::filesystem::remove(path + "/checkpoint.h5");
  SceneRun again(scene_of_run(path), path, {.resume = true, .steps = 5});
  EXPECT_FALSE(again.resumed());
  finish(again);
  EXPECT_EQ(again.hash(), whole.hash());
  std::filesystem::remove(path + "/checkpoint.h5");
  std::filesystem::remove(path + "/scene.yaml");
  EXPECT_THROW((void)scene_of_run(path), Error);
}

// Any flipped bit of the numbers is noticed; HDF5 itself would hand it out.
TEST(Run, ADamagedCheckpointIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  {
    SceneRun run(heap(), path, {.steps = 3});
    finish(run);
  }
  const std::string good = read_file(path + "/checkpoint.h5");
  SceneRun whole(scene_of_run(path), path, {.resume = true, .steps = 6});
  const State state = whole.state();
  // Three numbers of q, none of them 0, as they lie in the file.
  Index i = 0;
  while (state.q.segment<3>(i).cwiseAbs().minCoeff() == 0) ++i;
  const std::string bytes(reinterpret_cast<const char*>(state.q.data() + i), 24);
  const std::size_t at = good.find(bytes);
  ASSERT_NE(at, std::string::npos) << "q is no longer stored as plain doubles";
  std::string bad = good;
  bad[at] = static_cast<char>(bad[at] ^ 1);
  write_file(path + "/checkpoint.h5", bad);
  try {
    const SceneRun run(scene_of_run(path), path, {.resume = true});
    FAIL() << "a flipped bit was not noticed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("damaged"));
  }
  // Without the sum of its bytes, as 0.1 wrote it, it is read.
  write_file(path + "/checkpoint.h5", good.substr(0, good.size() - 16));
  EXPECT_TRUE(SceneRun(scene_of_run(path), path, {.resume = true}).resumed());
}

TEST(Run, FullDiskIsAnErrorThatKeepsWhatThereIs) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun run(heap({"record.checkpoint_every=10"}), path);
  for (int i = 0; i < 10; ++i) (void)run.step();
  run.save();
  const std::uint64_t before = hash_of(read_trajectory(path));
  // No file may grow beyond 100 bytes: writing fails as it does on a full disk.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit old = limit;
  std::signal(SIGXFSZ, SIG_IGN);
  limit.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  try {
    // The checkpoint of step 20 is written beside the steps that follow; the next one says so.
    for (int i = 0; i < 20; ++i) (void)run.step();
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(run.state().step, 30);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_THAT(message, HasSubstr("cannot be written"));
  EXPECT_EQ(hash_of(read_trajectory(path)), before);
  EXPECT_THROW(run.save(), Error);  // frames are missing: nothing may be put behind them
  EXPECT_EQ(hash_of(read_trajectory(path)), before);
  SceneRun again(scene_of_run(path), path, {.resume = true});
  finish(again);
  SceneRun whole(heap({"record.checkpoint_every=10"}), folder.file("whole"));
  finish(whole);
  EXPECT_EQ(again.hash(), whole.hash());
}

/// A ball of radius 0.1 and 2 kg at rest on the floor, pushed sideways by 3 N: it sticks.
LoadedScene resting_ball(const std::string& friction) {
  return parse_scene(
      "orthant: 1\nname: rest </script>\nmaterials: [{name: m, friction: " + friction + "}]\n" +
          "bodies:\n - {name: floor, motion: fixed, shapes: {type: half_space, material: m}}\n" +
          " - {name: crate, mass: 2, position: [0, 0, 0.1], shapes: {type: box, half: [0.1, 0.1, "
          "0.1], material: m}}\nforces: [{type: body, name: push, body: crate, force: [3, 0, "
          "0]}]\nrun: {steps: 20}\n",
      "rest.yaml");
}

TEST(Trajectory, RecordsForcesThatBalance) {
  for (const bool sticks : {true, false}) {
    const TemporaryFolder folder;
    const std::string path = folder.file("run");
    SceneRun run(resting_ball(sticks ? "0.5" : "0.1"), path);
    finish(run);
    const Trajectory t = read_trajectory(path);
    ASSERT_EQ(t.frame_count(), 21);
    ASSERT_TRUE(t.has_contacts());
    for (std::size_t f = 1; f < t.time.size(); ++f) {
      EXPECT_NEAR(t.time[f], 0.01 * static_cast<double>(f), 1e-12);
      Vec3 on_crate = Vec3::Zero();
      for (auto c = static_cast<std::size_t>(t.contact_offset[f]);
           c < static_cast<std::size_t>(t.contact_offset[f + 1]); ++c) {
        const double sign = t.bodies[t.contact_a[c]] == "crate" ? 1 : -1;
        for (int i = 0; i < 3; ++i) on_crate[i] += sign * t.contact_impulse[3 * c + i] / t.h;
        // Four corners carry what three would: one that sticks may push with all its friction, and
        // is then on the border of sliding.
        const int set = t.contact_set[c], slides = static_cast<int>(ContactState::Slide);
        EXPECT_TRUE(set == 0 || (set == slides) == !sticks) << set;
      }
      EXPECT_NEAR(on_crate[2], 2 * 9.81, 1e-6);
      EXPECT_NEAR(on_crate[0], sticks ? -3 : -0.1 * 2 * 9.81, 1e-6);
    }
    // Weight 19.62 N, 0.1 of it holds: (3 - 1.962) / 2 m/s^2 for 0.2 s.
    const Signal vx = signal_of(t, "body/crate.vx");
    EXPECT_NEAR(vx.values.back(), sticks ? 0 : 0.2 * (3 - 1.962) / 2, 1e-7);
    EXPECT_NEAR(signal_of(t, "potential").values[0], 2 * 9.81 * 0.1, 1e-12);
    EXPECT_THROW((void)signal_of(t, "enrgy"), Error);
    EXPECT_THROW((void)signal_of(t, "body/crat.x"), Error);
  }
}

TEST(Trajectory, KeepsEveryNthFrame) {
  const TemporaryFolder folder;
  SceneRun run(heap({"record.every=7", "record.checkpoint_every=10", "record.contacts=false",
                     "record.velocities=false"}),
               folder.file("run"));
  finish(run);
  const Trajectory t = read_trajectory(folder.file("run"));
  ASSERT_EQ(t.frame_count(), 9);  // 0, 7, ..., 56 of 60
  for (std::size_t f = 0; f < 9; ++f) EXPECT_EQ(t.step[f], static_cast<std::int64_t>(7 * f));
  EXPECT_FALSE(t.has_contacts());
  EXPECT_TRUE(t.velocity.empty());
  const Trajectory third = read_trajectory(folder.file("run"), {.every = 3});
  ASSERT_EQ(third.frame_count(), 3);
  EXPECT_EQ(third.step[2], 42);
  EXPECT_EQ(third.pose[7 * t.bodies.size()], t.pose[3 * 7 * t.bodies.size()]);
}

std::vector<float> floats_of(const std::string& text) {
  std::vector<unsigned char> bytes;
  std::uint32_t word = 0;
  int bits = 0;
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const char c : text) {
    if (c == '=') break;
    word = word << 6 | static_cast<std::uint32_t>(letters.find(c));
    bits += 6;
    if (bits >= 8) bytes.push_back(static_cast<unsigned char>(word >> (bits -= 8) & 255));
  }
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), out.size() * 4);
  return out;
}

TEST(Trajectory, SignalsReadBySegmentsAreThoseOfTheWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun run(heap({"record.checkpoint_every=7"}), path);
  finish(run);
  const std::vector<std::string> names = {"energy", "body/crate.z", "body/crate.speed", "pressed"};
  for (const std::int64_t every : {1, 3, 40}) {
    const Trajectory whole = read_trajectory(path, {.every = every});
    const RunSignals parts = read_signals(path, names, every);
    EXPECT_EQ(parts.frames.time, whole.time);
    for (std::size_t i = 0; i < names.size(); ++i)
      EXPECT_EQ(parts.signals[i].values, signal_of(whole, names[i]).values) << names[i];
  }
  const Trajectory whole = read_trajectory(path);
  const TrajectorySize size = trajectory_size(path);
  EXPECT_EQ(size.frames, whole.frame_count());
  EXPECT_EQ(size.bodies, whole.body_count());
  EXPECT_EQ(size.contacts, whole.contact_offset.back());
}

TEST(Output, ViewPageHoldsTheRunAndEndsNoScript) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun run(resting_ball("0.5"), path);
  finish(run);
  const Trajectory t = read_trajectory(path);
  const auto data = nlohmann::json::parse(view_json(t, path));
  EXPECT_EQ(data["format"], "orthant-view");
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["frames"], 21);
  EXPECT_EQ(data["bodies_count"], 2);
  EXPECT_EQ(data["bodies"][0]["shapes"][0]["type"], "half_space");
  EXPECT_EQ(data["bodies"][1]["shapes"][0]["half"][2], 0.1);
  const std::vector<float> poses = floats_of(data["poses"]);
  ASSERT_EQ(poses.size(), 21u * 2 * 7);
  EXPECT_FLOAT_EQ(poses[7 + 2], 0.1F);
  EXPECT_FLOAT_EQ(poses[7 + 3], 1.F);
  EXPECT_TRUE(data["contacts"].contains("force"));
  EXPECT_TRUE(data["signals"].contains("energy [J]"));
  const std::string page = view_page(view_json(t, path));
  const std::string open = R"(<script type="application/json" id="orthant-run">)";
  const std::size_t begin = page.find(open);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  const auto inside =
      nlohmann::json::parse(page.substr(begin + open.size(), end - begin - open.size()));
  EXPECT_EQ(inside["name"], "rest </script>");
  EXPECT_EQ(page.find('<', begin + 1), end);  // nor is "<!--<script>", which would hide the end
}

TEST(Output, TablesAndPicturesHaveEveryFrame) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun run(heap({"record.every=20"}), path);
  finish(run);
  const Trajectory t = read_trajectory(path);
  write_csv(t, folder.file("t.csv"));
  const std::string csv = read_file(folder.file("t.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4 * t.body_count());
  EXPECT_TRUE(csv.starts_with("time,step,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n0,0,floor,"));
  write_vtk(t, path, folder.file("vtk"));
  for (const char* name : {"bodies", "shapes", "contacts"}) {
    const std::string series = read_file(folder.file("vtk/" + std::string(name) + ".pvd"));
    EXPECT_THAT(series, HasSubstr(std::string(name) + "_000003.vtp")) << name;
    EXPECT_THAT(read_file(folder.file("vtk/" + std::string(name) + "_000003.vtp")),
                HasSubstr("</VTKFile>"));
  }
  const std::string svg = plot_svg(t, {signal_of(t, "energy"), signal_of(t, "kinetic")}, "a < b");
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  std::size_t curves = 0;
  for (std::size_t at = 0; (at = svg.find("<polyline", at)) != std::string::npos; ++at) ++curves;
  EXPECT_EQ(curves, 2u);
}

}  // namespace
}  // namespace orthant
