// Texts that people write: tables, plans, standards, machines, faults, and the JSON that is read
// back. A text that is read, written and read again must not change.
#include <string>

#include "assay/abft/threshold.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/python_literal.h"
#include "assay/datasets/layouts/csv.h"
#include "assay/datasets/layouts/ttk_table.h"
#include "assay/fault/fault_text.h"
#include "assay/judge/regate.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_file.h"
#include "assay/machine/machine_file.h"
#include "assay/tensor/distribution.h"
#include "assay/wire/array_header.h"
#include "assay/wire/baseline.h"
#include "assay/wire/campaign_results_file.h"
#include "assay/wire/gate_results.h"
#include "assay/wire/known_failures_file.h"
#include "assay/wire/manifest_file.h"
#include "assay/wire/msprobe_file.h"
#include "assay/wire/plan_file.h"
#include "assay/wire/published_file.h"
#include "assay/wire/saved_results.h"
#include "target.h"

namespace assay::fuzz {
namespace {

void hold_same(const char* what, const std::string& before, const std::string& after) {
  if (before != after) finding(formatted("{}: '{}' is read as '{}'", what, before, after));
}

// If a text is read, the text written from it can be read, and is then written unchanged.
template <typename Read>
void hold_words(const char* what, const std::string& text, Read read) {
  std::string written;
  if (refuses(what, [&] { written = read(text).text(); })) return;
  std::string again;
  if (refuses(what, [&] { again = read(written).text(); })) {
    finding(formatted("{}: '{}' is written as '{}', which is refused", what, text, written));
  }
  hold_same(what, written, again);
}

}  // namespace

// The first byte chooses the reader of tables.
void run_csv(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  const MemoryFile memory(input.subspan(1));
  switch (input[0] % 4) {
    case 0:
      (void)refuses("csv", [&] {
        const CsvTable table = read_csv(memory.path());
        (void)table.column("bit");
        std::string written = csv_line(table.header);
        for (const CsvRow& row : table.rows) written += csv_line(row.cells);
        const MemoryFile copy(bytes_of(written));
        const CsvTable again = read_csv(copy.path());
        bool same = again.header == table.header && again.rows.size() == table.rows.size();
        for (std::size_t i = 0; same && i < table.rows.size(); ++i) {
          same = again.rows[i].cells == table.rows[i].cells;
        }
        if (!same) finding("csv: is not read as it is written");
      });
      break;
    case 1:
      (void)refuses("ttk table", [&] {
        (void)is_ttk_table(memory.path());
        (void)read_ttk_table(memory.path());
      });
      break;
    case 2:
      (void)refuses("published", [&] { (void)wire::read_published(memory.path()); });
      break;
    default: {
      const std::string text = text_of(input.subspan(1));
      std::string written;
      if (refuses("literal", [&] { written = literal_text(parse_literal(text)); })) break;
      (void)refuses("literal",
                    [&] { hold_same("literal", written, literal_text(parse_literal(written))); });
    }
  }
}

void run_plan(std::span<const std::uint8_t> input) {
  const std::string text = text_of(input);
  // Lists two cases for any dataset file, and no cases if its name ends with "none".
  const auto list = [](const std::string& file, const std::string& glob) {
    wire::DatasetCases cases;
    if (file.ends_with("none")) return cases;
    const Format* f = &format_named("float16");
    cases.cases.push_back({"a", "matmul", f, f, {2, 3, 4}});
    cases.cases.push_back({glob, "relu", f, f, {8}});
    cases.digest = "0";
    return cases;
  };
  (void)refuses("plan", [&] { (void)wire::parse_plan(text, "plan.json", "plans", list); });
  (void)wire::files_named(text, "plans");
}

void run_standards(std::span<const std::uint8_t> input) {
  const std::string text = text_of(input);
  (void)refuses("standards", [&] { (void)parse_standards(text, "own.json"); });
}

void run_machine(std::span<const std::uint8_t> input) {
  const std::string text = text_of(input);
  std::vector<DotModel> dots;
  if (refuses("machine", [&] { dots = parse_machine(text, "own.json"); })) return;
  MachineRecord record;
  record.name = "again";
  const auto written = [&] { return machine_json(record, dots, assumed(true)); };
  const std::string first = written();
  if (refuses("machine", [&] { dots = parse_machine(first, "again.json"); })) {
    finding("machine: what was written is refused");
  }
  hold_same("machine", first, written());
}

// JSON that assay or other programs write for assay to read. The first byte chooses the kind.
void run_json(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  const std::string text = text_of(input.subspan(1));
  const MemoryFile memory(input.subspan(1));
  (void)refuses("json", [&] {
    switch (input[0] % 8) {
      case 0:
        (void)wire::parse_campaign_results(text, "results.json");
        break;
      case 1:
        (void)wire::read_results(text);
        break;
      case 2:
        (void)wire::read_baseline(memory.path());
        break;
      case 3:
        (void)wire::read_known_failures(memory.path());
        break;
      case 4: {
        const wire::Manifest manifest = wire::parse_manifest(text, "cases");
        const std::string written = wire::manifest_text(manifest);
        hold_same("manifest", written, wire::manifest_text(wire::parse_manifest(written, "cases")));
        break;
      }
      case 5:
        (void)wire::parse_msprobe(text, "dump.json");
        break;
      case 6: {
        const wire::ArrayHeader header = wire::read_raw_header(text);
        if (header.shape) {
          (void)wire::read_raw_header(wire::raw_header(header.dtype, *header.shape));
        }
        break;
      }
      default:
        (void)wire::read_safetensors_header(text);
    }
  });
}

// Parses faults and the other texts that base/call_text.h reads. The first byte of the input
// chooses the kind of text.
void run_fault(std::span<const std::uint8_t> input) {
  if (input.empty()) return;
  const std::string text = text_of(input.subspan(1));
  switch (input[0] % 4) {
    case 0:
      hold_words("fault", text, [](const std::string& t) { return parse_fault(t); });
      break;
    case 1:
      hold_words("threshold", text, [](const std::string& t) { return parse_threshold(t); });
      break;
    case 2:
      hold_words("distribution", text, [](const std::string& t) { return parse_distribution(t); });
      break;
    default:
      (void)refuses("names", [&] {
        (void)find_format(text);
        (void)format_named(text);
      });
  }
}

}  // namespace assay::fuzz
