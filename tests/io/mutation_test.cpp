// SPDX-License-Identifier: Apache-2.0
// Every reader of files under damaged inputs: a value or an Error within limits on memory and time,
// never a crash, another exception or a hang. Inputs are read in child processes, so the limits are
// the system's and one death does not end the campaign. The libFuzzer programs of tests/fuzz go
// deeper into some of these readers; here are all of them, in the optimised build, without clang.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/run.hpp"
#include "orthant/io/trajectory.hpp"
#include "orthant/learn/trajectory.hpp"
#include "orthant/model/mesh_file.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;
using testing::TemporaryFolder;

constexpr rlim_t kMemory = rlim_t{2} << 30;  // [bytes] address space of a child
constexpr int kSeconds = 10;                 // processor time of one input
constexpr int kEnough = 10;                  // failures after which a campaign ends

constexpr std::array kWords = {
    "0",   "-1",  "1e308", "-1e-308",   "nan",  "inf",  "2147483648", "99999999999999999999",
    "1e9", "0.5", "\"",    "'",         "[",    "]",    "{",          "}",
    "<",   "/>",  "&",     "&lt;",      ":",    "- ",   "\n",         "\t",
    ",",   "*a",  "&a ",   "!!binary ", "\\u0", "#",    "..",         "/dev/zero",
    "%s",  "",    "~",     "true",      "\xff", "\xc0", "(((((((((",  "a b c d e f g h"};

/// Where the number or word that holds `at` begins and ends.
std::pair<std::size_t, std::size_t> token_at(const std::string& text, std::size_t at) {
  const auto part = [&](std::size_t i) {
    const auto c = static_cast<unsigned char>(text[i]);
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '_';
  };
  std::size_t begin = at, end = at;
  while (begin > 0 && part(begin - 1)) --begin;
  while (end < text.size() && part(end)) ++end;
  return {begin, end};
}

/// One to four changes of a seed: bytes, tokens, whole ranges, the end cut off, another seed's end.
std::string mutated(const std::vector<std::string>& seeds, SplitMix& rng) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng.next() % n); };
  std::string text = seeds[below(seeds.size())];
  for (int change = 1 + rng.index(4); change > 0; --change) {
    if (text.empty()) text = "\n";
    const std::size_t at = below(text.size());
    const std::size_t length = std::min(text.size() - at, 1 + below(40));
    switch (rng.index(8)) {
      case 0:
        text[at] = static_cast<char>(rng.next());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << rng.index(8)));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 4:
        text.insert(at, kWords[below(kWords.size())]);
        break;
      case 5: {
        const auto [begin, end] = token_at(text, at);
        text.replace(begin, end - begin, kWords[below(kWords.size())]);
        break;
      }
      case 6:
        if (rng.chance(0.2)) text.resize(at);
        break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        if (rng.chance(0.2) && !other.empty())
          text = text.substr(0, at) + other.substr(below(other.size()));
      }
    }
  }
  return text;
}

struct Reader {
  std::vector<std::string> seeds;
  std::function<void(const std::string&)> read;
};

/// Reads inputs [begin, count) in a child and returns its status; `now` is the input it was at.
int read_in_child(const Reader& reader, int begin, int count, std::uint64_t seed,
                  volatile int* now) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit memory{kMemory, kMemory}, no_core{0, 0};
    ::setrlimit(RLIMIT_AS, &memory);
    ::setrlimit(RLIMIT_CORE, &no_core);
    for (int i = begin; i < count; ++i) {
      *now = i;
      const itimerval limit{{0, 0}, {kSeconds, 0}};
      ::setitimer(ITIMER_PROF, &limit, nullptr);  // its signal ends the child
      SplitMix rng(seed + static_cast<std::uint64_t>(i));
      try {
        reader.read(mutated(reader.seeds, rng));
      } catch (const Error&) {  // refused: that is all right
      } catch (...) {
        ::_exit(2);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

void campaign(const Reader& reader, int count, std::uint64_t seed) {
  std::size_t good = 0;  // some seeds are refused on purpose
  for (const std::string& text : reader.seeds) try {
      reader.read(text);
      ++good;
    } catch (const Error& error) {
      std::printf("a seed is refused: %s\n", error.what());
    }
  ASSERT_GT(2 * good, reader.seeds.size());
  void* const shared =
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const now = static_cast<volatile int*>(shared);
  int failures = 0;
  for (int begin = 0; begin < count && failures < kEnough;) {
    *now = begin;
    const int status = read_in_child(reader, begin, count, seed, now);
    if (status == 0) break;
    ++failures;
    const int input = *now;
    const std::string kept = ::testing::TempDir() + "orthant_mutated_" + std::to_string(seed) +
                             "_" + std::to_string(input);
    SplitMix rng(seed + static_cast<std::uint64_t>(input));
    write_file(kept, mutated(reader.seeds, rng));
    ADD_FAILURE() << "input " << input << " of seed " << seed << ", kept as " << kept << ": "
                  << (WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status))
                                          : "an exception that is no Error");
    begin = input + 1;
  }
  ::munmap(shared, sizeof(int));
}

std::vector<std::string> files_in(const std::string& folder, const std::string& ending = "") {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_dir() + ("/" + folder)))
    if (entry.path().string().ends_with(ending)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(read_file(path));
  return texts;
}

const SceneOptions kSmall{.max_bodies = 100, .read_files = false};

/// A reader of files: each input is written to `name` first, a new file: ext4 writes one that was
/// truncated to the disk before it goes on, which took nine tenths of a campaign.
std::function<void(const std::string&)> through_file(const std::string& name,
                                                     std::function<void()> read) {
  return [=](const std::string& text) {
    (void)std::remove(name.c_str());
    std::FILE* const file = std::fopen(name.c_str(), "wb");
    (void)std::fwrite(text.data(), 1, text.size(), file);
    (void)std::fclose(file);
    read();
  };
}

/// A mesh named by a scene: `use` is its shape or flexible part.
Reader mesh_reader(const TemporaryFolder& folder, const std::string& ending, const std::string& use,
                   std::vector<std::string> seeds) {
  const std::string scene = folder.file("scene.yaml");
  write_file(scene, "orthant: 1\n" + use);
  return {std::move(seeds),
          through_file(folder.file("mesh." + ending), [=] { (void)load_scene(scene); })};
}

void read_all(int count) {
  {
    SCOPED_TRACE("scene");
    campaign({files_in("tests/fuzz/seeds/scene_yaml"),
              [](const std::string& text) { (void)parse_scene(text, "scene.yaml", kSmall); }},
             count, 1'000'000'000);
  }
  {
    SCOPED_TRACE("URDF");
    campaign({files_in("tests/fuzz/seeds/urdf"),
              [](const std::string& text) { (void)parse_urdf(text, "robot.urdf", kSmall); }},
             count, 2'000'000'000);
  }
  {
    SCOPED_TRACE("MJCF");
    campaign({files_in("tests/fuzz/seeds/mjcf"),
              [](const std::string& text) { (void)parse_mjcf(text, "robot.xml", kSmall); }},
             count, 3'000'000'000);
  }
  {
    SCOPED_TRACE("problem as text");
    campaign({files_in("tests/fuzz/seeds/problem_text"),
              [](const std::string& text) { (void)parse_problem_text(text, "problem.dat"); }},
             count, 4'000'000'000);
  }
  {
    SCOPED_TRACE("Gmsh");
    campaign({files_in("tests/fuzz/seeds/mesh", ".msh"),
              [](const std::string& text) { (void)parse_gmsh(text, "mesh.msh"); }},
             count, 5'000'000'000);
  }
  {
    SCOPED_TRACE("VTU");
    campaign({files_in("tests/fuzz/seeds/mesh", ".vtu"),
              [](const std::string& text) { (void)parse_vtu(text, "mesh.vtu"); }},
             count, 6'000'000'000);
  }
  const std::string hull = "bodies: [{name: a, shapes: {type: hull, file: mesh.";
  for (const std::string ending : {"stl", "obj", "dae", "ply", "glb", "msh"}) {
    SCOPED_TRACE(ending);
    const TemporaryFolder folder;
    // MuJoCo's .msh is another format than Gmsh's; its seed has a name of its own.
    campaign(mesh_reader(folder, ending, hull + ending + "}}]\n",
                         files_in("tests/fuzz/seeds/mesh", ending == "msh" ? "mshb" : ending)),
             count, 7'000'000'000 + static_cast<unsigned char>(ending[0]) * 1'000'000ULL);
  }
  {
    SCOPED_TRACE("measured motions");
    const LoadedScene scene =
        parse_scene("orthant: 1\nbodies: [{name: a, shapes: {type: sphere, radius: 1}}]\n", "s");
    campaign(
        {files_in("tests/fuzz/seeds/measured"),
         [&](const std::string& text) { (void)parse_trajectories(text, "data.csv", scene.model); }},
        count, 8'000'000'000);
  }
}

constexpr const char* kFall = R"(orthant: 1
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_space}}
  - {name: ball, position: [0, 0, 1.01], shapes: {type: sphere, radius: 1}}
run: {steps: 5}
)";

/// A run of a few steps on disk, its files damaged in turn: read, and resumed where that reads
/// them.
void read_runs(int count) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  {
    SceneRun run(parse_scene(kFall, "fall.yaml"), path);
    while (!run.done()) (void)run.step();
    run.save();
  }
  const auto frames = [=] { (void)read_trajectory(path); };
  const auto resume = [=] { const SceneRun run(scene_of_run(path), path, {.resume = true}); };
  std::uint64_t seed = 9'000'000'000;
  for (const auto& [name, read] :
       std::vector<std::pair<std::string, std::function<void()>>>{{"model.json", frames},
                                                                  {"trajectory/000000.h5", frames},
                                                                  {"scene.yaml", resume},
                                                                  {"checkpoint.h5", resume}}) {
    SCOPED_TRACE(name);
    const std::string file = path + "/" + name, text = read_file(file);
    campaign({{text}, through_file(file, read)}, count, seed);
    write_file(file, text);
    seed += 100'000'000;
  }
}

TEST(Mutation, EveryReaderEndsInAValueOrAnError) { read_all(200); }
TEST(Mutation, DamagedRunsAreRefused) { read_runs(100); }

/// ORTHANT_MUTATIONS, where it is set: a shorter or longer campaign.
int many() {
  const char* const asked = std::getenv("ORTHANT_MUTATIONS");
  return asked != nullptr ? std::atoi(asked) : 100'000;
}
TEST(LongMutation, HundredThousandInputsPerReader) { read_all(many()); }
TEST(LongMutation, HundredThousandDamagedRuns) { read_runs(many()); }

}  // namespace
}  // namespace orthant
