#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh TREE JOBS: layout, architecture, headers, clang-tidy; all of them, then the verdict.
# TREE is configured with clang and without precompiled headers, which clang-tidy could not read.
# A file whose text and headers did not change since it was clean is not analysed again.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$1
jobs=$2
bad=0
step() { printf '\n== %s\n' "$*"; }

step "clang-format"
git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format-19 --dry-run --Werror || bad=1

step "rooms, licence lines, sizes"
python3 -B tools/check_rooms.py || bad=1

step "public headers compile alone"
python3 -B tools/check_headers.py clang++-19 || bad=1

step "shell scripts"
for script in tools/setup tools/*.sh .ci/run; do bash -n "$script" || bad=1; done

step "clang-tidy"
cmake -S . -B "$tree" >/dev/null
python3 -B tools/run_tidy.py "$tree" "$jobs" || bad=1

if [ $bad = 0 ]; then printf '\nlint: clean\n'; else printf '\nlint: see above\n'; fi
exit $bad
