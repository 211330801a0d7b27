// SPDX-License-Identifier: Apache-2.0
// orthant/orthant.hpp: what a first program needs: build a world, run it, read it.
// Gradients (orthant/gradient/...), fits (orthant/learn/...), files (orthant/io/...) and the
// contact problem by itself (orthant/solver/solve.hpp) have headers of their own.
#pragma once

#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"
#include "orthant/step/simulation.hpp"
#include "orthant/step/world.hpp"
