// Tests that trials have no false findings for emulated machines. tests/nightly/trials_test.cc
// draws a thousand inputs for each.
#include "trial/machines.h"

#include "assay/base/sanitized.h"
#include "emulated.h"

namespace assay {
namespace {

TEST(TrialsOfMachines, NoRightResultFails) {
  RightKernels all;
  // A share is every eighth pair, which covers each operator and each machine. Under the address
  // sanitizer it is every 24th pair, because gate.Table/EveryOperator runs each operator there.
  const std::size_t step = kAddressSanitizer ? 24 : walks_a_share() ? 8 : 1;
  std::size_t number = 0;
  for (const Operator& op : operators()) {
    for (const Machine& machine : machines()) {
      if (number++ % step != 0) continue;
      try_on_machine(op, machine, 4, all);
    }
  }
  print_false_rate(all);
  EXPECT_GT(all.passed, kAddressSanitizer ? 300 : 1000);
}

}  // namespace
}  // namespace assay
