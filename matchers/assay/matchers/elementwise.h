// CloseTo, MeetsStandard, WithinUlps and BitEqual: one matcher with four rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

struct GateRequest;  // declared in gate/request.h, which most tests need not compile

// The environment may replace the tolerances of CloseTo and MeetsStandard (gate/close_to.h). Every
// matcher that this concerns says so in its description and its explanation.
//
// - rtol(), atol(): your own tolerances, |actual - expected| <= atol + rtol |expected|. If only one
//   of the two is set, the other is the standard's.
// - equal_nan(): true if NaN matches NaN. The standard's rule is the default.
// - producer(): for a case. The standard `accumulation` and dual-benchmark standards need it. If an
//   output is one that the case holds, its producer is known.
class ElementwiseMatcher : public TensorMatcher<ElementwiseMatcher>,
                           public ToleranceSetters<ElementwiseMatcher>,
                           public EqualNanSetter<ElementwiseMatcher>,
                           public MaxBlindSetter<ElementwiseMatcher>,
                           public AllowEmptySetter<ElementwiseMatcher>,
                           public ProducerSetter<ElementwiseMatcher> {
 public:
  // If `fixed` is true, the environment does not replace the rule, because the matcher is defined
  // by it.
  ElementwiseMatcher(Reference reference, std::string standard, bool fixed);
  ElementwiseMatcher(const ElementwiseMatcher&);
  ElementwiseMatcher(ElementwiseMatcher&&) noexcept;
  ElementwiseMatcher& operator=(const ElementwiseMatcher&);
  ElementwiseMatcher& operator=(ElementwiseMatcher&&) noexcept;
  ~ElementwiseMatcher();

  // Names a published standard, "ulp(n)" or "bit_equal". Can be called several times: then all of
  // these standards must hold.
  ElementwiseMatcher standard(const std::string& name) const;
  // For a case: names the producer whose recorded output dual-benchmark standards compare with.
  // Needed if the case has recorded outputs of several producers.
  ElementwiseMatcher reference_implementation(const std::string& name) const;
  // For a case that is a product or attention without a golden result: draws `rows` rows at random,
  // computes their golden results, and judges only these rows. Checksums check the whole output.
  ElementwiseMatcher sample_rows(std::int64_t rows, std::uint64_t seed = 1) const;

  // `words` is true if the explanation is needed. All metrics are then computed, on the host.
  MatchReport check(const AnyView& actual, bool words = true) const;
  MatchReport check_outputs(const std::vector<NamedView>& actual, bool words) const;
  std::string describe(bool negated) const;

 private:
  // Returns effective(). If `words` is true, the request asks for the metrics that an explanation
  // needs. Reports on standard error, once per program, what the environment replaces.
  GateRequest said_request(bool words, std::string& overridden) const;
  // Returns the request that the setters made, with the changes of the environment.
  GateRequest effective(std::string& overridden) const;

  // Returns a copy of the matcher after `change` was applied to its request.
  template <typename Change>
  ElementwiseMatcher with_request(const Change& change) const;

  Reference reference_;
  bool fixed_;
  // The request, without the values that the inherited setters keep. Copies of the matcher share
  // it.
  std::shared_ptr<const GateRequest> request_;
};

// Matches if every element is within the tolerance that the standard `default` (or the one that
// .standard() names) has for the dtype of the actual tensor. With a case, its own bound or that of
// its operator applies (gate/bounds.h). For a case with several outputs, pass all of them by name
// (a std::map<std::string, Tensor>); each is judged by its own bound.
ElementwiseMatcher CloseTo(Reference reference);
// Matches if every element is within the bound of a published standard ("torch"; see `assay list
// standards`), or of one of your own ("own.json:strict"; docs/judging.md). Fails the test if there
// is no such standard.
ElementwiseMatcher MeetsStandard(std::string name, Reference reference);
// Matches if every element is at most `ulps` representable values of its format away from the
// expected value. NaN matches nothing.
ElementwiseMatcher WithinUlps(Reference reference, std::uint64_t ulps);
// Matches if all elements have the same bit patterns: -0 does not match +0, and a NaN matches only
// its own pattern.
ElementwiseMatcher BitEqual(Reference reference);

}  // namespace assay
