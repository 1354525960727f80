// Tests trials as a whole: what passes, which finding a broken contract gives, and that a trial
// does not depend on threads and shards.
#include "assay/trial/trial.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "assay/trial/case_text.h"
#include "assay/trial/dimensions.h"
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
  options.draws = 24;
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
  parts.pop_back();
  EXPECT_THAT(error_of([&] { (void)merged(parts); }), HasSubstr("2 of 3 shards are there"));
  parts.push_back(parts.front());
  EXPECT_THAT(error_of([&] { (void)merged(parts); }), HasSubstr("shard 1 of 3 is there twice"));
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
  options.on = "z=float32[2]{1:1}";
  EXPECT_THAT(refusal("softmax", options), HasSubstr("has neither an input nor a parameter 'z'"));
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
