// Arrays to files: the rows of array_file.h that are written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "assay/datasets/arrays/array_file.h"

namespace assay {

// Writes arrays by name to one file, whole or not at all; views may have any strides. npy and bin
// hold one array, whose name is not written; the others hold any number ("" alone is an array
// without a name). No bit is lost; npy and npz hold dtypes that NumPy does not have as bytes of
// their width, and reading them back needs the dtype. A bin file whose name does not say dtype and
// shape (raw_file_name) gets them in a file beside it, PATH.json. Throws FileError where the kind
// is not written, cannot say a dtype (then with those that can), or the file cannot be written.
void write_array_file(const ArrayFormat& row, const std::string& path,
                      const std::map<std::string, TensorView>& arrays);

// "golden_0_bfloat16__shape_2x8x128.bin": STEM_DTYPE__shape_EXTENTS.bin, `scalar` for rank 0.
std::string raw_file_name(std::string_view stem, const Format& format, const Shape& shape);

}  // namespace assay
