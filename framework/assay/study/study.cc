#include "assay/study/study.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/study/accumulation_order.h"
#include "assay/study/fma.h"
#include "assay/study/fp8.h"
#include "assay/study/reduction.h"

namespace assay::inline v0_2::study {
namespace {

constexpr Study kStudies[] = {
    {.name = "fma",
     .summary = "one rounding of a * x + b against two, and what an index makes of the difference",
     .run = study_fma},
    {.name = "reduction",
     .summary = "one sum in several orders, in float16 and float32",
     .run = study_reduction},
    {.name = "fp8",
     .summary = "what scales, chunks and promotion do for products of fp8",
     .run = study_fp8},
    {.name = "accumulation_order",
     .summary = "the summation tree of an operator, only from probes",
     .run = study_accumulation_order},
};

}  // namespace

void StudyTable::add(std::vector<StudyCell> row) {
  if (row.size() != columns.size()) {
    throw std::logic_error(
        formatted("table {}: {} cells for {} columns", name, row.size(), columns.size()));
  }
  rows.push_back(std::move(row));
}

const StudyTable& StudyResult::table(std::string_view table_name) const {
  if (const StudyTable* found = find_row(tables, table_name, &StudyTable::name)) return *found;
  refuse("study {} has no table '{}'", name, table_name);
}

std::span<const Study> studies() { return kStudies; }

const Study& study_named(std::string_view name) { return row_named("study", kStudies, name); }

StudySeries histogram(const std::string& name, std::span<const double> values, double low,
                      double high, int bins) {
  StudySeries s{.name = name, .y = std::vector<double>(static_cast<std::size_t>(bins), 0.0)};
  const double width = (high - low) / bins;
  for (int i = 0; i < bins; ++i) s.x.push_back(low + (i + 0.5) * width);
  for (const double v : values) {
    if (std::isnan(v)) continue;
    const double at = std::clamp(std::floor((v - low) / width), 0.0, bins - 1.0);
    s.y[static_cast<std::size_t>(at)] += 1;
  }
  return s;
}

}  // namespace assay::study
