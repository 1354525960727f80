#include "audit_files.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_writer.h"
#include "assay/datasets/store/dataset_file.h"
#include "program_words.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataset = "h5";

// Only one thread at a time uses HDF5, which may not be thread-safe.
std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

void write_dataset(const std::string& path, const Tensor& tensor, bool golden) {
  const std::lock_guard lock(hdf5_mutex());
  Case c;
  c.name = "audit";
  c.op = "external";
  c.attributes["output_dtype"] = std::string(tensor.format().name);
  if (golden) {
    c.output().golden = tensor;
  } else {
    c.output().recorded["audit"].tensor = tensor;
  }
  DatasetWriter writer(path);
  writer.write(c);
  writer.commit();
}

std::string write_one(const FileKind& kind, const std::string& folder, const std::string& stem,
                      const Tensor& tensor, bool golden) {
  if (kind.name == kDataset) {
    const std::string path = formatted("{}/{}.h5", folder, stem);
    write_dataset(path, tensor, golden);
    return path;
  }
  const ArrayFormat& row = array_format_named(kind.name);
  const std::string path = array_path(row, folder, stem, tensor.format(), tensor.shape());
  write_array_file(row, path, {{"", tensor.view()}});
  return path;
}

std::string stem_of(const std::string& what, std::string name) {
  std::ranges::replace(name, '/', '.');
  return name.empty() ? what : what + "_" + name;
}

void change(audit::FileChange how, const std::string& output, const std::string& golden) {
  switch (how) {
    case audit::FileChange::kNone:
      break;
    case audit::FileChange::kMissing:
      fs::remove(output);
      break;
    case audit::FileChange::kEmpty:
      fs::resize_file(output, 0);
      break;
    case audit::FileChange::kTruncated:
      fs::resize_file(output, fs::file_size(output) / 2);
      break;
    case audit::FileChange::kGolden:
      fs::copy_file(golden, output, fs::copy_options::overwrite_existing);
      break;
    case audit::FileChange::kMissingGolden:
      fs::remove(golden);
      break;
  }
}

}  // namespace

std::vector<std::string> file_kinds() {
  std::vector<std::string> names = names_with(array_formats(), &ArrayFormat::write);
  names.emplace_back(kDataset);
  return names;
}

void FileKind::check() const {
  const std::vector<std::string> known = file_kinds();
  if (!contains(known, name)) refuse(unknown_word("kind of file", name, known));
  if (!golden_as.empty() && golden_as != "output") (void)format_named(golden_as);
}

const Format& FileKind::golden_format(const Format& own, const Format& output) const {
  if (golden_as.empty()) return own;
  return golden_as == "output" ? output : format_named(golden_as);
}

Tensor rounded_to(const Format& to, const Tensor& tensor) {
  if (&to == &tensor.format()) return tensor;
  return Tensor::from_values(to, tensor.shape(), tensor.view().values());
}

TrialFiles write_trial(const audit::Trial& trial, const FileKind& kind, const std::string& folder,
                       bool siblings, const std::vector<std::string>& inputs) {
  const audit::Subject& subject = trial.subject;
  const std::string name = subject.test_case.output_name();
  TrialFiles files;
  const auto put = [&](const std::string& output, const Tensor& tensor, const Golden& golden) {
    files.outputs[output] = write_one(kind, folder, stem_of("output", output), tensor, false);
    if (!golden) return;
    const Format& to = kind.golden_format(golden->format(), tensor.format());
    files.goldens[output] =
        write_one(kind, folder, stem_of("golden", output), rounded_to(to, *golden), true);
  };
  put(name, trial.output, subject.test_case.output().golden);
  if (siblings) {
    for (const auto& [other, of] : subject.siblings) put(other, of.clean, of.golden);
  }
  for (const std::string& input : inputs) {
    files.inputs[input] =
        write_one(kind, folder, stem_of("input", input), subject.test_case.input(input), true);
  }
  change(trial.file, files.outputs.at(name), files.goldens.at(name));
  return files;
}

}  // namespace assay::tools
