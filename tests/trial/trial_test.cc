// Tests trials as a whole: what passes, which finding a broken contract gives, and that a trial
// does not depend on threads and shards.
#include "assay/trial/trial.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/trial/case_text.h"
#include "assay/trial/dimensions.h"
#include "emulated.h"
#include "error_of.h"
#include "trial/kernels.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_kernels::add_views;
using testing_kernels::softmax_of_64;
using testing_kernels::softmax_rows;

const Operator& op_named(const char* name) { return *find_operator(name); }

TrialKernel softmax_kernel() {
  return as_kernel(softmax_rows).args("x", "y", "rows", "columns").kernel(op_named("softmax"));
}

// Returns a kernel of add that calls `spoil` after the right result is written.
TrialKernel spoiled_add(std::function<void(const KernelCall&)> spoil) {
  TrialKernel kernel = kernel_of(add_views, op_named("add"));
  kernel.call = [spoil = std::move(spoil)](const KernelCall& call) {
    add_views(call.input("a"), call.input("b"), call.output);
    spoil(call);
  };
  return kernel;
}

TrialReport tried(const TrialKernel& kernel, const char* op, TrialOptions options = {}) {
  options.draws = std::min<std::int64_t>(options.draws, 40);
  return run_trial(op, kernel, options);
}

// Returns the finding of a trial that must fail with exactly one.
TrialFinding found(const TrialReport& report) {
  EXPECT_EQ(report.outcome(), Outcome::kFail) << report.because();
  if (report.failures.empty()) return TrialFinding::kHung;
  return report.failures.front().finding;
}

TEST(Trial, ARightKernelPasses) {
  const TrialReport report = tried(softmax_kernel(), "softmax");
  EXPECT_EQ(report.outcome(), Outcome::kPass) << report.because();
  EXPECT_GT(report.listed.passed, 30);
  EXPECT_GT(report.random.passed, 30);
  EXPECT_THAT(report.because(), HasSubstr("no failure in"));
  EXPECT_THAT(report.because(), HasSubstr("with 95 % confidence fewer than 1 in"));
}

TEST(Trial, SaysWhatAPassMeans) {
  // 1 - 0.05^(1/4000) is 1 / 1335.7.
  EXPECT_EQ(fails_fewer_than_one_in(4000), 1335);
  EXPECT_EQ(fails_fewer_than_one_in(1), 1);
  EXPECT_EQ(fails_fewer_than_one_in(0), 1);
  // (1 - 1/N)^n is at most 0.05 for N = 1335, and above it for N = 1337.
  EXPECT_LE(std::pow(1 - 1.0 / 1335, 4000), 0.05);
  EXPECT_GT(std::pow(1 - 1.0 / 1337, 4000), 0.05);
}

TEST(Trial, ReducesADroppedTail) {
  const TrialKernel kernel =
      as_kernel(softmax_of_64).args("x", "y", "rows", "columns").kernel(op_named("softmax"));
  const TrialReport report = tried(kernel, "softmax");
  ASSERT_EQ(found(report), TrialFinding::kWrongResult);
  const TrialFailure& failure = report.failures.front();
  EXPECT_TRUE(failure.is_minimal);
  EXPECT_EQ(failure.test_case.input("x").size(), 65) << failure.reduced;
  EXPECT_EQ(failure.nonzero, 0) << failure.reduced;
  EXPECT_THAT(failure.causes, Contains(HasSubstr("have no influence on most of the output")));
  EXPECT_THAT(failure.causes,
              Contains(HasSubstr("the smallest input that fails has dimension 1 of x = 65")));
  ASSERT_TRUE(failure.report);
  EXPECT_EQ(failure.report->outcome(), Outcome::kFail);
  // The reduced case fails again.
  TrialOptions again;
  again.on = failure.reduced;
  EXPECT_EQ(found(run_trial("softmax", kernel, again)), TrialFinding::kWrongResult);
  // So does the draw.
  TrialOptions only;
  only.only = failure.draw;
  EXPECT_EQ(found(run_trial("softmax", kernel, only)), TrialFinding::kWrongResult);
}

TEST(Trial, FindsUnwrittenElements) {
  TrialKernel kernel = softmax_kernel();
  kernel.call = [](const KernelCall& call) {
    const Shape& shape = call.output.shape;
    const std::int64_t columns = shape.back(),
                       rows = call.output.size() / std::max<std::int64_t>(columns, 1);
    // The last row is left out.
    softmax_rows(elements<float>(call.input("x")), call.output.as<float>(), rows - 1, columns);
  };
  const TrialReport report = tried(kernel, "softmax");
  EXPECT_EQ(found(report), TrialFinding::kUnwritten);
  EXPECT_THAT(report.failures.front().text, HasSubstr("are not written, the first at ["));
}

TEST(Trial, FindsWritesOutsideTheOutput) {
  const auto write_at = [](bool before) {
    return spoiled_add([before](const KernelCall& call) {
      float* const y = call.output.as<float>();
      if (call.output.size() > 4) (before ? y[-1] : y[call.output.size()]) = 0;
    });
  };
  EXPECT_EQ(found(tried(write_at(true), "add")), TrialFinding::kWroteOutside);
  EXPECT_EQ(found(tried(write_at(false), "add")), TrialFinding::kWroteOutside);
  // A kernel that takes the output for contiguous writes into the gaps between rows.
  const TrialKernel gaps = spoiled_add([](const KernelCall& call) {
    if (call.output.view().is_contiguous() || call.output.shape.size() < 2) return;
    if (call.output.strides.back() != 1 || call.output.size() == 0) return;
    call.output.as<float>()[call.output.shape.back()] = 0;
  });
  const TrialReport report = tried(gaps, "add");
  EXPECT_EQ(found(report), TrialFinding::kWroteOutside);
  EXPECT_THAT(report.failures.front().text, HasSubstr("in the gap between the rows"));
  EXPECT_THAT(report.failures.front().reduced, HasSubstr("output=padded"));
}

TEST(Trial, FindsChangedInputs) {
  const TrialKernel kernel = spoiled_add([](const KernelCall& call) {
    if (call.output.size() == 0) return;
    const_cast<float*>(elements<float>(call.input("b")))[0] = 42;
  });
  const TrialReport report = tried(kernel, "add");
  EXPECT_EQ(found(report), TrialFinding::kChangedInput);
  EXPECT_THAT(report.failures.front().text, HasSubstr("the memory of the input b was changed"));
}

TEST(Trial, FindsStaleResults) {
  // Keyed by the address of the input.
  TrialKernel kernel = softmax_kernel();
  auto kept = std::make_shared<std::map<const void*, Tensor>>();
  kernel.call = [kept, right = kernel.call](const KernelCall& call) {
    const void* key = call.input("x").data;
    const auto found = kept->find(key);
    if (found != kept->end() && found->second.shape() == call.output.shape) {
      copy_elements(found->second, call.output);
      return;
    }
    right(call);
    (*kept)[key] = copy_of(call.output);
  };
  const TrialReport report = tried(kernel, "softmax");
  EXPECT_EQ(found(report), TrialFinding::kStale);
  EXPECT_THAT(report.failures.front().text, HasSubstr("the output is that of the call before"));
}

TEST(Trial, FindsResultsThatDoNotRepeat) {
  auto calls = std::make_shared<int>(0);
  const TrialKernel kernel = spoiled_add([calls](const KernelCall& call) {
    if (call.output.size() == 0 || ++*calls % 3 != 0) return;
    float& y = call.output.as<float>()[0];
    if (std::isfinite(y)) y = std::nextafterf(y, 0);
  });
  TrialOptions rough;
  rough.request.bounds.standards = {"ulp(4)"};
  EXPECT_EQ(found(tried(kernel, "add", rough)), TrialFinding::kNotRepeatable);
  rough.contract.unordered = true;
  const TrialReport unordered = tried(kernel, "add", rough);
  EXPECT_EQ(unordered.outcome(), Outcome::kPass) << unordered.because();
}

TEST(Trial, FindsRowsThatDependOnTheOthers) {
  // A row that is computed without the others is scaled by a wrong factor.
  const TrialKernel wrong = spoiled_add([](const KernelCall& call) {
    if (call.output.shape.size() < 2 || call.output.shape[0] != 1 || call.output.size() == 0)
      return;
    if (call.output.shape[1] == 1) return;
    call.output.as<float>()[0] += 1;
  });
  TrialOptions many;
  many.only = 0;
  EXPECT_EQ(found(run_trial("add", wrong, many)), TrialFinding::kRowAlone);
  const TrialKernel other_bits = spoiled_add([](const KernelCall& call) {
    if (call.output.shape.size() < 2 || call.output.shape[0] != 1 || call.output.size() == 0)
      return;
    float& y = call.output.as<float>()[0];
    y = std::nextafterf(y, 0);
  });
  many.request.bounds.standards = {"ulp(4)"};
  EXPECT_EQ(run_trial("add", other_bits, many).outcome(), Outcome::kPass);
  many.contract.batch_invariant = true;
  EXPECT_EQ(found(run_trial("add", other_bits, many)), TrialFinding::kBatchVariant);
}

TEST(Trial, FindsCrashesHangsAndExceptions) {
  const TrialKernel crash = spoiled_add([](const KernelCall& call) {
    if (call.output.size() > 100) std::raise(SIGABRT);
  });
  TrialOptions isolated;
  isolated.contract.isolated = true;
  isolated.contract.call_seconds = 1;
  const TrialReport crashed = tried(crash, "add", isolated);
  EXPECT_EQ(found(crashed), TrialFinding::kCrashed);
  EXPECT_THAT(crashed.failures.front().text, HasSubstr("ended by signal 6 (Aborted)"));
  EXPECT_TRUE(crashed.failures.front().output.empty());

  const TrialKernel hang = spoiled_add([](const KernelCall& call) {
    if (call.output.shape == Shape{5, 33}) std::this_thread::sleep_for(std::chrono::hours(1));
  });
  isolated.only = 0;
  isolated.contract.call_seconds = 0.05;
  EXPECT_EQ(found(run_trial("add", hang, isolated)), TrialFinding::kHung);

  const TrialKernel throws = spoiled_add([](const KernelCall& call) {
    if (call.output.size() == 1) throw std::runtime_error("no kernel for one element");
  });
  const TrialReport thrown = tried(throws, "add");
  EXPECT_EQ(found(thrown), TrialFinding::kThrew);
  EXPECT_THAT(thrown.failures.front().text, HasSubstr("no kernel for one element"));
}

TEST(Trial, CountsWhatTheKernelDoesNotSupport) {
  TrialKernel kernel = softmax_kernel();
  kernel.call = [right = kernel.call](const KernelCall& call) {
    if (call.input("x").shape.back() % 16 != 0)
      throw NotSupported("columns must be a multiple of 16");
    right(call);
  };
  const TrialReport some = tried(kernel, "softmax");
  EXPECT_EQ(some.outcome(), Outcome::kPass);
  EXPECT_EQ(some.not_supported.at("columns must be a multiple of 16"),
            some.listed.not_supported + some.random.not_supported);
  kernel.call = [](const KernelCall&) { throw NotSupported("nothing is supported"); };
  const TrialReport none = tried(kernel, "softmax");
  EXPECT_EQ(none.outcome(), Outcome::kUntrusted);
  EXPECT_THAT(none.because(), HasSubstr("no output was judged"));
  EXPECT_THAT(none.because(), HasSubstr("nothing is supported"));
}

TEST(Trial, FindsWrongShapesOfReturnedTensors) {
  const auto flat = [](const TensorView& a, const TensorView&) {
    return Tensor::from_values(*a.format, {a.size() + 1},
                               std::vector<double>(static_cast<std::size_t>(a.size() + 1)));
  };
  const TrialReport report = tried(kernel_of(flat, op_named("add")), "add");
  EXPECT_EQ(found(report), TrialFinding::kWrongShape);
  EXPECT_THAT(report.failures.front().text, HasSubstr("the output must be float32 ["));
}

TEST(Trial, DoesNotDependOnThreadsAndShards) {
  const TrialKernel kernel =
      as_kernel(softmax_of_64).args("x", "y", "rows", "columns").kernel(op_named("softmax"));
  TrialOptions options;
  options.draws = walks_a_share() ? 6 : 24;  // two in each shard
  options.keep_going = true;
  options.threads = 1;
  const TrialReport one = run_trial("softmax", kernel, options);
  options.threads = 3;
  const TrialReport three = run_trial("softmax", kernel, options);
  const auto same = [](const TrialReport& a, const TrialReport& b) {
    EXPECT_EQ(a.random.passed, b.random.passed);
    EXPECT_EQ(a.random.failed, b.random.failed);
    EXPECT_EQ(a.listed.failed, b.listed.failed);
    EXPECT_EQ(a.coverage, b.coverage);
    ASSERT_EQ(a.failures.size(), b.failures.size());
    for (std::size_t i = 0; i < a.failures.size(); ++i) {
      EXPECT_EQ(a.failures[i].draw, b.failures[i].draw);
      EXPECT_EQ(a.failures[i].reduced, b.failures[i].reduced);
    }
  };
  same(one, three);
  std::vector<TrialReport> parts;
  options.shards = 3;
  for (options.shard = 0; options.shard < 3; ++options.shard) {
    parts.push_back(run_trial("softmax", kernel, options));
  }
  same(one, merged(parts));
  EXPECT_EQ(merged(parts).next, one.next);
  parts.pop_back();
  EXPECT_THAT(error_of([&] { (void)merged(parts); }), HasSubstr("2 of 3 shards are there"));
  parts.push_back(parts.front());
  EXPECT_THAT(error_of([&] { (void)merged(parts); }), HasSubstr("shard 1 of 3 is there twice"));
}

// Shards that ended at different draws are continued by as many shards, to the counts of one run.
TEST(Trial, JoinedShardsAreContinued) {
  TrialOptions options;
  options.draws = 24;
  const TrialReport whole = run_trial("softmax", softmax_kernel(), options);
  options.shards = 2;
  const auto run_shards = [&](const std::vector<TrialReport>& earlier) {
    std::vector<TrialReport> parts;
    for (options.shard = 0; options.shard < 2; ++options.shard) {
      options.earlier =
          earlier.empty() ? nullptr : &earlier[static_cast<std::size_t>(options.shard)];
      parts.push_back(run_trial("softmax", softmax_kernel(), options));
    }
    return merged(parts);
  };
  options.end = [] { return std::int64_t{20}; };
  const TrialReport some = run_shards({});
  EXPECT_EQ(some.listed.all() + some.random.all(), 20);
  EXPECT_FALSE(some.was_interrupted);
  EXPECT_EQ(some.next, -1);
  EXPECT_THAT(some.shard_nexts, testing::ElementsAre(19, 20));
  const auto refusal = [&](std::int64_t shards) {
    return error_of([&] { (void)parts_of(some, shards); });
  };
  EXPECT_THAT(refusal(3), HasSubstr("joins 2 shards that ended at different inputs, so only 2 "));
  TrialOptions alone;
  alone.earlier = &some;
  EXPECT_THAT(error_of([&] { (void)run_trial("softmax", softmax_kernel(), alone); }),
              HasSubstr("so only 2 ranks of `assay-mpi trial` can continue it"));
  options.end = {};
  const TrialReport all = run_shards(parts_of(some, 2));
  EXPECT_EQ(all.next, whole.next);
  EXPECT_EQ(all.listed.passed, whole.listed.passed);
  EXPECT_EQ(all.random.passed, whole.random.passed);
  EXPECT_EQ(all.coverage, whole.coverage);
  EXPECT_EQ(all.not_judged, whole.not_judged);
  // Shards that ended together can be continued by any number of shards.
  EXPECT_EQ(parts_of(all, 3).back().next, whole.next);
  EXPECT_EQ(merged(parts_of(all, 3)).coverage, whole.coverage);
}

TEST(Trial, EndsWhenItIsTold) {
  TrialOptions options;
  options.draws = 1 << 20;
  std::int64_t seen = 0;
  options.progress = [&](const TrialProgress& now) {
    seen = now.draws;
    return now.draws < 20;
  };
  const TrialReport report = run_trial("softmax", softmax_kernel(), options);
  EXPECT_TRUE(report.was_interrupted);
  EXPECT_EQ(report.listed.all() + report.random.all(), seen);
  EXPECT_EQ(report.outcome(), Outcome::kPass);
}

TEST(Trial, RefusesWhatItCannotTry) {
  const auto refusal = [](const char* op, TrialOptions options) {
    return error_of([&] { (void)run_trial(op, softmax_kernel(), options); });
  };
  EXPECT_THAT(refusal("sofmax", {}),
              HasSubstr("unknown operator 'sofmax': did you mean 'softmax'?"));
  TrialOptions options;
  options.dtypes = {"float16"};
  EXPECT_THAT(refusal("softmax", options), HasSubstr("takes float32, and not float16"));
  options = {};
  options.parameters["axes"] = std::int64_t{0};
  EXPECT_THAT(refusal("softmax", options), HasSubstr("softmax has no parameter 'axes'"));
  options = {};
  options.shard = 3;
  options.shards = 3;
  EXPECT_THAT(refusal("softmax", options), HasSubstr("shard 3 of 3"));
  options = {};
  options.on = "x=float32[2]{5:1}";
  EXPECT_THAT(refusal("softmax", options), HasSubstr("there is no element 5"));
  options.on = "x=float32[1,300]";
  EXPECT_THAT(refusal("softmax", options),
              HasSubstr("the case's word 'x=float32[1,300]' does not say its elements; write "
                        "x=float32[1,300]{} for zeros, x=float32[1,300]{*:1} for ones, or "
                        "x=float32[1,300]{0:1.5} for zeros and one other element"));
  options.on = "x=3";
  EXPECT_THAT(
      refusal("softmax", options),
      HasSubstr("the case's word 'x=3' is not a tensor; write one as x=float32[2,3]{0:1.5}"));
  options.on = "z=float32[2]{1:1}";
  EXPECT_THAT(refusal("softmax", options), HasSubstr("has neither an input nor a parameter 'z'"));
  options.only = 0;
  EXPECT_THAT(refusal("softmax", options),
              HasSubstr("a single draw and a case are both given; leave out one of them"));
  options = {};
  options.only = -1;
  EXPECT_THAT(refusal("softmax", options),
              HasSubstr("there is no draw -1; the first one is draw 0"));
  for (const double seconds : {-1.0, std::nan(""), kInfinity}) {
    options = {};
    options.seconds = seconds;
    EXPECT_THAT(refusal("softmax", options), HasSubstr("the trial cannot take"));
    options = {};
    options.contract.call_seconds = seconds;
    EXPECT_THAT(refusal("softmax", options), HasSubstr("a call cannot take"));
  }
}

TEST(Trial, RefusesInputsThatTheOperatorDoesNotHave) {
  TrialKernel kernel = softmax_kernel();
  kernel.always = {"mask"};
  EXPECT_THAT(error_of([&] { (void)run_trial("softmax", kernel, {}); }),
              HasSubstr("softmax has no input 'mask'"));
}

// Limits that none of the listed sizes fits. Random draws may fit.
TEST(Trial, LimitsThatNoListedSizesFit) {
  for (const char* op : {"softmax", "matmul", "attention", "layernorm", "deform_roi_pool"}) {
    TrialKernel kernel = emulated_kernel(*find_operator(op), machine_named("exact"));
    for (const int rank : {0, 1, 2, 5, 8}) {
      for (const std::int64_t elements : {1, 10, 4096}) {
        SCOPED_TRACE(formatted("{}, {} dimensions, {} elements", op, rank, elements));
        kernel.least_rank = kernel.most_rank = rank;
        TrialOptions options;
        options.draws = 8;
        options.limits = {.elements = elements, .products = 16 * elements};
        TrialReport report;
        const std::string error = error_of([&] { report = run_trial(op, kernel, options); });
        if (error == "no error") {
          EXPECT_EQ(report.outcome(), Outcome::kPass) << report.because();
        } else {
          EXPECT_THAT(error, HasSubstr(formatted("have {0} to {0} dimensions", rank)));
        }
      }
    }
  }
}

// A dtype that the operator does not take is refused before the kernel is called, for every
// operator and dtype. A dtype that is not refused gives outputs that can be judged.
TEST(Trial, DtypesThatAnOperatorDoesNotTakeAreRefusedAtOnce) {
  int refused = 0, taken = 0;
  for (const Operator& op : operators()) {
    if (op.generate == nullptr) continue;
    for (const Format& format : formats()) {
      TrialKernel kernel;
      kernel.takes_empty = false;
      bool was_called = false;
      kernel.call = [&](const KernelCall&) {
        was_called = true;
        throw NotSupported("it is only counted");
      };
      TrialOptions options;
      options.dtypes = {std::string(format.name)};
      options.draws = 0;
      options.only = 0;
      options.limits = {.elements = 1 << 10, .products = 1 << 12};
      SCOPED_TRACE(op.name + " of " + std::string(format.name));
      std::optional<TrialReport> report;
      const std::string error = error_of([&] { report = run_trial(op.name, kernel, options); });
      if (report) {
        ++taken;
        EXPECT_TRUE(was_called);
        EXPECT_EQ(report->listed.not_supported, 1) << report->because();
        EXPECT_TRUE(report->not_judged.empty());
      } else {
        ++refused;
        EXPECT_FALSE(was_called);
        EXPECT_THAT(error,
                    HasSubstr(formatted("{} takes no inputs of {}: ", op.name, format.name)));
        EXPECT_THAT(error, HasSubstr("; it takes "));
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(taken, 100);
  EXPECT_EQ(error_of([] {
              (void)run_trial("softmax", TrialKernel(), {.dtypes = {"float32", "int32"}});
            }),
            "softmax takes no inputs of int32: softmax takes float operands; x is int32; it takes "
            "float64, "
            "float32, float16, bfloat16, tfloat32, hfloat32, float8_e4m3fn, float8_e5m2, "
            "float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float6_e2m3fn, float6_e3m2fn, "
            "float4_e2m1fn, float4_e1m2fn, float_e5m6, hifloat8");
}

// An operator of the user's own: y = times x + b, where b is optional.
Tensor scaled_sum(const Case& c, const Format& output) {
  std::vector<double> values = c.input("x").view().values();
  const std::optional<double> given = c.real("times");
  const std::vector<double> more =
      c.inputs.count("b") != 0 ? c.input("b").view().values() : std::vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = values[i] * given.value_or(1) + (more.empty() ? 0 : more[i]);
  }
  return Tensor::from_values(output, c.input("x").shape(), values);
}
Operator own_operator(std::string name) {
  return {.name = std::move(name),
          .summary = "times x + b",
          .inputs = {{.name = "x", .shape = "(...)"},
                     {.name = "b", .shape = "(...)", .optional = true}},
          .parameters = {{.name = "times",
                          .kind = ParameterKind::kNumber,
                          .default_value = "1",
                          .tried = {"1", "-0.5", "3"}}},
          .run = [](const Call& call) { return scaled_sum(call.test_case, call.output); },
          .reference =
              [](const ReferenceCall& call) { return scaled_sum(call.test_case, call.output); },
          .generate = generate_vector};
}

// A kernel of the own operator: a function of views, which may forget a part of it.
TrialKernel own_kernel(const Operator& op, bool forgets_b, bool forgets_times) {
  TrialKernel kernel;
  kernel.name = "scaled_sum";
  kernel.parameters = {"times"};
  kernel.sometimes = {"b"};
  EXPECT_EQ(op.inputs.size(), 2u);
  kernel.call = [=](const KernelCall& call) {
    const float times = forgets_times ? 1 : static_cast<float>(call.real("times").value_or(1));
    const auto* const x = elements<float>(call.input("x"));
    const auto* const b = call.has("b") && !forgets_b ? elements<float>(call.input("b")) : nullptr;
    for (std::int64_t i = 0; i < call.output.size(); ++i) {
      call.output.as<float>()[i] = x[i] * times + (b == nullptr ? 0 : b[i]);
    }
  };
  return kernel;
}

// Registers the operator, tries right and wrong kernels, and exits with 0 if all is as expected. It
// runs in a process of its own, because other tests iterate the operators.
[[noreturn]] void exit_after_trials_of_an_own_operator() {
  register_operator(own_operator("scaled_sum"));
  const Operator& op = op_named("scaled_sum");
  const TrialReport right = tried(own_kernel(op, false, false), "scaled_sum");
  EXPECT_EQ(right.outcome(), Outcome::kPass) << right.because();
  EXPECT_GT(right.listed.passed, 20);
  EXPECT_GT(right.random.passed, 20);
  for (const char* value : {"times=1", "times=-0.5", "times=3"}) {
    EXPECT_GT(right.coverage.at("attributes").count(value), 0u) << value;
  }
  EXPECT_GT(right.coverage.at("inputs").count("b"), 0u);
  const TrialReport no_b = tried(own_kernel(op, true, false), "scaled_sum");
  EXPECT_EQ(found(no_b), TrialFinding::kWrongResult);
  EXPECT_THAT(no_b.failures.front().reduced, HasSubstr("b=float32["));
  const TrialReport no_times = tried(own_kernel(op, false, true), "scaled_sum");
  EXPECT_EQ(found(no_times), TrialFinding::kWrongResult);
  EXPECT_THAT(no_times.failures.front().reduced, HasSubstr(" times="));
  // The reduced input repeats the failure.
  TrialOptions again;
  again.on = no_times.failures.front().reduced;
  EXPECT_EQ(found(run_trial("scaled_sum", own_kernel(op, false, true), again)),
            TrialFinding::kWrongResult);
  EXPECT_EQ(run_trial("scaled_sum", own_kernel(op, false, false), again).outcome(), Outcome::kPass);
  // Words that the operator does not have are refused with its own.
  TrialOptions wrong;
  wrong.parameters["tims"] = 2.0;
  EXPECT_EQ(error_of([&] { (void)run_trial("scaled_sum", own_kernel(op, false, false), wrong); }),
            "scaled_sum has no parameter 'tims': did you mean 'times'?");
  Operator no_inputs = own_operator("no_inputs");
  no_inputs.generate = nullptr;
  register_operator(no_inputs);
  EXPECT_EQ(error_of([&] { (void)run_trial("no_inputs", own_kernel(op, false, false), {}); }),
            "the operator 'no_inputs' has no `generate`, so a trial cannot draw its inputs");
  std::fflush(stdout);
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Trial, TriesAnOperatorOfTheUsersOwn) {
  EXPECT_EXIT(exit_after_trials_of_an_own_operator(), testing::ExitedWithCode(0), "");
}

TEST(CaseText, IsReadAsItIsWritten) {
  trial::Subject subject;
  Case& c = subject.test_case;
  c.op = "layernorm";
  c.name = "layernorm/case";
  c.inputs["x"] = Tensor::from_values(format_named("bfloat16"), {2, 3},
                                      std::vector<double>{0, 0, -1.5, 0, INFINITY, 0});
  c.inputs["weight"] =
      Tensor::from_values(format_named("bfloat16"), {3}, std::vector<double>{1, 1, 2});
  c.attributes["eps"] = 0.01;
  c.attributes["seed"] = std::int64_t{7};  // does not change the result
  subject.output = trial::Layout::kPadded;
  const std::string text = trial::case_text(subject);
  EXPECT_EQ(text,
            "weight=bfloat16[3]{*:1,2:2} x=bfloat16[2,3]{2:-1.5,4:inf} eps=0.01 output=padded");
  const trial::Subject again = trial::parse_case(op_named("layernorm"), text);
  EXPECT_EQ(trial::case_text(again), text);
  EXPECT_EQ(again.output, trial::Layout::kPadded);
}

TEST(Dimensions, FollowTheOperatorsRow) {
  const auto dims = [](const char* op, std::vector<std::int64_t> sizes,
                       std::map<std::string, Attribute> attributes, const char* optional) {
    Recipe recipe{&format_named("float32"), std::move(sizes), std::move(attributes)};
    if (*optional != 0) recipe.distributions[optional] = parse_distribution("normal");
    const Case c = generate_case(op, recipe);
    std::string text;
    for (const trial::Dimension& d : trial::dimensions_of(c)) {
      text += d.name + "=" + std::to_string(d.extent) + ":";
      for (const auto& [input, axis] : d.places) text += input + std::to_string(axis);
      text += " ";
    }
    const trial::RowDimension rows = trial::rows_of(c);
    return text + "rows " + std::to_string(rows.of_inputs.extent) + " axis " +
           std::to_string(rows.output_axis);
  };
  EXPECT_EQ(dims("matmul", {2, 3, 4, 5}, {}, "bias"),
            "batch 0=2:a0b0 M=3:a1 K=4:a2b1 N=5:b2bias0 rows 3 axis 1");
  EXPECT_EQ(dims("matmul", {3, 4, 5}, {{"transpose_a", std::int64_t{1}}}, ""),
            "K=4:a0b0 M=3:a1 N=5:b1 rows 3 axis 0");
  EXPECT_EQ(dims("layernorm", {2, 3}, {}, "weight"),
            "dimension 0 of x=2:x0 dimension 1 of x=3:x1weight0 rows 2 axis 0");
  EXPECT_EQ(dims("softmax", {2, 3}, {{"axis", std::int64_t{0}}}, ""),
            "dimension 0 of x=2:x0 dimension 1 of x=3:x1 rows 0 axis 0");
  EXPECT_EQ(dims("reduce_sum", {2, 3}, {}, ""),
            "dimension 0 of x=2:x0 dimension 1 of x=3:x1 rows 0 axis 0");
  EXPECT_EQ(dims("attention", {2, 3, 4, 5}, {}, ""),
            "batch 0=2:q0k0v0 L=3:q1 D=5:q2k2 S=4:k1v1 E=5:v2 rows 2 axis 0");
  EXPECT_EQ(dims("axpy", {2, 3}, {}, ""),
            "dimension 0 of a=2:x0y0 dimension 1 of a=3:x1y1 rows 2 axis 0");
  EXPECT_EQ(dims("deform_roi_pool", {1, 1, 4, 4, 2},
                 {{"pooled_height", std::int64_t{1}}, {"pooled_width", std::int64_t{1}}}, ""),
            "rows 0 axis 0");
}

}  // namespace
}  // namespace assay
