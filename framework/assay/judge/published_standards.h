// Rules as they were published, where these let wrong results pass. The standard of the name
// (judge/standards.h) does not; whoever needs the original's verdict asks for it by
// "NAME,as_published", and every report says that it was asked for.
#pragma once

#include <optional>
#include <string_view>

#include "assay/judge/verdict.h"

namespace assay {

inline constexpr std::string_view kAsPublished = "as_published";

// "ttk_close" of "ttk_close,as_published"; empty of another standard.
std::optional<std::string_view> published_name(std::string_view standard);

// What the published rule of a standard lets pass, as a clause; empty where nothing is known.
std::string_view hole_of(std::string_view standard);

// Whether the published rule of a standard speaks of outputs of a dtype.
bool is_published_for(std::string_view standard, const Format& output);

// Judges by the original rule, in the original's arithmetic; `bound` is that of standard_bound()
// for "NAME,as_published". Metrics and the elements that are listed are those of the standard
// itself, and a note says so where that would not pass. A standard with a benchmark takes
// options.benchmark.
Verdict judge_published(const TensorView& actual, const TensorView& expected, const Bound& bound,
                        const JudgeOptions& options);

}  // namespace assay
