// SPDX-License-Identifier: Apache-2.0
// orthant/sweep_table.cpp: axes in words => lines of a table.
#include "sweep_table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr std::size_t kMostLines = 1'000'000;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return {};
  return value;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw Error("--set " + text, "expected name=first:last:count, name=x,y,z or name=value");
  SweepAxis axis{text.substr(0, equals), {}};
  const std::string range = text.substr(equals + 1);
  const std::vector<std::string> parts = split(range, ':');
  if (parts.size() == 3) {
    const auto first = number_of(parts[0]), last = number_of(parts[1]), count = number_of(parts[2]);
    if (!first || !last || !count)
      throw Error("--set " + text, "expected three numbers, first:last:count");
    if (!(*count >= 1 && *count <= kMostLines) || *count != std::floor(*count))
      throw Error("--set " + text, "the count must be a whole number from 1 to 1000000");
    if (*count == 1 && *first != *last)
      throw Error("--set " + text, "one value cannot be both first and last");
    const int n = static_cast<int>(*count);
    for (int i = 0; i < n; ++i) {
      const double share = n > 1 ? static_cast<double>(i) / (n - 1) : 0;
      // Fifteen digits: 0.3, not 0.30000000000000004.
      axis.values.push_back(fmt::format("{:.15g}", *first + (*last - *first) * share));
    }
    return axis;
  }
  // A vector in brackets is one value.
  axis.values = range.front() == '[' ? std::vector<std::string>{range} : split(range, ',');
  for (const std::string& value : axis.values)
    if (value.empty()) throw Error("--set " + text, "a value is empty");
  return axis;
}

SweepTable::SweepTable(std::vector<SweepAxis> axes) : axes_(std::move(axes)) {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (axes_[i].name == axes_[j].name)
        throw Error("--set", "'" + axes_[i].name + "' is given twice");
    if (axes_[i].values.size() > kMostLines / size_)
      throw Error("--set", "the table has more than 1000000 runs");
    size_ *= axes_[i].values.size();
  }
}

std::vector<std::string> SweepTable::values(std::size_t line) const {
  std::vector<std::string> out(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const auto& values = axes_[i].values;
    out[i] = values[line % values.size()];
    line /= values.size();
  }
  return out;
}

std::vector<std::string> SweepTable::settings(std::size_t line) const {
  std::vector<std::string> out = values(line);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = axes_[i].name + "=" + out[i];
  return out;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (const std::string& field : fields) out += (out.empty() ? "" : ",") + csv_field(field);
  return out + "\n";
}

}  // namespace orthant::app
