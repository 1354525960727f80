// CloseTo, MeetsStandard, WithinUlps, BitEqual: one matcher with four rules.
#pragma once

#include <string>
#include <vector>

#include "assay/gate/close_to.h"
#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay {

// The environment may replace the tolerances of CloseTo and MeetsStandard (gate/close_to.h); what
// is replaced is said in the description and the explanation of every matcher that it concerns.
//
// rtol(), atol(): tolerances of your own, |actual - expected| <= atol + rtol |expected|. Where one
// of the two is given, the other is the standard's. equal_nan(): else as the standard says.
// producer(): of a case; the standard `accumulation` and dual-benchmark standards ask for it. An
// output that lies in the case is known without.
class ElementwiseMatcher : public TensorMatcher<ElementwiseMatcher>,
                           public ToleranceSetters<ElementwiseMatcher>,
                           public EqualNanSetter<ElementwiseMatcher>,
                           public MaxBlindSetter<ElementwiseMatcher>,
                           public ProducerSetter<ElementwiseMatcher> {
 public:
  // `fixed`: the rule is the matcher's point, and the environment leaves it alone.
  ElementwiseMatcher(Reference reference, std::string standard, bool fixed);
  ElementwiseMatcher(const ElementwiseMatcher&);
  ElementwiseMatcher(ElementwiseMatcher&&) noexcept;
  ElementwiseMatcher& operator=(const ElementwiseMatcher&);
  ElementwiseMatcher& operator=(ElementwiseMatcher&&) noexcept;
  ~ElementwiseMatcher();

  // A published standard by name, "ulp(n)" or "bit_equal". Several: all must hold.
  ElementwiseMatcher standard(const std::string& name) const {
    return with([&](auto& m) { m.request_.bounds.standards.push_back(name); });
  }
  // Of a case: the producer whose recorded output dual-benchmark standards compare with, where the
  // case has several.
  ElementwiseMatcher benchmark(const std::string& name) const {
    return with([&](auto& m) { m.request_.benchmark = name; });
  }
  // Of a case that is a product or attention without a golden result: so many rows are drawn, their
  // golden results computed, and these rows judged; checksums look at all of the output.
  ElementwiseMatcher sample_rows(std::int64_t rows, std::uint64_t seed = 1) const {
    return with([&](auto& m) { m.request_.sample = RowSample{rows, seed}; });
  }

  // `words`: the text is wanted, for which all metrics are taken.
  MatchReport check(const TensorView& actual, bool words = true) const;
  MatchReport check_outputs(const std::vector<NamedView>& actual, bool words) const;
  std::string describe(bool negated) const;

 private:
  // What is asked for; what the environment replaces is said, on standard error once.
  GateRequest said_request(bool words, std::string& overridden) const;
  // What is asked for, after the environment.
  GateRequest effective(std::string& overridden) const;

  Reference reference_;
  bool fixed_;
  GateRequest request_;  // without what the setters above hold
};

// Matches if every element is within the tolerance that the standard `default` (or the one that
// .standard() names) has for the dtype of the actual tensor. With a case, the case's own bound or
// its operator's holds (gate/bounds.h). Of a case
// with several outputs all of them, by name (a std::map<std::string, Tensor>), each by its own.
ElementwiseMatcher CloseTo(Reference reference);
// Every element within the bound of a published standard ("torch"; `assay list standards`). Throws
// std::invalid_argument, when it is matched, on a name that is none.
ElementwiseMatcher MeetsStandard(std::string name, Reference reference);
// Every element at most `ulps` representable values of its format away; NaN matches nothing.
ElementwiseMatcher WithinUlps(Reference reference, std::uint64_t ulps);
// The same bit patterns: -0 is not +0, and a NaN equals only its own pattern.
ElementwiseMatcher BitEqual(Reference reference);

}  // namespace assay
