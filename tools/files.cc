#include "files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>

#include "assay/base/file.h"
#include "assay/base/temporary_file.h"
#include "assay/base/text.h"
#include "assay/datasets/array_file.h"

namespace assay::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> itself(const std::string& value) { return {value}; }

// '-' is standard output.
std::vector<std::string> itself_if_a_file(const std::string& value) {
  return value == "-" ? std::vector<std::string>() : itself(value);
}

// Also of files that are not there yet.
bool same_place(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (same_file(a, b)) return true;
  std::error_code error;
  const fs::path at = fs::weakly_canonical(fs::absolute(a), error);
  return !error && at == fs::weakly_canonical(fs::absolute(b), error) && !error;
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// Why no file can be written at a path; empty where one can be, as far as can be known before.
std::string why_not_written(const std::string& path) {
  const std::string folder = folder_of(path);
  std::error_code ignored;
  const bool is_special = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
  int error = 0;
  if (fs::is_directory(path, ignored)) {
    error = EISDIR;
  } else if (!is_special && access(folder.c_str(), W_OK) != 0) {
    error = errno;
  } else if (!fs::is_directory(folder, ignored)) {
    error = ENOTDIR;
  }
  return error == 0 ? "" : formatted("{}: cannot be written: {}", path, std::strerror(error));
}

// A word of a command line, without the option that it may begin with.
std::string value_in(const std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  return equals == std::string::npos ? word : word.substr(equals + 1);
}

}  // namespace

CLI::Option* FileOptions::input(CLI::Option* option) {
  return input(option->type_name("FILE"), itself);
}

CLI::Option* FileOptions::input(CLI::Option* option, Files files) {
  inputs_.push_back({option, std::move(files)});
  return option;
}

CLI::Option* FileOptions::input_folder(CLI::Option* option) {
  inputs_.push_back({option, itself, true});
  return option->type_name("FOLDER");
}

CLI::Option* FileOptions::output(CLI::Option* option) {
  outputs_.push_back({option, itself_if_a_file});
  return option->type_name("FILE");
}

CLI::Option* FileOptions::output_or_standard_output(CLI::Option* option) {
  outputs_.push_back({option, itself_if_a_file, false, false, true});
  return option->type_name("FILE");
}

CLI::Option* FileOptions::output_in_place(CLI::Option* option) {
  outputs_.push_back({option, itself_if_a_file, true});
  return option->type_name("FILE");
}

CLI::Option* FileOptions::output_folder(CLI::Option* option, std::vector<std::string> names) {
  outputs_.push_back({option,
                      [names = std::move(names)](const std::string& folder) {
                        std::vector<std::string> files;
                        for (const std::string& name : names) {
                          files.push_back((fs::path(folder) / name).string());
                        }
                        return files;
                      },
                      false, true});
  return option->type_name("FOLDER");
}

std::string FileOptions::clear(const std::vector<std::string>& words) const {
  struct Target {
    const Output* output;
    std::string path;
  };
  std::vector<Target> targets;
  for (const Output& output : outputs_) {
    for (const std::string& value : output.option->results()) {
      for (std::string& path : output.files(value)) targets.push_back({&output, std::move(path)});
    }
  }
  std::string refusal;
  for (const Output& output : outputs_) {
    for (const std::string& value : output.option->results()) {
      if (value != "-" || output.takes_standard_output || output.is_folder) continue;
      refusal = formatted("{} writes no standard output; name a file, as in ./-",
                          output.option->get_name());
    }
  }
  for (const Target& target : targets) {
    const std::string option = target.output->option->get_name();
    bool kept = target.output->is_folder;
    const auto refuse = [&](const std::string& why) {
      kept = true;
      if (refusal.empty()) refusal = why;
    };
    for (const Input& input : inputs_) {
      for (const std::string& value : input.option->results()) {
        for (const std::string& path : input.files(value)) {
          const std::string place = input.is_folder ? folder_of(target.path) : target.path;
          if (target.output->is_folder || !same_place(place, path)) continue;
          kept = true;
          if (target.output->in_place) continue;
          refuse(input.is_folder
                     ? formatted("{} lies in {}, which is an input; {} must lie elsewhere",
                                 target.path, path, option)
                     : formatted("{} is an input; {} would replace it", target.path, option));
        }
      }
    }
    for (const Target& other : targets) {
      if (other.output == target.output || !same_place(other.path, target.path)) continue;
      refuse(formatted("{} and {} would both write {}", option, other.output->option->get_name(),
                       target.path));
    }
    const auto names_it = [&](const std::string& word) {
      const std::string value = value_in(word);
      return same_place(value, target.path) || same_place(array_file(value), target.path);
    };
    if (std::count_if(words.begin(), words.end(), names_it) > 1) kept = true;
    if (const std::string why = why_not_written(target.path); !kept && !why.empty()) {
      refuse(why);
    }
    if (!kept) remove_file(target.path);
  }
  return refusal;
}

void remove_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  keep_mode(path);
  const fs::path target = fs::canonical(path, error);
  if (!error) fs::remove(target, error);
}

}  // namespace assay::tools
