#include "assay/study/reduction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::study {
namespace {

constexpr std::int64_t kElements = 1 << 20;

// An order of reduce_sum. The first of kOrders is also the order of the reference sum.
struct Order {
  const char* name;
  std::int64_t block = 0;  // the attribute block_size. 0 means that the order has none.
  std::string text() const { return block > 0 ? formatted("{} {}", name, block) : name; }
};
constexpr Order kOrders[] = {
    {.name = "pairwise"},
    {.name = "sequential"},
    {.name = "block", .block = 64},
    {.name = "block", .block = 128},
    {.name = "block", .block = 256},
    {.name = "block", .block = 512},
    {.name = "block", .block = 1024},
};

std::vector<double> normal_values(std::uint64_t seed, std::int64_t draw) {
  Random random(seed, 300 + static_cast<std::uint64_t>(draw));
  std::vector<double> values(kElements);
  for (double& v : values) v = random.normal();
  return values;
}

double sum_of(const Tensor& x, const Order& order, const char* machine, const char* output) {
  Case c;
  c.name = "study";
  c.op = "reduce_sum";
  c.inputs["x"] = x;
  c.attributes["order"] = std::string(order.name);
  c.attributes["output_dtype"] = std::string(output);
  if (order.block > 0) c.attributes["block_size"] = order.block;
  return emulate(c, machine_named(machine), 1).view().value_at(0);
}

// Adds the same numbers in every order, and compares each sum with the pairwise sum in float64.
void orders(const StudyOptions& options, StudyResult& result) {
  const std::int64_t draws = options.repeats > 0 ? options.repeats : 5;
  StudyTable table{
      .name = "orders",
      .title = formatted("The sum of 2^20 normal values on the Ascend 910B's vector unit: largest "
                         "difference from the same values' pairwise sum in float64, over {} draws",
                         draws),
      .columns = {"dtype", "order", "draws", "largest difference", "mean difference"}};
  StudyChart chart{.name = "orders",
                   .title = "Difference from the pairwise reference",
                   .x_label = "order",
                   .y_label = "difference",
                   .kind = ChartKind::kBars,
                   .log_y = true};
  for (const Order& o : kOrders) chart.labels.push_back(o.text());
  std::map<std::string, double> spread, block_spread;
  for (const char* dtype : {"float16", "float32"}) {
    std::vector<double> most(std::size(kOrders), 0.0), sums(std::size(kOrders), 0.0);
    double &between = spread[dtype], &between_blocks = block_spread[dtype];
    for (std::int64_t draw = 0; draw < draws; ++draw) {
      const std::vector<double> values = normal_values(options.seed, draw);
      const Tensor x = Tensor::from_values(format_named(dtype), {kElements}, values);
      const Tensor wide =
          Tensor::from_values(format_named("float64"), {kElements}, x.view().values());
      const double reference = sum_of(wide, kOrders[0], "cpu_fma", "float64");
      double low = HUGE_VAL, high = -HUGE_VAL, block_low = HUGE_VAL, block_high = -HUGE_VAL;
      for (std::size_t i = 0; i < std::size(kOrders); ++i) {
        // The order "block" adds the sums of its blocks in float32. The other orders add in the
        // format that the unit computes in.
        const double sum = sum_of(x, kOrders[i], "ascend910b", "float32");
        const double difference = std::abs(sum - reference);
        most[i] = std::max(most[i], difference);
        sums[i] += difference;
        low = std::min(low, sum);
        high = std::max(high, sum);
        if (kOrders[i].block == 0) continue;
        block_low = std::min(block_low, sum);
        block_high = std::max(block_high, sum);
      }
      between = std::max(between, high - low);
      between_blocks = std::max(between_blocks, block_high - block_low);
    }
    StudySeries series{.name = dtype};
    for (std::size_t i = 0; i < std::size(kOrders); ++i) {
      table.add({std::string(dtype), kOrders[i].text(), draws, most[i],
                 sums[i] / static_cast<double>(draws)});
      series.add(static_cast<double>(i), most[i]);
    }
    chart.series.push_back(series);
  }
  result.tables.push_back(std::move(table));
  result.charts.push_back(std::move(chart));
  const double f16 = spread["float16"], f32 = spread["float32"], ratio = f16 / f32;
  const double blocks16 = block_spread["float16"], blocks32 = block_spread["float32"];
  StudyTable ratios{.name = "spread",
                    .title = "The largest difference between two orders of one sum",
                    .columns = {"orders", "float16", "float32", "float16 over float32"}};
  ratios.add({std::string("all"), f16, f32, ratio});
  ratios.add({std::string("blocks of 64 to 1024"), blocks16, blocks32, blocks16 / blocks32});
  result.tables.push_back(std::move(ratios));
  result.found(f32 > 0 && f32 < 0.5 && ratio > 100,
               "between orders float32 sums differ by up to {}, float16 sums by {}: {} times", f32,
               f16, ratio);
  result.found(
      blocks32 < 0.02 && blocks16 > 0.05 && blocks16 / blocks32 > 20,
      "between block sizes by {} and {}: {} times, for the sums of blocks are added one by one",
      blocks32, blocks16, blocks16 / blocks32);
}

// Returns the case of the published experiment as it was made on a GPU. Triton's tl.sum adds blocks
// in the dtype of x, with 4 warps for each block, and torch.sum adds the sums of the blocks in
// float32. These are the trees by which H200s with PyTorch 2.11 and Triton 3.6 were seen to add
// (docs/studies.md).
Case two_stages(const Tensor& x, std::int64_t block) {
  // Threads of a block, and bytes that a thread loads at once.
  constexpr std::int64_t kThreads = 128, kLoad = 16;
  Case c;
  c.name = "study";
  c.op = "reduce_sum";
  c.inputs["x"] = x;
  c.attributes["output_dtype"] = std::string("float32");
  c.attributes["order"] = std::string("lanes");
  c.attributes["block_size"] = block;
  c.attributes["lanes"] = kThreads;
  c.attributes["vector"] =
      std::clamp<std::int64_t>(block / kThreads, 1, kLoad / x.format().storage_bytes);
  c.attributes["warp"] = std::int64_t{32};
  c.attributes["sum_dtype"] = std::string(x.format().name);
  c.attributes["second_order"] = std::string("lanes");
  c.attributes["second_lanes"] = std::int64_t{512};
  c.attributes["second_vector"] = std::int64_t{4};
  c.attributes["second_accumulators"] = std::int64_t{4};
  return c;
}

void published(const StudyOptions& options, StudyResult& result) {
  const std::int64_t draws = options.repeats > 0 ? options.repeats : 5;
  StudyTable sums{
      .name = "published",
      .title =
          "The published experiment: blocks of 2^20 normal values summed in their dtype, their "
          "sums in float32, as on an H200: by block size, the difference from the exact sum",
      .columns = {"draw", "dtype", "exact sum", "64", "128", "256", "512", "1024",
                  "largest less least"}};
  std::map<std::string, double> most;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> values = normal_values(options.seed, draw);
    for (const char* dtype : {"float16", "float32"}) {
      const Tensor x = Tensor::from_values(format_named(dtype), {kElements}, values);
      const double exact = golden_result(two_stages(x, 64), options.threads).view().value_at(0);
      std::vector<StudyCell> row = {draw, std::string(dtype), exact};
      double low = HUGE_VAL, high = -HUGE_VAL;
      for (const std::int64_t block : {64, 128, 256, 512, 1024}) {
        const double sum = emulate(two_stages(x, block), machine_named("hopper"), options.threads)
                               .view()
                               .value_at(0);
        row.emplace_back(sum - exact);
        low = std::min(low, sum);
        high = std::max(high, sum);
      }
      row.emplace_back(high - low);
      sums.add(std::move(row));
      most[dtype] = std::max(most[dtype], high - low);
    }
  }
  result.tables.push_back(std::move(sums));
  const double f16 = most["float16"], f32 = most["float32"], ratio = f16 / f32;
  result.found(f32 > 0 && f32 < 0.001 && f16 > 0.2 && f16 < 5 && ratio > 1000,
               "blocks summed in float16 and float32, their sums in float32 on an H200's trees: "
               "between block sizes {} and {}, {} times (published, on an A100: 0.777 and 0.00015, "
               "5094 times; recorded on an H200: 1.41 and 0.00018)",
               f16, f32, ratio);
}

// Returns the rows [row, row + rows) and the columns [column, column + columns) of a matrix.
Tensor part_of(const Tensor& t, std::int64_t row, std::int64_t rows, std::int64_t column,
               std::int64_t columns) {
  Tensor part(t.format(), {rows, columns});
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      part.set_bits(i * columns + j, t.bits_at((row + i) * t.shape()[1] + column + j));
    }
  }
  return part;
}

// Returns the product a b in float32 on a machine. K is cut into parts of `split` terms. 0 means
// that it is not cut.
Tensor product(const Tensor& a, const Tensor& b, std::int64_t split, const char* machine,
               int threads) {
  Case c;
  c.name = "study";
  c.op = "matmul";
  c.inputs["a"] = a;
  c.inputs["b"] = b;
  c.attributes["output_dtype"] = std::string("float32");
  c.attributes["split_k"] = split;
  return emulate(c, machine_named(machine), threads);
}

// Computes a product in tiles of M and N, and in parts of K. Compares each result with the product
// as a whole.
void tiles(const StudyOptions& options, StudyResult& result) {
  constexpr std::int64_t kSize = 256;
  StudyTable table{
      .name = "tiles",
      .title = "A 256 x 256 x 256 product by tiles, against the product as a whole",
      .columns = {"machine", "dtype", "tile", "elements", "other bits", "largest difference"}};
  const struct {
    const char *machine, *dtype;
  } units[] = {{.machine = "cpu_fma", .dtype = "float32"},
               {.machine = "ascend910b", .dtype = "bfloat16"},
               {.machine = "hopper", .dtype = "float16"}};
  std::int64_t by_mn = 0;
  std::int64_t least_by_k = kSize * kSize;
  for (const auto& unit : units) {
    Random random(options.seed, 400);
    std::vector<double> values(kSize * kSize);
    const auto draw = [&] {
      for (double& v : values) v = random.normal();
      return Tensor::from_values(format_named(unit.dtype), {kSize, kSize}, values);
    };
    const Tensor a = draw(), b = draw();
    const Tensor whole = product(a, b, 0, unit.machine, options.threads);
    const auto compare = [&](const std::string& text, const Tensor& other) {
      std::int64_t differ = 0;
      double most = 0;
      for (std::int64_t i = 0; i < whole.size(); ++i) {
        differ += whole.bits_at(i) != other.bits_at(i) ? 1 : 0;
        most = std::max(most, std::abs(whole.view().value_at(i) - other.view().value_at(i)));
      }
      table.add(
          {std::string(unit.machine), std::string(unit.dtype), text, whole.size(), differ, most});
      return differ;
    };
    for (const std::int64_t tile : {32, 64, 128}) {
      Tensor tiled(whole.format(), whole.shape());
      for (std::int64_t i = 0; i < kSize; i += tile) {
        for (std::int64_t j = 0; j < kSize; j += tile) {
          const Tensor part = product(part_of(a, i, tile, 0, kSize), part_of(b, 0, kSize, j, tile),
                                      0, unit.machine, options.threads);
          for (std::int64_t at = 0; at < part.size(); ++at) {
            tiled.set_bits((i + at / tile) * kSize + j + at % tile, part.bits_at(at));
          }
        }
      }
      by_mn += compare(formatted("M, N {}", tile), tiled);
    }
    least_by_k =
        std::min(least_by_k, compare("K 32", product(a, b, 32, unit.machine, options.threads)));
  }
  result.tables.push_back(std::move(table));
  result.found(by_mn == 0,
               "tiles of M and N do not change the order of K: the results are bit-identical");
  result.found(least_by_k > 0, "tiles of K do: at least {} of 65536 elements have other bits",
               least_by_k);
}

// Shows the smallest example of the order's effect: three numbers whose sum is 0 or 1.
void examples(StudyResult& result) {
  StudyTable table{.name = "examples",
                   .title = "Three numbers in float32, added in two orders",
                   .columns = {"order", "sum"}};
  const float big = 0x1p24f;
  const volatile float first = big + 1.0f;
  const auto lost = static_cast<double>(first - big), kept = static_cast<double>((big - big) + 1);
  table.add({std::string("(2^24 + 1) - 2^24"), lost});
  table.add({std::string("(2^24 - 2^24) + 1"), kept});
  result.tables.push_back(std::move(table));
  result.found(lost == 0 && kept == 1, "(2^24 + 1) - 2^24 is {} or {}, by the order",
               number_text(lost), number_text(kept));
}

}  // namespace

StudyResult study_reduction(const StudyOptions& options) {
  const FloatEnvironment environment;
  StudyResult result{.name = "reduction",
                     .question = "How much does the order of a sum change its result?"};
  orders(options, result);
  published(options, result);
  tiles(options, result);
  examples(result);
  return result;
}

}  // namespace assay::study
