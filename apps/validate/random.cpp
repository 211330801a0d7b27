// SPDX-License-Identifier: Apache-2.0
// validate/random.cpp: the campaign over random scenes, its table and its JSON.
#include "validate/random.hpp"

#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/thread_scope.hpp"
#include "validate/random_scene.hpp"

namespace orthant::validation {
namespace {

constexpr std::size_t kListed = 40;  // failures a person reads; the JSON has all

[[gnu::format(printf, 1, 2)]] std::string line(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::uint64_t sum(const Campaign::Counts& counts) {
  std::uint64_t total = 0;
  for (const std::uint64_t n : counts) total += n;
  return total;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

std::string finding_text(Finding finding) { return std::string(name_of(finding)); }

/// The first thing that keeps a certificate from being one; empty: nothing does.
std::string obstacle_of(const SceneJudgement& one) {
  const RolloutCertificate& c = one.certificate;
  if (one.finding == Finding::Right || c.steps == 0 || (c.certified() && c.open.empty())) return {};
  const std::string text = !c.exact                           ? c.reason
                           : c.kinks > 0                      ? c.kink
                           : c.floating > 0 || c.kink.empty() ? "step 0: rows on a border"
                                                              : c.kink;
  // "step 3: 'b0' and 'b1' meet" -> "'' and '' meet": one line for all bodies.
  std::string out;
  bool inside = false;
  for (const char ch : text.substr(text.find(": ") + 2)) {
    if (ch == '\'') inside = !inside;
    if (!inside || ch == '\'') out += ch;
  }
  return out;
}

std::string counts_json(const Campaign::Counts& counts) {
  std::string out = "{";
  for (int i = 0; i < kFindings; ++i)
    out += (i == 0 ? "" : ", ") + quoted(finding_text(static_cast<Finding>(i))) + ": " +
           std::to_string(counts[static_cast<std::size_t>(i)]);
  return out + "}";
}

}  // namespace

double Campaign::share_right(bool events) const {
  const Counts& counts = events ? with_events : without_events;
  const std::uint64_t all = sum(counts);
  const auto right = static_cast<double>(counts[static_cast<std::size_t>(Finding::Right)]);
  return all == 0 ? 1 : right / static_cast<double>(all);
}

std::string Campaign::table() const {
  std::string out = line("%-24s %10s %10s %10s\n", "finding", "events", "no events", "all");
  for (int i = 0; i < kFindings; ++i) {
    const auto k = static_cast<std::size_t>(i);
    out += line("%-24s %10llu %10llu %10llu\n", finding_text(static_cast<Finding>(i)).c_str(),
                static_cast<unsigned long long>(with_events[k]),
                static_cast<unsigned long long>(without_events[k]),
                static_cast<unsigned long long>(with_events[k] + without_events[k]));
  }
  out += line("exact and right: %.1f %% of %llu with events, %.1f %% of %llu without\n",
              100 * share_right(true), static_cast<unsigned long long>(sum(with_events)),
              100 * share_right(false), static_cast<unsigned long long>(sum(without_events)));
  out += line(
      "largest energy rise of a step: %.1e of the kinetic energy (%llu passive scenes with "
      "events)\n",
      worst_energy_rise, static_cast<unsigned long long>(passive_with_events));
  if (!obstacles.empty()) out += line("%10s %10s  not certified because\n", "events", "no events");
  for (const auto& [what, counts] : obstacles)
    out += line("%10llu %10llu  ", static_cast<unsigned long long>(counts[0]),
                static_cast<unsigned long long>(counts[1])) +
           what + "\n";
  for (std::size_t i = 0; i < failures.size() && i < kListed; ++i) {
    out += line("  %-16s ", finding_text(failures[i].finding).c_str()) +
           (i < files.size() ? files[i] : failures[i].name) + ": " + failures[i].what + "\n";
  }
  if (failures.size() > kListed)
    out += "  and " + std::to_string(failures.size() - kListed) + " more\n";
  return out;
}

std::string Campaign::json() const {
  std::string out = "{\n \"seed\": " + std::to_string(settings.seed) +
                    ",\n \"first\": " + std::to_string(settings.first) +
                    ",\n \"scenes\": " + std::to_string(settings.count) +
                    ",\n \"with_events\": " + counts_json(with_events) +
                    ",\n \"without_events\": " + counts_json(without_events) +
                    ",\n \"worst_energy_rise\": " + to_text(worst_energy_rise) +
                    ",\n \"obstacles\": {";
  for (bool first = true; const auto& [what, counts] : obstacles) {
    out += std::string(first ? "" : ", ") + quoted(what) + ": [" + std::to_string(counts[0]) +
           ", " + std::to_string(counts[1]) + "]";
    first = false;
  }
  out += "},\n \"failures\": [";
  for (std::size_t i = 0; i < failures.size(); ++i)
    out += std::string(i == 0 ? "\n" : ",\n") + "  {\"name\": " + quoted(failures[i].name) +
           ", \"finding\": " + quoted(finding_text(failures[i].finding)) +
           ", \"what\": " + quoted(failures[i].what) +
           ", \"file\": " + quoted(i < files.size() ? files[i] : "") + "}";
  return out + (failures.empty() ? "]\n}\n" : "\n ]\n}\n");
}

Campaign run_campaign(const CampaignSettings& settings) {
  Campaign campaign;
  campaign.settings = settings;
  const auto name_of_scene = [&](std::uint64_t i) {
    return "random-" + std::to_string(settings.seed) + "-" + std::to_string(settings.first + i);
  };
  std::vector<SceneJudgement> judged(settings.count);
  std::mutex progress;
  std::uint64_t done = 0;
  {
    const ThreadScope threads(settings.threads);
    parallel_for(judged.size(), 1, [&](std::size_t begin, std::size_t end) {
      const ThreadScope alone(1);  // a scene is small
      for (std::size_t i = begin; i < end; ++i) {
        judged[i] = judge_scene(random_scene(settings.seed, settings.first + i), name_of_scene(i),
                                settings.inputs);
        if (!settings.progress) continue;
        const std::lock_guard lock(progress);
        settings.progress(++done);
      }
    });
  }
  for (std::uint64_t i = 0; i < settings.count; ++i) {
    SceneJudgement& one = judged[i];
    Campaign::Counts& counts = one.events ? campaign.with_events : campaign.without_events;
    ++counts[static_cast<std::size_t>(one.finding)];
    if (one.events && one.passive) ++campaign.passive_with_events;
    campaign.worst_energy_rise = std::max(campaign.worst_energy_rise, one.energy_rise);
    if (const std::string what = obstacle_of(one); !what.empty())
      ++campaign.obstacles[what][one.events ? 0 : 1];
    if (!is_failure(one.finding)) continue;
    if (!settings.directory.empty()) {
      std::filesystem::create_directories(settings.directory);
      campaign.files.push_back(settings.directory + "/" + one.name + ".yaml");
      write_file(campaign.files.back(), "# " + finding_text(one.finding) + ": " + one.what + "\n" +
                                            random_scene(settings.seed, settings.first + i));
    }
    campaign.failures.push_back(std::move(one));
  }
  return campaign;
}

std::string judge_file(const std::string& path, bool& failed) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  const SceneJudgement one = judge_scene(text.str(), path, 0);
  failed = is_failure(one.finding);
  std::string out = path + ": " + finding_text(one.finding) +
                    (one.what.empty() ? "" : " (" + one.what + ")") + "\n";
  const RolloutCertificate& c = one.certificate;
  out += line(
      "certificate: %s, %d rows on a border, %d kinks, %d inputs at a kink, margin %.1e, %d "
      "impacts "
      "located%s%s%s%s\n",
      c.exact ? "exact" : "not exact", static_cast<int>(c.floating), static_cast<int>(c.kinks),
      static_cast<int>(c.open.size()), c.margin, c.impacts, c.reason.empty() ? "" : "; ",
      c.reason.c_str(), c.kink.empty() ? "" : "; ", c.kink.c_str());
  out += line("%-28s %16s %16s %16s %9s\n", "input, times its size", "gradient", "left", "right",
              "error");
  for (const InputJudgement& i : one.inputs)
    out += line("%-28s %16.9g %16.9g %16.9g %9.1e %s\n", i.name.c_str(), i.gradient, i.left,
                i.right, i.error, finding_text(i.finding).c_str());
  return out;
}

}  // namespace orthant::validation
