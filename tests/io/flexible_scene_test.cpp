// SPDX-License-Identifier: Apache-2.0
// Flexible parts in scene files, in trajectories and in what is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"
#include "orthant/io/run.hpp"
#include "orthant/io/trajectory.hpp"
#include "orthant/step/step.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// A bar along x, held at x = 0, in a world without gravity unless said otherwise.
std::string bar(const std::string& more, const std::string& gravity = "[0, 0, 0]") {
  return "orthant: 1\nworld: {gravity: " + gravity +
         "}\nflexible:\n  - {type: box, name: bar, size: [1, 0.2, 0.2], cells: [5, 1, 1], young: "
         "1e5, poisson: 0, density: 100, damping_mass: 20, fixed: {upper: [0, 1, 1]}" +
         more +
         "}\nforces:\n  - {type: nodes, name: pull, part: bar, lower: [1, -1, -1], force: "
         "[40, 0, 0]}\nstep: {h: 0.02}\nrun: {steps: 3}\n";
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_scene(text, "bar.yaml");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(FlexibleScene, RegionsChooseNodesOfTheMesh) {
  const LoadedScene scene = parse_scene(bar(""), "bar.yaml");
  ASSERT_EQ(scene.model.flexible_parts().size(), 1u);
  const FlexiblePart& part = scene.model.flexible_parts()[0];
  EXPECT_EQ(part.node_count, 6 * 2 * 2);
  EXPECT_EQ(part.element_count(), 5 * 6);
  Index fixed = 0;
  for (const Index at : part.v_begin) fixed += at < 0;
  EXPECT_EQ(fixed, 4);
  ASSERT_EQ(scene.model.node_forces().size(), 1u);
  EXPECT_EQ(scene.model.node_forces()[0].nodes.size(), 4u);
  EXPECT_EQ(scene.parameters.get("fe/bar.young"), 1e5);
}

// F L / (E A) = 40 · 1 / (1e5 · 0.04): one per cent (ν = 0).
TEST(FlexibleScene, ABarStretchesAsItShouldAndIsWrittenOut) {
  const TemporaryFolder folder;
  const std::string run_folder = folder.file("run");
  SceneRun run(parse_scene(bar(""), "bar.yaml"), run_folder, {.steps = 100});
  while (!run.done()) EXPECT_EQ(run.step().outcome, Outcome::Converged);
  run.save();
  const Trajectory t = read_trajectory(run_folder);
  ASSERT_EQ(t.parts, std::vector<std::string>{"bar"});
  ASSERT_EQ(t.node_count(), 24);
  ASSERT_EQ(t.node.size(), static_cast<std::size_t>(t.frame_count() * 24 * 3));
  // Nodal forces are not the consistent load, so only the mean over the face is exact.
  const LoadedScene again = scene_of_run(run_folder);
  const FlexiblePart& part = again.model.flexible_parts()[0];
  const double* last = t.node.data() + t.node.size() - 3 * 24;
  double mean = 0;
  int faces = 0;
  for (const auto& face : part.faces) {
    double stretch = 0;
    bool end = true;
    for (const Index node : face) {
      end = end && node_position(part, again.state.q, node)[0] == 1;
      stretch += (last[3 * node] - 1) / 3;
    }
    if (!end) continue;
    mean += stretch;
    ++faces;
  }
  ASSERT_EQ(faces, 2);  // equal halves of a square
  EXPECT_NEAR(mean / faces, 0.01, 1e-6);
  const auto view = nlohmann::json::parse(view_json(t, run_folder, PartColour::Stress));
  ASSERT_EQ(view.at("meshes").size(), 1u);
  EXPECT_EQ(view.at("meshes")[0].at("name"), "bar");
  EXPECT_EQ(view.at("meshes")[0].at("nodes"), 24);
  write_vtk(t, run_folder, folder.file("vtk"));
  EXPECT_THAT(read_file(folder.file("vtk/parts_000100.vtu")), HasSubstr("von_mises"));
  EXPECT_THAT(read_file(folder.file("vtk/parts.pvd")), HasSubstr("parts_000100.vtu"));
}

TEST(FlexibleScene, AMeshFileIsWrittenIntoTheScene) {
  const TemporaryFolder folder;
  write_file(folder.file("one.msh"),
             "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 "
             "1\n$EndNodes\n$Elements\n1\n1 4 2 0 1 1 2 3 4\n$EndElements\n");
  write_file(folder.file("one.yaml"),
             "orthant: 1\nflexible: {type: file, file: one.msh, scale: 2, name: one}\n");
  const LoadedScene scene = load_scene(folder.file("one.yaml"));
  EXPECT_EQ(scene.model.flexible_parts()[0].element_count(), 1);
  EXPECT_THAT(scene.resolved, HasSubstr("type: mesh"));
  std::filesystem::remove(folder.file("one.msh"));
  const LoadedScene again = parse_scene(scene.resolved, "resolved.yaml");
  EXPECT_EQ(again.state.q, scene.state.q);
  EXPECT_EQ(node_position(again.model.flexible_parts()[0], again.state.q, 1)[0], 2);
}

TEST(FlexibleScene, AttachedNodesFollowTheirBody) {
  const LoadedScene scene = parse_scene(
      "orthant: 1\nbodies: [{name: lid, position: [0, 0, 1.05], shapes: {type: box, half: [0.1, "
      "0.1, 0.05]}}]\nflexible: {type: box, size: [0.1, 0.1, 1], cells: [1, 1, 3], fixed: {upper: "
      "[1, 1, 0]}, attach: {body: lid, lower: [0, 0, 1]}}\n",
      "lid.yaml");
  EXPECT_EQ(scene.model.ties().size(), 4u);
}

TEST(FlexibleScene, WrongPartsAreRefusedWithTheirLine) {
  EXPECT_THAT(error_of(bar(", yung: 3")), HasSubstr("did you mean 'young'?"));
  EXPECT_THAT(error_of(bar(", yung: 3")), HasSubstr("bar.yaml:4:"));
  EXPECT_THAT(error_of(bar(", driven: {lower: [2, 0, 0]}")), HasSubstr("no node lies in"));
  EXPECT_THAT(error_of(bar(", material: wod")), HasSubstr("wod"));
  EXPECT_THAT(error_of("orthant: 1\nflexible: {type: box, size: [1, 1, 1], cells: [5000, 5000, "
                       "5000]}\n"),
              HasSubstr("nodes"));
  EXPECT_THAT(error_of("orthant: 1\nflexible: {type: mesh, nodes: [[0, 0], [1, 0], [0, 1]], "
                       "elements: [0, 1, 3]}\n"),
              HasSubstr("names node 3 of 3"));
  EXPECT_THAT(error_of("orthant: 1\nflexible: {type: ball, radius: 1, cells: 3}\n"),
              HasSubstr("even"));
}

/// A soft cube that is thrown at its fixed floor: elements would invert in the first steps.
std::string thrown_cube() {
  return "orthant: 1\nworld: {gravity: [0, 0, 0]}\nflexible: {type: box, name: cube, size: [0.1, "
         "0.1, "
         "0.1], cells: [1, 1, 1], young: 1e3, velocity: [0, 0, -8], fixed: {upper: [1, 1, "
         "0]}}\nstep: {h: 0.05}\nrun: {steps: 4}\n";
}

TEST(FlexibleScene, ARunReportsStepsThatWereCut) {
  const TemporaryFolder folder;
  std::int64_t cut_steps = 0, cuts = 0, inverted_steps = 0;
  for (const std::int64_t end : {1, 4}) {  // the totals go on where the run does
    SceneRun run(parse_scene(thrown_cube(), "cube.yaml"), folder.file("run"),
                 {.resume = true, .steps = end});
    while (!run.done()) {
      const StepReport report = run.step();
      cut_steps += report.cuts > 0;
      cuts += report.cuts;
      inverted_steps += report.inverted > 0;
    }
    run.save();
  }
  EXPECT_GT(cuts, 0);
  const auto report = nlohmann::json::parse(read_file(folder.file("run/report.json")));
  EXPECT_EQ(report.at("cut_steps"), cut_steps);
  EXPECT_EQ(report.at("cuts"), cuts);
  EXPECT_EQ(report.at("inverted_steps"), inverted_steps);
  SceneRun still(parse_scene(bar(""), "bar.yaml"), folder.file("still"));
  while (!still.done()) (void)still.step();
  still.save();
  const auto none = nlohmann::json::parse(read_file(folder.file("still/report.json")));
  EXPECT_EQ(none.at("cuts"), 0);
  EXPECT_EQ(none.at("inverted_steps"), 0);
}

/// What a checkpoint keeps of a contact is all set: its place, too, which used to be left out.
TEST(FlexibleScene, TheWarmStartKnowsWhereContactsAct) {
  const LoadedScene scene = parse_scene(
      "orthant: 1\nbodies: [{name: floor, motion: fixed, shapes: {type: half_space}}]\nflexible: "
      "{type: box, name: cube, size: [0.1, 0.1, 0.1], cells: [1, 1, 1], young: 1e5, position: [3, "
      "4, 0]}\nstep: {h: 0.01}\n",
      "cube.yaml");
  State x = scene.state;
  WarmStart warm;
  StepWorkspace workspace;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(step(scene.model, scene.parameters, scene.settings, {}, x, warm, workspace).outcome,
              Outcome::Converged);
  ASSERT_GE(warm.contacts.size(), 4u);
  for (const WarmStart::Entry& entry : warm.contacts) {
    EXPECT_NEAR(std::abs(entry.point_W.x() - 3.05), 0.05, 1e-3);
    EXPECT_NEAR(std::abs(entry.point_W.y() - 4.05), 0.05, 1e-3);
    EXPECT_NEAR(entry.point_W.z(), 0, 1e-3);
  }
}

TEST(FlexibleScene, AResumedRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  const std::string text = bar("", "[0, 0, -9.81]");
  SceneRun whole(parse_scene(text, "bar.yaml"), folder.file("whole"), {.steps = 20});
  while (!whole.done()) (void)whole.step();
  whole.save();
  {
    SceneRun first(parse_scene(text, "bar.yaml"), folder.file("parts"), {.steps = 9});
    while (!first.done()) (void)first.step();
    first.save();
  }
  SceneRun second(parse_scene(text, "bar.yaml"), folder.file("parts"),
                  {.resume = true, .steps = 20});
  while (!second.done()) (void)second.step();
  second.save();
  EXPECT_EQ(second.hash(), whole.hash());
  EXPECT_EQ(hash_of(read_trajectory(folder.file("parts"))),
            hash_of(read_trajectory(folder.file("whole"))));
}

}  // namespace
}  // namespace orthant
