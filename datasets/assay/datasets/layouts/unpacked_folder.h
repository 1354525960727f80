// Cases as arrays in files, with a list that says what each file is. `assay unpack` writes this
// layout, and nothing is lost. A layout of open_cases.h.
#pragma once

#include <string>
#include <vector>

#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

bool is_unpacked(const std::string& path);
OpenedCases open_unpacked(const std::string& path, const OpenOptions& options);

// Writes the cases of a source to a new or empty folder, as one folder for each case and the list.
// A kind that holds several arrays (npz, pt, safetensors) gets one file for each case. npy
// and bin get one file for each array. Throws FileError.
void write_unpacked(const OpenedCases& from, const std::vector<std::string>& cases,
                    const ArrayFormat& kind, const std::string& folder);

// Writes the cases in the layout of TTK: data for replay under FOLDER/manual, the outputs of each
// producer as dumps under FOLDER/dump_PRODUCER, and the case table FOLDER/cases.csv. Returns a
// phrase, such as "the attribute axis", for each thing that this layout cannot express and that was
// left out.
std::vector<std::string> write_ttk(const CaseSource& from, const std::vector<std::string>& cases,
                                   const std::string& folder);

}  // namespace assay
