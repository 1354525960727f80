// Tests that trials have no false findings for emulated machines. tests/nightly/trials_test.cc
// draws a thousand inputs for each.
#include "trial/machines.h"

#include "emulated.h"

namespace assay {
namespace {

TEST(TrialsOfMachines, NoRightResultFails) {
  RightKernels all;
  std::size_t number = 0;
  for (const Operator& op : operators()) {
    for (const Machine& machine : machines()) {
      // A share is every eighth pair, which covers each operator and each machine.
      if (walks_a_share() && number++ % 8 != 0) continue;
      try_on_machine(op, machine, 4, all);
    }
  }
  print_false_rate(all);
  EXPECT_GT(all.passed, 1000);
}

}  // namespace
}  // namespace assay
