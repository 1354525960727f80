// The command of a program that assay runs: places in braces in its words, and what it printed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2::tools {

// A place in braces in a word of a command: "output" and "NAME" of "{output:NAME}".
struct Place {
  std::string kind, name;
};
// The places that a command may have: those without a name, and those with one.
struct Places {
  std::span<const std::string_view> plain, named;
};

// Returns the word with every known place in braces replaced. Other braces are kept.
std::string replaced(const std::string& word, const Places& places,
                     const std::function<std::string(const Place&)>& by);

// Makes words absolute that are files in the current folder, because the program runs in another
// folder.
void make_files_absolute(std::vector<std::string>& words);

// Returns the last line that is not blank.
std::string last_line(const std::string& text);
// Returns the words, and behind a colon the last line of what the program printed, if it printed
// something.
std::string with_last_line(std::string words, const std::string& said);

// Returns the path of a file for one array of this kind. The name of a raw file has the dtype and
// the shape.
std::string array_path(const ArrayFormat& kind, const std::string& folder, const std::string& stem,
                       const Format& format, const Shape& shape);

}  // namespace assay::tools
