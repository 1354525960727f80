#include "sorting.h"

#include <algorithm>

namespace assay {

void sort_numbers(std::vector<double>& numbers) { std::sort(numbers.begin(), numbers.end()); }

}  // namespace assay
