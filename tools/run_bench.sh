#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_bench.sh BIN OUT: runs every BIN/bench_* and leaves OUT/<name>.json beside what it prints.
set -euo pipefail
bin=$1
out=$2
mkdir -p "$out"
shopt -s nullglob
programs=("$bin"/bench_*)
[ ${#programs[@]} -gt 0 ] || { echo "no benchmarks in $bin" >&2; exit 1; }
for program in "${programs[@]}"; do
  name=$(basename "$program")
  printf '\n== %s\n' "$name"
  "$program" --benchmark_out="$out/$name.json" --benchmark_out_format=json
done
printf '\nJSON: %s\n' "$out"
