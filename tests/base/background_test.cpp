// SPDX-License-Identifier: Apache-2.0
// Jobs in the background: in order, finished when asked, and a failure is not forgotten.
#include "base/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

TEST(Background, JobsRunInOrderBesideTheCaller) {
  std::vector<int> done;
  std::atomic<bool> go = false;
  Background background;
  background.start([&] {
    while (!go) std::this_thread::yield();  // would never end in the caller's own thread
    done.push_back(0);
  });
  go = true;
  for (int i = 1; i < 50; ++i) background.start([&done, i] { done.push_back(i); });
  background.wait();
  ASSERT_EQ(done.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(Background, AFailureStopsAllThatFollows) {
  bool ran = false;
  Background background;
  background.start([] { throw Error("disk", "full"); });
  EXPECT_THROW(background.start([&] { ran = true; }), Error);
  EXPECT_THROW(background.wait(), Error);
  EXPECT_FALSE(ran);
}

TEST(Background, TheDestructorWaits) {
  int done = 0;
  {
    Background background;
    background.start([&] { done = 1; });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace orthant
