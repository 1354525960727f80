// Whole arrays of random draws. They are addressed as those of base/random.h, and have the same
// bits: element i is what a Random of that seed and stream gives as its i-th draw of that kind. Any
// part of an array can therefore be drawn alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

// to[i] = the draw begin + i: Random::next64(), Random::uniform(), Random::normal().
void draw_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                std::uint64_t* to);
void draw_uniforms(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                   double* to);
void draw_normals(std::uint64_t seed, std::uint64_t stream, std::uint64_t begin, std::size_t n,
                  double* to);

// to[i] = student_t() of base/random.h, of the uniform draws 2 (begin + i) and 2 (begin + i) + 1.
// nu is 0.5 or more.
void draw_student_t(double nu, std::uint64_t seed, std::uint64_t stream, std::uint64_t begin,
                    std::size_t n, double* to);

// values[i] = shift + factor * values[i], with two roundings.
void affine(double shift, double factor, std::size_t n, double* values);

}  // namespace assay::simd
