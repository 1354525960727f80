// The user's own machines, as JSON files: `assay identify --out` writes them, and --machine reads
// them. The schema is in docs/machines.md.
#pragma once

#include <string>
#include <vector>

#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// The head of a machine file: the machine's name, and the device, driver, date and evidence of its
// measurement.
struct MachineRecord {
  std::string name, summary, device, driver, date, evidence;
};

// Returns the machine of a file. It lives as long as the program, and the same path returns the
// same machine. Throws Refusal that names the file, the row and the key if
// - the file is not JSON,
// - a key is unknown ("did you mean"),
// - a value has another type or range, or a format is unknown,
// - the name is already taken.
// Throws std::runtime_error that names the file if it cannot be read.
const Machine& read_machine(const std::string& path);
// Returns the rows of the text of a machine file. Does not register the machine. `source` names the
// text in messages. Throws Refusal as read_machine() does, but accepts the name of another file's
// machine.
std::vector<DotModel> parse_machine(const std::string& text, const std::string& source);

// Returns the machines of the user's folders: the files *.json in the folders that the environment
// variable ASSAY_MACHINES lists (separated by ':'), or in ~/.config/assay/machines if it is not
// set. Throws as read_machine() does.
std::vector<const Machine*> folder_machines();
// Returns true if folder_machines() would read a file at this path.
bool is_place_of_machine(const std::string& path);

// Returns the machine of a file ("x.json"), or the machine of that name in the user's folders or in
// a file that was read before. Returns nullptr if no machine has the name. Throws as read_machine()
// does.
const Machine* find_file_machine(std::string_view name);

// Returns the text of a machine file.
std::string machine_json(const MachineRecord& record, const std::vector<DotModel>& dots,
                         Known<bool> bias_first);

}  // namespace assay
