// SPDX-License-Identifier: Apache-2.0
// orthant/sweep_table.hpp: --set mu=0.1:0.9:9 --set n=10,20 => a table of runs, one line each.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace orthant::app {

/// One name and the values it takes, as texts: what is in the table is what the run is given.
struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
};

/// "name=a:b:n" (n numbers from a to b), "name=x,y,z" or "name=x". Throws Error.
SweepAxis parse_axis(const std::string& text);

/// Every combination of the axes, the last one fastest. Throws Error where an axis is named twice
/// or the table has more than a million lines.
class SweepTable {
 public:
  explicit SweepTable(std::vector<SweepAxis> axes);
  std::size_t size() const { return size_; }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::vector<std::string> values(std::size_t line) const;    ///< by axis
  std::vector<std::string> settings(std::size_t line) const;  ///< "name=value", by axis

 private:
  std::vector<SweepAxis> axes_;
  std::size_t size_ = 1;
};

/// A field of a CSV file, quoted where it has to be (RFC 4180).
std::string csv_field(const std::string& text);
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace orthant::app
