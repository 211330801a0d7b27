// SPDX-License-Identifier: Apache-2.0
// orthant/reproduce_page.cpp: tables with the published columns marked, figures, runs, what
// differs.
#include "reproduce_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "orthant/base/version.hpp"

namespace orthant::app {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #8884; --ours: #1b6ca8; --theirs: #b5651d22;
  --good: #2e7d32; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ours: #64b5f6; --good: #81c784; --bad: #ef9a9a; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { margin-bottom: 0 } h2 { margin-top: 3rem; border-bottom: 2px solid var(--ours) }
h3 { margin: 2.2rem 0 .2rem } h4 { margin: 1.2rem 0 .3rem }
.cited, .small { opacity: .75; font-size: .9em; margin-top: 0 }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid var(--line) }
th { vertical-align: bottom; font-weight: 600 } th:first-child, td:first-child, .words { text-align: left }
.theirs { background: var(--theirs) }
.good { color: var(--good) } .bad { color: var(--bad); font-weight: 600 }
figure { display: inline-block; width: calc(50% - 1rem); min-width: 20rem; margin: .8rem .8rem .3rem 0; vertical-align: top }
figcaption { font-size: .85em; opacity: .75 }
figure img { max-width: 100%; max-height: 440px; background: white; border: 1px solid var(--line) }
code { background: #8882; padding: .1em .3em; border-radius: 3px }
details { margin: .6rem 0 } a { overflow-wrap: break-word }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

/// Columns that quote the document, or a reference computed elsewhere.
bool is_published(std::string_view column) {
  return column.find("published") != std::string_view::npos ||
         column.find("reference") != std::string_view::npos;
}

/// A column of sentences and names rather than numbers: most of its cells begin with a letter.
bool has_words(const reproduce::Table& table, std::size_t j) {
  std::size_t words = 0;
  for (const auto& row : table.rows)
    words += j < row.size() && !row[j].empty() &&
             std::isalpha(static_cast<unsigned char>(row[j].front())) != 0;
  return 2 * words > table.rows.size();
}

std::string table_html(const reproduce::Table& table) {
  std::string out =
      fmt::format("<h4>{}</h4>\n<div class=\"wide\"><table>\n<tr>", escaped(table.title));
  const auto cell = [&](const char* tag, std::size_t j, const std::string& text) {
    const bool theirs = j < table.columns.size() && is_published(table.columns[j]);
    const char* kind = theirs ? " class=\"theirs\"" : "";
    if (has_words(table, j)) kind = theirs ? " class=\"theirs words\"" : " class=\"words\"";
    out += fmt::format("<{0}{2}>{1}</{0}>", tag, escaped(text), kind);
  };
  for (std::size_t j = 0; j < table.columns.size(); ++j) cell("th", j, table.columns[j]);
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t j = 0; j < row.size(); ++j) cell("td", j, row[j]);
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string checks_html(const ExperimentRecord& record) {
  const auto& checks = record.result.checks;
  if (checks.empty()) return {};
  std::string out = fmt::format(
      "<details{}><summary>{} of {} checks hold</summary>\n<div class=\"wide\"><table>\n"
      "<tr><th>check</th><th>measured</th><th>bound</th><th></th></tr>\n",
      record.passed() ? "" : " open", record.held(), checks.size());
  for (const reproduce::Check& c : checks)
    out +=
        fmt::format("<tr><td>{}</td><td>{:.3e}</td><td>{:.2e}</td><td class=\"{}\">{}</td></tr>\n",
                    escaped(c.name), c.measured, c.bound, c.pass() ? "good" : "bad",
                    c.pass() ? "holds" : "fails");
  return out + "</table></div></details>\n";
}

std::string runs_html(const ExperimentRecord& record) {
  if (record.runs.empty()) return {};
  std::string out = "<h4>Runs to look at</h4>\n<ul>\n";
  for (const PlayedRun& run : record.runs)
    out += fmt::format(
        "<li>{}: <a href=\"{}\">viewer</a>, ParaView: <a href=\"{}\">{}</a>, folder <a "
        "href=\"{}\">{}</a>, <a href=\"{}\">scene</a></li>\n",
        escaped(run.what), run.page, run.paraview, run.paraview, run.folder, run.folder, run.scene);
  return out + "</ul>\n";
}

std::string experiment_html(const reproduce::Experiment& experiment,
                            const ExperimentRecord& record) {
  std::string out = fmt::format(
      "<h3 id=\"{0}\">{0}</h3>\n<p class=\"cited\">{1}. <code>orthant reproduce {0}{2}</code>, "
      "{3:.3g} CPU s</p>\n",
      experiment.name, escaped(experiment.what), record.form.starts_with("quick") ? " --quick" : "",
      record.seconds);
  if (!record.error.empty())
    out += fmt::format("<p class=\"bad\">did not end: {}</p>\n", escaped(record.error));
  if (!record.result.finished)
    out += "<p class=\"bad\">not finished; the same command goes on</p>\n";
  for (const reproduce::Table& table : record.result.tables) out += table_html(table);
  std::string others;
  for (const std::string& file : record.result.files) {
    // Beside the page, wherever the folder was when the experiment was made.
    const std::string link = record.name + "/" + std::filesystem::path(file).filename().string();
    if (file.ends_with(".svg"))
      out += fmt::format(
          "<figure><img src=\"{0}\" alt=\"{1}\" loading=\"lazy\">"
          "<figcaption><a href=\"{0}\">{0}</a></figcaption></figure>\n",
          link, std::filesystem::path(file).stem().string());
    else
      others += fmt::format("{}<a href=\"{}\">{}</a>", others.empty() ? "" : ", ", link, link);
  }
  if (!record.result.notes.empty()) {
    out += "<h4>What differs, and why</h4>\n<ul>\n";
    for (const std::string& note : record.result.notes)
      out += fmt::format("<li>{}</li>\n", escaped(note));
    out += "</ul>\n";
  }
  out += runs_html(record) + checks_html(record);
  if (!others.empty()) out += fmt::format("<p class=\"small\">Data: {}</p>\n", others);
  return out;
}

const ExperimentRecord* find(std::span<const ExperimentRecord> records, std::string_view name) {
  const auto at = std::find_if(records.begin(), records.end(),
                               [&](const ExperimentRecord& r) { return r.name == name; });
  return at == records.end() ? nullptr : &*at;
}

/// One line per experiment: what it is, how it went.
std::string summary_html(std::span<const ExperimentRecord> records) {
  std::string out =
      "<div "
      "class=\"wide\"><table>\n<tr><th>experiment</th><th "
      "class=\"words\">document</th><th>form</th><th>checks "
      "that hold</th><th>CPU s</th></tr>\n";
  for (const reproduce::Experiment& e : reproduce::experiments()) {
    const ExperimentRecord* record = find(records, e.name);
    if (record == nullptr) continue;
    std::string_view title;
    for (const reproduce::SourceText& s : reproduce::sources())
      if (s.source == e.source) title = s.title;
    out += fmt::format(
        "<tr><td><a href=\"#{0}\">{0}</a></td><td class=\"words\">{1}</td><td>{2}</td><td "
        "class=\"{3}\">{4} of "
        "{5}{6}</td><td>{7:.3g}</td></tr>\n",
        e.name, escaped(title), escaped(record->form), record->passed() ? "good" : "bad",
        record->held(), record->result.checks.size(), record->error.empty() ? "" : ", did not end",
        record->seconds);
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string reproduce_page(std::span<const ExperimentRecord> records) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Orthant: experiments of the "
      "literature</title><style>{}</style></head><body>\n<h1>Experiments of the "
      "literature</h1>\n<p "
      "class=\"cited\">Orthant {}. Shaded columns quote the document or a reference; the others "
      "are "
      "measured.</p>\n",
      kStyle, version());
  out += summary_html(records);
  for (const reproduce::SourceText& source : reproduce::sources()) {
    std::string section;
    for (const reproduce::Experiment& e : reproduce::experiments())
      if (const ExperimentRecord* r = find(records, e.name);
          r != nullptr && e.source == source.source)
        section += experiment_html(e, *r);
    if (!section.empty())
      out += fmt::format("<h2>{}</h2>\n<p class=\"cited\">{}</p>\n{}", escaped(source.title),
                         escaped(source.cited), section);
  }
  return out + "</body></html>\n";
}

}  // namespace orthant::app
