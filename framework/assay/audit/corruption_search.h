// Searches for the limits at which a target refuses: the smallest error, the size, the blind
// elements.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/audit/audit.h"

namespace assay::audit {

// Returns the smallest k from 1 to `most` for which passes(k) is false. Empty if it is true for
// all. passes() must be true below that k and false from it on. Doubles k until it is refused, and
// then bisects.
std::optional<std::int64_t> smallest_refused(std::int64_t most,
                                             const std::function<bool(std::int64_t k)>& passes);

std::vector<Sight> sights_of(const Subject& subject, Target& target);
Blindness blindness_of(const Subject& subject, Target& target);

// Returns the subject at each size that the audit tries.
std::vector<Subject> sizes_of(const Subject& subject);
std::vector<SizeSeries> series_of(const std::vector<Subject>& sizes, Target& target);

}  // namespace assay::audit
