// Measures every operator of the vector unit against the same computation in plain float32 Eigen,
// on one thread each: 1024 x 1024 values, rows along the last dimension. Attention is measured
// against sgemm of its products.
#include <cblas.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "assay/op/operator.h"
#include "op_peers.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kRows = 1024, kColumns = 1024;

struct Job {
  std::string op;    // name of the operator in op_peers.h
  std::string name;  // the operator's
  std::vector<const char*> inputs;
  std::vector<std::pair<const char*, assay::Attribute>> attributes = {};
};

const std::vector<Job>& jobs() {
  static const std::int64_t kLast = -1, kFirst = 0;
  static const std::vector<Job> all = {
      {"add", "add", {"a", "b"}},
      {"sub", "sub", {"a", "b"}},
      {"mul", "mul", {"a", "b"}},
      {"div", "div", {"a", "b"}},
      {"fma", "fma", {"a", "b", "c"}},
      {"axpy", "axpy", {"scalar a", "x", "y"}},
      {"exp", "exp", {"x"}},
      {"log", "log", {"x"}},
      {"sqrt", "sqrt", {"x"}},
      {"rsqrt", "rsqrt", {"x"}},
      {"tanh", "tanh", {"x"}},
      {"sigmoid", "sigmoid", {"x"}},
      {"silu", "silu", {"x"}},
      {"gelu", "gelu", {"x"}},
      {"gelu_tanh", "gelu", {"x"}, {{"approximate", std::string("tanh")}}},
      {"reduce_sum", "reduce_sum", {"x"}, {{"axis", kLast}}},
      {"reduce_sum_sequential",
       "reduce_sum",
       {"x"},
       {{"axis", kLast}, {"order", std::string("sequential")}}},
      {"reduce_sum_first_n",
       "reduce_sum",
       {"x"},
       {{"axis", kLast}, {"order", std::string("ascend910b_first_n")}}},
      {"reduce_sum_columns", "reduce_sum", {"x"}, {{"axis", kFirst}}},
      {"reduce_mean", "reduce_mean", {"x"}, {{"axis", kLast}}},
      {"reduce_max", "reduce_max", {"x"}, {{"axis", kLast}}},
      {"softmax", "softmax", {"x"}},
      {"layernorm", "layernorm", {"x", "row weight", "row bias"}},
      {"rmsnorm", "rmsnorm", {"x", "row weight"}},
      {"cast_bfloat16", "cast", {"x"}, {{"output_dtype", std::string("bfloat16")}}},
      {"cast_float16", "cast", {"x"}, {{"output_dtype", std::string("float16")}}},
  };
  return all;
}

std::vector<double> drawn(std::int64_t count, std::uint64_t stream) {
  std::vector<double> values(static_cast<std::size_t>(count));
  assay::Random random(1, stream);
  // Positive values, because logarithms and square roots are measured, too.
  for (double& v : values) v = random.uniform() + 0.5;
  return values;
}

assay::Case case_of(const Job& job, const char* dtype) {
  assay::Case c;
  c.name = "bench";
  c.op = job.name;
  for (const auto& [name, value] : job.attributes) c.attributes[name] = value;
  std::uint64_t stream = 0;
  for (const std::string input : job.inputs) {
    const auto blank = input.find(' ');
    const assay::Shape shape = blank == std::string::npos ? assay::Shape{kRows, kColumns}
                               : input[0] == 's'          ? assay::Shape{}
                                                          : assay::Shape{kColumns};
    const std::string name = blank == std::string::npos ? input : input.substr(blank + 1);
    c.inputs[name] = assay::Tensor::from_values(assay::format_named(dtype), shape,
                                                drawn(assay::element_count(shape), stream++));
  }
  return c;
}

void ours(benchmark::State& state, const Job& job, const char* dtype, const char* machine) {
  const assay::Case c = case_of(job, dtype);
  const assay::Machine& m = assay::machine_named(machine);
  for (auto _ : state) {
    const assay::Tensor result =
        m.has_matrix_unit() ? assay::emulate(c, m, 1) : assay::golden_result(c, 1);
    benchmark::DoNotOptimize(result.bytes());
  }
}

void eigen(benchmark::State& state, const Job& job) {
  std::vector<float> operands[3];
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto values = drawn(kRows * kColumns, i);
    operands[i].assign(values.begin(), values.end());
  }
  std::vector<float> to(kRows * kColumns);
  std::vector<unsigned short> codes(to.size());
  const std::string op =
      job.name == "reduce_sum" && job.op != "reduce_sum_columns" ? job.name : job.op;
  for (auto _ : state) {
    if (job.name == "cast") {
      assay_bench::eigen_cast(job.op == "cast_float16", kRows * kColumns, operands[0].data(),
                              codes.data());
    } else {
      assay_bench::eigen_operator(op, kRows, kColumns, operands[0].data(), operands[1].data(),
                                  operands[2].data(), to.data());
    }
    benchmark::DoNotOptimize(to.data());
    benchmark::DoNotOptimize(codes.data());
    benchmark::ClobberMemory();
  }
}

// Measures attention of shape 1 x 8 x 1024 x 64 in bfloat16, and its two products as sgemm.
constexpr std::int64_t kHeads = 8, kLength = 1024, kDepth = 64;

void attention(benchmark::State& state, std::int64_t tile) {
  assay::Case c;
  c.name = "bench";
  c.op = "attention";
  c.attributes["tile"] = tile;
  for (const char* name : {"q", "k", "v"}) {
    const assay::Shape shape = {1, kHeads, kLength, kDepth};
    c.inputs[name] = assay::Tensor::from_values(
        assay::format_named("bfloat16"), shape,
        drawn(assay::element_count(shape), static_cast<std::uint64_t>(name[0])));
  }
  const assay::Machine& machine = assay::machine_named("ascend910b");
  for (auto _ : state) {
    const assay::Tensor result = assay::emulate(c, machine, 1);
    benchmark::DoNotOptimize(result.bytes());
  }
}

void attention_sgemm(benchmark::State& state) {
  openblas_set_num_threads(1);
  const auto values = drawn(kLength * kDepth, 0);
  const std::vector<float> q(values.begin(), values.end());
  std::vector<float> scores(kLength * kLength), out(q.size());
  for (auto _ : state) {
    for (std::int64_t head = 0; head < kHeads; ++head) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kLength, kLength, kDepth, 1.0f, q.data(),
                  kDepth, q.data(), kDepth, 0.0f, scores.data(), kLength);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kLength, kDepth, kLength, 1.0f,
                  scores.data(), kLength, q.data(), kDepth, 0.0f, out.data(), kDepth);
      benchmark::DoNotOptimize(out.data());
    }
  }
}

// An operator that does not work on the elements of rows, as a case of assay and as the same
// computation with Eigen.
struct WholeJob {
  std::string name;
  const char* machine;
  assay::Case (*make)();
  void (*peer)(const std::vector<std::vector<float>>& inputs, float* to);  // inputs by name
};

assay::Tensor tensor(const char* dtype, const assay::Shape& shape, std::uint64_t stream) {
  return assay::Tensor::from_values(assay::format_named(dtype), shape,
                                    drawn(assay::element_count(shape), stream));
}

assay::Case whole_case(const char* op, std::map<std::string, assay::Tensor> inputs,
                       std::map<std::string, assay::Attribute> attributes) {
  assay::Case c;
  c.name = "bench";
  c.op = op;
  c.inputs = std::move(inputs);
  c.attributes = std::move(attributes);
  return c;
}

constexpr std::int64_t kM = 256, kK = 1024, kN = 256, kChannels = 64, kSide = 32, kRois = 64;

const std::vector<WholeJob>& whole_jobs() {
  using Inputs = std::vector<std::vector<float>>;
  static const std::string kBlock = "1x128";
  static const std::vector<WholeJob> all = {
      {"quantize", "ascend910b",
       [] {
         return whole_case("quantize", {{"x", tensor("bfloat16", {kRows, kColumns}, 0)}},
                           {{"scaling", kBlock}, {"output_dtype", std::string("float8_e4m3fn")}});
       },
       [](const Inputs& in, float* to) {
         static std::vector<float> scales(kRows * kColumns / 128);
         assay_bench::eigen_quantize(kRows, kColumns, in[0].data(), to, scales.data());
       }},
      {"dequantize", "ascend910b",
       [] {
         return whole_case("dequantize",
                           {{"scale", tensor("float32", {kRows, kColumns / 128}, 1)},
                            {"x", tensor("float8_e4m3fn", {kRows, kColumns}, 0)}},
                           {{"scaling", kBlock}, {"output_dtype", std::string("bfloat16")}});
       },
       [](const Inputs& in, float* to) {
         assay_bench::eigen_dequantize(kRows, kColumns, in[1].data(), in[0].data(), to);
       }},
      {"scaled_matmul", "hopper",
       [] {
         return whole_case("scaled_matmul",
                           {{"a", tensor("float8_e4m3fn", {kM, kK}, 0)},
                            {"b", tensor("float8_e4m3fn", {kK, kN}, 1)},
                            {"scale_a", tensor("float32", {kM, kK / 128}, 2)},
                            {"scale_b", tensor("float32", {kK / 128, kN / 128}, 3)}},
                           {{"a_scaling", kBlock}, {"b_scaling", std::string("128x128")}});
       },
       [](const Inputs& in, float* to) {
         assay_bench::eigen_scaled_product(kM, kK, kN, in[0].data(), in[1].data(), in[2].data(),
                                           in[3].data(), to);
       }},
      {"dot", "ascend910b",
       [] {
         return whole_case("dot",
                           {{"a", tensor("bfloat16", {kRows, kColumns}, 0)},
                            {"b", tensor("bfloat16", {kRows, kColumns}, 1)},
                            {"c", tensor("float32", {kRows}, 2)}},
                           {});
       },
       [](const Inputs& in, float* to) {
         assay_bench::eigen_dots(kRows, kColumns, in[0].data(), in[1].data(), in[2].data(), to);
       }},
      {"deform_roi_pool", "hopper",
       [] {
         std::vector<double> boxes;
         assay::Random random(1, 9);
         for (std::int64_t i = 0; i < kRois; ++i) {
           const double x = 1 + 10 * random.uniform(), y = 1 + 10 * random.uniform();
           boxes.insert(boxes.end(), {0, x, y, x + 7 + 10 * random.uniform(), y + 14});
         }
         return whole_case("deform_roi_pool",
                           {{"input", tensor("float32", {1, kChannels, kSide, kSide}, 0)},
                            {"rois", assay::Tensor::from_values(assay::format_named("float32"),
                                                                {kRois, 5}, boxes)}},
                           {{"pooled_height", std::int64_t{7}},
                            {"pooled_width", std::int64_t{7}},
                            {"sampling_ratio", std::int64_t{2}}});
       },
       [](const Inputs& in, float* to) {
         assay_bench::eigen_deform_roi_pool(kChannels, kSide, kSide, kRois, 7, 2, in[0].data(),
                                            in[1].data(), to);
       }},
  };
  return all;
}

void whole_ours(benchmark::State& state, const WholeJob& job) {
  const assay::Case c = job.make();
  const assay::Machine& machine = assay::machine_named(job.machine);
  for (auto _ : state) {
    const assay::Tensor result = assay::emulate(c, machine, 1);
    benchmark::DoNotOptimize(result.bytes());
  }
}

void whole_eigen(benchmark::State& state, const WholeJob& job) {
  const assay::Case c = job.make();
  std::vector<std::vector<float>> inputs;
  for (const auto& [name, input] : c.inputs) {
    const std::vector<double> values = input.view().values();
    inputs.emplace_back(values.begin(), values.end());
  }
  std::vector<float> to(kRows * kColumns);
  for (auto _ : state) {
    job.peer(inputs, to.data());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct Way {
    const char *name, *dtype, *machine;
  };
  const Way ways[] = {{"float32", "float32", "ascend910b"},
                      {"float16", "float16", "ascend910b"},
                      {"bfloat16", "bfloat16", "ascend910b"},
                      {"golden", "float32", "exact"}};
  std::vector<assay_bench::Ratio> ratios;
  const auto add = [](const std::string& name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Unit(benchmark::kMillisecond)
        ->Repetitions(3)
        ->MinTime(0.05)
        ->UseRealTime();
  };
  for (const Job& job : jobs()) {
    const std::string peer = job.op + "_eigen";
    add(peer, [&job](benchmark::State& s) { eigen(s, job); });
    for (const Way& way : ways) {
      const std::string name = job.op + "_" + way.name;
      add(name, [&job, way](benchmark::State& s) { ours(s, job, way.dtype, way.machine); });
      const bool is_golden = way.machine == std::string("exact");
      ratios.push_back(
          {job.op + ", " + way.name + ": float32 Eigen", name, peer, is_golden ? 0 : 0.05});
    }
  }
  for (const WholeJob& job : whole_jobs()) {
    add(job.name + "_eigen", [&job](benchmark::State& s) { whole_eigen(s, job); });
    add(job.name, [&job](benchmark::State& s) { whole_ours(s, job); });
    ratios.push_back({job.name + ": float32 Eigen", job.name, job.name + "_eigen", 0.05});
  }
  add("attention_sgemm", attention_sgemm);
  for (const std::int64_t tile : {0, 128}) {
    const std::string name = tile == 0 ? "attention_plain" : "attention_tiles";
    add(name, [tile](benchmark::State& s) { attention(s, tile); });
    ratios.push_back({name + ", bfloat16: its products as sgemm", name, "attention_sgemm", 0.1});
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
