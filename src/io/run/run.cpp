// SPDX-License-Identifier: Apache-2.0
// io/run/run.cpp: the loop of a run, its folder, its checkpoints.
#include "orthant/io/run.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/background.hpp"
#include "base/team.hpp"
#include "io/run/checkpoint.hpp"
#include "io/run/growing_bodies.hpp"
#include "io/run/hdf5_data.hpp"
#include "io/run/model_json.hpp"
#include "io/run/recorder.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/base/version.hpp"
#include "orthant/step/energy.hpp"

namespace orthant {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBuffered = std::size_t{32} << 20;  // bytes of frames in memory
/// Steps that take long are saved by the clock, too. It decides where a segment ends, never what
/// is in it.
constexpr double kSecondsBetweenCheckpoints = 30;

std::string checkpoint_path(const std::string& folder) { return folder + "/checkpoint.h5"; }

/// The scene without the line that says how long to run: that may change from one session to the
/// next.
std::string without_length(const std::string& resolved) {
  std::istringstream lines(resolved);
  std::string out, line;
  while (std::getline(lines, line))
    if (!line.starts_with("run: ")) out += line + "\n";
  return out;
}

std::string hex(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

/// What a killed run left half-written.
void remove_temporaries(const std::string& folder) {
  for (const std::string& where : {folder, folder + "/trajectory"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(where, error))
      if (entry.path().extension() == ".tmp") fs::remove(entry.path(), error);
  }
}

void write_parameters(const std::string& path, const Parameters& parameters) {
  const ParameterTable& table = *parameters.table;
  std::vector<std::string> names, units;
  for (Index i = 0; i < table.size(); ++i) {
    names.push_back(table.name(i));
    units.push_back(table.unit(i));
  }
  io::DataWriter out(path);
  out.array("format_version", std::vector<std::int32_t>{1});
  out.texts("names", names);
  out.texts("units", units);
  out.array("values", std::vector<double>(parameters.values.begin(), parameters.values.end()));
  out.commit();
}

}  // namespace

struct SceneRun::Impl {
  Impl(LoadedScene s, std::string f) : scene(std::move(s)), folder(std::move(f)) {}

  LoadedScene scene;
  std::string folder;
  std::int64_t end = 0;
  bool resumed = false;
  State state;
  WarmStart warm;
  RunStepper* stepper = nullptr;
  Team* team = nullptr;
  StepWorkspace workspace;
  StepRecord record;
  VecX u;
  RunTotals totals;
  std::int64_t next_segment = 0, frames = 0, saved_step = -1;
  Timer since_save;
  io::GrowingBodies growing{scene};
  io::Recorder recorder{scene, growing, folder};
  Background writer;  // the last member: it ends before what it reads

  bool records() const { return team == nullptr || team->rank() == 0; }
  /// Of all members, when the first of them looks.
  bool resumes() const {
    const bool here = is_run(folder);
    if (team == nullptr) return here;
    bool first = false;
    const std::vector<std::byte> all = team->gather(std::as_bytes(std::span(&here, 1)));
    const std::byte* at = all.data();
    take(at, first);
    return first;
  }

  void begin(bool overwrite) {
    state = scene.state;
    if (records()) begin_folder(overwrite);
  }

  void begin_folder(bool overwrite) {
    if (is_run(folder)) {
      if (!overwrite)
        throw Error(folder, "holds a run already; --resume goes on, --overwrite begins anew");
      // The checkpoint first: without it the folder is no run, whatever else is in it.
      fs::remove(checkpoint_path(folder));
    } else {
      refuse_foreign_files(folder);
    }
    std::error_code error;
    fs::create_directories(folder + "/trajectory", error);
    if (error) throw Error(folder, "cannot be made: " + error.message());
    remove_temporaries(folder);
    for (const std::int64_t s : io::segments_of(folder)) fs::remove(io::segment_path(folder, s));
    write_file(folder + "/scene.yaml", scene.resolved);
    write_file(folder + "/model.json", io::model_json(scene));
    write_parameters(folder + "/parameters.h5", scene.parameters);
    StepReport report;
    report.outcome = Outcome::Converged;
    tell_energy(report);
    recorder.add(state, warm, report, nullptr);
    ++frames;
    save();
    writer.wait();
  }

  void go_on() {
    const std::string stored = read_file(folder + "/scene.yaml");
    if (without_length(stored) != without_length(scene.resolved))
      throw Error(folder,
                  "was begun with another scene; resume it with that one, or without any "
                  "('orthant run --resume -o " +
                      folder + "')");
    const std::string path = checkpoint_path(folder);
    io::Checkpoint c = io::read_checkpoint(path);
    if (scene.growth.any()) growing.restore(c.grown, path);
    validate(scene.model, c.state, path);
    state = std::move(c.state);
    warm = std::move(c.warm);
    totals = c.totals;
    next_segment = c.next_segment;
    frames = c.frames;
    saved_step = state.step;
    resumed = true;
    if (!records()) return;
    remove_temporaries(folder);
    for (const std::int64_t s : io::segments_of(folder))
      if (s >= next_segment) fs::remove(io::segment_path(folder, s));
  }

  void tell_energy(StepReport& report) const {
    const Energy now = energy_of(scene.model, scene.parameters, scene.settings, state);
    report.kinetic = now.kinetic;
    report.potential = now.potential;
  }

  // Of the steps made since the run was begun or resumed [J].
  std::optional<double> first_energy;
  double largest_energy = -std::numeric_limits<double>::infinity();
  double least_energy = std::numeric_limits<double>::infinity();

  StepReport step() {
    const Timer timer;
    if (scene.growth.any()) {
      if (growing.divide_ready(state)) workspace = {};
      growing.grow_one_step();
    }
    scene.controls_at(state.t, u);
    const bool frame = (state.step + 1) % scene.record.every == 0;
    const bool contacts = scene.record.contacts && stepper == nullptr && !scene.fluid.acts();
    // On every rank, though rank 0 alone writes: a step with a record takes another path.
    StepRecord* wanted = frame && contacts ? &record : nullptr;
    if (!first_energy)
      first_energy = energy_of(scene.model, scene.parameters, scene.settings, state).total();
    StepReport report = stepper != nullptr ? stepper->step(u, state, warm) : own_step(wanted);
    if (frame && stepper != nullptr) {
      stepper->complete(state, warm);
      tell_energy(report);
    }
    if (frame && records()) {
      const Timer recording;
      recorder.add(state, warm, report, wanted);
      ++frames;
      totals.seconds_record += recording.seconds();
    }
    add(report);
    if (frame || stepper == nullptr) {
      const double energy = report.kinetic + report.potential;
      largest_energy = std::max(largest_energy, energy);
      least_energy = std::min(least_energy, energy);
    }
    const bool due = state.step - saved_step >= scene.record.checkpoint_every ||
                     recorder.bytes() >= kMaxBuffered ||
                     since_save.seconds() >= kSecondsBetweenCheckpoints;
    totals.seconds += timer.seconds();
    if (due) save();
    return report;
  }

  StepReport own_step(StepRecord* wanted) {
    StepReport report;
    {
      const TeamScope member(team);
      report = scene.fluid.acts() ? step_in_fluid(scene.model, scene.parameters, scene.settings,
                                                  scene.fluid, u, state, warm, workspace)
                                  : orthant::step(scene.model, scene.parameters, scene.settings, u,
                                                  state, warm, workspace, wanted);
    }
    if (team != nullptr && !team->all_same(io::hash_of(state, warm)))
      throw Error("ranks", "do not agree on step " + std::to_string(state.step) +
                               ": they must run the same program on processors of one kind");
    return report;
  }

  void add(const StepReport& r) {
    ++totals.steps;
    totals.failed_steps += r.outcome != Outcome::Converged;
    totals.iterations += r.iterations;
    totals.contacts += r.contacts;
    totals.most_contacts = std::max<std::int64_t>(totals.most_contacts, r.contacts);
    totals.events_exhausted += r.events_exhausted;
    totals.constraints += r.constraints;
    totals.solves += r.solves;
    totals.most_solves = std::max<std::int64_t>(totals.most_solves, r.solves);
    totals.cut_steps += r.cuts > 0;
    totals.cuts += r.cuts;
    totals.inverted_steps += r.inverted > 0;
    totals.residual = std::max(totals.residual, r.residual);
    totals.deepest = std::max(totals.deepest, r.deepest);
    totals.joint_error = std::max(totals.joint_error, r.joint_error);
    totals.seconds_collision += r.seconds_collision;
    totals.seconds_assembly += r.seconds_assembly;
    totals.seconds_solve += r.seconds_solve;
    totals.seconds_projection += r.seconds_projection;
  }

  /// Segment, report, checkpoint: in this order, so that a checkpoint always has its frames. They
  /// are packed and written beside the steps that follow.
  void save() {
    if (state.step == saved_step || !records()) return;
    const Timer timer;
    if (stepper != nullptr) stepper->complete(state, warm);
    writer.wait();
    const bool segment = recorder.frame_count() > 0;
    if (segment) recorder.close_segment();
    next_segment += segment;
    totals.seconds_record += timer.seconds();
    totals.seconds += timer.seconds();
    writer.start(
        [this, segment, report = report(),
         checkpoint = io::Checkpoint{state, warm, next_segment, frames, totals, growing.bodies()}] {
          if (segment) recorder.write_segment(checkpoint.next_segment - 1);
          write_file(folder + "/report.json", report);
          io::write_checkpoint(checkpoint_path(folder), checkpoint);
        });
    saved_step = state.step;
    since_save.restart();
  }

  std::uint64_t hash() const {
    if (!scene.growth.any()) return io::hash_of(state, warm);
    io::Hash hash;
    const std::uint64_t before = io::hash_of(state, warm);
    hash.add(&before, sizeof before);
    hash.add_all(scene.parameters.values);
    return hash.value();
  }

  std::string report() const {
    const RunTotals& t = totals;
    const auto mean = [&](std::int64_t sum) {
      return t.steps > 0 ? static_cast<double>(sum) / static_cast<double>(t.steps) : 0.0;
    };
    nlohmann::ordered_json out = {{"format", "orthant-run"},
                                  {"version", 1},
                                  {"orthant_version", version()},
                                  {"name", scene.name},
                                  {"bodies", scene.model.bodies().size()},
                                  {"joints", scene.model.joints().size()},
                                  {"h", scene.settings.h},
                                  {"step", state.step},
                                  {"end_step", end},
                                  {"finished", state.step >= end},
                                  {"time", state.t},
                                  {"frames", frames},
                                  {"failed_steps", t.failed_steps},
                                  {"events_exhausted_steps", t.events_exhausted},
                                  {"cut_steps", t.cut_steps},
                                  {"cuts", t.cuts},
                                  {"inverted_steps", t.inverted_steps},
                                  {"worst_residual", t.residual},
                                  {"deepest", t.deepest},
                                  {"joint_error", t.joint_error},
                                  {"energy",
                                   {{"first", first_energy.value_or(0)},
                                    {"largest", first_energy ? largest_energy : 0},
                                    {"least", first_energy ? least_energy : 0}}},
                                  {"iterations", t.iterations},
                                  {"mean_contacts", mean(t.contacts)},
                                  {"most_contacts", t.most_contacts},
                                  {"mean_constraints", mean(t.constraints)},
                                  {"mean_solves", mean(t.solves)},
                                  {"most_solves", t.most_solves},
                                  {"seconds",
                                   {{"total", t.seconds},
                                    {"collision", t.seconds_collision},
                                    {"assembly", t.seconds_assembly},
                                    {"solve", t.seconds_solve},
                                    {"projection", t.seconds_projection},
                                    {"record", t.seconds_record}}},
                                  {"state_hash", hex(hash())}};
    if (team != nullptr)
      out["ranks"] = {{"count", team->size()},
                      {"sums", team->fast_sums() ? "fast: they depend on the ranks" : "in order"}};
    return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
};

SceneRun::SceneRun(LoadedScene scene, std::string folder, const RunOptions& options)
    : impl_(std::make_unique<Impl>(std::move(scene), std::move(folder))) {
  if (options.steps && options.time) throw Error("run", "give either steps or time, not both");
  Impl& run = *impl_;
  run.stepper = options.stepper;
  run.team = options.team;
  if (options.stepper != nullptr) need_plain_steps(run.scene, "a run by another stepper");
  run.end = options.steps.value_or(run.scene.steps);
  if (options.time) {
    const double count = std::ceil(*options.time / run.scene.settings.h - 1e-9);
    if (!(count >= 0 && count < 9e15)) throw Error("run", "time must be finite and >= 0");
    run.end = static_cast<std::int64_t>(count);
  }
  if (run.end < 0) throw Error("run", "steps must be >= 0, found " + std::to_string(run.end));
  if (run.resumes() && options.resume)
    run.go_on();
  else
    run.begin(options.overwrite);
}
SceneRun::~SceneRun() = default;
SceneRun::SceneRun(SceneRun&&) noexcept = default;
SceneRun& SceneRun::operator=(SceneRun&&) noexcept = default;

bool SceneRun::done() const { return impl_->state.step >= impl_->end; }
StepReport SceneRun::step() { return impl_->step(); }
void SceneRun::save() {
  impl_->save();
  const Timer timer;
  impl_->writer.wait();
  impl_->totals.seconds_record += timer.seconds();
  impl_->totals.seconds += timer.seconds();
}
std::int64_t SceneRun::end_step() const { return impl_->end; }
bool SceneRun::resumed() const { return impl_->resumed; }
const State& SceneRun::state() const { return impl_->state; }
const LoadedScene& SceneRun::scene() const { return impl_->scene; }
const RunTotals& SceneRun::totals() const { return impl_->totals; }
std::uint64_t SceneRun::hash() const { return impl_->hash(); }
std::string SceneRun::report() const { return impl_->report(); }

bool is_run(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(checkpoint_path(folder), error);
}

namespace {

/// A run that was killed before its first checkpoint: its scene is there, and nothing to go on
/// from.
bool is_begun(const std::string& folder) {
  std::error_code error;
  return fs::is_directory(folder + "/trajectory", error);
}

}  // namespace

void refuse_foreign_files(const std::string& folder) {
  if (is_run(folder) || is_begun(folder)) return;
  std::error_code error;
  for (const char* name : {"scene.yaml", "model.json", "parameters.h5", "report.json"})
    if (fs::exists(folder + "/" + name, error))
      throw Error(folder, std::string("holds a ") + name +
                              " that is not of a run and would be replaced; choose another folder");
}

LoadedScene scene_of_run(const std::string& folder) {
  std::error_code error;
  if (!is_run(folder) && !is_begun(folder))
    throw Error(folder, "holds no run (there is no checkpoint.h5)");
  if (!fs::is_regular_file(folder + "/scene.yaml", error))
    throw Error(folder,
                "was stopped before its scene was written; begin again with 'orthant run "
                "SCENE -o " +
                    folder + "'");
  return load_scene(folder + "/scene.yaml");
}

}  // namespace orthant
