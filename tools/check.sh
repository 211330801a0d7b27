#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [COMPILER]: layout, architecture, shell scripts, headers that compile alone; all of them, then
# the verdict. Needs no build; about a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0
step() { printf '\n== %s\n' "$*"; }

step "clang-format"
git ls-files -z '*.cpp' '*.hpp' | xargs -0 clang-format-19 --dry-run --Werror || bad=1

step "rooms, licence lines, sizes"
python3 -B tools/check_rooms.py || bad=1

step "shell scripts"
for script in tools/setup tools/*.sh .ci/run; do bash -n "$script" || bad=1; done

step "public headers compile alone"
python3 -B tools/check_headers.py "${1:-c++}" || bad=1

if [ $bad = 0 ]; then printf '\ncheck: clean\n'; else printf '\ncheck: see above\n'; fi
exit $bad
