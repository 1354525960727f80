#include "assay/study/accumulation_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/op/order.h"
#include "assay/study/sum_tree.h"

namespace assay::inline v0_2::study {
namespace {

// The two factors from which the large number and the unit of a probe are made. The large number is
// so large that a unit added to it is lost. The units of a probe are so few that every accumulator
// adds them to each other exactly.
struct Factors {
  double large, unit;
};
Factors factors_of(const Format& f, bool flushes) {
  const bool wide = max_finite(f) > 0x1p40;
  if (wide) return {0x1p60, 1};
  const double large = std::ldexp(1.0, std::ilogb(max_finite(f)));
  return {large, std::max(flushes ? min_normal(f) : min_subnormal(f), large * 0x1p-35)};
}
// True if the format's range is too narrow for one element to hold the ratio of the large number to
// the unit. Then both operands must hold a factor.
bool needs_both(const Factors& factors) { return factors.large / factors.unit < 0x1p32; }

Tensor filled(const Format& f, Shape shape, double value) {
  const std::vector<double> values(static_cast<std::size_t>(element_count(shape)), value);
  return Tensor::from_values(f, std::move(shape), values);
}

SumTree probe_reduce(const std::string& machine, const std::string& dtype,
                     const std::map<std::string, Attribute>& order, std::int64_t terms,
                     int threads) {
  const Format& f = format_named(dtype);
  // The ascend910b adds float16 values in float16, but the sums of blocks in float32. A unit that
  // is added to `large` is lost in both formats.
  const double large = max_finite(f) > 0x1p40 ? 0x1p60 : 0x1p15;
  const double unit = max_finite(f) > 0x1p40 ? 1 : 0x1p-20;
  const auto sums = [&](const std::vector<double>& rows) {
    const auto count = static_cast<std::int64_t>(rows.size()) / terms;
    Case c;
    c.name = "probe";
    c.op = "reduce_sum";
    c.inputs["x"] = Tensor::from_values(f, {count, terms}, rows);
    c.attributes = order;
    c.attributes["axis"] = std::int64_t{1};
    c.attributes["output_dtype"] = std::string("float32");
    return emulate(c, machine_named(machine), threads).view().values();
  };
  return reveal_sum_tree({terms, large, unit, sums});
}

// The large number and the unit are products of an element of a and one of b. If the format's range
// is wide enough, a holds the whole ratio and b is a column of ones, so that one matmul answers all
// probes. If it is too narrow, as for float8_e4m3fn, both factors are needed, and each probe is a
// separate dot product.
SumTree probe_product(const Machine& machine, const std::string& dtype, std::int64_t interval,
                      std::int64_t terms, int threads) {
  const Format& f = format_named(dtype);
  const Factors factors = factors_of(f, dot_model(machine, f).flush_inputs.value);
  const bool both = needs_both(factors);
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

// A reduce_sum to probe. `row` and `chunk` give the tree that is expected.
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

// A kernel of another project, with the summation plan that was found from the kernel's sums.
struct Kernel {
  const char *text, *machine, *dtype;
  SumPlan plan;
  std::int64_t terms;
  bool is_drawn = false;
};
std::vector<Kernel> kernels() {
  SumStage triton{.family = SumFamily::kLanes, .lanes = 128, .vector = 2};
  triton.warp = 32;
  SumStage torch{.family = SumFamily::kLanes, .lanes = 32, .vector = 4, .accumulators = 4};
  SumStage numpy{.family = SumFamily::kHalves, .lanes = 8};
  numpy.lane_order = MeetOrder::kAscending;
  numpy.round = 8;
  numpy.leaf = 128;
  const SumPlan two{{.family = SumFamily::kLanes, .lanes = 64, .warp = 32}, 64, torch};
  return {{"a block of 256 of tl.sum", "hopper", "float16", {triton}, 256, false},
          {"a row of torch.sum", "hopper", "float32", {torch}, 300, false},
          {"blocks of 64 of tl.sum, torch.sum of their sums", "hopper", "float16", two, 448, false},
          {"numpy.sum", "cpu_fma", "float32", {numpy}, 300, true}};
}

// Collects the trees that were found. The table has one row for each tree, and some trees are
// drawn.
class Trees {
 public:
  explicit Trees(StudyResult& result) : result_(result) {}

  // Adds the tree that `probe` returns. If `probe` throws std::runtime_error because there is no
  // tree, the table has the text of the error instead. A tree that differs from the expected one is
  // always drawn.
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
          formatted("{} of {} on {}, {}:\n{}", op, dtype, machine, order, text));
    }
    table_.add({op, machine, dtype, order, terms, text.substr(0, text.find('\n')),
                std::string(same ? "yes" : "no")});
  }

  void finish() {
    result_.tables.push_back(std::move(table_));
    result_.found(agree_ == count_, "{} of {} trees are those of the rows of the tables", agree_,
                  count_);
  }

 private:
  StudyResult& result_;
  StudyTable table_{
      .name = "trees",
      .title = "Summation trees found by probes, and those that the rows of the tables say",
      .columns = {"operator", "machine", "dtype", "order", "terms", "tree", "as its row says"}};
  std::int64_t count_ = 0, agree_ = 0;
};

}  // namespace

StudyResult study_accumulation_order(const StudyOptions& options) {
  const FloatEnvironment environment;
  StudyResult result{
      .name = "accumulation_order",
      .question =
          "In which order does an operator add? A large number and its negative at two positions "
          "and small ones elsewhere show what is added to them before they meet."};
  Trees trees(result);
  for (const Reduce& r : kReduces) {
    const std::string order =
        r.row == ReduceOrder::kBlock ? formatted("{} {}", r.order, r.chunk) : std::string(r.order);
    trees.add("reduce_sum", r.machine, r.dtype, order, r.terms,
              expected_tree(r.row, r.chunk, r.terms),
              r.chunk > 1 && r.dtype == std::string("float16"), [&] {
                std::map<std::string, Attribute> words = {{"order", std::string(r.order)}};
                if (r.row == ReduceOrder::kBlock) words["block_size"] = r.chunk;
                return probe_reduce(r.machine, r.dtype, words, r.terms, options.threads);
              });
  }
  for (const Kernel& k : kernels()) {
    auto words = plan_attributes(k.plan);
    words["sum_dtype"] = std::string(k.dtype);
    trees.add("reduce_sum", k.machine, k.dtype, k.text, k.terms, expected_tree(k.plan, k.terms),
              k.is_drawn,
              [&] { return probe_reduce(k.machine, k.dtype, words, k.terms, options.threads); });
  }
  for (const Machine& machine : machines()) {
    for (const DotModel& model : machine.dots) {
      const std::string dtype(model.input);
      // Sums of int8 are exact in any order, so they do not show the order.
      if (dtype == "int8") continue;
      for (const std::int64_t interval : {0, 128}) {
        const bool fp8 = format_named(dtype).bits == 8;
        if (interval > 0 && !fp8) continue;
        const std::int64_t terms = interval > 0 ? 320 : 72;
        DotModel row = model;
        row.promotion_interval.value = static_cast<int>(interval);
        const bool both = needs_both(factors_of(format_named(dtype), model.flush_inputs.value));
        trees.add(both ? "dot" : "matmul", std::string(machine.name), dtype,
                  interval > 0 ? formatted("promotion every {}", interval) : "as it is", terms,
                  expected_tree(row, terms),
                  machine.name == "ascend910b" || machine.name == "hopper",
                  [&] { return probe_product(machine, dtype, interval, terms, options.threads); });
      }
    }
  }
  trees.finish();
  return result;
}

}  // namespace assay::study
