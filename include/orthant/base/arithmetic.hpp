// SPDX-License-Identifier: Apache-2.0
// base/arithmetic.hpp: a formula => a value of any kind (a number, a number with derivatives), by
// recursive descent.
//   sum := product (('+' | '-') product)*     product := power (('*' | '/') power)*
//   power := ('-' | '+') power | atom ('^' power)?     atom := number | word … | (sum)
// What words mean and how values are joined is the caller's: scene files and losses share the
// grammar and nothing else.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Value has + - * / and unary -. Derived has
///   void fail(const std::string&) const, which throws;   Value constant(double);
///   Value raise(Value base, Value exponent);   Value word(const std::string& name, int depth).
template <class Derived, class Value>
class ArithmeticReader {
 protected:
  explicit ArithmeticReader(std::string_view text) : text_(text) {}

  /// The whole text.
  Value formula() {
    Value value = sum(0);
    skip_space();
    if (at_ < text_.size()) self().fail("unexpected '" + std::string(1, text_[at_]) + "'");
    return value;
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) self().fail(std::string("expected '") + c + "'");
  }
  double number() {
    skip_space();
    double value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) self().fail("bad number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }
  /// Up to one of the characters `ends`, without the space around it.
  std::string_view up_to(std::string_view ends) {
    skip_space();
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    std::size_t end = at_;
    while (end > begin && is_space(text_[end - 1])) --end;
    return text_.substr(begin, end - begin);
  }

  Value sum(int depth) {
    Value value = product(depth);
    for (;;) {
      if (take('+'))
        value = value + product(depth);
      else if (take('-'))
        value = value - product(depth);
      else
        return value;
    }
  }

  std::string_view text() const { return text_; }
  /// How far it has read, for messages.
  std::size_t position() const { return at_; }

 private:
  static constexpr int kMaxDepth = 64;

  Derived& self() { return static_cast<Derived&>(*this); }
  static bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  Value product(int depth) {
    Value value = power(depth);
    for (;;) {
      if (take('*'))
        value = value * power(depth);
      else if (take('/'))
        value = value / power(depth);
      else
        return value;
    }
  }
  Value power(int depth) {
    if (depth > kMaxDepth) self().fail("nested too deeply");
    if (take('-')) return -power(depth + 1);
    if (take('+')) return power(depth + 1);
    Value base = atom(depth);
    return take('^') ? self().raise(base, power(depth + 1)) : base;
  }
  Value atom(int depth) {
    if (take('(')) {
      Value value = sum(depth + 1);
      need(')');
      return value;
    }
    skip_space();
    if (at_ >= text_.size()) self().fail("ends too early");
    if (is_digit(text_[at_]) || text_[at_] == '.') return self().constant(number());
    if (!is_letter(text_[at_])) self().fail("unexpected '" + std::string(1, text_[at_]) + "'");
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return self().word(std::string(text_.substr(begin, at_ - begin)), depth);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace orthant
