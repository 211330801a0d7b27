#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build_wheel.sh [FOLDER]: the wheel of the Python package with the shared libraries it needs inside,
# in build/wheel or FOLDER. It runs without the build tree; bundle_wheel.py says which libraries and
# which platform tag. Needs `tools/setup test python`.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/wheel}")
mkdir -p "$out/plain"
printf '== building the extension (build/wheel_tree)\n'
rm -f "$out"/plain/orthant-*.whl
# Compiler and warnings as in `make test`, whose objects ccache then gives back.
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
export CC=${CC:-cc} CXX=${CXX:-c++}
.venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
  --config-settings=build-dir=build/wheel_tree --config-settings=cmake.define.ORTHANT_WERROR=ON \
  -w "$out/plain" .
printf '== adding the libraries\n'
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -B tools/bundle_wheel.py "$out"/plain/orthant-*.whl "$out"
