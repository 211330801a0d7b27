// SPDX-License-Identifier: Apache-2.0
// The path of a user: new, check, run, view, plot, export, resume; ctrl-C and kill -9 on the way.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/run_command.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/io/run.hpp"
#include "orthant/io/trajectory.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::SplitMix;
using testing::TemporaryFolder;

/// Starts `orthant run` quietly and returns its process.
pid_t start_run(const std::vector<std::string>& arguments) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int null = ::open("/dev/null", O_WRONLY);
  ::dup2(null, 1);
  ::dup2(null, 2);
  std::vector<std::string> words = {testing::build_dir() + "/bin/orthant", "run", "--quiet"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

std::string state_hash(const std::string& run) {
  return nlohmann::json::parse(read_file(run + "/report.json")).at("state_hash");
}

TEST(RunCommand, TheWholePathWorksAsPrinted) {
  const TemporaryFolder folder;
  const std::string in = "cd " + folder.file("") + " && ";
  const auto orthant = [&](const std::string& arguments) {
    const std::string line =
        in + testing::build_dir() + "/bin/orthant " + arguments + " >out 2>err";
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(orthant("new heap"), 0);
  EXPECT_EQ(orthant("new heap"), 2);  // never overwrites
  EXPECT_EQ(orthant("check heap.yaml"), 0);
  EXPECT_THAT(read_file(folder.file("out")), HasSubstr("30 bodies (28 moving)"));
  EXPECT_EQ(orthant("run heap.yaml -o heap_run --steps 20 --set balls=2 --json report.json"), 0);
  EXPECT_EQ(nlohmann::json::parse(read_file(folder.file("report.json"))).at("step"), 20);
  EXPECT_EQ(orthant("run heap.yaml -o heap_run --set balls=2"), 2);
  EXPECT_THAT(read_file(folder.file("err")), HasSubstr("--resume"));
  EXPECT_EQ(orthant("run --resume -o heap_run --time 0.3 --threads 2"), 0);
  EXPECT_EQ(read_trajectory(folder.file("heap_run")).frame_count(), 31);
  EXPECT_EQ(orthant("view heap_run -o heap.html"), 0);
  EXPECT_THAT(read_file(folder.file("heap.html")), HasSubstr("orthant-view"));
  EXPECT_EQ(orthant("view heap_run --no-open"), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.file("heap_run/view.html")));
  EXPECT_EQ(orthant("plot heap_run energy body/crate.z -o energy.svg"), 0);
  EXPECT_THAT(read_file(folder.file("energy.svg")), HasSubstr("<polyline"));
  EXPECT_EQ(orthant("plot heap_run energy -o energy.png"), 0);
  EXPECT_EQ(read_file(folder.file("energy.png")).substr(1, 3), "PNG");
  EXPECT_EQ(orthant("plot heap_run energy -o energy.pdf"), 2);
  EXPECT_EQ(orthant("plot heap_run enery"), 2);
  EXPECT_THAT(read_file(folder.file("err")), HasSubstr("did you mean 'energy'?"));
  EXPECT_EQ(orthant("export heap_run --vtk vtk --csv heap.csv --every 10"), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.file("vtk/shapes_000003.vtp")));
  EXPECT_EQ(orthant("export heap_run"), 2);
  EXPECT_EQ(orthant("check heap.yaml --set step.h=-1"), 2);
}

TEST(RunCommand, SaysThatElementsWouldHaveInverted) {
  const TemporaryFolder folder;
  // A soft cube thrown at its fixed floor.
  write_file(folder.file("cube.yaml"),
             "orthant: 1\nworld: {gravity: [0, 0, 0]}\nflexible: {type: box, name: cube, size: "
             "[0.1, 0.1, 0.1], cells: [1, 1, 1], young: 1e3, velocity: [0, 0, -8], fixed: {upper: "
             "[1, 1, 0]}}\nstep: {h: 0.05}\nrun: {steps: 2}\n");
  const CommandResult run =
      run_command("run " + folder.file("cube.yaml") + " -o " + folder.file("run"));
  const auto report = nlohmann::json::parse(read_file(folder.file("run/report.json")));
  ASSERT_GT(report.at("cuts").get<int>(), 0);
  EXPECT_THAT(run.out, HasSubstr(std::to_string(report.at("cut_steps").get<int>()) +
                                 " steps cut, " + std::to_string(report.at("cuts").get<int>()) +
                                 " halvings, because an element would invert; " +
                                 std::to_string(report.at("inverted_steps").get<int>()) +
                                 " ended with inverted elements"));
  const CommandResult slow = run_command("run " + folder.file("cube.yaml") + " -o " +
                                         folder.file("slow") + " --set step.h=1e-4");
  EXPECT_EQ(slow.out.find("would invert"), std::string::npos);
}

TEST(RunCommand, LeavesTheUsersFolderAlone) {
  const TemporaryFolder folder;
  write_file(folder.file("scene.yaml"), starter_scene("heap"));
  const CommandResult here =
      run_command("run " + folder.file("scene.yaml") + " -o " + folder.file("") + " --steps 2");
  EXPECT_EQ(here.code, 2);
  EXPECT_THAT(here.err, HasSubstr("would be replaced"));
  EXPECT_EQ(read_file(folder.file("scene.yaml")), starter_scene("heap"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("lock")));
  for (const char* wrong : {"--steps -5", "--time -1", "--time inf", "--steps 1 --time 1",
                            "--threads -1", "--set step.h=-1", "--set radius=word"}) {
    const CommandResult refused =
        run_command("run " + folder.file("scene.yaml") + " -o " + folder.file("new") + " " + wrong);
    EXPECT_EQ(refused.code, 2) << wrong;
    EXPECT_FALSE(std::filesystem::exists(folder.file("new"))) << wrong;
  }
}

TEST(RunCommand, AFullDiskBehindStandardOutputIsAnError) {
  for (const char* command : {"--help", "completion bash", "bench --list", "check --schema"}) {
    const int status = std::system(
        (testing::build_dir() + "/bin/orthant " + std::string(command) + " >/dev/full 2>/dev/null")
            .c_str());
    EXPECT_EQ(WEXITSTATUS(status), 2) << command;
  }
}

TEST(RunCommand, SuggestsCommandsAndCompletes) {
  const CommandResult wrong = run_command("solv x.dat");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("unknown command 'solv' (did you mean solve?)"));
  EXPECT_THAT(run_command("").err, HasSubstr("expected a command; there are new, check"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CommandResult script = run_command(std::string("completion ") + shell);
    EXPECT_EQ(script.code, 0);
    EXPECT_THAT(script.out, HasSubstr("resume"));
  }
  EXPECT_EQ(run_command("completion tcsh").code, 2);
  for (const char* command :
       {"new", "check", "run", "view", "plot", "export", "completion", "solve", "info", "convert",
        "validate", "reproduce", "fit", "grad", "bench", "sweep"})
    EXPECT_THAT(run_command(std::string(command) + " --help").out, HasSubstr("Example")) << command;
  EXPECT_EQ(std::system((testing::build_dir() + "/bin/orthant completion bash | bash -n").c_str()),
            0);
}

class Interrupted : public ::testing::Test {
 protected:
  void SetUp() override {
    scene_ = folder_.file("heap.yaml");
    write_file(scene_, starter_scene("heap"));
    whole_ = folder_.file("whole");
    const Timer timer;
    ASSERT_EQ(wait_for(start_run(arguments(whole_))), 0);
    seconds_ = timer.seconds();
  }
  std::vector<std::string> arguments(const std::string& run) const {
    return {scene_,    "-o",    run,
            "--steps", "120",   "--set",
            "balls=2", "--set", "record.checkpoint_every=4"};
  }
  void kill_and_go_on(int count, std::uint64_t seed) {
    SplitMix random(seed);
    for (int i = 0; i < count; ++i) {
      const std::string run = folder_.file("killed" + std::to_string(i));
      const pid_t child = start_run(arguments(run));
      ::usleep(static_cast<useconds_t>(1e6 * random.uniform(0, 1.1 * seconds_)));
      ::kill(child, SIGKILL);
      wait_for(child);
      if (is_run(run)) {
        EXPECT_NO_THROW((void)read_trajectory(run)) << run;
      }
      finish_and_compare(run);
    }
  }
  void finish_and_compare(const std::string& run) {
    std::vector<std::string> words = arguments(run);
    words.emplace_back("--resume");
    ASSERT_EQ(wait_for(start_run(words)), 0) << run;
    EXPECT_EQ(state_hash(run), state_hash(whole_)) << run;
    EXPECT_EQ(hash_of(read_trajectory(run)), hash_of(read_trajectory(whole_))) << run;
  }

  TemporaryFolder folder_;
  std::string scene_, whole_;
  double seconds_ = 0;
};

TEST_F(Interrupted, KillAtAnyInstantLosesNothing) { kill_and_go_on(20, 20260); }

class LongInterrupted : public Interrupted {};
TEST_F(LongInterrupted, AHundredKills) { kill_and_go_on(100, 4711); }

/// Kills and interrupts in turn, at any instant of runs of every ready scene; ORTHANT_INTERRUPTS of
/// them.
TEST(LongCampaign, KillsAndInterruptsOfEverySceneLoseNothing) {
  const char* asked = std::getenv("ORTHANT_INTERRUPTS");
  const int wanted = asked != nullptr ? std::atoi(asked) : 500;
  std::vector<std::string> scenes;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() + "/scenes/yaml"))
    if (entry.path().extension() == ".yaml" && entry.path().stem() != "floor")
      scenes.push_back(entry.path().string());
  std::sort(scenes.begin(), scenes.end());
  const int each = (wanted + static_cast<int>(scenes.size()) - 1) / static_cast<int>(scenes.size());
  SplitMix random(27);
  int done = 0, different = 0;
  for (const std::string& scene : scenes) {
    const TemporaryFolder folder;
    const auto arguments = [&](const std::string& run) {
      return std::vector<std::string>{
          scene, "-o", run, "--steps", "12", "--set", "record.checkpoint_every=3"};
    };
    const Timer timer;
    const int whole = wait_for(start_run(arguments(folder.file("whole"))));
    const double seconds = timer.seconds();
    const std::string state = state_hash(folder.file("whole"));
    const std::uint64_t frames = hash_of(read_trajectory(folder.file("whole")));
    for (int i = 0; i < each; ++i, ++done) {
      const std::string run = folder.file(std::to_string(i));
      const pid_t child = start_run(arguments(run));
      ::usleep(static_cast<useconds_t>(1e6 * random.uniform(0, 1.1 * seconds)));
      ::kill(child, i % 2 == 0 ? SIGKILL : SIGINT);
      wait_for(child);
      std::vector<std::string> words = arguments(run);
      words.emplace_back("--resume");
      EXPECT_EQ(wait_for(start_run(words)), whole) << scene;
      different += state_hash(run) != state || hash_of(read_trajectory(run)) != frames;
      std::filesystem::remove_all(run);
    }
  }
  std::printf("%d kills and interrupts over %zu scenes, %d differ\n", done, scenes.size(),
              different);
  EXPECT_GE(done, wanted);
  EXPECT_EQ(different, 0);
}

TEST_F(Interrupted, CtrlCStopsAtAStepAndKeepsEverything) {
  const std::string run = folder_.file("stopped");
  const pid_t child = start_run(arguments(run));
  while (!is_run(run)) ::usleep(1000);
  ::kill(child, SIGINT);
  const int status = wait_for(child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 4 || WEXITSTATUS(status) == 0);  // 0: it was done already
  const Trajectory t = read_trajectory(run);
  const auto report = nlohmann::json::parse(read_file(run + "/report.json"));
  EXPECT_EQ(t.step.back(), report.at("step").get<std::int64_t>());
  finish_and_compare(run);
}

}  // namespace
}  // namespace orthant
