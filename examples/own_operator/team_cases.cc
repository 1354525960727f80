// Each case of a golden file is a CTest test of the kernel, or with --machine of the emulation.
#include <assay/dataset_tests.h>

#include "swiglu.h"
#include "swiglu_kernel.h"

int main(int argc, char** argv) {
  team::register_swiglu();
  return assay::run_dataset_tests(argc, argv, {{"swiglu", team::swiglu_kernel}});
}
