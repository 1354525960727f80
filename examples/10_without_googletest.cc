// Judging in a program without GoogleTest. CHECK stands for that of doctest or Catch2: both take a
// value with a truth, and print it with << if it is false.
#include <assay/case.h>
#include <assay/check.h>
#include <assay/machine.h>
#include <assay/operator.h>

#include <cmath>
#include <cstddef>
#include <iostream>
#include <vector>

int failures = 0;
#define CHECK(what)                                              \
  if (const auto& result = (what); !static_cast<bool>(result)) { \
    std::cout << #what << " " << result << "\n";                 \
    ++failures;                                                  \
  }

// A row of a padded matrix: 3 rows of 4 elements, 8 elements apart.
constexpr std::size_t kRows = 3, kColumns = 4, kPitch = 8;

std::vector<float> padded_result(float error) {
  std::vector<float> out(kRows * kPitch, -1.0F);  // what lies between the rows is not compared
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      out[i * kPitch + j] = std::sqrt(static_cast<float>(i + j)) * (1 + error);
    }
  }
  return out;
}

int main() {
  std::vector<double> golden(kRows * kColumns);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j)
      golden[i * kColumns + j] = std::sqrt(static_cast<double>(i + j));
  }
  const assay::TensorView expected = assay::view(golden, {kRows, kColumns});

  const std::vector<float> right = padded_result(0), wrong = padded_result(0.01F);
  const auto rows = [](const std::vector<float>& out) {
    return assay::view(out.data(), {kRows, kColumns}, {kPitch, 1});  // strides in elements
  };
  CHECK(assay::check_close(rows(right), expected));
  CHECK(assay::check_close(rows(right), expected, {.bounds = {.standards = {"ulp(1)"}}}));
  const int before = failures;
  CHECK(assay::check_close(rows(wrong), expected, {.bounds = {.standards = {"torch"}}}));
  if (failures != before + 1) return 1;  // an error of one percent is found

  // A case: the operator's own bound, on the machine that computed the output.
  assay::Case c;
  c.name = "sum";
  c.op = "reduce_sum";
  c.inputs["x"] = assay::copy_of(rows(right));
  c.output().golden = assay::golden_result(c);
  const assay::Tensor out = assay::emulate(c, assay::machine_named("ascend910b"));
  CHECK(assay::check_case(c, out, {}, {.producer = "ascend910b"}));
  return failures == before + 1 ? 0 : 1;
}
