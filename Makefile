# SPDX-License-Identifier: Apache-2.0
# Names for the things one does often; the work is done by CMake presets and tools/.
# make test on a bare Debian 12 installs what is missing, builds and tests; so does make demo.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
PRESETS := release dev debug asan tsan fuzz lint
# The tests of the PyTorch layers and of the page need more than a build does, fuzzing needs clang.
SETUP_GROUPS := test python $(if $(filter mpi test-mpi test-all,$(MAKECMDGOALS)),mpi) $(if $(filter petsc test-mpi test-all,$(MAKECMDGOALS)),petsc) $(if $(filter test test-all setup,$(MAKECMDGOALS)),torch viewer) $(if $(filter test-all setup build-fuzz,$(MAKECMDGOALS)),fuzz)
say = @printf '\n== %s\n'

.PHONY: help setup build cuda test-cuda test test-core mpi petsc test-mpi test-all bench bench-plan bench-siconos bench-peers demo viewer format check lint docs check-docs clean
.PHONY: $(addprefix configure-,$(PRESETS)) $(addprefix build-,$(PRESETS)) test-asan test-tsan test-debug

help:  ## this list
	@echo "Orthant: hard contact, exact gradients. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup:  ## install missing Debian packages (root or sudo), make .venv
	@tools/setup $(SETUP_GROUPS)

# Only where it never ran: afterwards Ninja calls CMake again by itself when needed.
$(addprefix configure-,$(PRESETS)): configure-%: setup
	@if [ ! -f build/$*/build.ninja ]; then printf '\n== configuring build/$*\n'; cmake --preset $* >build/configure-$*.log 2>&1 || { cat build/configure-$*.log; rm -f build/$*/build.ninja; exit 1; }; fi

$(addprefix build-,release dev debug asan tsan): build-%: configure-%
	$(say) 'building build/$*'
	@cmake --build build/$* --parallel $(JOBS)

# What a user needs; the tests are built where they are run.
build: configure-release  ## optimised library, command and Python package: build/release/bin/orthant
	$(say) 'building build/release'
	@cmake --build build/release --parallel $(JOBS) --target product
	@printf '\ncommand: build/release/bin/orthant\nPython:  PYTHONPATH=build/release/python .venv/bin/python\n'

# The libFuzzer programs need clang and a tree of their own.
build-fuzz: configure-fuzz
	$(say) 'building the fuzz targets in build/fuzz'
	@cmake --build build/fuzz --parallel $(JOBS) --target fuzz_targets

test: build-release  ## set up, build, run all tests but the long ones
	$(say) 'testing'
	@ctest --preset release --parallel $(JOBS)

test-core: build-release  ## the same without PyTorch, Chromium and npm
	$(say) 'testing'
	@ctest --preset release-core --parallel $(JOBS)

test-asan test-tsan test-debug: test-%: build-%
	$(say) 'testing build/$*'
	@ctest --preset $* --parallel $(JOBS)

test-all: mpi petsc build-release build-fuzz test-debug test-asan test-tsan  ## test, sanitizers, long fuzzing, large random campaigns
	$(say) 'testing, long ones included'
	@ORTHANT_FUZZ_SECONDS=$(FUZZ_SECONDS) ORTHANT_FUZZ_SEED=0 ORTHANT_KILLS=50 ctest --preset release-long --parallel $(JOBS)

mpi: configure-release  ## install Open MPI, build build/release/bin/orthant-mpi: runs on many ranks
	@cmake -S . -B build/release -DORTHANT_MPI=ON >build/configure-mpi.log
	$(say) 'building build/release/bin/orthant-mpi'
	@cmake --build build/release --parallel $(JOBS) --target product orthant_mpi

petsc: configure-release  ## install PETSc, build liborthant_tao (-tao_type orthant) and build/release/bin/orthant-petsc
	@cmake -S . -B build/release -DORTHANT_PETSC=ON >build/configure-petsc.log
	$(say) 'building build/release/bin/orthant-petsc'
	@cmake --build build/release --parallel $(JOBS) --target petsc_tests

# RANKS: how many at most; more than there are cores are fine.
RANKS ?= 4
test-mpi: mpi petsc  ## test runs on 1 to RANKS ranks, and PETSc
	$(say) 'testing on ranks'
	@python3 -B tests/mpi/gradient_test.py build/release/bin $(RANKS)
	@PYTHONPATH=build/release/python mpirun --allow-run-as-root --oversubscribe --bind-to none -n 3 \
	  /usr/bin/python3 -B -m mpi4py.futures tests/mpi/batch_test.py
	@python3 -B tests/mpi/petsc_test.py build/release/bin build/release/src/liborthant_tao.so $(RANKS)
	@python3 -B tests/mpi/ranks_test.py build/release/bin/orthant-mpi $(RANKS)

bench: configure-release  ## run the benchmarks, JSON in build/bench
	$(say) 'building and running the benchmarks'
	@cmake -S . -B build/release -DORTHANT_BENCH=ON >build/configure-bench.log
	@cmake --build build/release --parallel $(JOBS)
	@tools/run_bench.sh build/release/bin build/bench

# PROBLEMS=folder: other files than those of tests/data. BASELINE=plan.json of another build.
bench-plan: build-release  ## time, residual and method of every problem file, and what each threshold of the plan is worth
	@python3 -B tools/bench_plan.py build/release/bin/orthant build/bench --thresholds $(if $(PROBLEMS),--folder $(PROBLEMS)) \
	  $(if $(BASELINE),--baseline $(BASELINE)) --record build/bench/problems

# PROBLEMS=folder: other files than tests/data/fclib.
bench-siconos: build-release  ## the same problems by Siconos, for comparison: build/bench
	@tools/setup siconos
	$(say) 'building and running the comparison with Siconos'
	@cmake -S bench/peers/siconos -B build/siconos -G Ninja >build/configure-siconos.log
	@cmake --build build/siconos
	@python3 -B tools/compare_siconos.py build/release/bin/orthant build/siconos/peer_siconos build/bench $(PROBLEMS)

bench-peers: build-release  ## our scenes in MuJoCo, Bullet, DART, ODE, for comparison: build/bench
	@tools/setup peers
	$(say) 'building and running the comparison with other engines'
	@cmake -S . -B build/release -DORTHANT_PEERS=ON >build/configure-peers.log
	@cmake --build build/release --parallel $(JOBS)
	@python3 -B tools/compare_engines.py build/release/bin build/bench

cuda: configure-release  ## liborthant_cuda for a GPU (sm_90): build/release/lib
	@tools/setup cuda
	$(say) 'building liborthant_cuda'
	@cmake -S . -B build/release -DORTHANT_CUDA=ON >build/configure-cuda.log
	@cmake --build build/release --parallel $(JOBS) --target orthant_cuda cuda_batch_bench cuda_spheres_bench cuda_rods_bench

test-cuda: cuda  ## the batch on the host, and the registers of the kernels; needs no GPU
	@cmake --build build/release --parallel $(JOBS) --target test_device
	$(say) 'testing'
	@ctest --test-dir build/release -R '^(device|cuda)/' --output-on-failure

demo: build  ## a throw found by gradients, a thousand dominoes, one page: build/demo
	@tools/setup demo
	$(say) 'running the demo'
	@.venv/bin/python tools/demo.py build/release/bin/orthant build/demo

viewer:  ## rebuild the viewer page from viewer/src: viewer/dist/viewer.html
	@tools/setup viewer
	$(say) 'checking types and bundling the viewer'
	@npm --prefix viewer run --silent build

format:  ## lay out all sources with clang-format
	@tools/setup lint
	@git ls-files '*.cpp' '*.hpp' | xargs clang-format-19 -i

check:  ## layout, architecture, headers; needs no build
	@tools/setup test check
	@tools/check.sh

# BASE=commit: clang-tidy only on what differs from it.
lint: configure-lint  ## check, and clang-tidy
	@tools/setup test lint
	@tools/lint.sh build/lint $(JOBS) $(BASE)

docs:  ## Doxygen and Sphinx, warnings are errors: build/docs/html/index.html
	@tools/setup docs
	@tools/build_docs.sh

check-docs:  ## the same without the gallery, which runs every scene
	@tools/setup docs
	@tools/build_docs.sh --no-gallery

clean:  ## remove build/ (keeps .venv)
	rm -rf build
