#include "assay/trial/sizes.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace assay::inline v0_2::trial {
namespace {

bool is_prime(std::int64_t n) {
  if (n < 2) return false;
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

bool is_power(std::int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

}  // namespace

std::string_view class_of_size(std::int64_t n) {
  if (n == 0) return "0";
  if (n == 1) return "1";
  if (n >= 1024 && !is_power(n)) return "long";
  if (is_power(n)) return "a power of two";
  if (is_power(n - 1)) return "one more than a power of two";
  if (is_power(n + 1)) return "one less than a power of two";
  if (n % 16 == 0) return "a multiple of 16";
  if (n % 16 == 1 || n % 16 == 15) return "next to a multiple of 16";
  return is_prime(n) ? "a prime" : "another number";
}

// Returns a size of a class that is drawn first, at most `most`.
std::int64_t draw_size(Random& random, std::int64_t most) {
  constexpr std::int64_t kPrimes[] = {2,  3,  5,  7,  11,  13,  17,  19,
                                      31, 37, 61, 67, 127, 131, 251, 509};
  constexpr std::int64_t kMultiples[] = {16, 32, 64, 128};
  if (most <= 1) return most;
  const auto capped = [&](std::int64_t n) { return std::clamp<std::int64_t>(n, 1, most); };
  const int log = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most))) - 1;
  const auto power = [&] { return std::int64_t{1} << random.index_below(std::min(log, 13) + 1); };
  const auto multiple = [&] {
    const std::int64_t of = kMultiples[random.index_below(4)];
    return of * (1 + random.index_below(
                         std::max<std::int64_t>(1, std::min(most, std::int64_t{1024}) / of)));
  };
  switch (random.index_below(10)) {
    case 0:
      return 1;
    case 1:
      return capped(kPrimes[random.index_below(std::size(kPrimes))]);
    case 2:
      return capped(power());
    case 3:
      return capped(power() + 1);
    case 4:
      return capped(power() - 1);
    case 5:
      return capped(multiple());
    case 6:
      return capped(multiple() + (random.index_below(2) == 0 ? 1 : -1));
    case 7:  // long
      return capped(1024 + random.index_below(std::max<std::int64_t>(1, most - 1024)));
    default:
      return 1 + random.index_below(std::min<std::int64_t>(most, 40));
  }
}

std::vector<std::vector<std::int64_t>> revealing_sizes(std::string_view sizes, std::size_t count) {
  std::vector<std::vector<std::int64_t>> all;
  if (sizes == "..., M, K, N") {
    all = {{17, 33, 19},      {3, 2049, 5},  {1, 64, 1},   {64, 64, 64},  {1, 129, 65},
           {65, 127, 1},      {128, 1, 128}, {2, 3, 5, 7}, {16, 512, 16}, {31, 4097, 2},
           {2, 3, 17, 16, 9}, {33, 16, 257}, {0, 8, 4},    {5, 0, 4}};
  } else if (sizes == "..., L, S, D") {
    all = {{9, 17, 16},    {3, 257, 8}, {1, 1, 1},   {1, 65, 64},     {64, 64, 32},
           {2, 16, 33, 8}, {65, 1, 16}, {5, 129, 7}, {2, 2, 5, 6, 4}, {128, 127, 16}};
  } else if (sizes == "n, K") {
    all = {{5, 33}, {3, 4097}, {1, 1}, {1, 1024}, {64, 64}, {257, 3}, {0, 4}};
  } else if (sizes == "N, C, H, W, n") {
    all = {{2, 3, 9, 11, 4}, {1, 2, 33, 40, 5}, {1, 1, 1, 1, 1}, {3, 1, 16, 16, 7}};
  } else if (sizes != "...") {
    all = {std::vector<std::int64_t>(count, 5), std::vector<std::int64_t>(count, 33),
           std::vector<std::int64_t>(count, 1)};
  } else {
    all = {{5, 33},      {3, 1025},  {1},        {1, 1},   {64, 64},  {7},        {2, 1023},
           {1, 4096},    {257, 3},   {65, 1},    {4, 128}, {3, 5, 7}, {17, 1031}, {1000},
           {2, 3, 4, 9}, {1, 16385}, {129, 129}, {0},      {4, 0},    {0, 16}};
  }
  return all;
}

}  // namespace assay::trial
