// Rules exactly as they were published, for standards whose published rule lets wrong results pass.
// The standard of that name (judge/standards.h) does not. Use "NAME,as_published" to get the
// original's verdict. Every report then mentions it.
#pragma once

#include <optional>
#include <string_view>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

inline constexpr std::string_view kAsPublished = "as_published";

// Returns "ttk_close" for "ttk_close,as_published", and nothing for other standards.
std::optional<std::string_view> published_name(std::string_view standard);

// Returns a clause that says which wrong results the published rule of a standard lets pass. Empty
// if none are known.
std::string_view hole_of(std::string_view standard);

// True if the published rule of a standard applies to outputs of a dtype.
bool is_published_for(std::string_view standard, const Format& output);

// Judges by the original rule, in the original's arithmetic. `bound` is that of standard_bound()
// for "NAME,as_published". The metrics and the listed elements are those of the standard itself,
// and a note says so if the standard itself would not pass. A standard that compares with a
// reference implementation reads options.reference_implementation.
Verdict judge_published(const TensorView& actual, const TensorView& expected, const Bound& bound,
                        const JudgeOptions& options);

}  // namespace assay
