#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build_docs.sh [--no-gallery]: Sphinx pages in build/docs/html, a page per scene in gallery/, the C++
# reference in api/. Any warning of either stops it.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/docs/html
printf '\n== Sphinx\n'
.venv/bin/sphinx-build -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/html
printf '\n== Gallery\n'
if [ "${1:-}" = --no-gallery ]; then
  printf 'left out, as asked\n'
elif [ -x build/release/bin/orthant ]; then
  python3 -B tools/build_gallery.py build/release/bin/orthant build/docs/html/gallery
else
  printf 'left out: build/release/bin/orthant does not exist (make build)\n'
fi
printf '\n== Doxygen\n'
doxygen docs/Doxyfile
test -f build/docs/html/api/index.html
printf '\ndocs: build/docs/html/index.html\n'
