// Sorts numbers by code that is compiled once and optimised, as tests are not.
#pragma once

#include <vector>

namespace assay {

void sort_numbers(std::vector<double>& numbers);

}  // namespace assay
