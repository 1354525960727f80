// Checks of Python libraries as targets of an audit.
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "audit_program.h"

namespace assay::inline v0_2::tools {
namespace {

constexpr Adapter kAdapters[] = {
    {"numpy.testing.assert_allclose",
     "float16 bfloat16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool"},
    {"torch.testing.assert_close",
     "float16 bfloat16 float32 float64 int8 uint8 int16 int32 int64 bool"},
};

// A Python program that runs the checks of NumPy and PyTorch by the batch protocol. It reads paths
// of .npy files. NumPy has no bfloat16, so its bits arrive as bytes of the same width.
constexpr std::string_view kProgram = R"python(import sys

import numpy


def read(path):
    array = numpy.load(path)
    if array.dtype.kind == "V":
        if array.dtype.itemsize != 2:
            raise TypeError(f"{path}: {array.dtype} is no dtype that is known here")
        return array.view(numpy.uint16), True
    return array, False


def widened(path):
    array, is_bfloat16 = read(path)
    return (array.astype(numpy.uint32) << 16).view(numpy.float32) if is_bfloat16 else array


def tensor(path):
    import torch
    array, is_bfloat16 = read(path)
    if is_bfloat16:
        return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def assert_allclose(actual, expected, options):
    numpy.testing.assert_allclose(widened(actual), widened(expected), **options)


def assert_close(actual, expected, options):
    import torch
    torch.testing.assert_close(tensor(actual), tensor(expected), **options)


CHECKS = {"numpy.testing.assert_allclose": assert_allclose,
          "torch.testing.assert_close": assert_close}


def main():
    check = CHECKS[sys.argv[1]]
    if check is assert_close:
        import torch  # where it is missing, nothing is answered
    options = {}
    for setting in sys.argv[2:]:
        key, value = setting.split("=")
        options[key] = {"true": True, "false": False}.get(value.lower())
        if options[key] is None:
            options[key] = float(value)
    for line in sys.stdin:
        actual, expected = line.rstrip("\n").split("\t")
        try:
            check(actual, expected, options)
            print("pass", flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {' '.join(str(error).split())}"[:300], file=sys.stderr,
                  flush=True)
            print("fail", flush=True)


main()
)python";

}  // namespace

std::span<const Adapter> adapters() { return kAdapters; }

std::unique_ptr<ProgramTarget> adapter_target(const std::string& name, const std::string& python,
                                              const std::string& folder,
                                              const ProcessLimits& limits) {
  const std::size_t bracket = name.find('(');
  const Adapter* const row = find_row(kAdapters, name.substr(0, bracket), &Adapter::name);
  if (row == nullptr) return nullptr;
  ProgramOptions o;
  o.name = name;
  const std::string program = folder + "/adapter.py";
  write_file(program, kProgram);
  o.words = {python, "-B", program, std::string(row->name)};
  if (bracket != std::string::npos) {
    if (name.back() != ')') {
      refuse("--target {}: the bracket is not closed", name);
    }
    for (const std::string& setting :
         split(std::string_view(name).substr(bracket + 1, name.size() - bracket - 2), ',')) {
      if (setting.find('=') == std::string::npos) {
        refuse("--target {}: '{}' is not a setting such as rtol=1e-3", name, setting);
      }
      o.words.push_back(setting);
    }
  }
  o.batch = true;
  o.kind = {"npy", "output"};
  o.limits = limits;
  o.dtypes = split(row->dtypes, ' ');
  return std::make_unique<ProgramTarget>(std::move(o));
}

}  // namespace assay::tools
