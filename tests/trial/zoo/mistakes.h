// Mistakes that any kernel can have: in what it reads, in what it writes, and in what it remembers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trial/zoo/kernels.h"

namespace assay::zoo {

// Changes the values that the kernel reads, or those that it writes.
Function reads(const std::string& op, std::function<void(Inputs&)> change);
Function returns(const std::string& op, std::function<void(Values&, const Inputs&)> change);
// Changes each element that the kernel reads, or each that it writes.
Function reads_each(const std::string& op, std::function<double(double)> change);
Function returns_each(const std::string& op, std::function<double(double)> change);
// Writes by another rounding, or flushes subnormal numbers.
Function encodes(const std::string& op, const Encoding& encoding);
// Rounds the exact result to a narrower format before it is written.
Function rounds_first(const std::string& op, const std::string& format);
// Does not write the elements for which leaves(index, size) is true.
Function leaves(Compute compute, std::function<bool(std::int64_t, std::int64_t)> leaves);
Function leaves(const std::string& op, std::function<bool(std::int64_t, std::int64_t)> leaves);
// Calls something after, or before, the right kernel.
Function then(const std::string& op, std::function<void(const KernelCall&)> after);
Function first(const std::string& op, std::function<void(const KernelCall&)> before);
// Returns the result of the first call with the same key.
Function cached(const std::string& op, std::function<std::string(const KernelCall&)> key);
std::string key_of_pointers(const KernelCall& call);
std::string key_of_shapes(const KernelCall& call);
// Reads an input, or writes the output, as if its elements were contiguous.
Function ignores_strides_of(const std::string& op, const std::string& input);
Function ignores_output_strides(const std::string& op);
// Computes index i of an element as an int16, whose overflow wraps.
Function index_overflows(const std::string& op);
// Returns a tensor of another shape or dtype.
Function returns_shape(const std::string& op, std::function<Shape(Shape)> change);
Function returns_dtype(const std::string& op, const std::string& dtype);
// Adds to what the output held.
Function accumulates(const std::string& op);
// Loses an update of one element in each 16 calls on average, by chance.
Function races(const std::string& op, double often);

// Returns a function of an index and a size that is true from `limit` on.
std::function<bool(std::int64_t, std::int64_t)> from(std::int64_t limit);
// True for the last element if the size is odd.
bool is_odd_last(std::int64_t i, std::int64_t size);
// Writes one element before or after the output.
void write_before(const KernelCall& call);
void write_after(const KernelCall& call);
// Writes the gaps between the rows of the output.
void write_gaps(const KernelCall& call);
// Sets the first element of an input to 0.
std::function<void(const KernelCall&)> clears(const std::string& input);
double without_subnormals(double value);

}  // namespace assay::zoo
