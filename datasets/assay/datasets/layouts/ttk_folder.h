// Folders of TTK, the Ascend operators' test kit (hicann/ops-test-kit@367509326971): data for
// replay, with a folder for each case, and dumps, all in one folder. Layouts of open_cases.h.
#pragma once

#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

// Data for replay (TTK's docs/Manual_Data_Prepare_and_Replay.md). Its files have names such as
// input_0_bfloat16.bin and golden_0_bfloat16__shape_2x8.bin.
bool is_ttk_manual(const std::string& path);
OpenedCases open_ttk_manual(const std::string& path, const OpenOptions& options);

// Dumps of runs (TTK's docs/Dump_Debug.md). Their files have names such as add_01_dyn_output_0.npy
// and add_01_golden_0.npy.
bool is_ttk_dump(const std::string& path);
OpenedCases open_ttk_dump(const std::string& path, const OpenOptions& options);

// Parses "2x8x128" and "scalar". Returns nothing for another text.
std::optional<Shape> ttk_shape(std::string_view text);
// Returns the name of a case's folder: the case's name, or a safe name that ends in twelve digits
// of the name's SHA-256.
std::string ttk_folder_name(const std::string& testcase);
// Returns the beginning of the names of a case's arrays in a dump. This is the case's name, or that
// of its folder if the case's name cannot be part of a file name.
std::string ttk_dump_name(const std::string& testcase);

}  // namespace assay
