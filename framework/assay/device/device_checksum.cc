#include "assay/device/device_checksum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "assay/abft/a_abft.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/v_abft.h"
#include "assay/base/text.h"
#include "assay/device/checksum_kernel.h"
#include "assay/device/kernel_format.h"
#include "assay/device/kernel_text.h"
#include "assay/machine/unit_bound.h"

namespace assay::inline v0_2 {
namespace {

using device::CheckCall;
using device::CheckNumbers;
using device::MatrixPlace;
using device::ProductRule;
using device::ProductSpec;
using device::ProductTotals;
using device::Side;
using device::SumsCall;

std::int64_t from_end(const std::vector<std::int64_t>& of, std::size_t back) {
  return of[of.size() - back];
}

// Returns the sizes and strides of a tensor's dimensions before its matrices, outermost first, with
// as few dimensions as hold them.
struct Dimension {
  std::int64_t size, stride;
};
std::vector<Dimension> batch_of(const TensorView& v) {
  std::vector<Dimension> dims;
  for (std::size_t d = 0; d + 2 < v.shape.size(); ++d) {
    if (v.shape[d] == 1) continue;
    if (!dims.empty() && dims.back().stride == v.strides[d] * v.shape[d]) {
      dims.back() = {dims.back().size * v.shape[d], v.strides[d]};
    } else {
      dims.push_back({v.shape[d], v.strides[d]});
    }
  }
  return dims;
}
std::int64_t matrices_of(const TensorView& v) {
  std::int64_t count = 1;
  for (const Dimension& d : batch_of(v)) count *= d.size;
  return count;
}

// The blocks of threads across the columns of a matrix whose columns are contiguous.
std::int64_t column_blocks(std::int64_t rows, std::int64_t step) {
  constexpr std::int64_t kGroups = device::kProductThreads / device::kRowLanes;
  return ((rows + step - 1) / step + kGroups - 1) / kGroups;
}

// The place of the rows of a tensor's matrices, and the way in which kernels go through them.
struct Layout {
  SumsCall call{};
  bool by_columns = false;  // columns are contiguous, and rows are not
  std::int64_t align = 1;   // bytes of a load
};

// Sets the order in which the sums of a tensor's rows are stored.
void set_order(Layout& layout, int lanes, int step) {
  const std::int64_t block = std::int64_t{lanes} * step;
  layout.call.order = {lanes, step, (layout.call.rows + block - 1) / block * block};
}

// Returns an empty text, or why the kernels cannot read a tensor's matrices.
std::string why_not_layout(const DeviceView& v, const char* what) {
  if (v.layout.rank() < 2) return formatted("{} has fewer than two dimensions", what);
  if (batch_of(v.layout).size() > 2)
    return formatted("the matrices of {} are not at regular distances", what);
  const std::int64_t rows = from_end(v.layout.shape, 2), columns = from_end(v.layout.shape, 1);
  const std::int64_t row = from_end(v.layout.strides, 2), column = from_end(v.layout.strides, 1);
  const bool by_rows = column == 1 || columns == 1, by_columns = row == 1 || rows == 1;
  if (!by_rows && !by_columns)
    return formatted("neither rows nor columns of {} are contiguous", what);
  return row < 0 || column < 0 ? formatted("{} has negative strides", what) : "";
}

Layout layout_of(const TensorView& v) {
  Layout layout;
  SumsCall& call = layout.call;
  const std::vector<Dimension> batch = batch_of(v);
  MatrixPlace& place = call.from;
  call.matrices = matrices_of(v);
  place.inner = batch.size() == 2 ? static_cast<device::U32>(batch[1].size) : 1;
  place.outer_stride = batch.empty() ? 0 : batch[0].stride;
  place.inner_stride = batch.size() == 2 ? batch[1].stride : 0;
  call.rows = from_end(v.shape, 2);
  call.length = from_end(v.shape, 1);
  const std::int64_t row = from_end(v.strides, 2), column = from_end(v.strides, 1);
  layout.by_columns = column != 1 && call.length > 1;
  place.stride = layout.by_columns ? column : row;
  const device::ElementFormat f = device::element_format(*v.format);
  const std::int64_t step = layout.by_columns ? device::column_step(f) : device::row_step(f);
  layout.align = step * f.bytes;
  call.packed =
      place.stride % step == 0 && place.outer_stride % step == 0 && place.inner_stride % step == 0;
  constexpr int kMostLanes = 32;
  call.lanes = 1;
  while (call.lanes < device::kCheckedAtOnce ||
         (call.lanes < kMostLanes && call.lanes * step < call.length)) {
    call.lanes *= 2;
  }
  // Enough slabs to give a large device work, few enough for their sums to be 1 % of the matrix.
  constexpr std::int64_t kBlocksWanted = 512, kMostSlabs = 16, kLeastLength = 64;
  const std::int64_t blocks = column_blocks(call.rows, step) * call.matrices;
  call.slabs = static_cast<int>(std::clamp<std::int64_t>(
      std::min<std::int64_t>(kBlocksWanted / std::max<std::int64_t>(blocks, 1),
                             call.length / kLeastLength),
      1, kMostSlabs));
  return layout;
}

// Returns true if every row, or every column, of a matrix at this address begins at a multiple of a
// load's size.
bool is_packed(const Layout& layout, const void* data) {
  return layout.call.packed &&
         reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(layout.align) == 0;
}
double* doubles(const std::unique_ptr<DeviceArray>& memory) {
  return memory != nullptr ? static_cast<double*>(memory->data()) : nullptr;
}

bool is_exact(const DeviceProduct& product) { return !product.c.layout.format->is_float(); }

ProductRule rule_of(const DeviceProduct& product, const AbftOptions& options) {
  if (is_exact(product)) return ProductRule::kExact;
  const std::string_view name = options.spec.threshold->name;
  return name == "v_abft"   ? ProductRule::kVAbft
         : name == "a_abft" ? ProductRule::kAAbft
                            : ProductRule::kVariance;
}

std::string source_of(const ProductSpec& s) {
  std::string text = formatted(
      "{}\nusing namespace assay::device;\nconstexpr ProductSpec spec = {{{}, {}, {}, {}, "
      "static_cast<ProductRule>({}), {}, {}}};\n",
      device::kChecksumText, device::text_of(s.a), device::text_of(s.b), device::text_of(s.c),
      device::text_of(s.bias), static_cast<int>(s.rule), s.own, s.truncates);
  // A multiprocessor holds two blocks of threads, which limits the registers of each thread.
  const auto add = [&](std::string_view name, std::string_view call, std::string_view body) {
    text += formatted(
        "extern \"C\" __global__ void __launch_bounds__(kProductThreads, 2)\n"
        "{}(const {} call) {{\n  {}\n}}\n",
        name, call, body);
  };
  for (const auto& [side, name] : {std::pair("kA", "a"), std::pair("kB", "b")}) {
    for (const char* const what : {"sum_rows", "sum_columns", "join_slabs"}) {
      add(formatted("{}_{}", what, name), "SumsCall",
          formatted("{}(spec, Side::{}, call, blockIdx.x, threadIdx.x);", what, side));
    }
  }
  add("sum_rows_bias", "SumsCall", "sum_rows(spec, Side::kBias, call, blockIdx.x, threadIdx.x);");
  if (s.rule == ProductRule::kVAbft || s.rule == ProductRule::kAAbft) {
    add("sum_totals_b", "TotalsCall",
        "sum_totals(spec, call.sums, call.to, blockIdx.x, threadIdx.x);");
  }
  add("check_rows_c", "CheckCall", "check_rows(spec, call, blockIdx.x, threadIdx.x);");
  return text;
}

using OnHost = void (*)(const void* spec, const void* call, std::uint64_t block,
                        std::uint32_t thread, std::uint32_t threads);
template <Side kSide, auto kBody>
void on_host(const void* spec, const void* call, std::uint64_t block, std::uint32_t thread,
             std::uint32_t) {
  kBody(*static_cast<const ProductSpec*>(spec), kSide, *static_cast<const SumsCall*>(call), block,
        thread);
}
void totals_on_host(const void* spec, const void* call, std::uint64_t block, std::uint32_t thread,
                    std::uint32_t) {
  const auto& totals = *static_cast<const device::TotalsCall*>(call);
  sum_totals(*static_cast<const ProductSpec*>(spec), totals.sums, totals.to, block, thread);
}
void check_on_host(const void* spec, const void* call, std::uint64_t block, std::uint32_t thread,
                   std::uint32_t) {
  check_rows(*static_cast<const ProductSpec*>(spec), *static_cast<const CheckCall*>(call), block,
             thread);
}

std::uint64_t blocks_of(std::int64_t threads) {
  return static_cast<std::uint64_t>((threads + device::kProductThreads - 1) /
                                    device::kProductThreads);
}

}  // namespace

FindingsArray::FindingsArray(const DeviceView& beside, std::int64_t count)
    : count_(count),
      beside_(beside),
      memory_(beside, static_cast<std::size_t>(count) * sizeof(device::ChecksumFindings)) {}

void* FindingsArray::at(std::int64_t index) const {
  return static_cast<device::ChecksumFindings*>(memory_.data()) + index;
}

std::vector<ChecksumFindings> FindingsArray::fetch() const {
  std::vector<device::ChecksumFindings> found(static_cast<std::size_t>(count_));
  beside_.memory->copy_to_host(beside_.device, found.data(), memory_.data(),
                               found.size() * sizeof(device::ChecksumFindings), beside_.stream);
  std::vector<ChecksumFindings> all;
  for (const device::ChecksumFindings& f : found) {
    all.push_back({.flagged = static_cast<std::int64_t>(f.flagged),
                   .not_checkable = static_cast<std::int64_t>(f.not_checkable),
                   .worst_ratio = device::as_double(f.worst),
                   .first_call = f.first_call,
                   .first_matrix = f.first_matrix,
                   .first_row = f.first_row,
                   .first_difference = f.first_difference,
                   .first_threshold = f.first_threshold});
  }
  return all;
}

std::string why_not_on_device(const DeviceProduct& product, const AbftOptions& options) {
  const TensorView &a = product.a.layout, &b = product.b.layout, &c = product.c.layout;
  for (const auto& [view, what] : {std::pair(&product.a, "a"), std::pair(&product.b, "b"),
                                   std::pair(&product.c, "the output")}) {
    if (std::string why = why_not_layout(*view, what); !why.empty()) return why;
    const Format& f = *view->layout.format;
    if (!device::kernel_reads(f) && !device::kernel_reads_integers(f)) {
      return formatted("no kernel reads {}", f.name);
    }
    if (view->memory != product.a.memory || view->device != product.a.device) {
      return formatted("{} is on {}", what, view->place());
    }
  }
  const std::int64_t m = from_end(a.shape, 2), k = from_end(a.shape, 1), n = from_end(b.shape, 1);
  if (from_end(b.shape, 2) != k || from_end(c.shape, 2) != m || from_end(c.shape, 1) != n ||
      matrices_of(c) != matrices_of(a) ||
      (matrices_of(b) != 1 && matrices_of(b) != matrices_of(a))) {
    return formatted("{} and {} do not give {}", shape_text(a.shape), shape_text(b.shape),
                     shape_text(c.shape));
  }
  if (c.size() == 0 || k == 0) return "there are no elements to check";
  constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
  if (matrices_of(c) * std::max(m, k) > kMostRows) return "there are too many rows";
  if (from_end(c.strides, 1) != 1 && n > 1) return "the rows of the output are not contiguous";
  if (product.bias) {
    const TensorView& bias = product.bias->layout;
    if (bias.shape != Shape{n})
      return formatted("the bias has the shape {}", shape_text(bias.shape));
    if (!bias.is_contiguous()) return "the bias is not contiguous";
    if (!device::kernel_reads(*bias.format))
      return formatted("no kernel reads a bias of {}", bias.format->name);
  }
  const ThresholdSpec& spec = options.spec;
  const std::string_view name = spec.threshold->name;
  if (name != "rounding_variance" && name != "v_abft" && name != "a_abft") {
    return formatted("no kernel computes the threshold {}", name);
  }
  if (spec.group_width() != 0) return "kernels check whole rows only (groups=0)";
  if (spec.columns) return "kernels check rows only (columns=0)";
  // A threshold that confirms by default does not here, as the header says.
  if (spec.confirm && !spec.threshold->confirms) return "kernels confirm no checks (confirm=0)";
  if (spec.arithmetic != abft::Arithmetic::kFloat64) return "kernels sum in float64 only";
  if (spec.sampled() || spec.raise != 1 || spec.sigma != abft::Spread::kBound ||
      abft::variant_of(spec).reads_products) {
    return formatted("no kernel computes the threshold {}", spec.text());
  }
  if (!a.format->is_float() && !is_exact(product))
    return "the operands are integers and the output is not";
  abft::CheckedProduct checked;
  checked.options = options;
  checked.input_a = a.format;
  checked.input_b = b.format;
  checked.m = m;
  checked.n = n;
  checked.k = k;
  if (std::string why = checked.why_not(*c.format); !why.empty()) return why;
  if (is_exact(product)) {
    // Sums are exact in float64 up to 2^53.
    constexpr double kMost = 0x1p53;
    const double each = std::ldexp(1.0, a.format->bits + b.format->bits - 2);
    if (!checked.integer_product(*c.format) || product.bias)
      return "integers are checked without a bias and without floats";
    if (each * static_cast<double>(k) * static_cast<double>(n) >= kMost ||
        std::ldexp(static_cast<double>(n), c.format->bits) >= kMost) {
      return "sums of such integers may not be exact in float64";
    }
    return "";
  }
  if (Accumulation(options.model, k).flushes_inputs()) {
    return "the machine flushes subnormal inputs";
  }
  return "";
}

struct DeviceChecksum::Impl {
  DeviceProduct like;
  ProductSpec spec{};
  CheckNumbers numbers{};
  std::int64_t depth = 0;
  Layout a, b, c, bias;
  // The kernels of a side: `rows` if its rows are contiguous, and the others if its columns are.
  struct SumKernels {
    const void* rows = nullptr;
    const void* columns = nullptr;
    const void* join = nullptr;
  };
  SumKernels kernels_a, kernels_b, kernels_bias;
  const void* sum_totals = nullptr;
  const void* check = nullptr;
  std::unique_ptr<DeviceArray> sums_of_a, slabs_of_a;

  const DeviceMemory& memory() const { return *like.c.memory; }
  void launch(const void* kernel, std::int64_t threads, const void* call) const {
    memory().launch(like.c.device, kernel, blocks_of(threads), device::kProductThreads, call,
                    like.c.stream);
  }
  std::size_t bytes_of(const Layout& layout, Side side) const {
    return static_cast<std::size_t>(layout.call.matrices * sums_of(spec, side) *
                                    layout.call.order.stride) *
           sizeof(double);
  }
  // Returns the rows that lanes check one after the other. They are at most as many as the lanes, a
  // multiple of those that are read at once, and so many that the last threads of a large device
  // end with the others.
  int rows_each() const {
    constexpr std::int64_t kLanesOfDevice = 67584;  // of one with 132 multiprocessors
    const std::int64_t lanes = c.call.matrices * c.call.rows * c.call.lanes;
    const std::int64_t most = c.call.lanes;
    const std::int64_t rounds = (lanes + kLanesOfDevice * most - 1) / (kLanesOfDevice * most);
    const std::int64_t wanted = (lanes + kLanesOfDevice * rounds - 1) / (kLanesOfDevice * rounds);
    constexpr std::int64_t kStep = device::kCheckedAtOnce;
    return static_cast<int>(std::clamp((wanted + kStep - 1) / kStep * kStep, kStep, most));
  }
  template <Side kSide, typename Load>
  static SumKernels load_side(const Load& load, const std::string& name) {
    return {load("sum_rows_" + name, on_host<kSide, device::sum_rows>),
            load("sum_columns_" + name, on_host<kSide, device::sum_columns>),
            load("join_slabs_" + name, on_host<kSide, device::join_slabs>)};
  }
  const SumKernels& kernels_of(Side side) const {
    return side == Side::kA ? kernels_a : side == Side::kB ? kernels_b : kernels_bias;
  }
  // Returns memory for the slabs of a side whose columns are contiguous, and null for others.
  std::unique_ptr<DeviceArray> slabs_of(const Layout& layout, Side side) const {
    if (!layout.by_columns) return nullptr;
    return std::make_unique<DeviceArray>(
        like.c, bytes_of(layout, side) * static_cast<std::size_t>(layout.call.slabs), false);
  }
  // Starts the sums of a matrix. `slabs` is memory for those of a matrix whose columns are
  // contiguous.
  void sum(const Layout& layout, Side side, const void* data, double* to, double* slabs,
           const double* by) const;
};

void DeviceChecksum::Impl::sum(const Layout& layout, Side side, const void* data, double* to,
                               double* slabs, const double* by) const {
  SumsCall call = layout.call;
  call.from.data = data;
  call.packed = is_packed(layout, data);
  call.by = by;
  call.by_matrices = b.call.matrices;
  call.by_order = b.call.order;
  call.accumulation = numbers.accumulation;
  const SumKernels& kernels = kernels_of(side);
  if (!layout.by_columns) {
    call.to = to;
    const std::int64_t groups = (call.rows + device::kRowsAtOnce - 1) / device::kRowsAtOnce;
    launch(kernels.rows, call.matrices * groups * call.lanes, &call);
    return;
  }
  const std::int64_t across = column_blocks(call.rows, device::column_step(format_of(spec, side)));
  call.to = slabs;
  launch(kernels.columns, call.matrices * across * call.slabs * device::kProductThreads, &call);
  call.to = to;
  call.parts = slabs;
  launch(kernels.join, call.matrices * call.rows, &call);
}

class DeviceChecksum::Weights {
 public:
  Weights(const Impl& of, const void* b, const void* bias)
      : sums_(of.like.c, of.bytes_of(of.b, Side::kB), false),
        bias_(of.like.c, sizeof(device::Sums), false) {
    const std::unique_ptr<DeviceArray> slabs = of.slabs_of(of.b, Side::kB);
    double* const to = static_cast<double*>(sums_.data());
    of.sum(of.b, Side::kB, b, to, doubles(slabs), nullptr);
    if (of.sum_totals != nullptr) {
      totals_.emplace(of.like.c,
                      static_cast<std::size_t>(of.b.call.matrices) * sizeof(ProductTotals), false);
      device::TotalsCall call{of.b.call, static_cast<ProductTotals*>(totals_->data())};
      call.sums.to = to;
      of.launch(of.sum_totals, of.b.call.matrices * device::kProductThreads, &call);
    }
    has_bias_ = of.like.bias.has_value();
    if (has_bias_) {
      of.sum(of.bias, Side::kBias, bias, static_cast<double*>(bias_.data()), nullptr, nullptr);
    }
  }
  const double* sums() const { return static_cast<const double*>(sums_.data()); }
  const double* bias() const {
    return has_bias_ ? static_cast<const double*>(bias_.data()) : nullptr;
  }
  const ProductTotals* totals() const {
    return totals_ ? static_cast<const ProductTotals*>(totals_->data()) : nullptr;
  }

 private:
  DeviceArray sums_, bias_;
  std::optional<DeviceArray> totals_;
  bool has_bias_ = false;
};

DeviceChecksum::DeviceChecksum(const DeviceProduct& like, const AbftOptions& options)
    : impl_(std::make_unique<Impl>()) {
  if (const std::string why = why_not_on_device(like, options); !why.empty()) {
    refuse("the product cannot be checked in the memory of {}: {}", like.c.place(), why);
  }
  Impl& of = *impl_;
  of.like = like;
  const Format& output = *like.c.layout.format;
  of.a = layout_of(like.a.layout);
  of.b = layout_of(like.b.layout);
  of.c = layout_of(like.c.layout);
  of.depth = of.a.call.length;
  set_order(of.a, 1, 2);
  of.c.call.order = of.a.call.order;
  if (of.a.by_columns) {
    set_order(of.b, 1, 2);
  } else {
    set_order(of.b, of.a.call.lanes,
              device::row_step(device::element_format(*like.a.layout.format)));
  }
  const Accumulation accumulation(options.model, of.depth);
  of.spec.a = device::element_format(*like.a.layout.format);
  of.spec.b = device::element_format(*like.b.layout.format);
  of.spec.c = device::element_format(output);
  of.spec.bias = of.spec.c;
  of.spec.rule = rule_of(like, options);
  of.spec.own = abft::is_own_accumulation(output);
  of.spec.truncates = of.spec.rule == ProductRule::kVariance && accumulation.truncates();
  if (like.bias) {
    TensorView row = like.bias->layout;
    row.shape = {1, row.shape[0]};
    row.strides = {row.shape[1], 1};
    of.bias = layout_of(row);
    set_order(of.bias, 1, 1);
    of.spec.bias = device::element_format(*row.format);
  }
  CheckNumbers& numbers = of.numbers;
  numbers.accumulation = accumulation.terms();
  numbers.mantissa = output.is_float() ? output.mantissa_bits() : 0;
  numbers.variance = {
      .kappa = options.spec.kappa.value_or(abft::kappa_for(checks(), options.spec.delta)),
      .own = of.spec.own,
      .coarse = options.spec.coarse};
  numbers.least_s = device::least_s(1, numbers.variance.kappa, options.spec.coarse);
  if (of.spec.rule == ProductRule::kVAbft) {
    const abft::VAbftConstants by =
        abft::v_abft_constants(options.spec, output, of.depth, like.a.layout.format);
    numbers.e_max = by.e_max;
    numbers.c = by.c;
  }
  if (of.spec.rule == ProductRule::kAAbft) {
    const abft::AAbftFactors by = abft::a_abft_factors(output, of.c.call.length, of.depth);
    numbers.per_largest = by.per_largest;
    numbers.per_weighted = by.per_weighted;
    numbers.per_product = by.per_product;
  }
  const auto spec = std::make_shared<ProductSpec>(of.spec);
  const std::string source = source_of(of.spec);
  const auto load = [&](const std::string& name, OnHost on_host) {
    return of.memory().load(like.c.device, {source, name, on_host, spec});
  };
  of.kernels_a = Impl::load_side<Side::kA>(load, "a");
  of.kernels_b = Impl::load_side<Side::kB>(load, "b");
  if (like.bias)
    of.kernels_bias.rows = load("sum_rows_bias", on_host<Side::kBias, device::sum_rows>);
  if (of.spec.rule == ProductRule::kVAbft || of.spec.rule == ProductRule::kAAbft) {
    of.sum_totals = load("sum_totals_b", totals_on_host);
  }
  of.check = load("check_rows_c", check_on_host);
  of.sums_of_a = std::make_unique<DeviceArray>(like.c, of.bytes_of(of.a, Side::kA), false);
  of.slabs_of_a = of.slabs_of(of.a, Side::kA);
}
DeviceChecksum::~DeviceChecksum() = default;

std::shared_ptr<const DeviceChecksum::Weights> DeviceChecksum::weights(const void* b,
                                                                       const void* bias) const {
  return std::make_shared<const Weights>(*impl_, b, bias);
}

void DeviceChecksum::start(const void* a, const Weights& weights, const void* c,
                           std::uint64_t number, void* to) const {
  const Impl& of = *impl_;
  double* const sums = doubles(of.sums_of_a);
  of.sum(of.a, Side::kA, a, sums, doubles(of.slabs_of_a), weights.sums());
  CheckCall call{.c = of.c.call,
                 .depth = of.depth,
                 .a = sums,
                 .totals = weights.totals(),
                 .totals_matrices = of.b.call.matrices,
                 .bias = weights.bias(),
                 .numbers = of.numbers,
                 .rows_each = of.rows_each(),
                 .number = number,
                 .findings = static_cast<device::ChecksumFindings*>(to)};
  call.c.from.data = c;
  call.c.packed = is_packed(of.c, c);
  const std::int64_t groups = (call.c.rows + call.rows_each - 1) / call.rows_each;
  of.launch(of.check, call.c.matrices * groups * call.c.lanes, &call);
}

std::int64_t DeviceChecksum::checks() const {
  const Impl& of = *impl_;
  return of.c.call.matrices * of.c.call.rows;
}

}  // namespace assay
