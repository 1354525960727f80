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
#include "assay/datasets/arrays/array_file.h"
#include "assay/machine/machine_file.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> itself(const std::string& value) { return {value}; }

// '-' is standard output.
std::vector<std::string> itself_if_a_file(const std::string& value) {
  return value == "-" ? std::vector<std::string>() : itself(value);
}

// Returns the path that a path leads to. Links are followed, including a last one to a file that
// does not exist. Returns an empty path if this cannot be found out.
fs::path place_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  for (int links = 0; !error && fs::is_symlink(at, error); ++links) {
    if (links == kMostLinks) return {};
    at = at.parent_path() / fs::read_symlink(at, error);
  }
  at = fs::weakly_canonical(at, error);
  return error ? fs::path() : at;
}

// Returns why no file can be written at a path. Returns an empty string if one can be written, as
// far as this can be known in advance.
std::string why_not_written(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
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

// Returns a word of a command line without the option at its beginning.
std::string value_in(const std::string& word) {
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  return equals == std::string::npos ? word : word.substr(equals + 1);
}

}  // namespace

bool same_place(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return false;
  if (same_file(a, b)) return true;
  const fs::path at = place_of(a);
  return !at.empty() && at == place_of(b);
}

bool lies_in(const std::string& folder, const std::string& path) {
  const fs::path within = place_of(path).lexically_relative(place_of(folder));
  return !within.empty() && *within.begin() != "..";
}

CLI::Option* FileOptions::input(CLI::Option* option) {
  return input(option->type_name("FILE"), itself);
}

CLI::Option* FileOptions::input(CLI::Option* option, Files files) {
  return input(option,
               [files = std::move(files)](const std::string& value, const std::string& target) {
                 const std::vector<std::string> read = files(value);
                 return std::ranges::any_of(
                     read, [&](const std::string& path) { return same_place(path, target); });
               });
}

CLI::Option* FileOptions::input(CLI::Option* option, Reads reads) {
  inputs_.push_back({option, std::move(reads)});
  return option;
}

CLI::Option* FileOptions::input_folder(CLI::Option* option) {
  return input(option->type_name("FOLDER"), lies_in);
}

CLI::Option* FileOptions::output(CLI::Option* option) {
  outputs_.push_back({option, itself_if_a_file});
  return option->type_name("FILE");
}

CLI::Option* FileOptions::output_or_standard_output(CLI::Option* option) {
  outputs_.push_back({option, itself_if_a_file, false, false, true});
  return option->type_name("FILE");
}

CLI::Option* FileOptions::output_in_place(CLI::Option* option, std::string replaced) {
  outputs_.push_back({option, itself_if_a_file, true, false, false, std::move(replaced)});
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

std::vector<FileOptions::Target> FileOptions::targets() const {
  std::vector<Target> targets;
  for (const Output& output : outputs_) {
    for (const std::string& value : output.option->results()) {
      for (std::string& path : output.files(value)) targets.push_back({&output, std::move(path)});
    }
  }
  return targets;
}

bool FileOptions::is_declared(const CLI::Option* option) const {
  const auto is_it = [&](const auto& declared) { return declared.option == option; };
  return std::ranges::any_of(outputs_, is_it) || std::ranges::any_of(inputs_, is_it);
}

std::string FileOptions::clear(const CLI::App& command,
                               const std::vector<std::string>& others) const {
  // Values of options that are not declared. They may name a file, also as FILE:NAME.
  std::vector<std::string> values = others;
  for (const CLI::Option* option : command.get_options()) {
    if (is_declared(option)) continue;
    for (const std::string& value : option->results()) values.push_back(value);
  }
  std::string refusal;
  for (const Output& output : outputs_) {
    for (const std::string& value : output.option->results()) {
      if (value != "-" || output.is_folder) continue;
      const std::string option = output.option->get_name();
      if (!output.takes_standard_output) {
        refusal = formatted("{} cannot write to standard output; name a file, such as ./-", option);
      } else if (standard_output_is_closed()) {
        refusal = formatted("{} -: standard output is closed", option);
      }
    }
  }
  const std::vector<Target> all = targets();
  for (const Target& target : all) {
    const std::string option = target.output->option->get_name();
    bool kept = target.output->is_folder;
    const auto refuse = [&](const std::string& why) {
      kept = true;
      if (refusal.empty()) refusal = why;
    };
    const auto refuse_input = [&](const std::string& value) {
      std::error_code error;
      if (fs::is_directory(value, error) && lies_in(value, target.path)) {
        refuse(formatted("{} lies in {}, which is an input; {} must lie elsewhere", target.path,
                         value, option));
      } else if (fs::exists(target.path, error)) {
        refuse(formatted("{} is an input; {} would replace it", target.path, option));
      } else {
        refuse(formatted("{} would be read with {}, which is an input; {} must lie elsewhere",
                         target.path, value, option));
      }
    };
    if (!target.output->is_folder) {
      for (const Input& input : inputs_) {
        for (const std::string& value : input.option->results()) {
          if (!input.reads(value, target.path)) continue;
          kept = true;
          const std::string& replaced = target.output->replaced;
          const bool is_replaced = replaced.empty() || input.option->get_name() == replaced;
          if (!target.output->in_place || !is_replaced) refuse_input(value);
        }
      }
      for (const std::string& value : values) {
        // In "machine.json,ftz=1" the part before the comma is a file.
        const std::string file = value.substr(0, value.find(','));
        if (same_file(file, target.path) || same_file(array_file(value), target.path)) {
          refuse_input(value);
        }
      }
      if (is_place_of_machine(target.path)) {
        refuse(
            formatted("{} is in a folder of machine files (ASSAY_MACHINES); {} must lie elsewhere",
                      target.path, option));
      }
    }
    for (const Target& other : all) {
      if (other.output == target.output) continue;
      const bool is_within = other.path.ends_with('/') && lies_in(other.path, target.path);
      if (!is_within && !same_place(other.path, target.path)) continue;
      refuse(formatted("{} and {} would both write {}", option, other.output->option->get_name(),
                       target.path));
    }
    if (const std::string why = why_not_written(target.path); !kept && !why.empty()) {
      refuse(why);
    }
    if (!kept) remove_file(target.path);
  }
  return refusal;
}

void FileOptions::clear_named_once(const std::vector<std::string>& words) const {
  for (const Target& target : targets()) {
    const auto names_it = [&](const std::string& word) {
      const std::string value = value_in(word);
      return same_place(value, target.path) || same_place(array_file(value), target.path);
    };
    const auto named = std::ranges::count_if(words, names_it);
    const bool is_read = std::ranges::any_of(inputs_, [&](const Input& input) {
      const std::vector<std::string> values = input.option->results();
      return std::ranges::any_of(
          values, [&](const std::string& value) { return input.reads(value, target.path); });
    });
    if (!target.output->is_folder && named <= 1 && !is_read) remove_file(target.path);
  }
}

void remove_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return;
  keep_mode(path);
  const fs::path target = fs::canonical(path, error);
  if (!error) fs::remove(target, error);
}

}  // namespace assay::tools
