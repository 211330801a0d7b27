#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_fuzz.sh NAME: runs build/fuzz/bin/NAME for ORTHANT_FUZZ_SECONDS (20) on a copy of its seeds,
# from random number ORTHANT_FUZZ_SEED (1: a test repeats itself; 0: another one each time).
# Exit code 77, which ctest reads as skipped, where the program was not built (no clang).
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
program=build/fuzz/bin/$name
if [ ! -x "$program" ]; then
  echo "$program does not exist: make build-fuzz"
  exit 77
fi
what=${name#fuzz_}
corpus=build/fuzz/corpus/$name
mkdir -p "$corpus"
if [ -d "tests/fuzz/seeds/$what" ]; then cp -n "tests/fuzz/seeds/$what"/* "$corpus"/; fi
arguments=(-max_total_time="${ORTHANT_FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=4096
           -seed="${ORTHANT_FUZZ_SEED:-1}" -error_exitcode=1  # by itself it ends in 77, too
           -print_final_stats=1 -verbosity=0 "-artifact_prefix=build/fuzz/")
if [ -f "tests/fuzz/$what.dict" ]; then arguments+=("-dict=tests/fuzz/$what.dict"); fi
if [ -f "tests/fuzz/$what.options" ]; then mapfile -t -O "${#arguments[@]}" arguments < <(grep -v '^#' "tests/fuzz/$what.options"); fi
exec "$program" "${arguments[@]}" "$corpus"
