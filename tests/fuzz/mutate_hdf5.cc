// Changes HDF5 files in their structures: a field of a superblock, an object header, a heap or a
// b-tree gets another number. If the structure has a checksum, it is mostly made right again.
#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <string_view>

#include "target.h"

namespace assay::fuzz {
namespace {

// Returns Jenkins' lookup3 of bytes, as the file format uses it (H5_checksum_metadata).
std::uint32_t lookup3(const std::uint8_t* key, std::size_t length) {
  const auto rotated = [](std::uint32_t x, int by) { return std::rotl(x, by); };
  std::uint32_t a, b, c;
  a = b = c = 0xdeadbeef + static_cast<std::uint32_t>(length);
  const auto word = [](const std::uint8_t* at) {
    std::uint32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  while (length > 12) {
    a += word(key), b += word(key + 4), c += word(key + 8);
    a -= c, a ^= rotated(c, 4), c += b;
    b -= a, b ^= rotated(a, 6), a += c;
    c -= b, c ^= rotated(b, 8), b += a;
    a -= c, a ^= rotated(c, 16), c += b;
    b -= a, b ^= rotated(a, 19), a += c;
    c -= b, c ^= rotated(b, 4), b += a;
    length -= 12, key += 12;
  }
  if (length == 0) return c;
  std::uint8_t rest[12] = {};
  std::memcpy(rest, key, length);
  a += word(rest), b += word(rest + 4), c += word(rest + 8);
  c ^= b, c -= rotated(b, 14);
  a ^= c, a -= rotated(c, 11);
  b ^= a, b -= rotated(a, 25);
  c ^= b, c -= rotated(b, 16);
  a ^= c, a -= rotated(c, 4);
  b ^= a, b -= rotated(a, 14);
  c ^= b, c -= rotated(b, 24);
  return c;
}

// A structure of the file: the bytes with which it begins, and the places of its numbers.
struct Structure {
  std::string_view word;
  bool has_checksum;
  std::initializer_list<unsigned char> fields;
};
const Structure kStructures[] = {
    {"\x89HDF", true, {8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64}},
    {"GCOL", false, {4, 8, 16, 18, 24, 32, 40, 48, 56, 64, 72, 80}},
    {"OHDR", true, {4, 5, 6, 7, 8, 10, 11, 12, 14, 16, 18, 20, 24, 28}},
    {"OCHK", true, {4, 5, 7, 8, 10, 12, 16, 20}},
    {"TREE", false, {4, 5, 6, 8, 16, 24, 28, 32, 40, 48, 56, 64, 72}},
    {"SNOD", false, {4, 6, 8, 16, 24, 28, 32, 40, 48, 56}},
    {"HEAP", false, {4, 8, 16, 24}},
    {"FRHP", true, {4, 5, 7, 9, 10, 14, 22, 30, 38, 46, 54, 62, 70, 110, 112, 120, 128, 130}},
    {"FHDB", true, {4, 5, 13, 17, 21, 25, 29}},
    {"FHIB", true, {4, 5, 13, 17, 25, 33}},
    {"BTHD", true, {4, 5, 6, 10, 12, 14, 15, 16, 24, 26}},
    {"BTLF", true, {4, 5, 6, 10, 14, 18, 22}},
    {"BTIN", true, {4, 5, 6, 10, 14, 18, 22}},
    {"FAHD", true, {4, 5, 6, 7, 8, 16}},
    {"FADB", true, {4, 5, 6, 14, 18, 22}},
    {"EAHD", true, {4, 5, 6, 7, 8, 9, 10, 12, 20, 28}},
};

struct Place {
  std::size_t at;
  // Null for an object header of the first version, which begins with no word.
  const Structure* what;
};

std::vector<Place> places_in(const Bytes& file) {
  // Compares words only after one of their first bytes, because libFuzzer watches every comparison.
  constexpr std::string_view kFirst = "\x89GOTSHFBE";
  std::vector<Place> places;
  for (std::size_t at = 0; at + 16 <= file.size(); ++at) {
    if (kFirst.find(static_cast<char>(file[at])) != std::string_view::npos) {
      for (const Structure& s : kStructures) {
        if (std::memcmp(&file[at], s.word.data(), 4) == 0) places.push_back({at, &s});
      }
    }
    if (at % 8 != 0 || file[at] != 1) continue;
    const std::uint64_t size = number_at(file, at + 8, 4), links = number_at(file, at + 4, 4);
    if (number_at(file, at, 2) == 1 && links > 0 && links < 64 && size > 7 && size < file.size() &&
        number_at(file, at + 12, 4) == 0) {
      places.push_back({at, nullptr});
    }
  }
  return places;
}

// Returns where the checksum of a structure is, or 0 if it is not found.
std::size_t checksum_of(const Bytes& file, std::size_t at) {
  constexpr std::size_t kLongest = 1200;
  for (std::size_t size = 8; size <= kLongest && at + size + 4 <= file.size(); ++size) {
    if (number_at(file, at + size, 4) == lookup3(&file[at], size)) return at + size;
  }
  return 0;
}

}  // namespace

Bytes mutate_hdf5(Bytes input, Draw& draw, Change change) {
  const std::vector<Place> places = places_in(input);
  if (places.empty() || below(draw, 16) == 0) return change(input, input.size());
  const std::size_t changes = 1 + (below(draw, 3) == 0 ? below(draw, 4) : 0);
  for (std::size_t i = 0; i < changes; ++i) {
    const Place& place = places[below(draw, places.size())];
    const bool has_checksum = place.what != nullptr && place.what->has_checksum;
    const std::size_t checksum =
        has_checksum && below(draw, 8) != 0 ? checksum_of(input, place.at) : 0;
    std::size_t at = 0;
    if (place.what != nullptr && below(draw, 2) == 0) {
      const auto& fields = place.what->fields;
      at = place.at +
           *std::next(fields.begin(), static_cast<std::ptrdiff_t>(below(draw, fields.size())));
    } else {
      // The change is anywhere before the checksum of the structure, or in its first 256 bytes if
      // no checksum is made right.
      const std::size_t reach = checksum > 0 ? checksum - place.at : 256;
      at = place.at + below(draw, reach);
      if (below(draw, 2) == 0) at = place.at + (at - place.at) / 8 * 8;
    }
    if (at >= input.size()) continue;
    const std::size_t width = std::size_t{1} << below(draw, 4);
    const std::uint64_t now = number_at(input, at, width);
    switch (below(draw, 5)) {
      case 0:
        input[at] ^= static_cast<std::uint8_t>(1U << below(draw, 8));
        break;
      case 1:
        put_number(input, at, width, now + below(draw, 17) - 8);
        break;
      case 2: {  // what stands elsewhere
        const std::size_t from = below(draw, input.size());
        put_number(input, at, width, number_at(input, from, width));
        break;
      }
      case 3:  // where another structure lies
        put_number(input, at, 8, places[below(draw, places.size())].at);
        break;
      default:
        put_number(input, at, width, hot_number(draw, width, input.size()));
    }
    if (checksum > 0) {
      put_number(input, checksum, 4, lookup3(&input[place.at], checksum - place.at));
    }
  }
  return input;
}

}  // namespace assay::fuzz
