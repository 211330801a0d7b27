// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_registers.hpp: eight numbers at a time, or as many as a register holds, and the
// bodies of a batch in and out of registers. Included by sweeps_kernel.hpp alone, under its rules.
#pragma once

#include <cstddef>

#include "crowd/sweeps_data.hpp"

namespace orthant::internal {
namespace {

constexpr int kLanes = 8;
// What is done for every contact stays in registers: calls would pass it through memory.
#define ORTHANT_INLINE inline __attribute__((always_inline))

#if ORTHANT_SWEEPS_LANES == 8
// Lanes that one register holds. A batch of doubles is two halves where a register has four: twice
// as many numbers at a time would not fit into the registers there are. The lanes of a batch share
// no body that moves, so one half after the other is the same thing.
#if defined(__AVX512F__)
constexpr int kDoubles = 8;
#else
constexpr int kDoubles = 4;
#endif
template <class T>
constexpr int kWidth = sizeof(T) == sizeof(float) ? 8 : kDoubles;
template <class T>
struct Wide;
template <>
struct Wide<float> {
  typedef float V __attribute__((vector_size(32)));
};
template <>
struct Wide<double> {
  typedef double V __attribute__((vector_size(8 * kDoubles)));
};
template <class T>
using Pack = typename Wide<T>::V;

template <class V, class T>
V read(const T* p) {
  V x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class V, class T>
void write(T* p, const V& x) {
  __builtin_memcpy(p, &x, sizeof x);
}
template <class V>
V root(const V& x) {
  V r;
  constexpr bool kSingle = sizeof(x[0]) == sizeof(float);
  for (int l = 0; l < int(sizeof(V) / sizeof(x[0])); ++l)
    r[l] = kSingle ? __builtin_sqrtf(x[l]) : __builtin_sqrt(x[l]);
  return r;
}
template <class M>
bool any(const M& mask) {
  M m = mask;
  bool some = false;
  for (int l = 0; l < int(sizeof(M) / sizeof(m[0])); ++l) some = some || m[l] != 0;
  return some;
}

/// Rows of eight numbers <=> eight packs of one number each.
ORTHANT_INLINE void transpose(Pack<float>* r) {
#define ORTHANT_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define ORTHANT_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define ORTHANT_EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define ORTHANT_ODD(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define ORTHANT_FRONT(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define ORTHANT_BACK(a, b) __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
  Pack<float> t[8], s[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = ORTHANT_LOW(r[i], r[i + 1]);
    t[i + 1] = ORTHANT_HIGH(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    s[i] = ORTHANT_EVEN(t[i], t[i + 2]);
    s[i + 1] = ORTHANT_ODD(t[i], t[i + 2]);
    s[i + 2] = ORTHANT_EVEN(t[i + 1], t[i + 3]);
    s[i + 3] = ORTHANT_ODD(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = ORTHANT_FRONT(s[i], s[i + 4]);
    r[i + 4] = ORTHANT_BACK(s[i], s[i + 4]);
  }
}
#if defined(__AVX512F__)
ORTHANT_INLINE void transpose(Pack<double>* r) {
  Pack<double> t[8], s[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int k = 0; k < 2; ++k) {
      s[i + k] = ORTHANT_EVEN(t[i + k], t[i + k + 2]);
      s[i + k + 2] = ORTHANT_ODD(t[i + k], t[i + k + 2]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = ORTHANT_FRONT(s[i], s[i + 4]);
    r[i + 4] = ORTHANT_BACK(s[i], s[i + 4]);
  }
}
#else
/// Four rows of eight: x[l] and x[4 + l] are the halves of row l, or component k of all in x[k].
ORTHANT_INLINE void transpose(Pack<double>* r) {
  for (int half = 0; half < 8; half += 4) {
    Pack<double>* x = r + half;
    const Pack<double> p = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6);
    const Pack<double> q = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
    const Pack<double> u = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6);
    const Pack<double> w = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
    x[0] = __builtin_shufflevector(p, u, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(q, w, 0, 1, 4, 5);
    x[2] = __builtin_shufflevector(p, u, 2, 3, 6, 7);
    x[3] = __builtin_shufflevector(q, w, 2, 3, 6, 7);
  }
}
#endif

/// As many bodies as there are lanes: component k of all of them in x[k].
template <class T>
ORTHANT_INLINE T* row_of(T* bodies, std::int32_t index) {
  return bodies + kBodyRow * static_cast<std::size_t>(index);
}
template <class T>
ORTHANT_INLINE void gather(const T* bodies, const std::int32_t* index, Pack<T>* x) {
  constexpr int kParts = kBodyRow / kWidth<T>;  // registers of a row
  for (int l = 0; l < kWidth<T>; ++l)
    for (int part = 0; part < kParts; ++part)
      x[kWidth<T> * part + l] = read<Pack<T>>(row_of(bodies, index[l]) + kWidth<T> * part);
  transpose(x);
}
template <class T>
ORTHANT_INLINE void scatter(Pack<T>* x, const std::int32_t* index, T* bodies) {
  constexpr int kParts = kBodyRow / kWidth<T>;
  transpose(x);
  for (int l = 0; l < kWidth<T>; ++l)
    for (int part = 0; part < kParts; ++part)
      write(row_of(bodies, index[l]) + kWidth<T> * part, x[kWidth<T> * part + l]);
}

#if defined(__AVX512F__)
/// Two batches of floats in one register each: what is at `at` and `apart` numbers further on.
#define ORTHANT_TWINS 1
typedef float TwinPack __attribute__((vector_size(64)));
template <class T>
struct Twin {
  T* at;
  std::ptrdiff_t apart;
  Twin operator+(int k) const { return {at + k, apart}; }
};
ORTHANT_INLINE TwinPack both(const Pack<float>& a, const Pack<float>& b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
ORTHANT_INLINE Pack<float> low(const TwinPack& x) {
  return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
}
ORTHANT_INLINE Pack<float> high(const TwinPack& x) {
  return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
}
template <class V, class T>
ORTHANT_INLINE V read(const Twin<T>& p) {
  return both(read<Pack<float>>(p.at), read<Pack<float>>(p.at + p.apart));
}
ORTHANT_INLINE void write(const Twin<float>& p, const TwinPack& x) {
  write(p.at, low(x));
  write(p.at + p.apart, high(x));
}
/// Four registers of rows of four, quarter by quarter.
ORTHANT_INLINE void transpose_quarters(TwinPack* r) {
#define ORTHANT_FOURS(a, b, i, j, k, l)                                                      \
  __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4, i + 8, j + 8, k + 8, \
                          l + 8, i + 12, j + 12, k + 12, l + 12)
  const TwinPack p = ORTHANT_FOURS(r[0], r[1], 0, 16, 1, 17);
  const TwinPack q = ORTHANT_FOURS(r[0], r[1], 2, 18, 3, 19);
  const TwinPack u = ORTHANT_FOURS(r[2], r[3], 0, 16, 1, 17);
  const TwinPack w = ORTHANT_FOURS(r[2], r[3], 2, 18, 3, 19);
  r[0] = ORTHANT_FOURS(p, u, 0, 1, 16, 17);
  r[1] = ORTHANT_FOURS(p, u, 2, 3, 18, 19);
  r[2] = ORTHANT_FOURS(q, w, 0, 1, 16, 17);
  r[3] = ORTHANT_FOURS(q, w, 2, 3, 18, 19);
#undef ORTHANT_FOURS
}
/// Bodies j and j + 4 of a batch share a register until their numbers are sorted.
ORTHANT_INLINE void gather(const float* bodies, const Twin<const std::int32_t>& index,
                           TwinPack* x) {
  for (int j = 0; j < 4; ++j) {
    TwinPack r[2];
    for (int k = 0; k < 2; ++k) {
      const std::int32_t* at = index.at + j + k * index.apart;
      r[k] =
          both(read<Pack<float>>(row_of(bodies, at[0])), read<Pack<float>>(row_of(bodies, at[4])));
    }
    x[j] = __builtin_shufflevector(r[0], r[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26,
                                   27);
    x[j + 4] = __builtin_shufflevector(r[0], r[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28,
                                       29, 30, 31);
  }
  transpose_quarters(x);
  transpose_quarters(x + 4);
}
ORTHANT_INLINE void scatter(TwinPack* x, const Twin<const std::int32_t>& index, float* bodies) {
  transpose_quarters(x);
  transpose_quarters(x + 4);
  for (int j = 0; j < 4; ++j) {
    const TwinPack r[2] = {__builtin_shufflevector(x[j], x[j + 4], 0, 1, 2, 3, 16, 17, 18, 19, 4, 5,
                                                   6, 7, 20, 21, 22, 23),
                           __builtin_shufflevector(x[j], x[j + 4], 8, 9, 10, 11, 24, 25, 26, 27, 12,
                                                   13, 14, 15, 28, 29, 30, 31)};
    for (int k = 0; k < 2; ++k) {
      const std::int32_t* at = index.at + j + k * index.apart;
      write(row_of(bodies, at[0]), low(r[k]));
      write(row_of(bodies, at[4]), high(r[k]));
    }
  }
}
#endif
#else
template <class T>
constexpr int kWidth = 1;
template <class T>
using Pack = T;
template <class V, class T>
V read(const T* p) {
  return *p;
}
template <class V, class T>
void write(T* p, const V& x) {
  *p = x;
}
inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }
inline bool any(bool x) { return x; }
template <class T>
ORTHANT_INLINE void gather(const T* bodies, const std::int32_t* index, T* x) {
  for (int k = 0; k < kBodyRow; ++k) x[k] = bodies[kBodyRow * *index + k];
}
template <class T>
ORTHANT_INLINE void scatter(T* x, const std::int32_t* index, T* bodies) {
  for (int k = 0; k < kBodyRow; ++k) bodies[kBodyRow * *index + k] = x[k];
}
#endif

template <class V>
V larger(const V& a, const V& b) {
  return a > b ? a : b;
}

/// A vector of three packs.
template <class V>
struct Trio {
  V x, y, z;
};
template <class V>
Trio<V> operator+(const Trio<V>& a, const Trio<V>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class V>
Trio<V> operator-(const Trio<V>& a, const Trio<V>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class V>
Trio<V> operator*(const V& s, const Trio<V>& a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class V>
V dot(const Trio<V>& a, const Trio<V>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class V>
Trio<V> cross(const Trio<V>& a, const Trio<V>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class V, class P>
Trio<V> read_trio(const P& p) {
  return {read<V>(p), read<V>(p + kLanes), read<V>(p + 2 * kLanes)};
}
template <class V, class P>
void write_trio(const P& p, const Trio<V>& a) {
  write(p, a.x);
  write(p + kLanes, a.y);
  write(p + 2 * kLanes, a.z);
}

}  // namespace
}  // namespace orthant::internal
