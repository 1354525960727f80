#include "assay/wire/bins.h"

#include <charconv>

#include "assay/base/text.h"

namespace assay::inline v0_2::wire {

std::string bins_text(const Bins& bins) {
  std::string text;
  for (const auto& [bin, count] : bins) {
    text += formatted("{}{}:{}", text.empty() ? "" : " ", bin, count);
  }
  return text;
}

std::optional<Bins> read_bins(std::string_view text) {
  Bins bins;
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    std::pair<int, std::int64_t> bin;
    const auto [colon, error] = std::from_chars(at, end, bin.first);
    if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
    const auto [next, second] = std::from_chars(colon + 1, end, bin.second);
    if (second != std::errc() || (next != end && *next != ' ') || bin.second < 0) {
      return std::nullopt;
    }
    bins.push_back(bin);
    at = next == end ? end : next + 1;
  }
  return bins;
}

}  // namespace assay::wire
