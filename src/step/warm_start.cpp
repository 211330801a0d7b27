// SPDX-License-Identifier: Apache-2.0
// step/warm_start.cpp: impulses by contact key <=> rows of the problem at hand.
// Kept in world axes and for the whole step h, so that the next frame and a shorter interval can
// use them; a new contact starts from zero.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "orthant/base/parallel.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr std::size_t kMatchGrain = 1024;  // contacts

bool same_pair(const ContactKey& a, const ContactKey& b) { return pair_of(a) == pair_of(b); }
bool before_pair(const ContactKey& a, const ContactKey& b) { return pair_of(a) < pair_of(b); }

/// Gives contacts [c, end) the entries [known, last) of their pair: by key, and what is left over
/// by distance. Where edges of two boxes are flush, rounding decides which features name a corner.
template <class Take>
void match_pair(const std::vector<Contact>& contacts, std::size_t c, std::size_t end,
                const WarmStart& warm, std::size_t known, std::size_t last, Take&& take) {
  constexpr std::size_t kMany = 64;  // no manifold has as many; by key alone beyond
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << i; };
  std::uint64_t found = 0, used = 0;
  for (std::size_t i = c, e = known; i < end && e < last;) {
    const auto order = contacts[i].key <=> warm.contacts[e].key;
    if (order == 0) {
      take(i, warm.contacts[e]);
      if (i - c < kMany) found |= bit(i - c);
      if (e - known < kMany) used |= bit(e - known);
    }
    if (order <= 0) ++i;
    if (order >= 0) ++e;
  }
  if (end - c > kMany || last - known > kMany) return;
  for (std::size_t i = c; i < end; ++i) {
    if (found & bit(i - c)) continue;
    std::size_t nearest = last;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t e = known; e < last; ++e) {
      if (used & bit(e - known)) continue;
      const double distance = (warm.contacts[e].point_W - contacts[i].point_a).squaredNorm();
      if (distance < least) least = distance, nearest = e;
    }
    if (nearest == last) return;
    used |= bit(nearest - known);
    take(i, warm.contacts[nearest]);
  }
}

}  // namespace

const WarmStart& whole_pairs(StepRun& run) {
  WarmStart& whole = run.work.recursion.whole_pairs;
  whole = run.warm;
  std::vector<WarmStart::Entry>& entries = whole.contacts;
  for (WarmStart::Entry& entry : entries) entry.key.feature &= kOrdinalMask;
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

void match_contacts(const std::vector<Contact>& contacts, const WarmStart& warm,
                    std::vector<const WarmStart::Entry*>& matched) {
  matched.assign(contacts.size(), nullptr);
  const auto take = [&](std::size_t c, const WarmStart::Entry& entry) { matched[c] = &entry; };
  // Both lists are sorted by key, so the contacts of a pair of shapes lie together in each. A chunk
  // has the pairs that begin in it.
  parallel_for(contacts.size(), kMatchGrain, [&](std::size_t c, std::size_t stop) {
    while (c > 0 && c < stop && same_pair(contacts[c].key, contacts[c - 1].key)) ++c;
    if (c == stop) return;
    auto known = static_cast<std::size_t>(
        std::lower_bound(warm.contacts.begin(), warm.contacts.end(), contacts[c].key,
                         [](const WarmStart::Entry& entry, const ContactKey& key) {
                           return before_pair(entry.key, key);
                         }) -
        warm.contacts.begin());
    while (c < stop) {
      std::size_t end = c + 1;
      while (end < contacts.size() && same_pair(contacts[end].key, contacts[c].key)) ++end;
      while (known < warm.contacts.size() && before_pair(warm.contacts[known].key, contacts[c].key))
        ++known;
      std::size_t last = known;
      while (last < warm.contacts.size() && same_pair(warm.contacts[last].key, contacts[c].key))
        ++last;
      match_pair(contacts, c, end, warm, known, last, take);
      c = end;
      known = last;
    }
  });
}

void start_from(const WarmStart& warm, StepRun& run, double dt, const Assembly& assembly,
                Solved& solved) {
  Solution& solution = solved.solution;
  const CanonicalProblem& p = assembly.problem;
  const double scale = dt / run.settings.h;
  solution.v = run.x.v.head(p.velocity_count());
  if (warm.joints.size() == p.bilateral_count())
    solution.gamma = scale * warm.joints;
  else
    solution.gamma.setZero(p.bilateral_count());
  solution.lambda.setZero(p.row_count());
  solution.w.setZero(p.row_count());

  const auto& contacts = solved.rows.contacts;
  match_contacts(contacts, warm, run.work.matched);
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const WarmStart::Entry* entry = run.work.matched[c];
    if (entry == nullptr) continue;
    const ContactBlock& block = assembly.blocks[c];
    contact_lambda(block, run.settings.friction, run.model.shape(contacts[c].shape_a).planar(),
                   scale * entry->impulse_W, scale * entry->torque_W,
                   solution.lambda.data() + block.row);
  }
  std::size_t known = 0;
  const auto& flexible = solved.rows.flexible;
  for (std::size_t c = 0; c < flexible.size(); ++c) {
    while (known < warm.contacts.size() && warm.contacts[known].key < flexible[c].key) ++known;
    if (known == warm.contacts.size()) break;
    const WarmStart::Entry& entry = warm.contacts[known];
    if (entry.key != flexible[c].key) continue;
    const ContactBlock& block = assembly.blocks[contacts.size() + c];
    contact_lambda(block, run.settings.friction, flexible[c].planar, scale * entry.impulse_W,
                   scale * entry.torque_W, solution.lambda.data() + block.row);
  }
}

void keep_impulses(const StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
                   WarmStart& warm) {
  const Solution& solution = solved.solution;
  const double scale = run.settings.h / dt;
  warm.joints = scale * solution.gamma;
  warm.contacts.clear();
  const auto& contacts = solved.rows.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ContactBlock& block = assembly.blocks[c];
    const double* lambda = solution.lambda.data() + block.row;
    if (!(lambda[0] > 0)) continue;
    WarmStart::Entry entry;
    entry.key = contacts[c].key;
    contact_impulse(block, run.settings.friction, run.model.shape(contacts[c].shape_a).planar(),
                    lambda, entry.impulse_W, entry.torque_W);
    entry.impulse_W *= scale;
    entry.torque_W *= scale;
    entry.normal_W = contacts[c].normal;
    entry.point_W = contacts[c].point_a;
    warm.contacts.push_back(entry);
  }
  const auto& flexible = solved.rows.flexible;
  for (std::size_t c = 0; c < flexible.size(); ++c) {
    const ContactBlock& block = assembly.blocks[contacts.size() + c];
    const double* lambda = solution.lambda.data() + block.row;
    if (!(lambda[0] > 0)) continue;
    WarmStart::Entry entry;
    entry.key = flexible[c].key;
    contact_impulse(block, run.settings.friction, flexible[c].planar, lambda, entry.impulse_W,
                    entry.torque_W);
    entry.impulse_W *= scale;
    entry.torque_W.setZero();
    entry.normal_W = flexible[c].normal;
    entry.point_W = flexible[c].point;
    warm.contacts.push_back(entry);
  }
  // Nodes come after bodies, rows of a recursion after those it began with.
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  if (!std::is_sorted(warm.contacts.begin(), warm.contacts.end(), by_key))
    std::sort(warm.contacts.begin(), warm.contacts.end(), by_key);
}

}  // namespace orthant::internal
