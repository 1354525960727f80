// Describes a finding in a sentence, for people who do not know the names of parameters.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assay/identify/space.h"

namespace assay::inline v0_2::identify {

// Returns the arithmetic of a candidate as text: "Hopper's tensor cores, K in 4 parts of 1 024,
// added in float32". `alike` names the rows of the table that compute the case as the candidate
// does. If it is empty, the text names the machine of `text` (CandidateText::machine) and its
// differences from that machine's row.
std::string arithmetic_in_words(const Sums& sums, const Candidate& candidate,
                                const std::vector<std::string>& alike, std::string_view text);

// Returns the names of machines, each with its unit that multiplies operands of a format: "cpu_fma,
// Hopper's plain cores". Plain processors come first.
std::string units_in_words(const std::vector<std::string>& machines, std::string_view input);

// Returns the order of a sum or mean, given as parameters of reduce_sum, as text: "128 lanes that
// take 4 elements at a time, added in float32".
std::string order_in_words(const std::map<std::string, Attribute>& parameters);

// Returns the words as a sentence: with a capital letter at the beginning, and a full stop.
std::string sentence_of(std::string words);

}  // namespace assay::identify
