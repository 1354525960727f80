// The list in a folder that `assay unpack` wrote: the cases, and the files of their arrays
// (docs/interop.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay::wire {

inline constexpr const char* kManifestName = "assay_cases.json";

struct ManifestArray {
  std::string file;  // within the folder, followed by an array's name if it holds several
  std::string dtype;
  Shape shape;
  bool operator==(const ManifestArray&) const = default;
};
struct ManifestCase {
  std::string name, op;
  std::map<std::string, Attribute> attributes;
  std::vector<std::string> absent_inputs;
  // By their names in a dataset file: inputs/a, golden, outputs/h200, golden/y, outputs/h200/y,
  // accumulators/..., residuals/...
  std::map<std::string, ManifestArray> arrays;
  std::map<std::string, std::string> machines;  // by the name of the recorded output
  // The outputs of a case that has several, by their names. An output that is not compared has
  // no golden result.
  std::map<std::string, std::map<std::string, Attribute>> outputs;
};
struct Manifest {
  std::map<std::string, Attribute> attributes;
  std::vector<ManifestCase> cases;
};

// `source` names the text in messages. Throws Refusal that names the place in it.
Manifest parse_manifest(const std::string& text, const std::string& source);
std::string manifest_text(const Manifest& manifest);

}  // namespace assay::wire
