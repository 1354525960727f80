// Searches for the limits from which on a target refuses an output: the smallest error, the size of
// the output, and the number of elements that are 0.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/audit/audit.h"

namespace assay::inline v0_2::audit {

// Returns the smallest k from 1 to `most` for which passes(k) is false. Returns nothing if there is
// no such k. passes() must be true below that k and false from it on. Doubles k until passes(k) is
// false, and then bisects.
std::optional<std::int64_t> smallest_refused(std::int64_t most,
                                             const std::function<bool(std::int64_t k)>& passes);

std::vector<Sight> sights_of(const Subject& subject, Target& target);
Blindness blindness_of(const Subject& subject, Target& target);

// Returns the subject at each size that the audit tries.
std::vector<Subject> sizes_of(const Subject& subject);
std::vector<SizeSeries> series_of(const std::vector<Subject>& sizes, Target& target);

}  // namespace assay::audit
