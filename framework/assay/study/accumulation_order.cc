// The summation trees of reduce_sum and of matrix products, from probes alone, against the rows of
// the tables.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/study/study.h"
#include "assay/study/sum_tree.h"

namespace assay::study {
namespace {

// What a format can probe with: two factors of the large number and of the unit. The ratio is more
// than 2^33, so that 512 units are lost in a float32 sum with the large number, and whatever the
// accumulator is made of, 512 units are counted exactly.
struct Factors {
  double large, unit;
};
Factors factors_of(const Format& f) {
  const bool wide = max_finite(f) > 0x1p40;
  if (wide) return {0x1p60, 1};
  const double large = std::ldexp(1.0, std::ilogb(max_finite(f)));
  return {large, std::max(min_subnormal(f), large * 0x1p-35)};
}

Tensor filled(const Format& f, Shape shape, double value) {
  const std::vector<double> values(static_cast<std::size_t>(element_count(shape)), value);
  return Tensor::from_values(f, std::move(shape), values);
}

SumTree probe_reduce(const std::string& machine, const std::string& dtype, const std::string& order,
                     std::int64_t block, std::int64_t terms, int threads) {
  const Format& f = format_named(dtype);
  // float16 is summed by itself, and in float32 behind blocks.
  const double large = max_finite(f) > 0x1p40 ? 0x1p60 : 0x1p15;
  const double unit = max_finite(f) > 0x1p40 ? 1 : 0x1p-20;
  const auto sums = [&](const std::vector<double>& rows) {
    const auto count = static_cast<std::int64_t>(rows.size()) / terms;
    Case c;
    c.name = "probe";
    c.op = "reduce_sum";
    c.inputs["x"] = Tensor::from_values(f, {count, terms}, rows);
    c.attributes["axis"] = std::int64_t{1};
    c.attributes["order"] = order;
    c.attributes["output_dtype"] = std::string("float32");
    if (order == "block") c.attributes["block_size"] = block;
    return emulate(c, machine_named(machine), threads).view().values();
  };
  return reveal_sum_tree({terms, large, unit, sums});
}

// Products: large = p q and unit = r s. Where one format's range is wide enough all of it is in a,
// and b is one column: a matmul. float8_e4m3fn needs both, in n dot products.
SumTree probe_product(const Machine& machine, const std::string& dtype, std::int64_t interval,
                      std::int64_t terms, int threads) {
  const Format& f = format_named(dtype);
  const Factors factors = factors_of(f);
  const bool both = factors.large / factors.unit < 0x1p28;
  const double b_large = both ? factors.large : 1, b_unit = both ? factors.unit : 1;
  const double large = factors.large * b_large, unit = factors.unit * b_unit;
  const auto sums = [&](const std::vector<double>& rows) {
    const auto count = static_cast<std::int64_t>(rows.size()) / terms;
    std::vector<double> a(rows.size()), b(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_large = std::abs(rows[i]) == large;
      a[i] = std::copysign(is_large ? factors.large : factors.unit, rows[i]);
      b[i] = is_large ? b_large : b_unit;
    }
    Case c;
    c.name = "probe";
    c.op = both ? "dot" : "matmul";
    c.inputs["a"] = Tensor::from_values(f, {count, terms}, a);
    c.inputs["b"] = both ? Tensor::from_values(f, {count, terms}, b) : filled(f, {terms, 1}, 1);
    if (both) c.inputs["c"] = filled(format_named("float32"), {count}, 0);
    c.attributes["output_dtype"] = std::string("float32");
    c.attributes["promotion_interval"] = interval;
    return emulate(c, machine, threads).view().values();
  };
  return reveal_sum_tree({terms, large, unit, sums});
}

struct Reduce {
  const char *machine, *dtype, *order;
  ReduceOrder row;
  std::int64_t chunk, terms;
};
constexpr Reduce kReduces[] = {
    {"cpu_fma", "float32", "sequential", ReduceOrder::kSequential, 1, 64},
    {"cpu_fma", "float32", "pairwise", ReduceOrder::kPairwise, 1, 100},
    {"ascend910b", "float16", "sequential", ReduceOrder::kSequential, 1, 64},
    {"ascend910b", "float16", "pairwise", ReduceOrder::kPairwise, 1, 64},
    {"ascend910b", "float16", "block", ReduceOrder::kBlock, 32, 128},
    {"ascend910b", "float32", "ascend910b_first_n", ReduceOrder::kFirstN, 64, 320},
    {"ascend910b", "float32", "ascend910b_high_dim", ReduceOrder::kHighDim, 64, 320},
    {"ascend910b", "float16", "ascend910b_first_n", ReduceOrder::kFirstN, 128, 384},
    {"ascend910b", "float16", "ascend910b_high_dim", ReduceOrder::kHighDim, 128, 512},
};

class Rows {
 public:
  explicit Rows(StudyResult& result)
      : result_(result),
        table_{"trees",
               "Summation trees found by probes, and those that the rows of the tables say",
               {"operator", "machine", "dtype", "order", "terms", "tree", "as its row says"},
               {}} {}

  // `probe` gives the tree; where there is none, its error is what was found.
  template <typename Probe>
  void add(const std::string& op, const std::string& machine, const std::string& dtype,
           const std::string& order, std::int64_t terms, const SumTree& expected, bool is_drawn,
           const Probe& probe) {
    std::string text;
    bool same = false;
    try {
      const SumTree tree = probe();
      same = tree == expected;
      text = sum_tree_drawing(tree);
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    ++count_;
    agree_ += same ? 1 : 0;
    if (is_drawn || !same) {
      result_.drawings.push_back(
          format("{} of {} on {}, {}:\n{}", op, dtype, machine, order, text));
    }
    table_.add({op, machine, dtype, order, terms, text.substr(0, text.find('\n')),
                std::string(same ? "yes" : "no")});
  }

  void finish() {
    result_.tables.push_back(std::move(table_));
    result_.findings.push_back(
        {agree_ == count_,
         format("{} of {} trees are those of the rows of the tables", agree_, count_)});
  }

 private:
  StudyResult& result_;
  StudyTable table_;
  std::int64_t count_ = 0, agree_ = 0;
};

}  // namespace

StudyResult study_accumulation_order(const StudyOptions& options) {
  const FloatEnvironment environment;
  StudyResult result{"accumulation_order",
                     "In which order does an operator add? A large number and its negative at two "
                     "positions and small ones elsewhere show what is added to them before they "
                     "meet.",
                     {},
                     {},
                     {},
                     {}};
  Rows rows(result);
  for (const Reduce& r : kReduces) {
    const std::string order =
        r.row == ReduceOrder::kBlock ? format("{} {}", r.order, r.chunk) : std::string(r.order);
    rows.add("reduce_sum", r.machine, r.dtype, order, r.terms,
             expected_tree(r.row, r.chunk, r.terms),
             r.chunk > 1 && r.dtype == std::string("float16"), [&] {
               return probe_reduce(r.machine, r.dtype, r.order, r.chunk, r.terms, options.threads);
             });
  }
  for (const Machine& machine : machines()) {
    for (const DotModel& model : machine.dots) {
      const std::string dtype(model.input);
      if (dtype == "int8") continue;  // exact in any order
      for (const std::int64_t interval : {0, 128}) {
        const bool fp8 = format_named(dtype).bits == 8;
        if (interval > 0 && !fp8) continue;
        const std::int64_t terms = interval > 0 ? 320 : 72;
        DotModel row = model;
        row.promotion_interval.value = static_cast<int>(interval);
        rows.add(dtype == "float8_e4m3fn" ? "dot" : "matmul", std::string(machine.name), dtype,
                 interval > 0 ? format("promotion every {}", interval) : "as it is", terms,
                 expected_tree(row, terms),
                 machine.name == "ascend910b" || machine.name == "hopper",
                 [&] { return probe_product(machine, dtype, interval, terms, options.threads); });
      }
    }
  }
  rows.finish();
  return result;
}

}  // namespace assay::study
