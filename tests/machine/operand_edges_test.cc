// Tests that products read and write nothing behind their operands. Each operand ends before a page
// that may not be accessed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

// An array that ends exactly before a page that may not be accessed.
template <typename T>
class EndOfPage {
 public:
  explicit EndOfPage(const std::vector<T>& values) : count_(values.size()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count_ * sizeof(T), whole = (bytes + page - 1) / page * page;
    size_ = whole + page;
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory");
    auto* end = static_cast<std::byte*>(memory_) + whole;
    if (mprotect(end, page, PROT_NONE) != 0) throw std::runtime_error("the page stays open");
    data_ = reinterpret_cast<T*>(end - bytes);
    std::copy(values.begin(), values.end(), data_);
  }
  ~EndOfPage() { munmap(memory_, size_); }
  EndOfPage(const EndOfPage&) = delete;
  EndOfPage& operator=(const EndOfPage&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  std::size_t count_, size_ = 0;
  void* memory_ = nullptr;
  T* data_ = nullptr;
};

struct Sizes {
  std::int64_t m, n, k;
};
// Sizes of products: one element, less than a tile, whole tiles of some targets, and one more than
// that in every dimension.
constexpr Sizes kSizes[] = {{1, 1, 1},   {1, 9, 5},    {7, 1, 130},  {8, 16, 8},
                            {13, 37, 9}, {25, 17, 70}, {49, 33, 129}};

std::vector<double> small_numbers(std::int64_t count) {
  std::vector<double> values(at(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 3) - 1;
  return values;
}

// Returns sums of whole numbers, which are exact in any order.
std::vector<double> whole_sums(const Sizes& s, const std::vector<double>& a,
                               const std::vector<double>& b) {
  std::vector<double> sums(at(s.m * s.n), 1.0);
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t k = 0; k < s.k; ++k) {
        sums[at(i * s.n + j)] += a[at(i * s.k + k)] * b[at(k * s.n + j)];
      }
    }
  }
  return sums;
}

TEST(OperandEdges, OfTheReferenceProduct) {
  for (const Sizes& s : kSizes) {
    const std::vector<double> a = small_numbers(s.m * s.k), b = small_numbers(s.k * s.n);
    const std::vector<double> wanted = whole_sums(s, a, b);
    const EndOfPage<double> of_a(a), of_b(b);
    for (const std::string& target : simd::available_targets()) {
      simd::force_target(target);
      const EndOfPage<double> c(std::vector<double>(wanted.size(), 1.0));
      exact_matmul(s.m, s.n, s.k, of_a.data(), of_b.data(), c.data(), 1);
      EXPECT_EQ(c.values(), wanted) << target << " " << s.m;
    }
    simd::force_target("");
  }
}

// Takes each kind of path through the engine: chains, exact chunks, aligned sums and the oracle.
TEST(OperandEdges, OfTheEngine) {
  const std::array<std::array<const char*, 2>, 6> units = {{{"cpu_fma", "float32"},
                                                            {"cpu_mul_add", "float32"},
                                                            {"ascend910b", "float16"},
                                                            {"ascend910b", "float32"},
                                                            {"hopper", "float16"},
                                                            {"cdna3", "bfloat16"}}};
  for (const auto& unit : units) {
    const DotModel& model = dot_model(machine_named(unit[0]), format_named(unit[1]));
    for (const Sizes& s : kSizes) {
      const std::vector<double> a = small_numbers(s.m * s.k), b = small_numbers(s.k * s.n);
      const std::vector<double> sums = whole_sums(s, a, b);
      const std::vector<float> wanted(sums.begin(), sums.end());
      const EndOfPage<double> of_a(a), of_b(b), of_rows(small_numbers(s.m * s.k));
      for (const std::string& target : simd::available_targets()) {
        simd::force_target(target);
        const EndOfPage<float> c(std::vector<float>(wanted.size(), 1.0f));
        dot_matmul(model, s.m, s.n, s.k, of_a.data(), of_b.data(), c.data(), 1);
        EXPECT_EQ(c.values(), wanted) << unit[0] << " " << unit[1] << " " << target << " " << s.m;
        const EndOfPage<double> row_sums(std::vector<double>(at(s.m), 1.0));
        dot_rows(model, s.m, s.k, of_a.data(), of_rows.data(), row_sums.data());
        for (std::int64_t i = 0; i < s.m; ++i) {
          double sum = 1;
          for (std::int64_t k = 0; k < s.k; ++k) sum += a[at(i * s.k + k)] * a[at(i * s.k + k)];
          EXPECT_EQ(row_sums.data()[i], sum) << unit[0] << " " << target;
        }
      }
      simd::force_target("");
    }
  }
}

}  // namespace
}  // namespace assay
