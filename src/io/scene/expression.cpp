// SPDX-License-Identifier: Apache-2.0
// io/scene/expression.cpp: $(...) => a number; names are parameters, f(sum, ...) the functions
// below. The grammar is in base/arithmetic.hpp.
#include "io/scene/expression.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "orthant/base/arithmetic.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/mix.hpp"

namespace orthant::io {
namespace {

struct Function {
  std::string_view name;
  std::size_t arguments;
  double (*call)(const double*);
};
constexpr Function kFunctions[] = {
    {"sin", 1, [](const double* a) { return std::sin(a[0]); }},
    {"cos", 1, [](const double* a) { return std::cos(a[0]); }},
    {"tan", 1, [](const double* a) { return std::tan(a[0]); }},
    {"atan2", 2, [](const double* a) { return std::atan2(a[0], a[1]); }},
    {"sqrt", 1, [](const double* a) { return std::sqrt(a[0]); }},
    {"abs", 1, [](const double* a) { return std::abs(a[0]); }},
    {"floor", 1, [](const double* a) { return std::floor(a[0]); }},
    {"min", 2, [](const double* a) { return std::min(a[0], a[1]); }},
    {"max", 2, [](const double* a) { return std::max(a[0], a[1]); }},
    {"mod", 2, [](const double* a) { return a[0] - a[1] * std::floor(a[0] / a[1]); }},
    // A number in [0, 1) that depends on its argument alone (SplitMix64).
    {"random", 1,
     [](const double* a) {
       const double whole = std::floor(a[0]);
       const std::uint64_t z = std::abs(whole) < 9e15
                                   ? static_cast<std::uint64_t>(static_cast<std::int64_t>(whole))
                                   : 0;
       return static_cast<double>(mix_bits((z + 1) * kGoldenRatio) >> 11) * 0x1p-53;
     }},
};

class Evaluator : ArithmeticReader<Evaluator, double> {
 public:
  Evaluator(std::string_view text, const Variables& variables, const std::string& where)
      : ArithmeticReader(text), variables_(variables), where_(where) {}

  double evaluate() {
    const double value = formula();
    if (!std::isfinite(value)) fail("is not finite");
    return value;
  }

 private:
  friend ArithmeticReader;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_, "$(" + std::string(text().substr(0, 80)) + "): " + what);
  }
  static double constant(double value) { return value; }
  static double raise(double base, double exponent) { return std::pow(base, exponent); }
  double word(const std::string& word, int depth) {
    if (take('(')) return call(word, depth);
    if (const std::string* text = variables_.find(word)) {
      double value = 0;
      if (!read_number(*text, value))
        fail("'" + word + "' is not a number but '" + text->substr(0, 60) + "'");
      return value;
    }
    if (word == "pi") return std::numbers::pi;
    unknown(word);
  }
  double call(const std::string& word, int depth) {
    for (const Function& f : kFunctions) {
      if (f.name != word) continue;
      double arguments[2] = {0, 0};
      for (std::size_t i = 0; i < f.arguments; ++i) {
        if (i > 0) need(',');
        arguments[i] = sum(depth + 1);
      }
      need(')');
      return f.call(arguments);
    }
    unknown(word);
  }
  [[noreturn]] void unknown(const std::string& word) const {
    std::vector<std::string> known = variables_.names();
    known.emplace_back("pi");
    for (const Function& f : kFunctions) known.emplace_back(f.name);
    const std::vector<std::string_view> views(known.begin(), known.end());
    const std::string near = nearest_spelling(word, views.data(), views.size());
    std::string message = "unknown name '" + word + "'";
    if (!near.empty()) message += " (did you mean '" + near + "'?)";
    message += "; known: ";
    for (std::size_t i = 0; i < known.size(); ++i) message += (i > 0 ? ", " : "") + known[i];
    fail(message);
  }

  const Variables& variables_;
  const std::string& where_;
};

}  // namespace

void Variables::set(const std::string& name, double value) { texts_[name] = to_text(value); }

const std::string* Variables::find(const std::string& name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? nullptr : &found->second;
}

std::vector<std::string> Variables::names() const {
  std::vector<std::string> names;
  names.reserve(texts_.size());
  for (const auto& [name, text] : texts_) names.push_back(name);
  return names;
}

namespace {

/// Words may stand for words, each twice as long as the one before.
constexpr std::size_t kMaxExpanded = std::size_t{1} << 16;

}  // namespace

std::string expand(std::string_view text, const Variables& variables, const std::string& where) {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find("$(");
    if (begin == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, begin));
    text.remove_prefix(begin + 2);
    std::size_t end = 0;
    for (int open = 1; end < text.size(); ++end) {
      open += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
      if (open == 0) break;
    }
    if (end == text.size()) throw Error(where, "'$(' without its ')'");
    const std::string_view inside = text.substr(0, end);
    // A name by itself may be a text; anything else is arithmetic.
    if (const std::string* value = variables.find(std::string(inside)))
      out += *value;
    else
      out += to_text(Evaluator(inside, variables, where).evaluate());
    if (out.size() > kMaxExpanded)
      throw Error(where, "stands for more than " + std::to_string(kMaxExpanded) +
                             " letters once its parameters are put in");
    text.remove_prefix(end + 1);
  }
}

bool read_number(std::string_view text, double& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && std::isfinite(value);
}

}  // namespace orthant::io
