// assay: the command line.
#include "assay/command_line.h"

int main(int argc, char** argv) { return assay::run_command_line(argc, argv); }
