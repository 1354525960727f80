// Trials of every operator on every emulated machine, with a thousand draws for each dtype.
// Emulated results are right, so no trial may fail. The environment variable ASSAY_TRIAL_SHARD,
// such as 0/4, chooses a part of the operators.
#include <cstdlib>

#include "trial/machines.h"

namespace assay {
namespace {

constexpr std::int64_t kDraws = 1000;

TEST(TrialsOfMachines, NoRightResultFailsInAThousandDraws) {
  long shard = 0, shards = 1;
  if (const char* word = std::getenv("ASSAY_TRIAL_SHARD")) {
    ASSERT_EQ(std::sscanf(word, "%ld/%ld", &shard, &shards), 2) << word;
  }
  RightKernels all;
  long number = 0;
  for (const Operator& op : operators()) {
    if (number++ % shards != shard) continue;
    for (const Machine& machine : machines()) try_on_machine(op, machine, kDraws, all);
  }
  print_false_rate(all);
  EXPECT_GT(all.passed, 1000);
}

}  // namespace
}  // namespace assay
