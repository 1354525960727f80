#include "assay/base/words.h"

#include "assay/base/text.h"

namespace assay::inline v0_2 {

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest_word(word, known);
  return near.empty() ? "" : formatted(": did you mean '{}'?", near);
}

std::string did_you_mean_aside(std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest_word(word, known);
  return near.empty() ? "" : formatted(" (did you mean '{}'?)", near);
}

std::string unknown_word(std::string_view kind, std::string_view word,
                         std::span<const std::string> known) {
  return formatted("unknown {} '{}'{}; known: {}", kind, word, did_you_mean(word, known),
                   joined(known));
}

}  // namespace assay
