#include "assay/op/k_split.h"

#include <algorithm>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {

KOrder k_order(const KSplit& split, bool in_two_terms, std::int64_t k, std::int64_t promotion) {
  KOrder all{.promotion = promotion};
  all.parts.order = split.order;
  all.parts.part = split.part;
  all.parts.sum = split.sum;
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  const std::int64_t terms = split.terms > 0 ? split.terms : std::max<std::int64_t>(k, 1);
  for (std::int64_t begin = 0, end = split.first > 0 ? split.first : terms; begin < k;
       begin = end, end += terms) {
    pieces.emplace_back(begin, std::min(k, end));
  }
  const std::size_t count =
      split.dealt > 0 ? std::min(at(split.dealt), pieces.size()) : pieces.size();
  if (count == pieces.size() && !in_two_terms) {
    for (const auto& [begin, end] : pieces) all.parts.ends.push_back(end);
    return all;
  }
  for (std::size_t part = 0; part < count; ++part) {
    std::vector<std::int64_t> ks;
    for (std::size_t piece = part; piece < pieces.size(); piece += count) {
      for (std::int64_t i = pieces[piece].first; i < pieces[piece].second; ++i) ks.push_back(i);
    }
    const std::size_t stretch = promotion > 0 ? at(promotion) : std::max<std::size_t>(ks.size(), 1);
    for (std::size_t begin = 0; begin < ks.size(); begin += stretch) {
      const std::size_t end = std::min(ks.size(), begin + stretch);
      for (const KOrder::Pass pass :
           {KOrder::Pass::kRestOfA, KOrder::Pass::kRestOfB, KOrder::Pass::kFirst}) {
        if (!in_two_terms && pass != KOrder::Pass::kFirst) continue;
        for (std::size_t i = begin; i < end; ++i) all.terms.push_back({ks[i], pass});
      }
    }
    all.parts.ends.push_back(static_cast<std::int64_t>(all.terms.size()));
  }
  if (in_two_terms) all.promotion = 3 * promotion;
  return all;
}

std::vector<Parameter> split_parameters() {
  std::vector<std::string> orders(std::begin(kPartOrderWords), std::end(kPartOrderWords));
  return {
      count_parameter("split_first",
                      "number of terms in the first part, if it is not split_k. 0 means split_k"),
      count_parameter("split_parts",
                      "number of parts that get pieces of split_k terms in turn. 0 means that each "
                      "piece is a part"),
      word_parameter("split_order", orders, "order in which the sums of parts are added"),
      dtype_parameter(
          "split_dtype",
          "dtype to which the sum of a part is rounded. If it is not given, it is float32"),
      dtype_parameter(
          "split_sum_dtype",
          "dtype to which the sums of parts are rounded. If it is not given, it is float32")};
}

KSplit split_of(const Case& c) {
  KSplit split{.terms = integer_of(c, "split_k")};
  const Operator* op = find_operator(c.op);
  if (op == nullptr || find_parameter(*op, "split_first") == nullptr) return split;
  split.first = integer_of(c, "split_first");
  split.dealt = integer_of(c, "split_parts");
  const std::string order = word_of(c, "split_order");
  for (const PartOrder o : {PartOrder::kAscending, PartOrder::kDescending, PartOrder::kPairwise}) {
    if (order == kPartOrderWords[static_cast<std::size_t>(o)]) split.order = o;
  }
  const auto format_of = [&](const char* name) -> const Format* {
    const auto word = c.text(name);
    if (!word || *word == "float32") return nullptr;
    if (*word != "float16" && *word != "bfloat16") {
      refuse_case(c.name, "{} is '{}'; sums of parts of K are float32, float16 or bfloat16", name,
                  *word);
    }
    return &format_named(*word);
  };
  split.part = format_of("split_dtype");
  split.sum = format_of("split_sum_dtype");
  if (split.terms == 0 && split != KSplit{}) {
    refuse_case(c.name,
                "the case says how K is split, but not into which parts; give split_k, or leave "
                "out the other parameters of the split");
  }
  if (split.first > 0 && split.dealt > 0) {
    refuse_case(c.name,
                "split_first and split_parts cannot be used together; leave one of them out");
  }
  return split;
}

}  // namespace assay
