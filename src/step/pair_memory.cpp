// SPDX-License-Identifier: Apache-2.0
// step/pair_memory.cpp: impulses of a recursion's rows <=> the next step's rows.
// A step begins with one row a pair and finds the others anew, near where the last step found
// them: the first row starts with what the pair as a whole pushed with, and each round that adds
// rows again with what every row pushed with by itself.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr Index kFewRows = 400;  // smaller heaps are solved as fast from either start

/// The name of the row that the pair had before the recursion.
ContactKey first_key(ContactKey key) {
  key.feature &= kOrdinalMask;
  return key;
}

/// Bodies that rows tie together, and what the last round did to them.
struct Heaps {
  std::vector<Index> parent;              // by body
  std::vector<Index> rows, added, known;  // by root; known: added to a pair that has a share

  Index root(Index i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  }
  Index root(const Model& model, const Contact& c) {
    return root(
        static_cast<Index>(index_of(model.body(c.body_a).is_dynamic() ? c.body_a : c.body_b)));
  }
  /// True where the last step says more about the answer than the round before, which had to do
  /// without most of the rows just added. With few of them the round before is nearer.
  bool remember(Index i) const {
    return rows[i] >= kFewRows && 100 * added[i] >= rows[i] && 2 * known[i] > added[i];
  }
};

Heaps find_heaps(const StepRun& run) {
  Heaps heaps;
  const std::size_t bodies = run.model.bodies().size();
  heaps.parent.resize(bodies);
  std::iota(heaps.parent.begin(), heaps.parent.end(), Index{0});
  for (std::vector<Index>* list : {&heaps.rows, &heaps.added, &heaps.known})
    list->assign(bodies, 0);
  const std::vector<Contact>& contacts = run.work.rows.contacts;
  for (const Contact& c : contacts) {
    if (!run.model.body(c.body_a).is_dynamic() || !run.model.body(c.body_b).is_dynamic()) continue;
    const Index a = heaps.root(static_cast<Index>(index_of(c.body_a)));
    const Index b = heaps.root(static_cast<Index>(index_of(c.body_b)));
    heaps.parent[std::max(a, b)] = std::min(a, b);
  }
  for (const Contact& c : contacts) ++heaps.rows[heaps.root(run.model, c)];
  const std::vector<WarmStart::Entry>& entries = run.warm.contacts;
  std::size_t at = 0;
  for (const Contact& c : run.work.after.contacts) {
    while (at < entries.size() && pair_of(entries[at].key) < pair_of(c.key)) ++at;
    std::size_t e = at;
    while (e < entries.size() && pair_of(entries[e].key) == pair_of(c.key) &&
           !is_share(entries[e].key))
      ++e;
    const Index heap = heaps.root(run.model, c);
    ++heaps.added[heap];
    heaps.known[heap] += e < entries.size() && pair_of(entries[e].key) == pair_of(c.key);
  }
  return heaps;
}

}  // namespace

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
  Heaps heaps = find_heaps(run);
  bool any = false;
  for (std::size_t i = 0; i < heaps.rows.size(); ++i)
    any = any || heaps.remember(static_cast<Index>(i));
  if (!any) return;
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
    if (!heaps.remember(heaps.root(run.model, contacts[order[begin]]))) continue;
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
