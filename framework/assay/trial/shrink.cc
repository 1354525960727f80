#include "assay/trial/shrink.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/op/parameter.h"
#include "assay/trial/dimensions.h"

namespace assay::inline v0_2::trial {
namespace {

class Shrinker {
 public:
  Shrinker(Subject failing, const StillFails& fails, Remake remake, std::int64_t most,
           const std::function<bool()>& is_late)
      : best_(std::move(failing)),
        fails_(fails),
        remake_(std::move(remake)),
        most_(most),
        is_late_(is_late) {}

  Shrunk run() {
    bool changed = true;
    (void)layouts();
    (void)attributes();
    if (remake_.make && dimensions_of(best_.test_case).empty()) (void)remade_sizes();
    // If one value is enough, the sizes need fewer tries.
    (void)one_value();
    while (changed && !is_over()) {
      changed = false;
      changed |= layouts();
      changed |= attributes();
      changed |= sizes();
      changed |= values();
    }
    return {std::move(best_), tries_, !is_over()};
  }

 private:
  bool is_over() const { return tries_ >= most_ || (is_late_ && is_late_()); }

  // Takes a smaller input if it still fails.
  bool take(Subject smaller) {
    if (is_over()) return false;
    ++tries_;
    bool fails = false;
    try {
      fails = fails_(smaller);
    } catch (const Refusal&) {  // the operator does not take it
    }
    if (fails) best_ = std::move(smaller);
    return fails;
  }

  bool layouts() {
    bool changed = false;
    if (best_.inputs != Layout::kContiguous) {
      Subject simple = best_;
      simple.inputs = Layout::kContiguous;
      changed |= take(std::move(simple));
    }
    if (best_.output != Layout::kContiguous) {
      Subject simple = best_;
      simple.output = Layout::kContiguous;
      changed |= take(std::move(simple));
    }
    return changed;
  }

  bool attributes() {
    const Operator* op = find_operator(best_.test_case.op);
    bool changed = false;
    for (const Parameter& parameter : op->parameters) {
      if (parameter.needed || parameter.name == "output_dtype" ||
          best_.test_case.attributes.count(parameter.name) == 0) {
        continue;
      }
      Subject simple = best_;
      simple.test_case.attributes.erase(parameter.name);
      if (simple.decoy) simple.decoy->attributes.erase(parameter.name);
      changed |= take(std::move(simple));
    }
    for (const OperatorInput& input : op->inputs) {
      if (!input.optional || best_.test_case.inputs.count(input.name) == 0) continue;
      Subject simple = best_;
      simple.test_case.inputs.erase(input.name);
      if (simple.decoy) simple.decoy->inputs.erase(input.name);
      changed |= take(std::move(simple));
    }
    return changed;
  }

  Subject with_cut(const Dimension& dimension, std::int64_t begin, std::int64_t count) const {
    Subject smaller = best_;
    smaller.test_case = cut(best_.test_case, dimension, begin, count);
    if (best_.decoy) smaller.decoy = cut(*best_.decoy, dimension, begin, count);
    return smaller;
  }

  // Searches the smallest extent from 1 to `extent()` - 1 for which try_extent() succeeds: first 1,
  // then by halves, then one less, and at last every small extent, because a failure need not grow
  // with the size.
  template <typename Extent, typename Try>
  bool smallest(const Extent& extent, const Try& try_extent) {
    bool changed = extent() > 1 && try_extent(1);
    std::int64_t low = 1;  // extents up to `low` are known to pass
    while (extent() > low + 1 && !is_over()) {
      const std::int64_t middle = low + (extent() - low) / 2;
      if (try_extent(middle)) {
        changed = true;
      } else {
        low = middle;
      }
    }
    constexpr std::int64_t kFew = 24;
    for (std::int64_t small = 2; small < extent() && small <= kFew; ++small) {
      if (try_extent(small)) return true;
    }
    return changed;
  }

  // Makes the input again with smaller sizes.
  bool remade_sizes() {
    bool changed = false;
    for (std::size_t i = 0; i < remake_.sizes.size(); ++i) {
      changed |= smallest([&] { return remake_.sizes[i]; },
                          [&](std::int64_t extent) {
                            std::vector<std::int64_t> sizes = remake_.sizes;
                            sizes[i] = extent;
                            Subject smaller;
                            try {
                              smaller = remake_.make(sizes);
                            } catch (const Refusal&) {
                              return false;
                            }
                            if (!take(std::move(smaller))) return false;
                            remake_.sizes = std::move(sizes);
                            return true;
                          });
    }
    return changed;
  }

  // Cuts each dimension to the smallest extent that still fails, which keeps the first or the last
  // elements.
  bool sizes() {
    bool changed = false;
    const std::size_t count = dimensions_of(best_.test_case).size();
    for (std::size_t d = 0; d < count; ++d) {
      const auto dimension = [&] { return dimensions_of(best_.test_case)[d]; };
      changed |= smallest([&] { return dimension().extent; },
                          [&](std::int64_t extent) {
                            const Dimension now = dimension();
                            return take(with_cut(now, 0, extent)) ||
                                   take(with_cut(now, now.extent - extent, extent));
                          });
    }
    return changed;
  }

  Subject with_input(const std::string& name, Tensor tensor) const {
    Subject simple = best_;
    simple.test_case.inputs[name] = std::move(tensor);
    return simple;
  }

  static Tensor filled(const Tensor& like, double value) {
    Tensor tensor(like.format(), like.shape());
    const std::uint64_t bits = encode(like.format(), value);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, bits);
    return tensor;
  }

  static bool is_zero(const Tensor& tensor, std::int64_t i) {
    return decode(tensor.format(), tensor.bits_at(i)) == 0;
  }

  // Replaces whole inputs by 0 or by 1.
  bool one_value() {
    bool changed = false;
    for (const std::string& name : names()) changed |= one_value(name) == OneValue::kNow;
    return changed;
  }

  enum class OneValue : std::uint8_t { kNow, kAlready, kNot };
  OneValue one_value(const std::string& name) {
    for (const double value : {0.0, 1.0}) {
      const Tensor simple = filled(best_.test_case.input(name), value);
      if (same(simple, best_.test_case.input(name))) return OneValue::kAlready;
      if (take(with_input(name, simple))) return OneValue::kNow;
    }
    return OneValue::kNot;
  }

  // Returns the names of the inputs that have elements.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : best_.test_case.inputs) {
      if (tensor.size() > 0 && !tensor.format().is_complex()) all.push_back(name);
    }
    return all;
  }

  bool values() {
    bool changed = false;
    for (const std::string& name : names()) {
      const OneValue is = one_value(name);
      changed |= is == OneValue::kNow;
      changed |= zeros(name);  // also of an input of ones
      if (is == OneValue::kNot) changed |= simpler_values(name);
    }
    return changed;
  }

  static bool same(const Tensor& a, const Tensor& b) {
    for (std::int64_t i = 0; i < a.size(); ++i) {
      if (a.bits_at(i) != b.bits_at(i)) return false;
    }
    return true;
  }

  // Sets blocks of elements to 0, in halves and then in smaller blocks.
  bool zeros(const std::string& name) {
    bool changed = false;
    const std::int64_t size = best_.test_case.input(name).size();
    for (std::int64_t block = size; block >= 1 && !is_over(); block /= 2) {
      for (std::int64_t begin = 0; begin < size && !is_over(); begin += block) {
        Tensor tensor = best_.test_case.input(name);
        bool differs = false;
        for (std::int64_t i = begin; i < std::min(begin + block, size); ++i) {
          if (is_zero(tensor, i)) continue;
          tensor.set_bits(i, encode(tensor.format(), 0));
          differs = true;
        }
        if (differs) changed |= take(with_input(name, std::move(tensor)));
      }
    }
    return changed;
  }

  // Replaces the elements that are not 0 by 1, by a power of two or by a whole number.
  bool simpler_values(const std::string& name) {
    constexpr std::int64_t kMost = 256;
    bool changed = false;
    std::int64_t seen = 0;
    const std::int64_t size = best_.test_case.input(name).size();
    for (std::int64_t i = 0; i < size && seen < kMost && !is_over(); ++i) {
      const Tensor& now = best_.test_case.input(name);
      const double value = decode(now.format(), now.bits_at(i));
      if (value == 0 || value == 1) continue;
      ++seen;
      std::vector<double> candidates = {1};
      if (std::isfinite(value)) {
        if (value < 0) candidates.push_back(-1);
        if (std::abs(value) >= 1) candidates.push_back(std::trunc(value));
        candidates.push_back(std::copysign(std::exp2(std::ilogb(value)), value));
      }
      for (const double candidate : candidates) {
        if (candidate == value) break;
        Tensor tensor = now;
        tensor.set_bits(i, encode(tensor.format(), candidate));
        if (tensor.bits_at(i) == now.bits_at(i)) break;
        if (take(with_input(name, std::move(tensor)))) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  Subject best_;
  const StillFails& fails_;
  Remake remake_;
  std::int64_t most_, tries_ = 0;
  const std::function<bool()>& is_late_;
};

}  // namespace

Shrunk shrink(const Subject& failing, const StillFails& still_fails, Remake remake,
              std::int64_t most, const std::function<bool()>& is_late) {
  return Shrinker(failing, still_fails, std::move(remake), most, is_late).run();
}

}  // namespace assay::trial
