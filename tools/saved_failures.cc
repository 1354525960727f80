#include "saved_failures.h"

#include <map>

#include "assay/base/text.h"
#include "tools.h"

namespace assay::inline v0_2::tools {

SavedFailures::SavedFailures(const std::string& path, const GateFiles& found) : writer_(path) {
  std::map<std::string, std::string> files;
  for (const GateFile& file : found.files) {
    for (const std::string& name : file.names) {
      const auto [first, fresh] = files.emplace(name, file.golden.path);
      if (fresh) continue;
      refuse(
          "--save-failures {}: case '{}' is in {} and in {}, but a file has only one case of each "
          "name; judge the files one at a time",
          path, name, first->second, file.golden.path);
    }
  }
}

void SavedFailures::add(const CaseSource& golden, const CaseSource* recorded,
                        const std::vector<GatedCase>& outputs) {
  const std::lock_guard lock(mutex_);
  const std::string &name = outputs.front().report.name,
                    &producer = outputs.front().report.producer;
  if (const auto* dataset = dynamic_cast<const DatasetFile*>(&golden)) {
    writer_.copy(*dataset, name);
  } else {
    Case c = golden.read(name);
    // The saved file records the dtypes that the operator returns. These are the dtypes of the
    // outputs that were judged.
    for (const GatedCase& gated : outputs) {
      const std::string &output = gated.report.output, &dtype = gated.report.dtype;
      if (recorded == nullptr || dtype.empty()) continue;
      c.take_output_dtype(output, format_named(dtype));
    }
    writer_.write(c);
  }
  for (const GatedCase& gated : outputs) {
    if (!gated.output && !gated.in_pieces) continue;
    const std::string& output = gated.report.output;
    writer_.put_output(name, producer,
                       gated.output ? *gated.output : recorded->read_output(name, producer, output),
                       {}, output);
    writer_.put_epilogue(
        name, producer,
        recorded == nullptr ? gated.epilogue : recorded->read_epilogue(name, producer, output),
        output);
  }
  ++count_;
}

bool SavedFailures::commit(const Context& context) {
  if (count_ == 0) return false;
  writer_.commit();
  for (const std::string& note : writer_.notes()) print_note(context, note);
  return true;
}

}  // namespace assay::tools
