// Patterns of file names with '*', '**', '?' and {name}, and the texts that these stand for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::inline v0_2 {

// Returns true for letters, digits, '_', '.' and '-'.
bool is_word_character(char c);

// A pattern in the syntax of open_pairs() (open_cases.h).
class NamePattern {
 public:
  // Throws Refusal if a '{' is not closed, or if the text in the braces is not a
  // name.
  explicit NamePattern(std::string text);

  // Pairs of a wildcard's name ("*1", "*2", ..., or the name in {name}) and the text that it stands
  // for in a path that matches, in the order of the pattern. A {name} that occurs twice stands for
  // one text.
  using Stands = std::vector<std::pair<std::string, std::string>>;
  std::optional<Stands> match(std::string_view path) const;
  // Returns the wildcards' names, sorted.
  std::vector<std::string> names() const;
  const std::string& text() const { return text_; }
  // Returns the folder under which all matching paths lie.
  std::string root() const;

 private:
  struct Part {
    enum class Kind { kText, kRun, kDeepRun, kOne, kWord } kind;
    std::string text;  // the text itself for kText, and the wildcard's name otherwise
  };
  bool match_from(std::size_t part, std::string_view rest, Stands& stands, int& steps) const;

  std::string text_;
  std::vector<Part> parts_;
};

// Returns the paths of the files and folders that match, sorted, without hidden ones. Throws
// FileError if a folder cannot be read.
std::vector<std::string> files_matching(const std::string& pattern);

}  // namespace assay
