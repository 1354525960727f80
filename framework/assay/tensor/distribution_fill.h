// The functions of the table in tensor/distribution.h. fill_* draw at most kDrawBlock elements as
// float64, before `scale`. problem_of_* and obstacle_of_* return what is wrong, or an empty string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/tensor/distribution.h"

namespace assay::inline v0_2 {

void fill_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_uniform(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_truncated_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_clamped_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_folded_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_student_t(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_lognormal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_outlier_channels(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_identical_columns(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_constant_columns(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_correlated(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_integers(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_subnormals(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_specials(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_sparse(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_one_hot(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_hilbert(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_block_constant(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_cancelling(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_stalling(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_halfway(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
void fill_masked(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);

std::string problem_of_bounds(const DistributionSpec& spec);  // low below high
// low must be below high, and some probability must lie between them.
std::string problem_of_truncation(const DistributionSpec& spec);
// The fractions of special values must add up to at most 1.
std::string problem_of_fractions(const DistributionSpec& spec);
std::string obstacle_of_axis(const DrawCall& call);
std::string obstacle_of_outliers(const DrawCall& call);
std::string obstacle_of_masks(const DrawCall& call);
std::string obstacle_of_subnormals(const DrawCall& call);

}  // namespace assay
