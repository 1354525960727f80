#include "assay/study/study.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::study {
namespace {

constexpr Study kStudies[] = {
    {"fma", "one rounding of a * x + b against two, and what an index makes of the difference",
     study_fma},
    {"reduction", "one sum in several orders, in float16 and float32", study_reduction},
    {"fp8", "what scales, chunks and promotion do for products of fp8", study_fp8},
    {"accumulation_order", "the summation tree of an operator, from probes alone",
     study_accumulation_order},
};

}  // namespace

void StudyTable::add(std::vector<StudyCell> row) {
  if (row.size() != columns.size()) {
    throw std::logic_error(
        format("table {}: {} cells for {} columns", name, row.size(), columns.size()));
  }
  rows.push_back(std::move(row));
}

const StudyTable& StudyResult::table(std::string_view table_name) const {
  for (const StudyTable& t : tables) {
    if (t.name == table_name) return t;
  }
  throw std::invalid_argument(format("study {} has no table '{}'", name, table_name));
}

std::span<const Study> studies() { return kStudies; }

const Study& study_named(std::string_view name) { return row_named("study", kStudies, name); }

StudySeries histogram(const std::string& name, std::span<const double> values, double low,
                      double high, int bins) {
  StudySeries s{name, {}, std::vector<double>(static_cast<std::size_t>(bins), 0.0)};
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
