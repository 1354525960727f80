// Patterns of file names: '*', '**', '?' and {name}, and what they stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// A pattern, in the words of open_pairs() (open_cases.h).
class NamePattern {
 public:
  // Throws std::invalid_argument where a '{' is not closed, or what it holds is no name.
  explicit NamePattern(std::string text);

  // What the wildcards stand for in a path that matches, by their names ("*1", "*2", ... and those
  // of {name}) in the order of the pattern; a {name} that is there twice stands for one text.
  using Stands = std::vector<std::pair<std::string, std::string>>;
  std::optional<Stands> match(std::string_view path) const;
  // Those names, sorted.
  std::vector<std::string> names() const;
  const std::string& text() const { return text_; }
  // The folder under which all that matches lies, and whether files deeper than the pattern's own
  // folders can match.
  std::string root() const;

 private:
  struct Part {
    enum class Kind { kText, kRun, kDeepRun, kOne, kWord } kind;
    std::string text;  // of kText; the name of the others
  };
  bool match_from(std::size_t part, std::string_view rest, Stands& stands, int& steps) const;

  std::string text_;
  std::vector<Part> parts_;
};

// The files, and folders where the pattern ends, that match; sorted. Throws FileError where a
// folder cannot be read.
std::vector<std::string> files_matching(const std::string& pattern);

}  // namespace assay
