// How much is needed until a target refuses: the smallest error, the size, the blind elements.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/audit/audit.h"

namespace assay::audit {

// The smallest k from 1 to `most` at which passes(k) is false, where it is true below and false
// from there on: k is doubled until it is refused, then halved into. Empty where none is refused.
std::optional<std::int64_t> smallest_refused(std::int64_t most,
                                             const std::function<bool(std::int64_t k)>& passes);

std::vector<Sight> sights_of(const Subject& subject, Target& target);
Blindness blindness_of(const Subject& subject, Target& target);

// The subject at the sizes that are tried.
std::vector<Subject> sizes_of(const Subject& subject);
std::vector<SizeSeries> series_of(const std::vector<Subject>& sizes, Target& target);

}  // namespace assay::audit
