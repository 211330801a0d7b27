// SPDX-License-Identifier: Apache-2.0
// step/pair_memory.cpp: impulses of a recursion's rows <=> the next step's rows.
// A step begins with one row a pair and finds the others anew, near where the last step found
// them: the first row starts with what the pair as a whole pushed with, and each round that adds
// rows again with what every row pushed with by itself.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>

#include "step/run.hpp"

namespace orthant::internal {
namespace {

/// The name of the row that the pair had before the recursion.
ContactKey first_key(ContactKey key) {
  key.feature &= kOrdinalMask;
  return key;
}

auto pair_of(const ContactKey& key) {
  return std::tie(key.body_a, key.body_b, key.shape_a, key.shape_b);
}

/// True where most of the rows just added are of pairs that have shares: then the last step says
/// more about the answer than the round before, which had to do without them.
bool most_are_known(const StepRun& run) {
  const std::vector<WarmStart::Entry>& entries = run.warm.contacts;
  std::size_t known = 0, at = 0;
  for (const Contact& c : run.work.after.contacts) {
    while (at < entries.size() && pair_of(entries[at].key) < pair_of(c.key)) ++at;
    std::size_t e = at;
    while (e < entries.size() && pair_of(entries[e].key) == pair_of(c.key) &&
           !is_share(entries[e].key))
      ++e;
    known += e < entries.size() && pair_of(entries[e].key) == pair_of(c.key);
  }
  return 2 * known > run.work.after.contacts.size();
}

}  // namespace

void keep_pair_impulses(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  std::vector<WarmStart::Entry>& entries = run.warm.contacts;
  entries.clear();
  for (std::size_t c = 0; c < work.rows.contacts.size(); ++c) {
    const Contact& contact = work.rows.contacts[c];
    const ContactBlock& block = work.assembly.blocks[c];
    const double* lambda = work.solution.lambda.data() + block.row;
    if (!(lambda[0] > 0)) continue;
    WarmStart::Entry entry;
    entry.key = contact.key;
    contact_impulse(block, run.settings.friction, run.model.shape(contact.shape_a).planar(), lambda,
                    entry.impulse_W, entry.torque_W);
    entry.normal_W = contact.normal;
    entry.point_W = contact.point_a;
    entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  run.warm.joints = work.solution.gamma;
}

const WarmStart& whole_pairs(StepRun& run) {
  WarmStart& whole = run.work.whole_pairs;
  whole = run.warm;
  std::vector<WarmStart::Entry>& entries = whole.contacts;
  for (WarmStart::Entry& entry : entries) entry.key = first_key(entry.key);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].key == entries[last].key) {
      entries[last].impulse_W += entries[i].impulse_W;
      entries[last].torque_W += entries[i].torque_W;
    } else {
      entries[++last] = entries[i];
    }
  }
  if (!entries.empty()) entries.resize(last + 1);
  return whole;
}

void start_from_shares(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const std::vector<Contact>& contacts = work.rows.contacts;
  // With few new rows the round before is nearer to the answer.
  if (100 * work.after.contacts.size() < contacts.size() || !most_are_known(run)) return;
  std::vector<std::size_t> order(contacts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pair_of(contacts[a].key) < pair_of(contacts[b].key);
  });
  const std::vector<WarmStart::Entry>& entries = run.warm.contacts;
  std::vector<Vec3> impulse, torque;
  auto known = entries.begin();
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const auto pair = pair_of(contacts[order[begin]].key);
    for (end = begin; end < order.size() && pair_of(contacts[order[end]].key) == pair;) ++end;
    while (known != entries.end() && pair_of(known->key) < pair) ++known;
    auto last = known;
    while (last != entries.end() && pair_of(last->key) == pair) ++last;
    impulse.assign(end - begin, Vec3::Zero());
    torque.assign(end - begin, Vec3::Zero());
    for (const WarmStart::Entry& e : std::span(known, last)) {
      std::size_t nearest = begin;
      double least = HUGE_VAL;
      for (std::size_t i = begin; i < end; ++i) {
        const double distance = (contacts[order[i]].point_a - e.point_W).squaredNorm();
        if (distance < least) least = distance, nearest = i;
      }
      impulse[nearest - begin] += e.impulse_W;
      torque[nearest - begin] += e.torque_W;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const ContactBlock& block = work.assembly.blocks[order[i]];
      contact_lambda(block, run.settings.friction,
                     run.model.shape(contacts[order[i]].shape_a).planar(), impulse[i - begin],
                     torque[i - begin], work.solution.lambda.data() + block.row);
    }
  }
}

}  // namespace orthant::internal
