// The list in a folder that `assay unpack` wrote: the cases, and the files of their arrays
// (docs/interop.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2::wire {

inline constexpr const char* kManifestName = "assay_cases.json";

struct ManifestArray {
  // Path within the folder, followed by the array's name if the file holds several arrays.
  std::string file;
  std::string dtype;
  Shape shape;
  bool operator==(const ManifestArray&) const = default;
};
struct ManifestCase {
  std::string name, op;
  std::map<std::string, Attribute> attributes;
  std::vector<std::string> absent_inputs;
  // The arrays by the names that they have in a dataset file: inputs/a, golden, outputs/h200,
  // golden/y, outputs/h200/y, accumulators/..., residuals/...
  std::map<std::string, ManifestArray> arrays;
  // Machine of each recorded output, by the output's name.
  std::map<std::string, std::string> machines;
  // The attributes of each output, by its name, if the case has several outputs. An output that is
  // not compared has no golden result.
  std::map<std::string, std::map<std::string, Attribute>> outputs;
};
struct Manifest {
  std::map<std::string, Attribute> attributes;
  std::vector<ManifestCase> cases;
};

// Reads the text of a manifest. `source` names the text in messages. Throws Refusal that names the
// place in the text.
Manifest parse_manifest(const std::string& text, const std::string& source);
std::string manifest_text(const Manifest& manifest);

}  // namespace assay::wire
