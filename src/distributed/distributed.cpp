// SPDX-License-Identifier: Apache-2.0
// distributed/distributed.cpp: the loop of the ranks. Rank 0 says what to do next, all do it.
//   step:      own bodies and ghosts => contacts, sweeps of own cells => own bodies => ghosts
//   complete:  own bodies and impulses of all ranks => the whole state on every rank
// The bodies are shared out again when one has moved by half the skin: a body and its ghosts must
// not miss a contact.
#include "orthant/distributed/distributed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "distributed/crew.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

using namespace distributed;

namespace {

enum class Order : std::int32_t { Step, Complete, End };

/// Skin of the parts, of the edge of a cell.
constexpr double kSkin = 0.25;

Vec3 centre_of(const Body& body, const VecX& q) { return q.segment<3>(body.q_begin); }

}  // namespace

struct DistributedRun::Impl : RunStepper {
  explicit Impl(const LoadedScene& s)
      : scene(s),
        gravity(s.parameters.values.segment<3>(s.model.gravity())),
        edge(crowd_cell_edge(s.model)) {}

  const LoadedScene& scene;
  Vec3 gravity;
  double edge;
  DistributedCounts counts;
  Ranks ranks{counts};

  State whole;
  WarmStart whole_warm;
  bool is_whole = false;  // `whole` is the present; same on all ranks
  StepWorkspace whole_work;

  std::unique_ptr<Cut> cut;
  std::optional<Part> part;
  std::unique_ptr<Crew> crew;
  std::unique_ptr<StepWorkspace> work;
  State state, before;   // of the part
  WarmStart warm;        // of contacts between bodies of the part
  bool is_part = false;  // `state` is the present
  VecX cut_q;            // of the part, at the cut
  std::vector<Bytes> out, in;

  ~Impl() override = default;

  // --- sharing out ---

  void share_out() {
    const Model& model = scene.model;
    ++counts.cuts;
    crew.reset();
    cut = std::make_unique<Cut>(model, whole, whole_warm, gravity, edge, ranks.size());
    counts.imbalance = cut->imbalance();
    const auto bodies = model.dynamic_bodies();
    const double reach = (0.5 + kSkin) * edge;
    std::vector<unsigned char> marked(bodies.size(), 0);
    std::vector<std::vector<int>> known(bodies.size());  // ranks, by body
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      known[i] = cut->near(centre_of(model.body(bodies[i]), whole.q), reach);
      marked[i] = std::binary_search(known[i].begin(), known[i].end(), ranks.rank());
    }
    part.emplace(Part{part_model(model, scene.parameters, marked), {}, {}, {}});
    std::vector<std::size_t> place(static_cast<std::size_t>(ranks.size()), ~std::size_t{0});
    std::int32_t next = 0;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (marked[i] == 0) continue;
      part->owned.push_back(cut->owners()[i] == ranks.rank());
      for (const int rank : known[i]) {
        if (rank == ranks.rank()) continue;
        std::size_t& at = place[static_cast<std::size_t>(rank)];
        if (at == ~std::size_t{0}) {
          at = part->neighbours.size();
          part->neighbours.push_back({rank, {}, {}});
        }
        part->neighbours[at].shared.push_back(next);
        part->neighbours[at].owner.push_back(cut->owners()[i]);
      }
      ++next;
    }
    std::sort(part->neighbours.begin(), part->neighbours.end(),
              [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (const Part::Neighbour& neighbour : part->neighbours)
      part->others.push_back(neighbour.rank);
    state = part->own.model.rest_state();
    cut_q.resize(0);
    crew = std::make_unique<Crew>(ranks, *cut, *part, gravity, edge, scene.settings.contact_margin);
    work = std::make_unique<StepWorkspace>();
    set_crew(*work, crew.get());
  }

  void load_part() {
    copy_state(scene.model, whole, part->own, state);
    warm = {};
    const Model& model = part->own.model;
    std::vector<BodyUid> uids;
    for (const Body& body : model.bodies()) uids.push_back(body.uid);
    std::sort(uids.begin(), uids.end());
    const auto here = [&](BodyUid uid) {
      return std::binary_search(uids.begin(), uids.end(), uid);
    };
    for (const WarmStart::Entry& entry : whole_warm.contacts)
      if (here(entry.key.body_a) && here(entry.key.body_b)) warm.contacts.push_back(entry);
    if (cut_q.size() == 0) cut_q = state.q;
    is_part = true;
  }

  /// How far an own body has gone since the cut, along any axis; the same on all ranks.
  double moved() {
    double most = 0;
    for (std::size_t i = 0; i < part->owned.size(); ++i) {
      if (part->owned[i] == 0) continue;
      const Body& body = part->own.model.body(part->own.model.dynamic_bodies()[i]);
      const Vec3 way = centre_of(body, state.q) - centre_of(body, cut_q);
      most = std::max(most, way.lpNorm<Eigen::Infinity>());
    }
    return ranks.largest(most);
  }

  // --- one step ---

  StepReport advance(const VecX& u) {
    ++counts.steps;
    if (ranks.size() == 1) return advance_whole(u);
    if (!cut || (is_part && moved() > 0.5 * kSkin * edge)) {
      gather();
      share_out();
      is_part = false;
    }
    if (!is_part) {
      if (stale_cut()) share_out();
      load_part();
    }
    before = state;
    crew->start(before.q);
    WarmStart trial = warm;
    StepReport report = orthant::step(part->own.model, part->own.parameters, scene.settings, {},
                                      state, trial, *work);
    if (!crew->accepted() || report.outcome == Outcome::NotFinite) {
      state = before;
      gather();
      is_part = false;
      return advance_whole(u);
    }
    is_whole = false;
    warm = std::move(trial);
    refresh_ghosts();
    refresh_warm();
    report.contacts = crew->contacts();
    report.constraints = report.contacts;
    report.deepest = ranks.largest(report.deepest);
    return report;
  }

  /// The whole state has moved on without the parts: do they still hold?
  bool stale_cut() const {
    if (cut_q.size() == 0) return false;
    for (std::size_t i = 0; i < part->own.whole.size(); ++i) {
      const Body &a = scene.model.body(part->own.whole[i]), &b = part->own.model.bodies()[i];
      if (a.is_dynamic() &&
          (centre_of(a, whole.q) - centre_of(b, cut_q)).lpNorm<Eigen::Infinity>() >
              0.5 * kSkin * edge)
        return true;
    }
    return false;
  }

  StepReport advance_whole(const VecX& u) {
    ++counts.whole_steps;
    return orthant::step(scene.model, scene.parameters, scene.settings, u, whole, whole_warm,
                         whole_work);
  }

  /// Own bodies => those who know them.
  void refresh_ghosts() {
    const std::size_t n = part->neighbours.size();
    out.assign(n, {});
    in.assign(n, {});
    const Model& model = part->own.model;
    constexpr std::size_t kBody = 13 * sizeof(double);
    for (std::size_t k = 0; k < n; ++k) {
      const Part::Neighbour& neighbour = part->neighbours[k];
      for (std::size_t i = 0; i < neighbour.shared.size(); ++i) {
        if (neighbour.owner[i] == neighbour.rank) in[k].resize(in[k].size() + kBody);
        if (neighbour.owner[i] != ranks.rank()) continue;
        const Body& body = model.body(model.dynamic_bodies()[neighbour.shared[i]]);
        for (Index d = 0; d < 7; ++d) put(out[k], state.q[body.q_begin + d]);
        for (Index d = 0; d < 6; ++d) put(out[k], state.v[body.v_begin + d]);
      }
    }
    ranks.exchange_known(part->others, out, in);
    for (std::size_t k = 0; k < n; ++k) {
      const Part::Neighbour& neighbour = part->neighbours[k];
      const std::byte* at = in[k].data();
      for (std::size_t i = 0; i < neighbour.shared.size(); ++i) {
        if (neighbour.owner[i] != neighbour.rank) continue;
        const Body& body = model.body(model.dynamic_bodies()[neighbour.shared[i]]);
        for (Index d = 0; d < 7; ++d) take(at, state.q[body.q_begin + d]);
        for (Index d = 0; d < 6; ++d) take(at, state.v[body.v_begin + d]);
      }
    }
  }

  /// Impulses found here => those who know both bodies; what was not swept here is forgotten.
  void refresh_warm() {
    const Model& model = part->own.model;
    std::erase_if(warm.contacts,
                  [&](const WarmStart::Entry& entry) { return !crew->mine(model, entry.key); });
    const std::size_t n = part->neighbours.size();
    out.assign(n, {});
    std::vector<unsigned char> knows(static_cast<std::size_t>(model.dynamic_count()));
    for (std::size_t k = 0; k < n; ++k) {
      std::fill(knows.begin(), knows.end(), 0);
      for (const std::int32_t body : part->neighbours[k].shared)
        knows[static_cast<std::size_t>(body)] = 1;
      const auto known = [&](BodyUid uid) {
        const Body& body = model.body(model.find_uid(uid));
        return !body.is_dynamic() || knows[static_cast<std::size_t>(body.dynamic)] != 0;
      };
      for (const WarmStart::Entry& entry : warm.contacts)
        if (known(entry.key.body_a) && known(entry.key.body_b)) put(out[k], entry);
    }
    ranks.exchange(part->others, out, in);
    own_warm = warm.contacts;
    for (const Bytes& bytes : in) {
      const std::byte* at = bytes.data();
      while (at != bytes.data() + bytes.size()) take(at, warm.contacts.emplace_back());
    }
    std::sort(warm.contacts.begin(), warm.contacts.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
  }
  std::vector<WarmStart::Entry> own_warm;  // of contacts swept here in the last step

  /// Parts => the whole, on every rank.
  void gather() {
    if (is_whole || !is_part) return;
    const Model &model = scene.model, &mine = part->own.model;
    Bytes bytes;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < part->owned.size(); ++i) count += part->owned[i];
    put(bytes, count);
    for (std::size_t i = 0; i < part->owned.size(); ++i) {
      if (part->owned[i] == 0) continue;
      const BodyId id = mine.dynamic_bodies()[i];
      const Body& body = mine.body(id);
      put(bytes, part->own.whole[static_cast<std::size_t>(index_of(id))]);
      for (Index d = 0; d < 7; ++d) put(bytes, state.q[body.q_begin + d]);
      for (Index d = 0; d < 6; ++d) put(bytes, state.v[body.v_begin + d]);
    }
    put(bytes, static_cast<std::int64_t>(own_warm.size()));
    for (const WarmStart::Entry& entry : own_warm) put(bytes, entry);
    const Bytes all = ranks.gather(bytes);
    whole_warm = {};
    const std::byte* at = all.data();
    while (at != all.data() + all.size()) {
      take(at, count);
      for (std::int64_t i = 0; i < count; ++i) {
        BodyId id{};
        take(at, id);
        const Body& body = model.body(id);
        for (Index d = 0; d < 7; ++d) take(at, whole.q[body.q_begin + d]);
        for (Index d = 0; d < 6; ++d) take(at, whole.v[body.v_begin + d]);
      }
      take(at, count);
      for (std::int64_t i = 0; i < count; ++i) take(at, whole_warm.contacts.emplace_back());
    }
    std::sort(whole_warm.contacts.begin(), whole_warm.contacts.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    // Bodies that move as they are told are the same in every part.
    for (std::size_t i = 0; i < part->own.whole.size(); ++i) {
      const Body &a = model.body(part->own.whole[i]), &b = mine.bodies()[i];
      if (a.is_dynamic()) continue;
      whole.q.segment(a.q_begin, a.q_size) = state.q.segment(b.q_begin, b.q_size);
    }
    whole.t = state.t;
    whole.step = state.step;
    whole.rng = state.rng;
    is_whole = true;
  }

  // --- rank 0 and the others ---

  void give(Order order) {
    auto word = static_cast<std::int32_t>(order);
    ranks.broadcast(&word, sizeof word);
  }

  /// The state of rank 0 => all: at the beginning, and after a checkpoint was read.
  void spread(State& x, WarmStart& w) {
    std::int64_t sizes[4] = {x.q.size(), x.v.size(), static_cast<std::int64_t>(w.contacts.size()),
                             x.step};
    ranks.broadcast(sizes, sizeof sizes);
    Bytes bytes;
    if (ranks.rank() == 0) {
      for (const double number : x.q) put(bytes, number);
      for (const double number : x.v) put(bytes, number);
      put(bytes, x.t);
      put(bytes, x.rng);
      for (const WarmStart::Entry& entry : w.contacts) put(bytes, entry);
    }
    std::int64_t length = static_cast<std::int64_t>(bytes.size());
    ranks.broadcast(&length, sizeof length);
    bytes.resize(static_cast<std::size_t>(length));
    ranks.broadcast(bytes.data(), bytes.size());
    whole = scene.state;
    whole_warm = {};
    whole.q.resize(sizes[0]);
    whole.v.resize(sizes[1]);
    const std::byte* at = bytes.data();
    for (double& number : whole.q) take(at, number);
    for (double& number : whole.v) take(at, number);
    take(at, whole.t);
    take(at, whole.rng);
    whole.step = sizes[3];
    for (std::int64_t i = 0; i < sizes[2]; ++i) take(at, whole_warm.contacts.emplace_back());
    is_whole = true;
    is_part = false;
    started = true;
  }
  bool started = false;

  StepReport step(const VecX& u, State& x, WarmStart& w) override {
    if (u.size() > 0) throw Error("ranks", "actuators cannot be shared out");
    std::int32_t first = started ? 0 : 1;
    give(Order::Step);
    ranks.broadcast(&first, sizeof first);
    if (first != 0) spread(x, w);
    const StepReport report = advance(u);
    x.t = is_whole ? whole.t : state.t;
    x.step = is_whole ? whole.step : state.step;
    return report;
  }

  void complete(State& x, WarmStart& w) override {
    if (!started) return;
    give(Order::Complete);
    gather();
    x.q = whole.q;
    x.v = whole.v;
    x.t = whole.t;
    x.step = whole.step;
    x.rng = whole.rng;
    w = whole_warm;
  }

  void serve() {
    for (;;) {
      std::int32_t word = 0;
      ranks.broadcast(&word, sizeof word);
      const auto order = static_cast<Order>(word);
      if (order == Order::End) return;
      if (order == Order::Complete) {
        gather();
        continue;
      }
      std::int32_t first = 0;
      ranks.broadcast(&first, sizeof first);
      if (first != 0) spread(whole, whole_warm);
      (void)advance({});
    }
  }
};

std::string DistributedRun::why_not(const LoadedScene& scene) {
  const StepSettings& s = scene.settings;
  if (scene.growth.any()) return "growth";
  if (scene.fluid.acts()) return "a fluid";
  if (const char* what = why_no_parts(scene.model)) return what;
  if (scene.resolved.find("exclusions:") != std::string::npos) return "exclusions";
  if (s.constraints != ConstraintScheme::Manifold) return "rows of a recursion";
  if (s.accuracy == Accuracy::Exact) return "accuracy exact";
  if (s.periodic.any()) return "a periodic box";
  if (s.thermal_energy > 0) return "thermal kicks";
  if (s.drag_ratio != 1) return "drag with a direction";
  return {};
}

DistributedRun::DistributedRun(const LoadedScene& scene) : impl_(std::make_unique<Impl>(scene)) {
  const std::string what = why_not(scene);
  if (!what.empty())
    throw Error("scene", "cannot be shared out over ranks as a crowd: it has " + what);
}

DistributedRun::~DistributedRun() {
  if (impl_ && impl_->ranks.rank() == 0) impl_->give(Order::End);
}
void DistributedRun::cancel() { impl_.reset(); }

RunStepper& DistributedRun::stepper() { return *impl_; }
void DistributedRun::serve() { impl_->serve(); }
const DistributedCounts& DistributedRun::counts() const { return impl_->counts; }

struct RankTeam::Impl {
  explicit Impl(bool fast_sums) : ranks(counts, fast_sums) {}
  DistributedCounts counts;
  Ranks ranks;
};

RankTeam::RankTeam(bool fast_sums) : impl_(std::make_unique<Impl>(fast_sums)) {}
RankTeam::~RankTeam() = default;
Team* RankTeam::team() { return &impl_->ranks; }
void RankTeam::together(const std::function<void()>& work) {
  const TeamScope member(team());
  work();
}
DistributedCounts RankTeam::counts() const {
  DistributedCounts counts = impl_->counts;
  counts.steps = impl_->ranks.steps;
  counts.parted = impl_->ranks.parted;
  counts.imbalance = impl_->ranks.imbalance;
  counts.state_bytes = impl_->ranks.state_bytes;
  return counts;
}

}  // namespace orthant
