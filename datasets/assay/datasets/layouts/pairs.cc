#include "assay/datasets/layouts/pairs.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/layouts/row_cases.h"

namespace assay::inline v0_2 {
namespace fs = std::filesystem;
namespace {

// The most steps of one match, because a hostile name could make it take very long.
constexpr int kMostSteps = 1'000'000;

std::string braces(const std::string& name) {
  return name.starts_with("*") ? "'*'" : "{" + name + "}";
}

}  // namespace

bool is_word_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

NamePattern::NamePattern(std::string text) : text_(std::move(text)) {
  using Of = Part::Kind;
  int runs = 0;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) parts_.push_back({Of::kText, literal});
    literal.clear();
  };
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '*' || c == '?') {
      flush();
      const bool deep = c == '*' && i + 1 < text_.size() && text_[i + 1] == '*';
      if (deep) ++i;
      parts_.push_back({c == '?' ? Of::kOne
                        : deep   ? Of::kDeepRun
                                 : Of::kRun,
                        formatted("*{}", ++runs)});
    } else if (c == '{') {
      flush();
      const std::size_t end = text_.find('}', i);
      const std::string name = end == std::string::npos ? "" : text_.substr(i + 1, end - i - 1);
      if (name.empty() || !std::ranges::all_of(name, is_word_character)) {
        refuse("pattern '{}': {{name}} is a word in braces, as in {{i}}, at character {}", text_,
               i);
      }
      parts_.push_back({Of::kWord, name});
      i = end;
    } else {
      literal += c;
    }
  }
  flush();
}

bool NamePattern::match_from(std::size_t part, std::string_view rest, Stands& stands,
                             int& steps) const {
  using Of = Part::Kind;
  if (++steps > kMostSteps) {
    refuse("pattern '{}' has too many '*' to be matched", text_);
  }
  if (part == parts_.size()) return rest.empty();
  const Part& p = parts_[part];
  if (p.kind == Of::kText) {
    return rest.starts_with(p.text) &&
           match_from(part + 1, rest.substr(p.text.size()), stands, steps);
  }
  if (p.kind == Of::kWord) {
    const auto* const known = find_row(stands, p.text, &Stands::value_type::first);
    if (known != nullptr) {
      return rest.starts_with(known->second) &&
             match_from(part + 1, rest.substr(known->second.size()), stands, steps);
    }
  }
  std::size_t longest = 0;
  const auto takes = [&](char c) {
    return p.kind == Of::kWord ? is_word_character(c) : p.kind == Of::kDeepRun || c != '/';
  };
  while (longest < rest.size() && takes(rest[longest])) ++longest;
  const std::size_t least = p.kind == Of::kOne || p.kind == Of::kWord ? 1 : 0;
  if (p.kind == Of::kOne) longest = std::min<std::size_t>(longest, 1);
  // The shortest text that fits is used: {i} of a_{i}.npy is 1 in a_1.npy.
  for (std::size_t size = least; size <= longest; ++size) {
    stands.emplace_back(p.text, std::string(rest.substr(0, size)));
    if (match_from(part + 1, rest.substr(size), stands, steps)) return true;
    stands.pop_back();
  }
  return false;
}

std::optional<NamePattern::Stands> NamePattern::match(std::string_view path) const {
  Stands stands;
  int steps = 0;
  if (!match_from(0, path, stands, steps)) return std::nullopt;
  return stands;
}

std::vector<std::string> NamePattern::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_) {
    if (part.kind != Part::Kind::kText) names.push_back(part.text);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string NamePattern::root() const {
  const std::size_t wild = text_.find_first_of("*?{");
  const std::size_t slash = text_.rfind('/', wild);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : text_.substr(0, slash);
}

std::vector<std::string> files_matching(const std::string& pattern) {
  const NamePattern names(pattern);
  const std::string root = names.root();
  if (!is_folder(root)) return {};
  const bool deep = pattern.find("**") != std::string::npos;
  const auto depth = std::ranges::count(pattern, '/');
  std::vector<std::string> matching;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::string path = at->path().generic_string();
    if (root == "." && !pattern.starts_with("./")) path.erase(0, 2);
    // Files below this folder cannot match if they have more parts than the pattern. The walk then
    // does not enter the folder.
    const bool below = !deep && std::ranges::count(path, '/') >= depth;
    const bool hidden = at->path().filename().string().starts_with(".");
    if ((below || hidden) && at->is_directory(error)) at.disable_recursion_pending();
    if (!hidden && names.match(path)) matching.push_back(path);
  }
  if (error) throw FileError(root, "", "cannot be read: " + error.message());
  std::ranges::sort(matching);
  return matching;
}

namespace {

// The paths of files. The key has the texts that the wildcards stand for.
using PairedFiles = std::map<std::vector<std::pair<std::string, std::string>>, std::string>;

PairedFiles paired_files(const NamePattern& pattern) {
  PairedFiles files;
  for (const std::string& path : files_matching(pattern.text())) {
    if (!is_file(path)) continue;
    NamePattern::Stands key = *pattern.match(path);
    std::ranges::stable_sort(key, [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto [at, added] = files.emplace(std::move(key), path);
    if (!added) {
      throw file_error(path, "", "and {} are the same of '{}': which of them is meant?", at->second,
                       pattern.text());
    }
  }
  if (files.empty()) throw FileError(pattern.text(), "", "matches no file");
  return files;
}

std::string pair_name(const PairedFiles::key_type& key, const std::string& file) {
  std::string joined;
  for (const auto& [name, value] : key) {
    if (!value.empty()) joined += (joined.empty() ? "" : "_") + value;
  }
  return joined.empty() ? without_array_ending(last_name(file)) : joined;
}

}  // namespace

OpenedCases open_pairs(const std::string& outputs, const std::string& golden,
                       const OpenOptions& options) {
  const NamePattern of_outputs(outputs), of_golden(golden);
  if (of_outputs.names() != of_golden.names()) {
    const auto said = [](const NamePattern& p) { return joined(names_of(p.names(), braces)); };
    refuse("the patterns '{}' and '{}' must have the same wildcards, but one has {}, the other {}",
           outputs, golden, said(of_outputs), said(of_golden));
  }
  OpenedCases opened;
  opened.layout = "pairs";
  PairedFiles actual = paired_files(of_outputs), expected = paired_files(of_golden);
  const std::string producer = safe_word(options.producer.empty() ? "output" : options.producer);
  std::vector<CaseRecord> records;
  for (const auto& [key, file] : actual) {
    const auto partner = expected.find(key);
    if (partner == expected.end()) {
      opened.without_golden.push_back(file);
      continue;
    }
    CaseRecord record;
    record.name = pair_name(key, file);
    OutputRecord& result = record.outputs["output"];
    result.recorded[producer].tensor = {file};
    result.golden = ArrayRequest{partner->second};
    expected.erase(partner);
    records.push_back(std::move(record));
  }
  if (records.empty()) {
    throw file_error<NoCaseError>(outputs, "",
                                  "no file has a partner: the first is {}, and of '{}' {}",
                                  opened.without_golden.front(), golden, expected.begin()->second);
  }
  for (const auto& [key, file] : expected) {
    opened.without_output.push_back(file);
    CaseRecord& record = records.emplace_back();
    record.name = pair_name(key, file);
    record.outputs["output"].golden = ArrayRequest{file};
  }
  // Two pairs may get the same name, because their texts are joined by '_' ("a_b", "c" and "a",
  // "b_c"). Then the paths of the outputs give them different names.
  std::map<std::string, int> count;
  for (const CaseRecord& record : records) ++count[record.name];
  for (CaseRecord& record : records) {
    if (count[record.name] > 1) {
      const OutputRecord& result = record.outputs["output"];
      record.name = without_array_ending(
          result.recorded.empty() ? result.golden->path : result.recorded.at(producer).tensor.path);
    }
  }
  settle_arrays(records, options, opened.notes);
  // A golden result without an output is not compared, so an error in its description does not
  // matter.
  for (CaseRecord& record : records) {
    OutputRecord& result = record.outputs["output"];
    if (!record.error || !result.recorded.empty()) continue;
    record.error.reset();
    result.golden = {};
  }
  opened.cases = std::make_unique<ArrayCases>(outputs + " " + golden, std::move(records), options);
  if (options.rows_are_cases.value_or(false)) take_rows_as_cases(opened);
  return opened;
}

}  // namespace assay
