#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build_docs.sh: Sphinx pages in build/docs/html, the C++ reference in build/docs/html/api.
# Any warning of either stops it.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/docs/html
printf '\n== Sphinx\n'
.venv/bin/sphinx-build -q -W --keep-going -b html -d build/docs/doctrees docs build/docs/html
printf '\n== Doxygen\n'
doxygen docs/Doxyfile
test -f build/docs/html/api/index.html
printf '\ndocs: build/docs/html/index.html\n'
