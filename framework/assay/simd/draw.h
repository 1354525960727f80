// Whole arrays of random draws. Element i has the same bits as the i-th draw of that kind by a
// Random (base/random.h) with that seed and stream. A draw depends only on seed, stream and index,
// so any part of an array can be drawn without the rest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

// Sets to[i] to draw begin + i of Random::next64(), Random::uniform() or Random::normal().
void draw_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                std::uint64_t* to);
void draw_uniforms(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                   double* to);
void draw_normals(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                  double* to);

// Sets to[i] to student_t() of base/random.h, from the uniform draws 2 (begin + i) and 2 (begin +
// i) + 1. nu is 0.5 or more.
void draw_student_t(double nu, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                    std::size_t n, double* to);

// Sets values[i] to shift + factor * values[i], with two roundings.
void affine(double shift, double factor, std::size_t n, double* values);

}  // namespace assay::simd
