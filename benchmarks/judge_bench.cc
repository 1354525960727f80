// Measures the plain verdict, all metrics, standards and CloseTo, against each other, against the
// sum of the same two arrays and against numpy.
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/gate/error_test.h"
#include "assay/gate/gate.h"
#include "assay/judge/verdict.h"
#include "assay/matchers.h"
#include "peers.h"
#include "ratios.h"

namespace {

constexpr std::int64_t kElements = std::int64_t{64} << 20;
constexpr std::int64_t kMetricElements = std::int64_t{16} << 20;

struct Arrays {
  std::vector<float> actual, expected;
};

const Arrays& arrays() {
  static const Arrays data = [] {
    Arrays a;
    a.actual.resize(kElements);
    a.expected.resize(kElements);
    assay::Random random(1, 0);
    for (std::size_t i = 0; i < a.actual.size(); ++i) {
      const double value = random.uniform() * 2 - 1;
      a.expected[i] = static_cast<float>(value);
      a.actual[i] = static_cast<float>(value * (1 + 1e-7));
    }
    return a;
  }();
  return data;
}

void verdict(benchmark::State& state, int threads, std::int64_t elements, bool metrics) {
  const Arrays& a = arrays();
  const auto actual = assay::view(a.actual.data(), {elements});
  const auto expected = assay::view(a.expected.data(), {elements});
  assay::Bound bound;
  bound.rtol = bound.atol = 1e-5;
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.metrics = metrics, .threads = threads});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.mismatches);
  }
}

void plain_verdict(benchmark::State& state) { verdict(state, 1, kElements, false); }
void plain_verdict_two_threads(benchmark::State& state) { verdict(state, 2, kElements, false); }
void all_metrics(benchmark::State& state) { verdict(state, 1, kMetricElements, true); }

// Measures all metrics of the same values in a 16-bit format.
void all_metrics_of(benchmark::State& state, const char* dtype) {
  const assay::Format& format = assay::format_named(dtype);
  static std::map<std::string, std::pair<assay::Tensor, assay::Tensor>> tensors;
  auto& [actual, expected] = tensors[dtype];
  if (actual.empty()) {
    const Arrays& a = arrays();
    for (const auto& [from, to] : {std::pair(&a.actual, &actual), {&a.expected, &expected}}) {
      *to = assay::Tensor(format, {kMetricElements});
      assay::encode_array(format, from->data(), kMetricElements, to->bytes());
    }
  }
  assay::Bound bound;
  bound.rtol = bound.atol = 1e-2;
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.threads = 1});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.mismatches);
  }
}
void all_metrics_bfloat16(benchmark::State& state) { all_metrics_of(state, "bfloat16"); }
void all_metrics_float16(benchmark::State& state) { all_metrics_of(state, "float16"); }

// Measures standards that use statistics, with all metrics.
void by_standard(benchmark::State& state, const char* standard) {
  const Arrays& a = arrays();
  const auto actual = assay::view(a.actual.data(), {kMetricElements});
  const auto expected = assay::view(a.expected.data(), {kMetricElements});
  const auto bound = assay::standard_bound(standard, *actual.format).value();
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.threads = 1});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.mismatches);
  }
}
void cann_ecosystem(benchmark::State& state) { by_standard(state, "cann_ecosystem@2025"); }
void atb(benchmark::State& state) { by_standard(state, "atb"); }
void msprobe(benchmark::State& state) { by_standard(state, "msprobe"); }
void msprobe_ulp(benchmark::State& state) { by_standard(state, "msprobe_ulp"); }
void deepgemm(benchmark::State& state) { by_standard(state, "deepgemm"); }
void mixed(benchmark::State& state) { by_standard(state, "ttk_mixed"); }
void ulp4(benchmark::State& state) { by_standard(state, "ulp(4)"); }
void onednn(benchmark::State& state) { by_standard(state, "onednn_eltwise"); }
void cutlass(benchmark::State& state) { by_standard(state, "cutlass"); }
void tensorrt_quantile(benchmark::State& state) { by_standard(state, "tensorrt_quantile"); }

// Measures a matcher, either without an explanation, as EXPECT_THAT first calls it, or with one.
// All threads are used, as in the plain verdict below.
void matches(benchmark::State& state, bool with_words) {
  const Arrays& a = arrays();
  const auto actual = assay::view(a.actual.data(), {kElements});
  const auto expected = assay::view(a.expected.data(), {kElements});
  const auto matcher = testing::SafeMatcherCast<const assay::TensorView&>(
      assay::CloseTo(expected).rtol(1e-5).atol(1e-5));
  for (auto _ : state) {
    testing::StringMatchResultListener words;
    const bool is = with_words ? matcher.MatchAndExplain(actual, &words) : matcher.Matches(actual);
    if (!is) state.SkipWithError("the arrays must agree");
  }
}
void close_to(benchmark::State& state) { matches(state, false); }
void close_to_with_words(benchmark::State& state) { matches(state, true); }
void plain_verdict_all_threads(benchmark::State& state) { verdict(state, 0, kElements, false); }

// The standards that are judged without metrics, as tests use them for outputs that pass. They are
// compared with the plain verdict.
constexpr const char* kAlone[] = {
    "ulp(4)",           "bit_equal",   "torch",    "onednn_eltwise",
    "cutlass",          "ttk_mixed",   "atb",      "cann_ecosystem@2025",
    "msprobe",          "msprobe_ulp", "deepgemm", "tensorrt",
    "tensorrt_quantile"};

void alone(benchmark::State& state, const std::string& standard) {
  const Arrays& a = arrays();
  static const std::vector<float> same = a.expected;
  const auto actual =
      assay::view(standard == "bit_equal" ? same.data() : a.actual.data(), {kElements});
  const auto expected = assay::view(a.expected.data(), {kElements});
  const auto bound = assay::standard_bound(standard, *actual.format).value();
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.metrics = false, .threads = 1});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.mismatches);
  }
}

// Judges 16-bit outputs against the float32 golden results from which they are rounded.
void alone_of(benchmark::State& state, const std::string& dtype, const std::string& standard) {
  const assay::Format& format = assay::format_named(dtype);
  const Arrays& a = arrays();
  static std::map<std::string, assay::Tensor> outputs;
  assay::Tensor& actual = outputs[dtype];
  if (actual.empty()) {
    actual = assay::Tensor(format, {kElements});
    assay::encode_array(format, a.expected.data(), kElements, actual.bytes());
  }
  const auto expected = assay::view(a.expected.data(), {kElements});
  const auto bound = assay::standard_bound(standard, format).value();
  for (auto _ : state) {
    const auto v = assay::judge(actual, expected, bound, {.metrics = false, .threads = 1});
    if (v.outcome != assay::Outcome::kPass) state.SkipWithError("the arrays must agree");
    benchmark::DoNotOptimize(v.mismatches);
  }
}

// Measures many small cases, including the choice of each case's bounds and all metrics.
void small_cases(benchmark::State& state) {
  const Arrays& a = arrays();
  assay::Case c;
  c.name = "small";
  c.attributes["output_dtype"] = std::string("float32");
  c.output().golden = assay::copy_of(assay::view(a.expected.data(), {1000}));
  const auto actual = assay::view(a.actual.data(), {1000});
  for (auto _ : state) {
    for (int i = 0; i < 20000; ++i) {
      const auto verdicts = assay::gate_case(c, actual).verdicts;
      if (verdicts[0].outcome != assay::Outcome::kPass) state.SkipWithError("the case must pass");
    }
  }
}

// Measures error_test(), which prepares the test of 1024 x 4096 elements by their expected errors.
// These are made up: from far below an ulp in bfloat16 to about an ulp in float32.
void error_test_of(benchmark::State& state, const char* dtype) {
  constexpr std::size_t kCount = std::size_t{1024} * 4096;
  const assay::Format& format = assay::format_named(dtype);
  const assay::Shape shape = {1024, 4096};
  assay::Random random(2, 0);
  std::vector<double> golden(kCount);
  assay::ExpectedErrors errors;
  errors.last = &format;
  errors.resize(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    golden[i] = random.normal();
    const double error = std::ldexp(golden[i] * (1 + random.uniform()), -24);
    errors.variance[i] = error * error;
    errors.shared.push_back(errors.variance[i] / 4);
    errors.line.push_back(static_cast<std::int32_t>(i / 4096));
  }
  const auto exact = assay::Tensor::from_values(assay::format_named("float64"), shape, golden);
  for (auto _ : state) {
    const assay::ErrorTest test = assay::error_test(errors, exact, format, 1);
    if (!test.squares) state.SkipWithError("theory must expect an error");
    benchmark::DoNotOptimize(test.squares);
  }
}
void error_test_float32(benchmark::State& state) { error_test_of(state, "float32"); }
void error_test_bfloat16(benchmark::State& state) { error_test_of(state, "bfloat16"); }

void sum_both(benchmark::State& state) {
  const Arrays& a = arrays();
  for (auto _ : state) {
    benchmark::DoNotOptimize(assay_bench::plain_sum(a.actual.data(), a.actual.size()) +
                             assay_bench::plain_sum(a.expected.data(), a.expected.size()));
  }
}

// Measures a statement of numpy in the same run. Its arrays `a` and `e` have `elements` elements of
// the same kind as ours.
void numpy_time(benchmark::State& state, std::int64_t elements, const std::string& statement) {
  const std::string script =
      ASSAY_PYTHON
      " -c \"import numpy as np,time\n"
      "e=(np.random.default_rng(1).random(" +
      std::to_string(elements) +
      ",dtype=np.float32)*2-1)\na=e*np.float32(1+1e-7)\nbest=9e9\n"
      "def f():\n " +
      statement +
      "\n"
      "for i in range(2):\n t=time.perf_counter();f();best=min(best,time.perf_counter()-t)\n"
      "print(best)\"";
  for (auto _ : state) {
    double seconds = 0;
    FILE* pipe = popen(script.c_str(), "r");
    if (pipe == nullptr || std::fscanf(pipe, "%lf", &seconds) != 1) {
      state.SkipWithError("numpy is missing");
    }
    if (pipe != nullptr) pclose(pipe);
    state.SetIterationTime(seconds);
  }
}
void numpy_allclose(benchmark::State& state) {
  numpy_time(state, kElements, "assert np.allclose(a,e,1e-5,1e-5)");
}
void numpy_allclose_small(benchmark::State& state) {
  numpy_time(state, kMetricElements, "assert np.allclose(a,e,1e-5,1e-5)");
}
// Measures the metrics as one usually writes them in numpy, with every array computed once and
// without histograms.
void numpy_metrics(benchmark::State& state) {
  numpy_time(state, kMetricElements,
             "A=a.astype('f8');E=e.astype('f8');d=A-E;s=abs(d);z=abs(E);n=z>0;r=s[n]/z[n];"
             "m=s/(z+1e-7);k=d/np.maximum(1,z);"
             "i=a.view('i4').astype('i8');j=e.view('i4').astype('i8');"
             "i=np.where(i<0,-2**31-i,i);j=np.where(j<0,-2**31-j,j);u=abs(i-j);"
             "t=(s>1e-5+1e-5*z).sum(),s.max(),s.argmax(),s.mean(),np.percentile(s,[50,99]),"
             "r.max(),r.argmax(),r.mean(),np.percentile(r,[50,99]),m.mean(),m.max(),d.mean(),"
             "k.mean(),abs(k).max(),(d*d).sum(),(E*E).sum(),(A*A).sum(),(A*E).sum(),z.sum(),"
             "z.max(),u.max(),u.mean(),np.percentile(u,99),(u>1).sum(),(u>32).sum(),"
             "[f(x).sum() for x in (A,E) for f in (np.isnan,np.isinf)],(A==0).sum(),(E==0).sum(),"
             "(z<2**-126).sum(),(s-1e-5*z).max(),((s-1e-5)[n]/z[n]).max(),(a==e).all()");
}

BENCHMARK(plain_verdict)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(error_test_float32)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(error_test_bfloat16)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(plain_verdict_two_threads)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(plain_verdict_all_threads)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(close_to)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(close_to_with_words)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(sum_both)->Unit(benchmark::kMillisecond)->Repetitions(5)->UseRealTime();
BENCHMARK(numpy_allclose)->Unit(benchmark::kMillisecond)->Iterations(1)->UseManualTime();
BENCHMARK(all_metrics)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(all_metrics_bfloat16)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(all_metrics_float16)->Unit(benchmark::kMillisecond)->Repetitions(3)->UseRealTime();
BENCHMARK(cann_ecosystem)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(atb)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(msprobe)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(msprobe_ulp)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(deepgemm)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(mixed)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(ulp4)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(onednn)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(cutlass)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(tensorrt_quantile)->Unit(benchmark::kMillisecond)->Repetitions(2)->UseRealTime();
BENCHMARK(small_cases)->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(2);
BENCHMARK(numpy_metrics)->Unit(benchmark::kMillisecond)->Iterations(1)->UseManualTime();
BENCHMARK(numpy_allclose_small)->Unit(benchmark::kMillisecond)->Iterations(1)->UseManualTime();

}  // namespace

int main(int argc, char** argv) {
  std::vector<assay_bench::Ratio> ratios = {
      {"plain verdict, float32, 64 Mi: sum of both arrays", "plain_verdict", "sum_both", 0.8},
      {"plain verdict, float32, 64 Mi: numpy.allclose", "plain_verdict", "numpy_allclose"},
      {"plain verdict, two threads: one thread", "plain_verdict_two_threads", "plain_verdict"},
      {"CloseTo that matches, float32, 64 Mi: plain verdict", "close_to",
       "plain_verdict_all_threads", 0.9},
      {"CloseTo that matches, float32, 64 Mi: the same with words", "close_to",
       "close_to_with_words"},
      {"all metrics, float32, 16 Mi: numpy.allclose", "all_metrics", "numpy_allclose_small", 1.5},
      {"the same: the metrics in numpy", "all_metrics", "numpy_metrics", 10},
      {"standard cann_ecosystem@2025, float32, 16 Mi: all metrics", "cann_ecosystem",
       "all_metrics"},
      {"standard atb: all metrics", "atb", "all_metrics"},
      {"standard msprobe: all metrics", "msprobe", "all_metrics"},
      {"standard msprobe_ulp: all metrics", "msprobe_ulp", "all_metrics"},
      {"standard deepgemm: all metrics", "deepgemm", "all_metrics"},
      {"standard ttk_mixed: all metrics", "mixed", "all_metrics"},
      {"standard ulp(4): all metrics", "ulp4", "all_metrics"},
      {"standard onednn_eltwise: all metrics", "onednn", "all_metrics"},
      {"standard cutlass: all metrics", "cutlass", "all_metrics"},
      {"standard tensorrt_quantile: all metrics", "tensorrt_quantile", "all_metrics"},
      {"all metrics, bfloat16, 16 Mi: numpy.allclose of float32", "all_metrics_bfloat16",
       "numpy_allclose_small"},
      {"all metrics, float16, 16 Mi: numpy.allclose of float32", "all_metrics_float16",
       "numpy_allclose_small"}};
  const auto beside = [&](const std::string& what, const std::string& name, const auto& run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->Unit(benchmark::kMillisecond)
        ->Repetitions(3)
        ->UseRealTime();
    ratios.push_back({what + ": plain verdict", name, "plain_verdict", 0.5});
  };
  for (const std::string standard : kAlone) {
    beside(standard + " without metrics, float32, 64 Mi", "alone_" + standard,
           [standard](benchmark::State& state) { alone(state, standard); });
  }
  constexpr std::pair<const char*, const char*> kOf16Bits[] = {{"bfloat16", "torch"},
                                                               {"bfloat16", "ulp(1)"},
                                                               {"bfloat16", "cann_ecosystem@2025"},
                                                               {"float16", "torch"},
                                                               {"float16", "ulp(1)"}};
  for (const auto& [dtype, standard] : kOf16Bits) {
    beside(std::string(standard) + " without metrics, " + dtype + " of float32, 64 Mi",
           std::string("alone_") + dtype + "_" + standard,
           [d = dtype, s = standard](benchmark::State& state) { alone_of(state, d, s); });
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
