// PassesTrial(operator): a kernel computes an operator right for every input that a trial draws.
//
//   EXPECT_THAT(my_softmax, PassesTrial("softmax"));
//   EXPECT_THAT(my_matmul, PassesTrial("matmul").dtypes({"bfloat16"}).budget(10s));
//   EXPECT_THAT(as_kernel(my_norm).args("x", "y", "rows", "columns"), PassesTrial("rmsnorm"));
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "assay/trial/adapters.h"

namespace assay::inline v0_2 {

struct Machine;
struct TrialOptions;

// The matcher that PassesTrial() returns. Its functions return a copy with other options.
class PassesTrialMatcher {
 public:
  using is_gtest_matcher = void;

  explicit PassesTrialMatcher(std::string op);
  PassesTrialMatcher(const PassesTrialMatcher&);
  PassesTrialMatcher& operator=(const PassesTrialMatcher&);
  ~PassesTrialMatcher();

  // The dtypes of inputs. By default, those of the kernel's pointers, or float32.
  PassesTrialMatcher dtypes(std::vector<std::string> dtypes) const;
  // The dtype of the output, if it is not the operator's default.
  PassesTrialMatcher output_dtype(std::string_view dtype) const;
  // A value that a parameter of the operator has in every call. Without it, parameters that the
  // kernel takes vary, and others keep their default.
  PassesTrialMatcher parameter(const std::string& name, std::string_view value) const;
  // The number of random draws after the fixed list, 200 by default. A time takes their place.
  PassesTrialMatcher draws(std::int64_t draws) const;
  PassesTrialMatcher budget(std::chrono::duration<double> time) const;
  PassesTrialMatcher seed(std::uint64_t seed) const;
  // The only sizes that inputs have, in the operator's order, such as {{64, 1024}}.
  PassesTrialMatcher sizes(std::vector<std::vector<std::int64_t>> sizes) const;
  // The largest number of elements of an input, 65,536 by default.
  PassesTrialMatcher max_elements(std::int64_t elements) const;
  // The machine that runs the kernel, whose expected errors then bound the result. A name of
  // machines(), or of a machine file.
  PassesTrialMatcher machine(std::string_view name) const;
  // Judges by a standard or a tolerance instead of the operator's own bound.
  PassesTrialMatcher standard(std::string_view name) const;
  PassesTrialMatcher rtol(double rtol) const;
  PassesTrialMatcher atol(double atol) const;
  // Repeated calls may give other bits, because of atomics.
  PassesTrialMatcher unordered() const;
  // A row must have the same bits with and without the others.
  PassesTrialMatcher batch_invariant() const;
  // Computes each input in a child process, so that a crash or a hang is a finding.
  PassesTrialMatcher isolated(std::chrono::duration<double> limit = std::chrono::seconds(10)) const;
  // The kernel takes only memory that is aligned to 64 bytes.
  PassesTrialMatcher aligned() const;
  // The kernel takes no strides, although its arguments are views.
  PassesTrialMatcher contiguous() const;
  // The kernel takes first inputs of these ranks. Sizes are at least 1 without `empty`.
  PassesTrialMatcher ranks(int least, int most) const;
  PassesTrialMatcher nonempty() const;
  // Repeats one draw of a failure text, or its reduced case.
  PassesTrialMatcher only(std::int64_t draw) const;
  PassesTrialMatcher on(std::string_view case_text) const;

  template <typename Kernel>
  bool MatchAndExplain(const Kernel& kernel, testing::MatchResultListener* listener) const {
    return match(
        [&](const Operator& op) {
          if constexpr (requires { kernel_of(kernel, op); }) {
            return kernel_of(kernel, op);
          } else {
            // A kernel that changes its own state is copied, because a matcher gets it as const.
            auto copy = std::make_shared<Kernel>(kernel);
            TrialKernel made = kernel_of(*copy, op);
            made.call = [copy, call = std::move(made.call)](const KernelCall& k) { call(k); };
            return made;
          }
        },
        listener);
  }
  void DescribeTo(std::ostream* os) const;
  void DescribeNegationTo(std::ostream* os) const;

 private:
  struct Settings;
  template <typename Set>
  PassesTrialMatcher with(const Set& set) const;
  bool match(const std::function<TrialKernel(const Operator&)>& make,
             testing::MatchResultListener* listener) const;

  std::unique_ptr<Settings> settings_;
};

// Returns a matcher of kernels: functions of assay::TensorView for each input and
// assay::MutableTensorView for the output, functions that return a tensor, and as_kernel().
inline PassesTrialMatcher PassesTrial(std::string op) { return PassesTrialMatcher(std::move(op)); }

}  // namespace assay
