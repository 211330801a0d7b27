// SPDX-License-Identifier: Apache-2.0
// Outputs replace files, and nothing else: links stay links, rights stay, devices are written into.
#include "orthant/base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "orthant/base/error.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(AtomicFile, ALinkStaysALinkAndItsTargetIsReplaced) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("data"));
  write_file(folder.file("data/real"), "old");
  fs::create_symlink("data/real", folder.file("near"));  // relative to the link's own folder
  fs::create_symlink(folder.file("near"), folder.file("far"));
  write_file(folder.file("far"), "new");
  EXPECT_TRUE(fs::is_symlink(folder.file("near")));
  EXPECT_TRUE(fs::is_symlink(folder.file("far")));
  EXPECT_EQ(read_file(folder.file("data/real")), "new");
  fs::create_symlink("data/later", folder.file("dangling"));
  write_file(folder.file("dangling"), "made");
  EXPECT_EQ(read_file(folder.file("data/later")), "made");
  fs::create_symlink("round", folder.file("round"));
  EXPECT_THROW(write_file(folder.file("round"), "x"), Error);
}

TEST(AtomicFile, KeepsTheRightsOfTheFileThatIsThere) {
  const TemporaryFolder folder;
  const std::string path = folder.file("secret");
  write_file(path, "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  write_file(path, "new");
  EXPECT_EQ(mode_of(path), 0640u);
  EXPECT_EQ(read_file(path), "new");
}

TEST(AtomicFile, DevicesAndPipesAreWrittenIntoAndNeverReplaced) {
  write_file("/dev/null", "text");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(AtomicFile("/dev/null"), Error);
  EXPECT_THROW(write_file("/dev/full", "text"), Error);
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(pipe); });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace orthant
