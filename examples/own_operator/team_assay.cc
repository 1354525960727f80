// assay's command line, with the team's operators.
#include <assay/command_line.h>

#include "swiglu.h"

int main(int argc, char** argv) {
  team::register_swiglu();
  return assay::run_command_line(argc, argv);
}
