// Machines of the user's own, as JSON files: what `assay identify --out` writes and --machine
// takes. The schema is in docs/machines.md.
#pragma once

#include <string>
#include <vector>

#include "assay/machine/machine.h"

namespace assay::wire {

// The person, the tools and the day of a measurement of a machine.
struct MachineRecord {
  std::string name, summary, device, driver, date, evidence;
};

// The machine of a file. It lives as long as the program; the same path gives the same machine.
// Throws std::invalid_argument that names the file, the row and the key: what is no JSON, an
// unknown key ("did you mean"), a value of another type or range, an unknown format, a name that is
// taken; std::runtime_error that names the file where it cannot be read.
const Machine& read_machine(const std::string& path);
// The rows of such a text, of which nothing is kept; `source` names it in messages. Throws
// std::invalid_argument as above, but for a name that another file's machine has.
std::vector<DotModel> parse_machine(const std::string& text, const std::string& source);

// Those of the user's folders: the files *.json in the folders that the environment's
// ASSAY_MACHINES lists (separated by ':'), else in ~/.config/assay/machines. Throws as
// read_machine() does.
std::vector<const Machine*> folder_machines();
// Returns true if folder_machines() would read a file at this path.
bool is_place_of_machine(const std::string& path);

// From now on machine_named() takes the path of such a file ("x.json"), and the names of the
// machines in the user's folders and in files that were read.
void use_machine_files();

// The text of such a file.
std::string machine_json(const MachineRecord& record, const std::vector<DotModel>& dots,
                         Known<bool> bias_first);

}  // namespace assay::wire
