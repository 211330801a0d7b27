#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build_wheel.sh [FOLDER [PYTHON...]]: a wheel of the Python package per interpreter, with the shared libraries
# it needs inside, in build/wheel or FOLDER. It runs without the build tree; bundle_wheel.py says which
# libraries and which platform tag. Needs `tools/setup test python`. Without PYTHON the interpreter of .venv;
# another one (python3.12, /opt/python/bin/python3) gets an environment of its own beside the wheels.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/wheel}")
mkdir -p "$out/plain"
shift || true
# Compiler and warnings as in `make test`, whose objects ccache then gives back (CMakeLists.txt calls it).
export CC=${CC:-cc} CXX=${CXX:-c++}

build() {  # an interpreter with the packages of tools/requirements-python.txt
  local python=$1 tag
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  printf '== %s: building the extension (build/wheel_tree-%s)\n' "$tag" "$tag"
  rm -f "$out"/plain/orthant-*-"$tag"-*.whl
  "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    "--config-settings=build-dir=build/wheel_tree-$tag" --config-settings=cmake.define.ORTHANT_WERROR=ON \
    -w "$out/plain" .
  printf '== %s: adding the libraries\n' "$tag"
  PATH="$(dirname "$python"):$PWD/.venv/bin:$PATH" "$python" -B tools/bundle_wheel.py \
    "$out"/plain/orthant-*-"$tag"-*.whl "$out"
}

if [ $# = 0 ]; then
  build "$PWD/.venv/bin/python"
fi
for python in "$@"; do
  environment=$out/environment-$(basename "$python")
  if [ ! -x "$environment/bin/python" ]; then
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install -q --disable-pip-version-check -r tools/requirements-python.txt
  fi
  build "$environment/bin/python"
done
