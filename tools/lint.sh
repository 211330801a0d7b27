#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh TREE JOBS [BASE]: what check.sh checks, then clang-tidy; all of it, then the verdict.
# TREE is configured with clang and without precompiled headers, which clang-tidy could not read.
# A file whose text and headers did not change since it was clean is not analysed again. With BASE, a
# commit, clang-tidy looks only at sources that differ from it.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1
jobs=$2
bad=0
tools/check.sh clang++-19 || bad=1
printf '\n== clang-tidy\n'
cmake -S . -B "$tree" >/dev/null
python3 -B tools/run_tidy.py "$tree" "$jobs" "${3:-}" || bad=1
if [ $bad = 0 ]; then printf '\nlint: clean\n'; else printf '\nlint: see above\n'; fi
exit $bad
