// SPDX-License-Identifier: Apache-2.0
// problem_io/text_cursor.cpp: numbers out of text.
#include "problem_io/text_cursor.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace orthant::problem_io {
namespace {

constexpr std::size_t kMaxQuoted = 24;  // longest piece of the file quoted in a message

constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool has_negative_exponent(const char* begin, const char* end) {
  const char* e = std::find_if(begin, end, [](char c) { return c == 'e' || c == 'E'; });
  return end - e >= 2 && e[1] == '-';
}

}  // namespace

void TextCursor::skip_space() {
  while (at_ != end_ && is_space(*at_)) ++at_;
  token_ = at_;
}

std::string TextCursor::found() const {
  if (token_ == end_) return "the end of the file";
  std::string quoted;
  for (const char* c = token_; c != end_ && !is_space(*c); ++c) {
    if (quoted.size() == kMaxQuoted) {
      quoted += "…";
      break;
    }
    const auto byte = static_cast<unsigned char>(*c);
    quoted += byte >= 0x20 && byte < 0x7f ? *c : '?';
  }
  return "'" + quoted + "'";
}

void TextCursor::fail(const std::string& what) const {
  const auto line = 1 + std::count(begin_, token_, '\n');
  const char* start = token_;
  while (start != begin_ && start[-1] != '\n') --start;
  throw TextError(name_ + ":" + std::to_string(line) + ":" + std::to_string(token_ - start + 1),
                  what, static_cast<std::size_t>(token_ - begin_));
}

std::int64_t TextCursor::parse_integer(const char* what, std::int64_t low, std::int64_t high,
                                       bool delimited) {
  skip_space();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(at_, end_, value);
  const bool clean = error == std::errc() && (!delimited || end == end_ || is_space(*end));
  if (!clean || value < low || value > high) {
    const std::string range = high >= std::int64_t{INT32_MAX} ? ">= " + std::to_string(low)
                              : low == high                   ? std::to_string(low)
                                            : std::to_string(low) + ".." + std::to_string(high);
    fail(std::string(what) + " must be an integer " + (low == high ? "equal to " : "") + range +
         ", found " + found());
  }
  at_ = end;
  return value;
}

std::int64_t TextCursor::integer(const char* what, std::int64_t low, std::int64_t high) {
  return parse_integer(what, low, high, true);
}

std::int64_t TextCursor::embedded_integer(const char* what, std::int64_t low, std::int64_t high) {
  return parse_integer(what, low, high, false);
}

double TextCursor::number(const char* what, std::int64_t position, std::int64_t count, Sign sign) {
  skip_space();
  // Dense files are mostly "0": one digit needs no parser.
  if (end_ - at_ > 1 && *at_ >= '0' && *at_ <= '9' && is_space(at_[1])) return *at_++ - '0';
  // from_chars knows no leading plus, C's printf can write one.
  const char* start = at_ != end_ && *at_ == '+' ? at_ + 1 : at_;
  double value = 0;
  auto [end, error] = std::from_chars(start, end_, value);
  if (error == std::errc::result_out_of_range && has_negative_exponent(start, end)) {
    value = *start == '-' ? -0.0 : 0.0;  // too small for a double is zero, as C's strtod has it
    error = std::errc();
  }
  const bool is_number = error == std::errc() && (end == end_ || is_space(*end));
  if (!is_number || !std::isfinite(value) || (sign == Sign::NonNegative && !(value >= 0))) {
    const std::string label = std::string(what) + "[" + std::to_string(position) + "]";
    if (at_ == end_) {
      fail("the file ends inside " + std::string(what) + ": " + std::to_string(position) + " of " +
           std::to_string(count) + " numbers found");
    }
    if (error == std::errc::result_out_of_range) {
      fail(label + " does not fit a double, found " + found());
    }
    if (!is_number) fail(label + " must be a number, found " + found());
    if (!std::isfinite(value)) fail(label + " must be finite, found " + found());
    fail(label + " must be >= 0, found " + found());
  }
  at_ = end;
  return value;
}

void TextCursor::numbers(const char* what, std::int64_t count, double* out, Sign sign) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = number(what, i, count, sign);
}

void TextCursor::expect_room(const char* what, std::int64_t count, std::int64_t bytes) {
  // The last item needs no separator: one byte less.
  const std::int64_t left = end_ - at_ + 1;
  if (count > left / bytes) {
    skip_space();
    if (at_ == end_) {
      fail("the file ends before " + std::string(what) + ": " + std::to_string(count) +
           " entries expected");
    }
    fail(std::string(what) + ": " + std::to_string(count) +
         " entries are announced, but the file has only " + std::to_string(end_ - at_) +
         " bytes left");
  }
}

bool TextCursor::at_literal(std::string_view expected) {
  skip_space();
  return static_cast<std::size_t>(end_ - at_) >= expected.size() &&
         std::equal(expected.begin(), expected.end(), at_);
}

void TextCursor::literal(std::string_view expected) {
  if (!at_literal(expected)) fail("expected '" + std::string(expected) + "', found " + found());
  at_ += expected.size();
}

void TextCursor::end_of_line() {
  const char* end = std::find(at_, end_, '\n');
  const char* left = std::find_if_not(at_, end, is_space);
  if (left != end) {
    token_ = left;
    fail("expected the end of the line, found " + found());
  }
  skip_line();
}

void TextCursor::prose_line(const char* what) {
  const char* end = std::find(at_, end_, '\n');
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool has_word = std::adjacent_find(at_, end, [&](char a, char b) {
                          return is_letter(a) && is_letter(b);
                        }) != end;
  if (!has_word) {
    skip_space();
    fail("expected " + std::string(what) + ", found " + found());
  }
  skip_line();
}

void TextCursor::skip_line() {
  at_ = std::find(at_, end_, '\n');
  if (at_ != end_) ++at_;
  token_ = at_;
}

}  // namespace orthant::problem_io
