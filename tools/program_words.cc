#include "program_words.h"

#include <filesystem>
#include <optional>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_writer.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

std::optional<Place> place_in(std::string_view braced, const Places& places) {
  const std::size_t colon = braced.find(':');
  const std::string kind(braced.substr(0, colon));
  const bool named = colon != std::string_view::npos;
  if (!contains(named ? places.named : places.plain, kind)) return std::nullopt;
  return Place{kind, named ? std::string(braced.substr(colon + 1)) : ""};
}

}  // namespace

std::string replaced(const std::string& word, const Places& places,
                     const std::function<std::string(const Place&)>& by) {
  std::string out;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t end = word[i] == '{' ? word.find('}', i) : std::string::npos;
    const auto place = end == std::string::npos
                           ? std::nullopt
                           : place_in(std::string_view(word).substr(i + 1, end - i - 1), places);
    if (place) {
      out += by(*place);
      i = end + 1;
    } else {
      out += word[i++];
    }
  }
  return out;
}

void make_files_absolute(std::vector<std::string>& words) {
  for (std::string& word : words) {
    std::error_code error;
    if (fs::is_regular_file(word, error)) word = fs::absolute(word).lexically_normal().string();
  }
}

std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->find_first_not_of(" \t\r") != std::string::npos) return line->substr(0, 300);
  }
  return "";
}

std::string with_last_line(std::string words, const std::string& said) {
  const std::string line = last_line(said);
  return line.empty() ? words : formatted("{}: {}", words, line);
}

std::string array_path(const ArrayFormat& kind, const std::string& folder, const std::string& stem,
                       const Format& format, const Shape& shape) {
  return formatted("{}/{}", folder,
                   kind.name == "bin" ? raw_file_name(stem, format, shape)
                                      : stem + std::string(kind.endings.front()));
}

}  // namespace assay::tools
