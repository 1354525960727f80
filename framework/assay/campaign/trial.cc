#include "assay/campaign/trial.h"

namespace assay {

void run_trials(const Plan&, const Cell&, std::size_t, std::int64_t, const Matrix&,
                const std::vector<MatrixGate>&, std::size_t, BlockTally&) {}

}  // namespace assay
