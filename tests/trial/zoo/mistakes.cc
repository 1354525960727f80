#include "trial/zoo/mistakes.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

namespace assay::zoo {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Function reads(const std::string& op, std::function<void(Inputs&)> change) {
  return right([compute = right_compute(op), change = std::move(change)](const Inputs& in) {
    Inputs changed = in;
    change(changed);
    return compute(changed);
  });
}

Function returns(const std::string& op, std::function<void(Values&, const Inputs&)> change) {
  return right([compute = right_compute(op), change = std::move(change)](const Inputs& in) {
    Values values = compute(in);
    change(values, in);
    return values;
  });
}

Function reads_each(const std::string& op, std::function<double(double)> change) {
  return reads(op, [change = std::move(change)](Inputs& in) {
    for (auto& [name, array] : in.arrays) {
      for (double& value : array.values) value = change(value);
    }
  });
}

Function returns_each(const std::string& op, std::function<double(double)> change) {
  return returns(op, [change = std::move(change)](Values& values, const Inputs&) {
    for (double& value : values) value = change(value);
  });
}

Function encodes(const std::string& op, const Encoding& encoding) {
  return [compute = right_compute(op), encoding](const KernelCall& call) {
    write(call.output, compute(inputs_of(call)), encoding);
  };
}

Function rounds_first(const std::string& op, const std::string& format) {
  return returns_each(op, [&f = format_named(format)](double v) { return round_to(f, v); });
}

Function leaves(Compute compute, std::function<bool(std::int64_t, std::int64_t)> leaves) {
  return [compute = std::move(compute), leaves = std::move(leaves)](const KernelCall& call) {
    const Values values = compute(inputs_of(call));
    Tensor dense = copy_of(call.output);
    for (std::int64_t i = 0; i < dense.size(); ++i) {
      if (!leaves(i, dense.size()))
        dense.set_bits(i, encode(*call.output.format, values[index(i)]));
    }
    copy_elements(dense, call.output);
  };
}
Function leaves(const std::string& op, std::function<bool(std::int64_t, std::int64_t)> which) {
  return leaves(right_compute(op), std::move(which));
}

Function then(const std::string& op, std::function<void(const KernelCall&)> after) {
  return [kernel = right(right_compute(op)), after = std::move(after)](const KernelCall& call) {
    kernel(call);
    after(call);
  };
}

Function first(const std::string& op, std::function<void(const KernelCall&)> before) {
  return [kernel = right(right_compute(op)), before = std::move(before)](const KernelCall& call) {
    before(call);
    kernel(call);
  };
}

Function cached(const std::string& op, std::function<std::string(const KernelCall&)> key) {
  auto results = std::make_shared<std::map<std::string, Values>>();
  return [compute = right_compute(op), key = std::move(key), results](const KernelCall& call) {
    const auto [at, is_new] = results->try_emplace(key(call));
    if (is_new) at->second = compute(inputs_of(call));
    write(call.output, at->second);
  };
}

std::string key_of_pointers(const KernelCall& call) {
  std::string key = key_of_shapes(call);
  for (const auto& [name, view] : call.inputs) {
    key += std::to_string(reinterpret_cast<std::uintptr_t>(view.data)) + ' ';
  }
  return key;
}

std::string key_of_shapes(const KernelCall& call) {
  std::string key(call.output.format->name);
  for (const std::int64_t extent : call.output.shape) key += ' ' + std::to_string(extent);
  for (const auto& [name, view] : call.inputs) {
    key += ' ' + name;
    for (const std::int64_t extent : view.shape) key += ' ' + std::to_string(extent);
  }
  for (const auto& [name, value] : call.test_case.attributes) {
    if (name == "seed" || name == "why" || name == "distribution") continue;
    key += ' ' + name + attribute_text(value);
  }
  return key;
}

Function ignores_strides_of(const std::string& op, const std::string& input) {
  return [kernel = right(right_compute(op)), input](const KernelCall& call) {
    KernelCall other = call;
    TensorView& view = other.inputs.at(input);
    view.strides = contiguous_strides(view.shape);
    kernel(other);
  };
}

Function ignores_output_strides(const std::string& op) {
  return [kernel = right(right_compute(op))](const KernelCall& call) {
    KernelCall other = call;
    other.output.strides = contiguous_strides(call.output.shape);
    kernel(other);
  };
}

Function index_overflows(const std::string& op) {
  return returns(op, [](Values& values, const Inputs&) {
    const Values right = values;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      const auto wrapped = static_cast<std::int16_t>(i);
      if (wrapped != i)
        values[index(i)] = right[index(std::abs(std::int64_t{wrapped})) % right.size()];
    }
  });
}

Function returns_shape(const std::string& op, std::function<Shape(Shape)> change) {
  return [compute = right_compute(op), change = std::move(change)](const KernelCall& call) {
    Tensor tensor(*call.output.format, change(call.output.shape));
    std::memset(tensor.bytes(), 0, tensor.byte_count());
    const Values values = compute(inputs_of(call));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(tensor.size(), std::ssize(values)); ++i) {
      tensor.set_bits(i, encode(tensor.format(), values[index(i)]));
    }
    copy_elements(tensor, call.output);
  };
}

Function returns_dtype(const std::string& op, const std::string& dtype) {
  return [compute = right_compute(op), dtype](const KernelCall& call) {
    copy_elements(
        Tensor::from_values(format_named(dtype), call.output.shape, compute(inputs_of(call))),
        call.output);
  };
}

Function accumulates(const std::string& op) {
  return [compute = right_compute(op)](const KernelCall& call) {
    Values values = compute(inputs_of(call));
    const Values held = call.output.view().values();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += held[i];
    write(call.output, values);
  };
}

Function races(const std::string& op, double often) {
  auto random = std::make_shared<std::mt19937>(7);
  return returns(op, [random, often](Values& values, const Inputs&) {
    if (values.empty() || std::generate_canonical<double, 32>(*random) > often) return;
    double& lost = values[(*random)() % values.size()];
    lost = lost == 0 ? 1 : lost / 2;
  });
}

std::function<bool(std::int64_t, std::int64_t)> from(std::int64_t limit) {
  return [limit](std::int64_t i, std::int64_t) { return i >= limit; };
}
bool is_odd_last(std::int64_t i, std::int64_t size) { return size % 2 == 1 && i == size - 1; }

void write_before(const KernelCall& call) { call.output.data[-1] = std::byte{1}; }
void write_after(const KernelCall& call) {
  std::int64_t last = 1;
  for (std::size_t d = 0; d < call.output.shape.size(); ++d) {
    last += (call.output.shape[d] - 1) * call.output.strides[d];
  }
  if (call.output.size() == 0) last = 0;
  call.output.data[last * call.output.format->storage_bytes] = std::byte{1};
}
void write_gaps(const KernelCall& call) {
  const std::size_t rank = call.output.shape.size();
  if (rank < 2 || call.output.size() == 0) return;
  const std::int64_t columns = call.output.shape[rank - 1];
  if (call.output.strides[rank - 1] != 1 || call.output.strides[rank - 2] <= columns) return;
  call.output.data[columns * call.output.format->storage_bytes] = std::byte{1};
}

std::function<void(const KernelCall&)> clears(const std::string& input) {
  return [input](const KernelCall& call) {
    const TensorView& view = call.input(input);
    if (view.size() == 0) return;
    std::memset(const_cast<std::byte*>(view.data), 0, index(view.format->storage_bytes));
  };
}

double without_subnormals(double value) {
  return std::abs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

}  // namespace assay::zoo
