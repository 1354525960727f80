// Deterministic(n): an operator gives the same bits every time.
//
//   EXPECT_THAT([&] { return my_op(x); }, Deterministic(10));
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <type_traits>

#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

// The matcher that Deterministic() returns.
class DeterministicMatcher {
 public:
  using is_gtest_matcher = void;

  // `runs` is the number of runs. Throws Refusal if it is below 2.
  explicit DeterministicMatcher(int runs);

  // Calls `op` without arguments. `op` returns a tensor of any kind: a Tensor, a vector, an Eigen
  // matrix, or a view of memory that the next run writes to again. If `op` cannot be called as
  // const, for example because it changes its own state, all runs call one copy of it. The state
  // then passes from run to run.
  template <typename Op>
  bool MatchAndExplain(const Op& op, testing::MatchResultListener* listener) const {
    if constexpr (std::is_invocable_v<const Op&>) {
      return run(op, listener);
    } else {
      Op copy = op;
      return run(copy, listener);
    }
  }
  void DescribeTo(std::ostream* os) const;
  void DescribeNegationTo(std::ostream* os) const;

 private:
  template <typename Op>
  bool run(Op& op, testing::MatchResultListener* listener) const {
    Tensor first;
    std::string difference;
    for (int i = 1; i <= runs_ && difference.empty(); ++i) {
      auto&& result = op();
      with_view(result, [&](const AnyView& any) {
        HostCopies copies;
        const TensorView v = copies.add(any, "the result");
        if (i == 1) {
          first = copy_of(v);
          if (v.size() == 0) difference = "which cannot be trusted: the result has no elements";
        } else {
          difference = compare(first, v, i);
        }
      });
    }
    *listener << (difference.empty() ? same(first) : difference);
    return difference.empty();
  }
  // Returns how the result of run `run` differs from the first one, or an empty string if both have
  // the same bits.
  std::string compare(const TensorView& first, const TensorView& again, int run) const;
  std::string same(const TensorView& first) const;

  int runs_;
};

// Makes `runs` runs and compares each bit for bit with the first. A difference shows that an
// operator is not deterministic. Equal results of all runs on one machine do not prove that it is.
inline DeterministicMatcher Deterministic(int runs) { return DeterministicMatcher(runs); }

}  // namespace assay
