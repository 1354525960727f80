#include "assay/simd/golden_tables.h"

#include <bit>
#include <vector>

#include "assay/base/double_double.h"
#include "assay/base/quad.h"

namespace assay::inline v0_2::simd {
namespace {

void append(Quad x, std::vector<double>& to) {
  to.push_back(static_cast<double>(x));
  to.push_back(static_cast<double>(x - to.back()));
}

std::vector<double> powers() {
  const Quad step = quad::log(2) / kPowers;
  std::vector<double> table;
  for (std::uint64_t i = 0; i < kPowers; ++i)
    append(quad::exp(step * static_cast<double>(i)), table);
  return table;
}

std::vector<double> logs() {
  constexpr std::uint64_t kWidth = (std::uint64_t{1} << 52) / kLogBins;
  std::vector<double> table;
  for (std::uint64_t i = 0; i < kLogBins; ++i) {
    const std::uint64_t begin = kLogEnd + i * kWidth;
    const bool at_one = begin == std::bit_cast<std::uint64_t>(1.0) ||
                        begin + kWidth == std::bit_cast<std::uint64_t>(1.0);
    table.push_back(at_one ? 1 : 1 / std::bit_cast<double>(begin + kWidth / 2));
    append(-quad::log(table.back()), table);
    table.push_back(0);
  }
  return table;
}

std::vector<double> erfcs() {
  const Quad pi = Quad{0x1.921fb54442d18p+1} + 0x1.1a62633145c07p-53 - 0x1.f1976b7ed8fbcp-109;
  const Quad factor = 2 / quad::sqrt(pi);
  std::vector<double> table;
  constexpr auto kSteps = static_cast<int>(kErfcEnd * kErfcSteps);
  for (int step = 0; step <= kSteps; ++step) {
    const Quad c = step / kErfcSteps;
    append(quad::erfc(c), table);
    append(factor * quad::exp(-c * c), table);
  }
  return table;
}

}  // namespace

const double* power_table() {
  static const std::vector<double> table = powers();
  return table.data();
}

const double* log_table() {
  static const std::vector<double> table = logs();
  return table.data();
}

const double* erfc_table() {
  static const std::vector<double> table = erfcs();
  return table.data();
}

}  // namespace assay::simd
