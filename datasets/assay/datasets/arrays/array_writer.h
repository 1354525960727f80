// Writes arrays to files, for the rows of array_file.h that can be written.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2 {

// Writes arrays by name to one file, whole or not at all. Views may have any strides. npy and bin
// files hold one array, whose name is not written. Other kinds hold any number of arrays; an array
// with the name "" gets the name ArrayFormat::unnamed, or no name in a .pt file. No bit is lost:
// npy and npz files hold dtypes that NumPy does not have as bytes of their width, and reading them
// back needs the dtype. A bin file whose name does not say dtype and shape (raw_file_name) gets
// them in a file beside it, PATH.json. Throws FileError if the kind is not written, if it cannot
// hold a dtype (the message lists the kinds that can), or if the file cannot be written.
void write_array_file(const ArrayFormat& row, const std::string& path,
                      const std::map<std::string, TensorView>& arrays);

// Returns a shape as names of files have it: "2x8x128", or "scalar".
std::string shape_word(const Shape& shape);
// Returns a name such as "golden_0_bfloat16__shape_2x8x128.bin": STEM_DTYPE__shape_EXTENTS.bin,
// with `scalar` for rank 0.
std::string raw_file_name(std::string_view stem, const Format& format, const Shape& shape);

}  // namespace assay
