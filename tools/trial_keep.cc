#include "trial_keep.h"

#include <filesystem>

#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/report/trial_text.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

// Returns "wrong_result" for "wrong result".
std::string finding_name(TrialFinding finding) {
  std::string name(finding_word(finding));
  for (char& c : name) {
    if (c == ' ' || c == '-') c = '_';
  }
  return name;
}

// Returns "WrongResult" for "wrong_result".
std::string camel_case(const std::string& name) {
  std::string out;
  bool starts = true;
  for (const char c : name) {
    if (c == '_') {
      starts = true;
      continue;
    }
    out += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts = false;
  }
  return out;
}

}  // namespace

void check_keep_folder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    throw FileError(folder, "", "already exists and is not empty; name a new folder");
  }
}

std::string test_source(const TrialReport& report, const TrialFailure& failure) {
  const std::string options = matcher_options(report, "\n                  ");
  return formatted(
      "// Repeats a failure that `assay trial` found. {}: {}\n"
      "#include <assay/matchers.h>\n"
      "#include <gtest/gtest.h>\n"
      "\n"
      "// Put the call of your kernel here. It reads call.input(NAME) and writes call.output.\n"
      "static void kernel(const assay::KernelCall& call) {{\n"
      "  throw assay::NotSupported(\"no kernel is called yet for an output of \" +\n"
      "                            std::to_string(call.output.size()) + \" elements\");\n"
      "}}\n"
      "\n"
      "TEST({}Trial, {}) {{\n"
      "  EXPECT_THAT(kernel, assay::PassesTrial(\"{}\"){}\n"
      "                  .on(R\"case({})case\"));\n"
      "}}\n",
      finding_word(failure.finding), printable_sentence(failure.text), camel_case(report.op),
      camel_case(finding_name(failure.finding)), report.op, options, failure.reduced);
}

std::vector<std::string> keep_failures(const TrialReport& report, const std::string& folder) {
  fs::create_directories(folder);
  std::vector<std::string> files;
  for (const TrialFailure& failure : report.failures) {
    const std::string name = finding_name(failure.finding);
    const std::string path = formatted("{}/{}.", folder, name);
    Case c = failure.test_case;
    c.name = formatted("{}/{}", report.op, name);
    c.attributes["source"] = failure.repeat;
    if (!failure.output.empty()) {
      c.attributes["output_dtype"] = std::string(failure.output.format().name);
      c.output().recorded["kernel"].tensor = failure.output;
    }
    DatasetWriter writer(path + "h5");
    writer.write(c);
    writer.commit();
    files.push_back(path + "h5");
    write_file(path + "cc", test_source(report, failure));
    files.push_back(path + "cc");
  }
  return files;
}

}  // namespace assay::tools
