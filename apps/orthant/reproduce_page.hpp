// SPDX-License-Identifier: Apache-2.0
// orthant/reproduce_page.hpp: the records of experiments => one page, document by document.
#pragma once

#include <span>
#include <string>

#include "reproduce_record.hpp"

namespace orthant::app {

/// HTML without scripts; figures and runs are linked relative to the folder of all experiments,
/// where it will stand.
std::string reproduce_page(std::span<const ExperimentRecord> records);

}  // namespace orthant::app
