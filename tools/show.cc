// assay inspect and list: show the content of files, and the tables.
#include <cmath>

#include "assay/abft/threshold.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/sha256.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/store/file_look.h"
#include "assay/fault/fault.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/published_standards.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_file.h"
#include "assay/machine/function_error.h"
#include "assay/machine/machine_file.h"
#include "assay/machine/vector.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"
#include "assay/tensor/distribution.h"
#include "sources.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

std::string tensor_list(const std::map<std::string, ArrayInfo>& tensors) {
  std::vector<std::string> parts;
  for (const auto& [name, t] : tensors) {
    parts.push_back(
        formatted("{} {} {}", printable_name(name), printable_name(t.dtype), shape_text(t.shape)));
  }
  return parts.empty() ? "-" : joined(parts);
}

// Returns a list of one kind of array, with its dtype and shape for each producer that recorded it.
template <typename ArrayOf>
std::string recorded_list(const StoredOutput& of, const ArrayOf& array_of) {
  std::map<std::string, ArrayInfo> arrays;
  for (const auto& [producer, recorded] : of.recorded) {
    if (const ArrayInfo& array = array_of(recorded); !array.empty()) arrays[producer] = array;
  }
  return tensor_list(arrays);
}
std::string output_list(const StoredOutput& of) {
  return recorded_list(of, [](const auto& r) -> const ArrayInfo& { return r.tensor; });
}

std::string golden_text(const StoredOutput& of) {
  if (of.golden) return of.golden->dtype + " " + shape_text(of.golden->shape);
  return of.golden.is_absent() ? "absent" : "-";
}

// Reads the whole case, which verifies its checksums. Counts the datasets that have a checksum and
// those that have none.
void verify_case(const DatasetFile& file, const StoredCase& info, std::int64_t& with,
                 std::int64_t& without) {
  (void)file.read(info.name);
  const auto count = [&](const std::string& part) {
    const std::string path = formatted("/cases/{}/{}", info.name, part);
    ++(h5::FileLook::checksums(file).has(path) ? with : without);
  };
  for (const auto& [name, tensor] : info.inputs) count("inputs/" + name);
  for (const auto& [output, of] : info.outputs) {
    const std::string behind = output.empty() ? "" : "/" + output;
    if (of.golden) count("golden" + behind);
    for (const auto& [name, recorded] : of.recorded) count("outputs/" + name + behind);
  }
}

int run_inspect(const std::string& path, const std::string& glob, const SourceOptions& options,
                bool verify, const Context& context) {
  OpenOptions request = options.request(Side::kGolden);
  // By default, arrays are shown as they are stored, even if the file says that their rows are
  // cases.
  request.rows_are_cases = options.rows_are_cases;
  const OpenedCases opened = open_cases(path, request);
  options.check_used({opened.layout});
  const CaseSource& file = *opened.cases;
  const auto* dataset = dynamic_cast<const DatasetFile*>(&file);
  const std::vector<std::string> names = file.case_names(glob);
  std::string out = dataset != nullptr ? "" : formatted("layout: {}\n", opened.layout);
  if (dataset == nullptr) out += notes_text(opened);
  for (const auto& [name, value] : dataset != nullptr ? dataset->attributes() : opened.attributes) {
    out += printable_sentence(formatted("{}: {}", name, attribute_text(value))) + "\n";
  }
  std::vector<std::vector<std::string>> rows = {
      {"case", "operator", "inputs", "golden result", "recorded outputs"}};
  std::vector<std::string> details;
  bool unreadable = false;
  std::int64_t with = 0, without = 0;  // the numbers of datasets with and without a checksum
  if (verify && dataset == nullptr) {
    refuse(options.rows_are_cases
               ? "--verify reads arrays as they are stored; leave out --rows-are-cases"
               : "--verify needs a dataset file, because only dataset files have checksums");
  }
  ErrorLines errors;
  for (const std::string& name : names) {
    StoredCase info;
    try {
      info = file.info(name);
      if (verify) verify_case(*dataset, info, with, without);
    } catch (const FileError& e) {
      errors.add(e.what());
      rows.push_back({printable_name(name), "error", "-", "-", "-"});
      unreadable = true;
      continue;
    }
    const bool one = names.size() == 1;
    // Adds lines below the table for a case, or for one of its outputs. If there are several cases,
    // only notes are added.
    const auto add_details = [&](const std::string& output, const StoredOutput& of,
                                 const std::map<std::string, Attribute>& attributes) {
      const std::string at =
          printable_name(one ? output : name + (output.empty() ? "" : ":" + output));
      const std::string before = at.empty() ? "" : at + ": ";
      const auto add = [&](const std::string& key, const std::string& text) {
        details.push_back(printable_sentence(formatted("  {}{}: {}", before, key, text)) + "\n");
      };
      const std::string accumulators = recorded_list(
          of, [](const auto& r) -> const ArrayInfo& { return r.epilogue.accumulator; });
      const std::string residuals =
          recorded_list(of, [](const auto& r) -> const ArrayInfo& { return r.epilogue.residual; });
      if (accumulators != "-") add("accumulators", accumulators);
      if (residuals != "-") add("residuals", residuals);
      for (const auto& [key, value] : attributes) {
        if (one || is_note(key)) add(key, attribute_text(value));
      }
    };
    std::string inputs = tensor_list(info.inputs);
    for (const std::string& absent : info.absent_inputs) {
      inputs = (inputs == "-" ? "" : inputs + ", ") + printable_name(absent) + " absent";
    }
    const StoredOutput* only = info.find_output("");
    const StoredOutput none;
    if (only == nullptr) only = &none;
    rows.push_back({printable_name(name), printable_name(info.op), inputs, golden_text(*only),
                    output_list(*only)});
    add_details("", *only, info.attributes);
    if (!info.names_outputs()) continue;
    for (const auto& [output, of] : info.outputs) {
      rows.push_back(
          {printable_name(name + ":" + output), "", "", golden_text(of), output_list(of)});
      add_details(output, of, of.attributes);
    }
  }
  errors.end();
  out += "\n" + columns_text(rows);
  for (const std::string& line : details) out += line;
  const std::string count = counted(std::ssize(names), "case");
  out += formatted("\n{}\n", count);
  if (verify && !unreadable) {
    out += formatted("{} match their checksums; {} have no checksum\n", counted(with, "array"),
                     without);
    out += formatted("SHA-256 of the file: {}\n", sha256(read_file(path)));
  }
  print_result(context, out,
               verify && !unreadable
                   ? formatted("{}; {} match their checksums", count, counted(with, "array"))
                   : count);
  return unreadable ? 2 : 0;
}

std::string specials_words(const Format& f) {
  switch (f.specials) {
    case Specials::kInfNan:
      return "inf, NaN";
    case Specials::kNanOnly:
      return "NaN, no inf";
    case Specials::kFnuz:
      return "one NaN, no inf, no -0";
    case Specials::kFinite:
      return "none";
    case Specials::kScale:
      return "NaN, no zero, no sign";
    case Specials::kTapered:
      return "inf, one NaN, no -0";
  }
  return "";
}

std::string dtypes_table() {
  std::vector<std::vector<std::string>> rows = {{"dtype", "bits", "exponent", "mantissa", "bias",
                                                 "specials", "max", "min normal", "min subnormal"}};
  for (const Format& f : formats()) {
    if (!f.is_float()) {
      rows.push_back({std::string(f.name), formatted("{}", f.bits), "-", "-", "-", "none",
                      element_text(f, encode(f, max_finite(f)))});
      continue;
    }
    const bool tapered = f.specials == Specials::kTapered;
    rows.push_back({std::string(f.name), formatted("{}", f.bits),
                    tapered ? "tapered" : formatted("{}", f.exponent_bits),
                    tapered ? "1 to 3" : formatted("{}", f.mantissa_bits()),
                    tapered ? "-" : formatted("{}", f.bias), specials_words(f),
                    short_number(max_finite(f), 6), short_number(min_normal(f), 4),
                    short_number(min_subnormal(f), 4)});
  }
  std::string complex = "\n";
  for (const Format& f : complex_formats()) {
    complex += formatted("{}: complex numbers of two {}, the real part first\n", f.name,
                         part_format(f).name);
  }
  return columns_text(rows) + complex;
}

std::string known_text(std::string_view text, Provenance how) {
  return formatted("{} ({})", text, provenance_word(how));
}

std::string vector_unit_text(const VectorModel& unit) {
  std::string out = formatted(
      "  vector unit: overflow {}, subnormals {}, multiply-add {}\n"
      "    functions of {}, tanh {}, int8 of {}\n    source: {}\n",
      known_text(unit.overflow.value == Overflow::kSaturate ? "saturating" : "IEEE",
                 unit.overflow.how),
      known_text(subnormals_word(unit.subnormals.value), unit.subnormals.how),
      known_text(unit.fused.value ? "rounds once" : "rounds twice", unit.fused.how),
      known_text(unit.functions.value, unit.functions.how),
      known_text(unit.tanh_by_exp.value ? "through exp" : "as the other functions",
                 unit.tanh_by_exp.how),
      known_text(unit.int8_from.value, unit.int8_from.how), printable_sentence(unit.source));
  std::vector<std::vector<std::string>> rows;
  for (const VectorFormat& f : unit.formats) {
    rows.push_back({formatted("    {}", f.input),
                    known_text(formatted("computed in {}", f.unit.value), f.unit.how),
                    f.repeat.value == 0
                        ? "no repeats"
                        : known_text(formatted("repeat of {}", f.repeat.value), f.repeat.how)});
  }
  return out + columns_text(rows);
}

// Describes how a unit adds the accumulator to the finished sum of the products. Returns an empty
// string if the unit adds them together.
std::string joined_text(const DotModel& d) {
  if (d.sum_bits.value == 0) return "";
  std::string text = known_text(
      formatted(", their sum to {}, then the accumulator", d.sum_bits.value), d.sum_bits.how);
  if (d.interleave.value > 1) {
    text += known_text(formatted(", {} interleaved sums", d.interleave.value), d.interleave.how);
  }
  if (d.reach.value > 0) text += known_text(formatted(", reach {}", d.reach.value), d.reach.how);
  return text;
}

// Returns the last column of a machine's row. It has the properties that only some machines have.
std::string last_text(const DotModel& d) {
  if (!format_named(d.accumulator.value).is_float()) {
    return known_text(formatted("overflow {}", overflow_word(d.overflow.value)), d.overflow.how);
  }
  std::vector<std::string> parts;
  if (d.round_products.value) parts.push_back(known_text("products rounded", d.round_products.how));
  if (d.flush_inputs.value || d.flush_sums.value) {
    const char* of = !d.flush_sums.value    ? "inputs"
                     : d.flush_inputs.value ? "inputs and sums"
                                            : "sums";
    parts.push_back(known_text(formatted("subnormal {} flushed", of),
                               d.flush_sums.value ? d.flush_sums.how : d.flush_inputs.how));
  }
  return joined(parts);
}

std::string machines_text() {
  std::string out;
  std::vector<const Machine*> all;
  for (const Machine& m : machines()) all.push_back(&m);
  for (const Machine* m : folder_machines()) all.push_back(m);
  for (const Machine* machine : all) {
    const Machine& m = *machine;
    out += formatted("{}: {}\n  source: {}\n", m.name, printable_sentence(m.summary),
                     printable_sentence(m.source));
    std::vector<std::vector<std::string>> rows;
    for (const DotModel& d : m.dots) {
      rows.push_back(
          {formatted("  matmul {}", d.input),
           known_text(formatted("chunk {}", d.chunk.value), d.chunk.how),
           known_text(order_word(d.order.value), d.order.how),
           d.kept_bits.value == 0
               ? std::string("terms exact")
               : known_text(formatted("terms kept to {} bits, {}", d.kept_bits.value,
                                      rounding_name(d.alignment.value)),
                            d.kept_bits.how) +
                     (d.emax_floor.value == DotModel::kNoFloor
                          ? std::string()
                          : known_text(formatted(", emax at least {}", d.emax_floor.value),
                                       d.emax_floor.how)) +
                     joined_text(d),
           known_text(formatted("{}{}", d.accumulator.value,
                                d.mantissa_bits.value > 0 && d.mantissa_bits.value < 23
                                    ? formatted(" of {} mantissa bits", d.mantissa_bits.value)
                                    : std::string()),
                      d.accumulator.how),
           known_text(formatted("rounded {}", rounding_name(d.rounding.value)), d.rounding.how),
           last_text(d)});
    }
    out += columns_text(rows);
    if (m.has_matrix_unit()) {
      const char* bias =
          m.bias_first.value ? "where the accumulator starts" : "added last, in float32";
      out += formatted("  bias: {}\n", known_text(bias, m.bias_first.how));
    }
    if (const VectorModel* unit = find_vector_model(m)) out += vector_unit_text(*unit);
    out += "\n";
  }
  return out + function_libraries_text() +
         "documented: from the vendor's text; measured: recorded hardware results agree;\n"
         "inferred: fits published figures; assumed: chosen without evidence\n";
}

std::string operators_text() {
  std::string out;
  for (const Operator& op : operators()) out += operator_text(op) + "\n";
  return out +
         "name=VALUE: the default value\n"
         "example: --parameter axis=0, or the attribute axis of a case; `assay generate OP` makes "
         "cases\n";
}

// "; also mixed".
std::string other_names_text(const Standard& s) {
  const std::vector<std::string_view> names = other_names(s);
  return names.empty() ? "" : formatted(", also {}", fmt::join(names, ", "));
}

// Describes a standard's bound for each dtype that it names.
std::string standard_text(const Standard& s) {
  std::string out = formatted(
      "{}{}{}: {}\n  published: {}\n  the expected value is {}rounded to the output's dtype first; "
      "NaN {} NaN\n",
      s.name, other_names_text(s), s.name == kDefaultStandard ? " (default)" : "", s.source,
      s.publication.text(), s.round_expected ? "" : "not ",
      s.nan_equal ? "equals" : "differs from");
  if (const std::string_view hole = hole_of(s.name); !hole.empty()) {
    out += formatted("  as it was published (use {},as_published): {}\n", s.name, hole);
  }
  if (s.growth != Growth::kNone) {
    out += s.growth == Growth::kLinear
               ? "  the tolerances are multiplied by the number of accumulations\n"
               : formatted("  the tolerances are twice as large from 2048 accumulations on{}\n",
                           s.growth == Growth::kAtb
                               ? ", and in float32 four times as large from 16384 on"
                               : "");
  }
  std::vector<std::vector<std::string>> rows = {{"  dtype", "rule"}};
  for (const auto& [dtype, rule] : standard_rules(s)) rows.push_back({"  " + dtype, rule});
  return out + columns_text(rows) + "\n";
}

// Describes the laws (probability distributions) against which random draws are tested.
std::string laws_text() {
  std::string out =
      "distribution(LAW,...): tests random draws against a law; all tests together fail right "
      "draws\n"
      "  with a probability of at most delta (default 1e-6)\n";
  std::vector<std::vector<std::string>> rows = {{"  law", "draws", "golden result"}};
  for (const Law& law : laws()) {
    std::string name = formatted("  {}", law.name);
    for (const LawParameter& p : law.parameters) {
      name += formatted(",{}={}", p.name, p.default_value ? number_text(*p.default_value) : "");
    }
    rows.push_back({name, std::string(law.summary),
                    law.golden.empty() ? std::string("not needed") : std::string(law.golden)});
  }
  return out + columns_text(rows);
}

std::string standards_text() {
  std::string out;
  for (const Standard& s : standards()) out += standard_text(s);
  out += formatted(
      "accumulation, accumulation(MACHINE): the largest error that the machine's accumulation can "
      "cause,\n  from the sizes of the case's operands ({})\n",
      joined(names_with(operators(), &Operator::element_bounds)));
  out += formatted(
      "expected_error, expected_error(MACHINE): random rounding errors of the machine (without a "
      "machine: of float32 sums in\n  any order), the largest one and the sum of their squares "
      "({})\n",
      joined(names_with(operators(), &Operator::expected_errors)));
  out +=
      "indices, indices(STANDARD): for top-k, argsort and unique. The values of the input `of` at "
      "the indices along\n  `axis` must match those at the golden indices (equal, within the "
      "case's rtol and atol, or by that standard).\n  An index that is out of range or repeated "
      "fails.\n";
  return out + laws_text() +
         "ulp(n): at most n representable values apart, for any dtype\n"
         "bit_equal: the same bit patterns\n"
         "eps: the spacing of the dtype at 1\n";
}

std::string thresholds_text() {
  std::string out;
  for (const Threshold& t : thresholds()) {
    out +=
        formatted("{}{}\n  T = {}\n  source: {}\n  valid: {}\n", t.name,
                  t.name == kDefaultThreshold ? " (default, groups of 16 columns, confirmed)" : "",
                  t.summary, t.source, t.validity);
    if (t.takes("variant")) {
      std::vector<std::string> variants = names_of(t.variants);
      variants[0] += " (default)";
      out += formatted("  variants: {}\n", joined(variants));
    }
    std::vector<std::vector<std::string>> rows;
    for (const abft::ThresholdParameter* p : t.parameters) {
      rows.push_back({formatted("  {}", p->name), std::string(p->words)});
    }
    out += columns_text(rows) + "\n";
  }
  for (const abft::ArithmeticRow& row : abft::arithmetics()) {
    out += formatted("arithmetic={}: {}\n", row.name, row.summary);
  }
  return out +
         "\nexample: --abft rounding_variance,groups=0,columns=1 or --abft "
         "v_abft,variant=recalibrated\n";
}

std::string distributions_text() {
  std::string out;
  for (const Distribution& d : distributions()) {
    out += formatted("{}: {}\n  source: {}\n", d.name, d.summary, d.source);
    for (const DistributionParameter& p : d.parameters) {
      const std::string value = std::isnan(p.value) ? "" : number_text(p.value);
      out += formatted("  {:<22}{}\n", formatted("{}={}", p.name, value), p.meaning);
    }
    out += "\n";
  }
  return out + "example: --distribution normal,mean=1 or --a student_t,nu=3,scale=0.01\n";
}

std::string attributes_table() {
  std::vector<std::vector<std::string>> rows = {{"attribute", "value", "meaning"}};
  for (const KnownAttribute& a : known_attributes()) {
    rows.push_back({std::string(a.name), std::string(a.kind), std::string(a.meaning)});
  }
  return columns_text(rows);
}

std::string faults_text() { return joined(fault::fault_help(), "\n") + "\n"; }

// Returns the columns for a parameter: "name=0.1", its values, and its effect.
std::vector<std::string> parameter_line(const Parameter& p) {
  return {formatted("  {}{}", p.name, p.default_value.empty() ? "" : "=" + p.default_value),
          values_text(p) + (p.needed ? ", needed" : ""), p.words};
}

}  // namespace

std::string operator_text(const Operator& op) {
  std::string out = formatted("{}: {}\n  inputs: {}\n", op.name, op.summary, inputs_text(op));
  std::vector<std::vector<std::string>> rows;
  for (const OperatorInput& input : op.inputs) {
    if (!input.words.empty()) rows.push_back({"  " + input.name, "input", input.words});
  }
  for (const Parameter& p : op.parameters) rows.push_back(parameter_line(p));
  return out + columns_text(rows);
}

void add_inspect(Context& context) {
  auto file = std::make_shared<std::string>(), glob = std::make_shared<std::string>();
  auto options = std::make_shared<SourceOptions>();
  CLI::App* command = subcommand(
      context, "inspect", "Show the content of a dataset file, or of files of another layout.",
      "assay inspect datasets/samples/transformer_gemms.h5");
  context.files
      .input(command->add_option("FILE", *file, "Dataset file, or files of another layout."),
             source_reads)
      ->required();
  command->add_option("--case", *glob, "Only use cases whose name matches this glob.");
  auto verify = std::make_shared<bool>(false);
  command->add_flag(
      "--verify", *verify,
      "Read all arrays, compare them with their checksums, and print the SHA-256 of the file.");
  options->add_layout(context, command);
  on_run(context, command, [file, glob, options, verify, &context] {
    return run_inspect(*file, *glob, *options, *verify, context);
  });
}

void add_list(Context& context) {
  struct Table {
    const char* name;
    std::string (*text)();
  };
  static constexpr Table kTables[] = {
      {.name = "dtypes", .text = dtypes_table},
      {.name = "machines", .text = machines_text},
      {.name = "operators", .text = operators_text},
      {.name = "standards", .text = standards_text},
      {.name = "thresholds", .text = thresholds_text},
      {.name = "faults", .text = faults_text},
      {.name = "distributions", .text = distributions_text},
      {.name = "attributes", .text = attributes_table},
      {.name = "layouts", .text = layouts_table},
      {.name = "array_formats", .text = array_formats_table},
  };
  auto what = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  CLI::App* command =
      subcommand(context, "list",
                 "Show a table: dtypes, machines, operators, standards and others, with sources.",
                 "assay list standards");
  std::vector<std::string> names = names_of(kTables);
  const std::string last = names.back();
  const std::string words = joined(std::span(names).first(names.size() - 1)) + " or " + last;
  command->add_option("TABLE", *what, "Table: " + words + ".")
      ->required()
      ->check(one_of("table", names));
  context.files.output_or_standard_output(command->add_option(
      "--json", *json,
      "Write the table of standards as a file for --standards. '-' is standard output."));
  on_run(context, command, [what, json, &context] {
    if (!json->empty() && *what != "standards") {
      refuse("--json writes only the table of standards: assay list standards --json FILE");
    }
    write_result(*json, [] { return standards_json(standards()); });
    if (*json != "-") {
      print_result(context, row_named("table", kTables, *what).text(),
                   json->empty() ? formatted("the table of {}", *what)
                                 : formatted("{}, written to {}",
                                             counted(std::ssize(standards()), "standard"), *json));
    }
    return 0;
  });
}

}  // namespace assay::tools
