#include "sources.h"

#include "assay/base/spec.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/array_file.h"
#include "assay/datasets/folder.h"

namespace assay::tools {
namespace {

std::optional<Shape> shape_of(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  Shape shape;
  for (const std::string& part : every_part(text, ',')) {
    const auto extent = read_number<std::int64_t>(part);
    if (!extent || *extent < 0) {
      throw std::invalid_argument(format("{} '{}' must be extents joined by commas", option, text));
    }
    shape.push_back(*extent);
  }
  (void)element_count(shape);
  return shape;
}

}  // namespace

void SourceOptions::add_layout(Context& context, CLI::App* command) {
  command->add_option(
      "--layout", layout,
      "what the folder or file is (`assay list layouts`); else told by its content");
  context.files.input(command->add_option("--table", table, "TTK's case table (CSV)"));
  command->add_option("--dtype", dtype, "dtype of raw outputs that do not say it");
  command->add_option("--golden-dtype", golden_dtype,
                      "dtype of raw golden results and inputs that do not say it");
  command->add_option("--shape", shape, "shape of raw outputs that do not say it, as in 64,512");
  command->add_option("--golden-shape", golden_shape,
                      "shape of raw golden results that do not say it");
}

void SourceOptions::add(Context& context, CLI::App* command) {
  add_layout(context, command);
  command
      ->add_option("--pairs", pairs,
                   "patterns of outputs and of golden results, as in 'out/*_output_{i}.bin' "
                   "'gold/*_golden_{i}.bin': '*' and {i} stand for the same on both sides")
      ->expected(2);
}

OpenOptions SourceOptions::request(Side side) const {
  OpenOptions request;
  if (!layout.empty()) (void)row_named("layout", layouts(), layout);
  request.layout = layout;
  request.side = side;
  request.dtype = dtype;
  request.golden_dtype = golden_dtype;
  for (const std::string& named : {dtype, golden_dtype}) {
    if (!named.empty()) (void)format_named(named);
  }
  request.shape = shape_of(shape, "--shape");
  request.golden_shape = shape_of(golden_shape, "--golden-shape");
  request.table = table;
  return request;
}

std::string SourceOptions::text() const {
  std::string out;
  for (const auto& [option, value] :
       {std::pair("--layout", &layout), std::pair("--table", &table), std::pair("--dtype", &dtype),
        std::pair("--golden-dtype", &golden_dtype), std::pair("--shape", &shape),
        std::pair("--golden-shape", &golden_shape)}) {
    if (!value->empty()) out += format(" {} {}", option, shell_word(*value));
  }
  if (pairs.size() == 2) {
    out += format(" --pairs {} {}", shell_word(pairs[0]), shell_word(pairs[1]));
  }
  return out;
}

std::string notes_text(const OpenedCases& opened) {
  std::string out;
  const std::string& path = opened.cases->path();
  for (const std::string& note : opened.notes) out += format("note: {}: {}\n", path, note);
  for (const std::string& file : opened.unpaired) out += format("no partner: {}\n", file);
  return out;
}

std::vector<std::string> files_of_source(const std::string& path) {
  if (!is_folder(path)) return {array_file(path)};
  std::vector<std::string> files;
  for (const std::string& file : files_under(path)) files.push_back(in_folder(path, file));
  return files;
}

std::string layouts_table() {
  std::vector<std::vector<std::string>> rows = {{"layout", "what it looks like"}};
  for (const Layout& layout : layouts()) {
    rows.push_back({std::string(layout.name), std::string(layout.what)});
  }
  return columns_text(rows) +
         "\ntold by their content in this order, or by --layout; pairs of other names: --pairs\n";
}

}  // namespace assay::tools
