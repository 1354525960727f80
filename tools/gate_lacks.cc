#include "gate_lacks.h"

#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2::tools {

void note_lacks(GateReport& report) {
  for (const Lack lack : {Lack::kGoldenResult, Lack::kOutputDtype}) {
    std::vector<const CaseReport*> cases;
    for (const CaseReport& c : report.cases) {
      if (c.lack == lack) cases.push_back(&c);
    }
    if (cases.empty()) continue;
    const CaseReport& c = *cases.front();
    const std::string& file = c.file.empty() ? report.golden_file : c.file;
    const bool one = cases.size() == 1;
    const std::string who =
        formatted("{} ({}{})", counted(std::ssize(cases), "case"), one ? "" : "first: ", c.title());
    if (lack == Lack::kGoldenResult) {
      report.notes.push_back(formatted(
          "{} {} no golden result: assay golden {} --out NEW_FILE computes {} from the inputs", who,
          one ? "has" : "have", shell_word(file), one ? "it" : "them"));
    } else if (!is_dataset(file)) {
      report.notes.push_back(
          formatted("{} may have another output dtype: --dtype {} states it", who, c.dtype));
    } else {
      const std::string line = formatted(
          "import h5py; h5py.File(\"{}\", \"r+\")[\"cases/{}{}\"].attrs[\"output_dtype\"] = \"{}\"",
          file, c.name, c.output.empty() ? "" : "/golden/" + c.output, c.dtype);
      report.notes.push_back(formatted("{} {} not state {} output dtype: python3 -c {}{}", who,
                                       one ? "does" : "do", one ? "its" : "their", shell_word(line),
                                       one ? "" : ", and so on"));
    }
  }
}

}  // namespace assay::tools
