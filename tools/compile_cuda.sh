#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/compile_cuda.sh LOG COMMAND...: runs the CUDA compiler with what it says in LOG; shown where it fails.
set -u
log=$1
shift
"$@" 2>"$log" || { cat "$log" >&2; exit 1; }
