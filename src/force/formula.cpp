// SPDX-License-Identifier: Apache-2.0
// force/formula.cpp: text => postfix operations => numbers, plain or with six derivatives.
#include "orthant/force/formula.hpp"

#include <cmath>
#include <numbers>

#include "orthant/base/arithmetic.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

constexpr std::size_t kMaxText = 4096, kMaxStack = 128;

enum Code : std::uint8_t {
  kConstant,
  kVariable,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kNegate,
  kRaise,
  kCall
};
enum Variable : std::uint8_t { kX, kY, kZ, kVx, kVy, kVz, kR, kT };
constexpr std::string_view kVariables[] = {"x", "y", "z", "vx", "vy", "vz", "r", "t"};

/// A number and its derivatives by x, y, z, vx, vy, vz.
struct Jet {
  double a = 0;
  std::array<double, 6> d = {};

  Jet() = default;
  Jet(double value) : a(value) {}
};
/// f(x) with f'(x) = slope.
Jet chain(const Jet& x, double value, double slope) {
  Jet y(value);
  for (int i = 0; i < 6; ++i) y.d[i] = slope * x.d[i];
  return y;
}
/// f(x, y) with its two partial derivatives.
Jet chain(const Jet& x, const Jet& y, double value, double by_x, double by_y) {
  Jet z(value);
  for (int i = 0; i < 6; ++i) z.d[i] = by_x * x.d[i] + by_y * y.d[i];
  return z;
}
Jet operator+(const Jet& x, const Jet& y) { return chain(x, y, x.a + y.a, 1, 1); }
Jet operator-(const Jet& x, const Jet& y) { return chain(x, y, x.a - y.a, 1, -1); }
Jet operator*(const Jet& x, const Jet& y) { return chain(x, y, x.a * y.a, y.a, x.a); }
Jet operator/(const Jet& x, const Jet& y) {
  return chain(x, y, x.a / y.a, 1 / y.a, -x.a / (y.a * y.a));
}
Jet operator-(const Jet& x) { return chain(x, -x.a, -1); }

double apply(double, double, double value, double, double) { return value; }
Jet apply(const Jet& x, const Jet& y, double value, double by_x, double by_y) {
  return chain(x, y, value, by_x, by_y);
}
double number_of(double x) { return x; }
double number_of(const Jet& x) { return x.a; }

/// Value and slopes of a function at (a, b).
struct Slopes {
  double value, by_a, by_b;
};
struct Function {
  std::string_view name;
  int arguments;
  Slopes (*call)(double a, double b);
};
constexpr Function kFunctions[] = {
    {"sin", 1, [](double a, double) { return Slopes{std::sin(a), std::cos(a), 0}; }},
    {"cos", 1, [](double a, double) { return Slopes{std::cos(a), -std::sin(a), 0}; }},
    {"tan", 1,
     [](double a, double) {
       const double f = std::tan(a);
       return Slopes{f, 1 + f * f, 0};
     }},
    {"exp", 1, [](double a, double) { return Slopes{std::exp(a), std::exp(a), 0}; }},
    {"log", 1, [](double a, double) { return Slopes{std::log(a), 1 / a, 0}; }},
    {"sqrt", 1,
     [](double a, double) {
       const double f = std::sqrt(a);
       return Slopes{f, 0.5 / f, 0};
     }},
    {"abs", 1, [](double a, double) { return Slopes{std::abs(a), a < 0 ? -1.0 : 1.0, 0}; }},
    {"tanh", 1,
     [](double a, double) {
       const double f = std::tanh(a);
       return Slopes{f, 1 - f * f, 0};
     }},
    {"atan2", 2,
     [](double a, double b) {
       const double n = a * a + b * b;
       return Slopes{std::atan2(a, b), b / n, -a / n};
     }},
    {"min", 2, [](double a, double b) { return a <= b ? Slopes{a, 1, 0} : Slopes{b, 0, 1}; }},
    {"max", 2, [](double a, double b) { return a >= b ? Slopes{a, 1, 0} : Slopes{b, 0, 1}; }},
};

using Operations = std::vector<Formula::Operation>;

/// Postfix operations as the value of the grammar: joining values joins lists.
struct Piece {
  Operations list;

  static Piece join(Piece a, Piece b, Code code) {
    a.list.insert(a.list.end(), b.list.begin(), b.list.end());
    a.list.push_back({code, 0, 0});
    return a;
  }
};
Piece operator+(Piece a, Piece b) { return Piece::join(std::move(a), std::move(b), kAdd); }
Piece operator-(Piece a, Piece b) { return Piece::join(std::move(a), std::move(b), kSubtract); }
Piece operator*(Piece a, Piece b) { return Piece::join(std::move(a), std::move(b), kMultiply); }
Piece operator/(Piece a, Piece b) { return Piece::join(std::move(a), std::move(b), kDivide); }
Piece operator-(Piece a) {
  a.list.push_back({kNegate, 0, 0});
  return a;
}

class FormulaReader : ArithmeticReader<FormulaReader, Piece> {
 public:
  FormulaReader(std::string_view text, const std::string& where, int component)
      : ArithmeticReader(text), where_(where), component_(component) {}

  Operations read() { return formula().list; }

 private:
  friend ArithmeticReader;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_, "formula '" + std::string(text().substr(0, 80)) + "', character " +
                            std::to_string(position() + 1) + ": " + what);
  }
  static Piece constant(double value) { return {{{kConstant, 0, value}}}; }
  static Piece raise(Piece base, Piece exponent) {
    return Piece::join(std::move(base), std::move(exponent), kRaise);
  }
  Piece word(const std::string& word, int depth) {
    if (take('(')) return call(word, depth);
    if (word == "pi") return constant(std::numbers::pi);
    for (std::uint8_t i = 0; i < std::size(kVariables); ++i)
      if (kVariables[i] == word)
        return {{{kVariable, i == kX && component_ > 0 ? static_cast<std::uint8_t>(component_) : i,
                  0}}};
    unknown(word);
  }
  Piece call(const std::string& word, int depth) {
    for (std::uint8_t i = 0; i < std::size(kFunctions); ++i) {
      if (kFunctions[i].name != word) continue;
      Piece arguments = sum(depth + 1);
      if (kFunctions[i].arguments == 2) {
        need(',');
        const Piece second = sum(depth + 1);
        arguments.list.insert(arguments.list.end(), second.list.begin(), second.list.end());
      }
      need(')');
      arguments.list.push_back({kCall, i, 0});
      return arguments;
    }
    unknown(word);
  }
  [[noreturn]] void unknown(const std::string& word) const {
    std::vector<std::string_view> known(std::begin(kVariables), std::end(kVariables));
    known.emplace_back("pi");
    for (const Function& f : kFunctions) known.push_back(f.name);
    const std::string near = nearest_spelling(word, known.data(), known.size());
    std::string list;
    for (const std::string_view name : known)
      list += (list.empty() ? "" : ", ") + std::string(name);
    fail("unknown name '" + word.substr(0, 40) + "'" +
         (near.empty() ? "" : " (did you mean '" + near + "'?)") + "; known: " + list);
  }

  const std::string& where_;
  int component_;
};

template <class T>
T raise(const T& x, const T& y) {
  const double a = number_of(x), b = number_of(y), f = std::pow(a, b);
  // x^b with a constant b has a slope at x = 0 too; the logarithm is needed only by the exponent.
  const double by_exponent = a > 0 ? f * std::log(a) : 0;
  return apply(x, y, f, b == 0 ? 0 : b * std::pow(a, b - 1), by_exponent);
}

template <class T>
T evaluate(const Operations& operations, const std::array<T, 8>& variables, T* stack) {
  std::size_t top = 0;
  for (const Formula::Operation& o : operations) {
    switch (o.code) {
      case kConstant:
        stack[top++] = T(o.constant);
        continue;
      case kVariable:
        stack[top++] = variables[o.which];
        continue;
      case kNegate:
        stack[top - 1] = -stack[top - 1];
        continue;
      case kCall: {
        const Function& f = kFunctions[o.which];
        if (f.arguments == 2) --top;
        const T a = stack[top - 1], b = f.arguments == 2 ? stack[top] : T(0.0);
        const Slopes s = f.call(number_of(a), number_of(b));
        stack[top - 1] = apply(a, b, s.value, s.by_a, s.by_b);
        continue;
      }
      default:
        break;
    }
    --top;
    T& a = stack[top - 1];
    const T& b = stack[top];
    a = o.code == kAdd        ? a + b
        : o.code == kSubtract ? a - b
        : o.code == kMultiply ? a * b
        : o.code == kDivide   ? a / b
                              : raise(a, b);
  }
  return stack[0];
}

template <class T>
std::array<T, 8> variables_at(const FormulaPoint& at) {
  const double r = at.x.norm();
  std::array<T, 8> out = {T(at.x[0]), T(at.x[1]), T(at.x[2]), T(at.v[0]),
                          T(at.v[1]), T(at.v[2]), T(r),       T(at.t)};
  if constexpr (std::is_same_v<T, Jet>) {
    for (int i = 0; i < 6; ++i) out[i].d[i] = 1;
    for (int i = 0; i < 3; ++i) out[kR].d[i] = r > 0 ? at.x[i] / r : 0;
  }
  return out;
}

}  // namespace

Formula::Formula(std::string_view text, const std::string& where, int component) {
  if (text.size() > kMaxText)
    throw Error(where, "a formula has at most " + std::to_string(kMaxText) + " characters, found " +
                           std::to_string(text.size()));
  operations_ = FormulaReader(text, where, component).read();
  std::size_t height = 0;
  for (const Operation& o : operations_) {
    const bool pushes = o.code == kConstant || o.code == kVariable;
    const bool joins = o.code == kCall ? kFunctions[o.which].arguments == 2 : o.code != kNegate;
    height = pushes ? height + 1 : joins ? height - 1 : height;
    depth_ = std::max(depth_, height);
  }
  if (depth_ > kMaxStack) throw Error(where, "the formula is nested too deeply");
}

double Formula::value(const FormulaPoint& at) const {
  double stack[kMaxStack];
  return evaluate(operations_, variables_at<double>(at), stack);
}

double Formula::value(const FormulaPoint& at, std::array<double, 6>& gradient) const {
  Jet stack[kMaxStack];
  const Jet out = evaluate(operations_, variables_at<Jet>(at), stack);
  gradient = out.d;
  return out.a;
}

}  // namespace orthant
