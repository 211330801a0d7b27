#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_viewer.sh unit|browser: tests of the viewer page; 77 (skipped) where node, its packages or
# Chromium are not installed. `make test` installs them first (tools/setup viewer).
set -euo pipefail
cd "$(dirname "$0")/../viewer"
command -v node >/dev/null || { echo "skipped: no node; tools/setup viewer installs it"; exit 77; }
exec node test/run.mjs "$1"
