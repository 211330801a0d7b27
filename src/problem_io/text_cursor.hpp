// SPDX-License-Identifier: Apache-2.0
// problem_io/text_cursor.hpp: bytes of a text file => numbers, with a position for every complaint.
// Numbers are read by std::from_chars (exact, locale-free). Line and column are counted only when
// something is wrong, so the good path costs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/math/types.hpp"

namespace orthant::problem_io {

/// An Error that remembers how far the reader got: of several guesses at a format, the one that got
/// furthest has the message worth showing.
class TextError : public Error {
 public:
  TextError(std::string_view where, std::string_view what, std::size_t offset)
      : Error(where, what), offset_(offset) {}
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

enum class Sign : std::uint8_t { Any, NonNegative };

class TextCursor {
 public:
  TextCursor(std::string_view text, std::string_view name)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), token_(begin_), name_(name) {}

  /// Integer in [low, high]; `what` names it in the message.
  std::int64_t integer(const char* what, std::int64_t low, std::int64_t high);
  /// As integer() in Index.
  Index index(const char* what, std::int64_t low, std::int64_t high) {
    return static_cast<Index>(integer(what, low, high));
  }
  /// Finite number; `position` and `count` are for the message.
  double number(const char* what, std::int64_t position, std::int64_t count, Sign sign = Sign::Any);
  /// `count` finite numbers.
  void numbers(const char* what, std::int64_t count, double* out, Sign sign = Sign::Any);

  /// Throws unless `count` items of at least `bytes` bytes each can still follow: a wrong count is
  /// refused before memory is asked for.
  void expect_room(const char* what, std::int64_t count, std::int64_t bytes);

  /// The given characters after optional white space.
  void literal(std::string_view expected);
  bool at_literal(std::string_view expected);
  /// To the start of the next line.
  void skip_line();
  /// As skip_line(), but nothing except blanks may be left on this one.
  void end_of_line();
  /// Skips a line of prose: one that has a word in it, which no list of numbers has.
  void prose_line(const char* what);
  /// Integer without the need of white space behind it ("12-by-12,").
  std::int64_t embedded_integer(const char* what, std::int64_t low, std::int64_t high);

  /// Complains about the item read last.
  [[noreturn]] void fail(const std::string& what) const;

  /// Place to come back to.
  const char* mark() const { return at_; }
  void rewind(const char* mark) { at_ = mark; }

 private:
  void skip_space();
  std::string found() const;  // the item at token_, for messages
  std::int64_t parse_integer(const char* what, std::int64_t low, std::int64_t high, bool delimited);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* token_;  // start of the item read last
  std::string name_;
};

}  // namespace orthant::problem_io
