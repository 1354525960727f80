// A program of dataset tests that has every emulated operator as if it were a team's own. They run
// on the machine for which most of the samples are made.
#include <assay/dataset_tests.h>

#include "assay/operator.h"

int main(int argc, char** argv) {
  std::map<std::string, assay::CaseFunction> functions;
  for (const assay::Operator& op : assay::operators()) {
    functions[std::string(op.name)] = [](const assay::Case& c) {
      return assay::emulate(c, assay::machine_named("ascend910b"));
    };
  }
  return assay::run_dataset_tests(argc, argv, functions);
}
