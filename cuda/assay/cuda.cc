#include "assay/cuda.h"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::inline v0_2::cuda {
namespace {

// The functions of NVIDIA's driver (CUDA driver API reference, version 12) that are called here,
// and of its compiler NVRTC.
using Result = int;
struct Driver {
  Result (*init)(unsigned);
  Result (*get_error_string)(Result, const char**);
  Result (*device_count)(int*);
  Result (*retain_context)(void**, int);
  Result (*push_context)(void*);
  Result (*pop_context)(void**);
  Result (*device_attribute)(int*, int, int);
  Result (*pointer_attribute)(void*, int, std::uintptr_t);
  Result (*create_pool)(void**, const void*);
  Result (*set_pool)(void*, int, void*);
  Result (*allocate)(std::uintptr_t*, std::size_t, void*, void*);
  Result (*release)(std::uintptr_t, void*);
  Result (*set_bytes)(std::uintptr_t, unsigned char, std::size_t, void*);
  Result (*to_host)(void*, std::uintptr_t, std::size_t, void*);
  Result (*wait)(void*);
  Result (*load_module)(void**, const void*);
  Result (*get_function)(void**, void*, const char*);
  Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**);
};
struct Compiler {
  Result (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  Result (*compile)(void*, int, const char* const*);
  Result (*log_size)(void*, std::size_t*);
  Result (*log)(void*, char*);
  Result (*code_size)(void*, std::size_t*);
  Result (*code)(void*, char*);
  Result (*destroy)(void**);
};

// Opens the first of these libraries that is there. Throws with the message if none is.
void* open_first(const std::vector<const char*>& names, const char* message) {
  for (const char* const name : names) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw std::runtime_error(message);
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    throw std::runtime_error(std::string("cuda: the driver or NVRTC has no ") + name +
                             "; install a newer one (CUDA 12 or later)");
  }
  function = reinterpret_cast<Function>(found);
}

const Driver& driver() {
  static const Driver functions = [] {
    void* const library =
        open_first({"libcuda.so.1"},
                   "cuda: libcuda.so.1 was not found: this machine has no driver of NVIDIA's");
    Driver d{};
    find(library, "cuInit", d.init);
    find(library, "cuGetErrorString", d.get_error_string);
    find(library, "cuDeviceGetCount", d.device_count);
    find(library, "cuDevicePrimaryCtxRetain", d.retain_context);
    find(library, "cuCtxPushCurrent_v2", d.push_context);
    find(library, "cuCtxPopCurrent_v2", d.pop_context);
    find(library, "cuDeviceGetAttribute", d.device_attribute);
    find(library, "cuPointerGetAttribute", d.pointer_attribute);
    find(library, "cuMemPoolCreate", d.create_pool);
    find(library, "cuMemPoolSetAttribute", d.set_pool);
    find(library, "cuMemAllocFromPoolAsync", d.allocate);
    find(library, "cuMemFreeAsync", d.release);
    find(library, "cuMemsetD8Async", d.set_bytes);
    find(library, "cuMemcpyDtoHAsync_v2", d.to_host);
    find(library, "cuStreamSynchronize", d.wait);
    find(library, "cuModuleLoadData", d.load_module);
    find(library, "cuModuleGetFunction", d.get_function);
    find(library, "cuLaunchKernel", d.launch);
    return d;
  }();
  return functions;
}

const Compiler& compiler() {
  static const Compiler functions = [] {
    void* const library = open_first(
        {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"},
        "cuda: libnvrtc.so.13 and libnvrtc.so.12 were not found: install the CUDA toolkit's NVRTC "
        "and add its folder to LD_LIBRARY_PATH, or import torch first");
    Compiler c{};
    find(library, "nvrtcCreateProgram", c.create);
    find(library, "nvrtcCompileProgram", c.compile);
    find(library, "nvrtcGetProgramLogSize", c.log_size);
    find(library, "nvrtcGetProgramLog", c.log);
    find(library, "nvrtcGetCUBINSize", c.code_size);
    find(library, "nvrtcGetCUBIN", c.code);
    find(library, "nvrtcDestroyProgram", c.destroy);
    return c;
  }();
  return functions;
}

std::string place(int device) { return "cuda:" + std::to_string(device); }

void require(Result result, int device, const char* what) {
  if (result == 0) return;
  const char* words = nullptr;
  driver().get_error_string(result, &words);
  throw std::runtime_error(place(device) + ": " + what + ": " +
                           (words != nullptr ? words : "error " + std::to_string(result)));
}

int device_count() {
  static const int count = [] {
    const Driver& d = driver();
    int devices = 0;
    if (d.init(0) != 0 || d.device_count(&devices) != 0 || devices == 0) {
      throw std::runtime_error("cuda: the driver has no device");
    }
    return devices;
  }();
  return count;
}

// Makes a device's primary context, which CUDA's runtime and PyTorch use too, the current one.
class Current {
 public:
  explicit Current(int device) {
    static std::mutex mutex;
    static std::map<int, void*> contexts;
    const std::lock_guard lock(mutex);
    void*& context = contexts[device];
    if (device < 0 || device >= device_count()) {
      throw std::runtime_error(place(device) + ": there is no such device");
    }
    if (context == nullptr) {
      require(driver().retain_context(&context, device), device, "its context cannot be made");
    }
    require(driver().push_context(context), device, "its context cannot be used");
  }
  ~Current() {
    void* before = nullptr;
    driver().pop_context(&before);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

// Returns the pool of a device's memory for what kernels count. Memory comes from it, and goes back
// to it, in the order of a stream's work, so that nothing waits. It keeps some memory, because
// allocating and freeing takes as long as judging 100 MB.
void* pool_of(int device) {
  // CUmemPoolProps: memory of a device without handles for other processes.
  struct Properties {
    int allocation = 1, handles = 0, location = 1, device = 0;
    void* security = nullptr;
    std::array<std::size_t, 12> rest = {};
  };
  static std::mutex mutex;
  static std::map<int, void*> pools;
  const std::lock_guard lock(mutex);
  void*& pool = pools[device];
  if (pool == nullptr) {
    Properties properties;
    properties.device = device;
    require(driver().create_pool(&pool, &properties), device, "a pool of memory cannot be made");
    constexpr int kReleaseThreshold = 4;
    std::uint64_t kept = 64 << 20;
    require(driver().set_pool(pool, kReleaseThreshold, &kept), device, "a pool cannot be set");
  }
  return pool;
}

std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

// Returns an attribute of an address, or nothing if the driver does not know the address.
template <typename T>
bool attribute(int which, const void* memory, T& value) {
  return driver().pointer_attribute(&value, which, address(memory)) == 0;
}
constexpr int kMemoryType = 2, kDeviceOrdinal = 9, kRangeStart = 11, kRangeSize = 12;
constexpr unsigned kDeviceMemory = 2;

// Returns the device of an address. Throws Refusal if it is not memory of a device.
int device_of(const void* data, const std::string& what) {
  device_count();
  unsigned type = 0;
  int device = -1;
  if (!attribute(kMemoryType, data, type) || type != kDeviceMemory ||
      !attribute(kDeviceOrdinal, data, device)) {
    throw Refusal(what +
                  ": its address is not in the memory of a device of NVIDIA's; it may lie in the "
                  "host's memory, or was freed");
  }
  return device;
}

void check(int device, const void* data, std::size_t bytes, const std::string& what) {
  const Current current(device);
  const int owner = device_of(data, what);
  if (owner != device) {
    throw Refusal(what + ": its memory is on " + place(owner) + ", not on " + place(device));
  }
  std::uintptr_t start = 0;
  std::size_t size = 0;
  if (attribute(kRangeStart, data, start) && attribute(kRangeSize, data, size) &&
      address(data) + bytes > start + size) {
    throw Refusal(what + ": it needs " + std::to_string(bytes) +
                  " bytes from its address on, and " + "the allocation there has only " +
                  std::to_string(start + size - address(data)));
  }
}

// Compiles a text for a device and returns the program's code.
std::string compiled(int device, const std::string& source) {
  constexpr int kMajor = 75, kMinor = 76;
  int major = 0, minor = 0;
  require(driver().device_attribute(&major, kMajor, device), device, "its version is not known");
  require(driver().device_attribute(&minor, kMinor, device), device, "its version is not known");
  const std::string architecture = "-arch=sm_" + std::to_string(10 * major + minor);
  const std::array<const char*, 4> options = {architecture.c_str(), "-std=c++20", "--fmad=false",
                                              "-default-device"};
  const Compiler& c = compiler();
  void* program = nullptr;
  if (c.create(&program, source.c_str(), "judge_kernel.cu", 0, nullptr, nullptr) != 0) {
    throw std::runtime_error(place(device) + ": NVRTC cannot take the kernel's text");
  }
  const Result result = c.compile(program, static_cast<int>(options.size()), options.data());
  std::string text;
  std::size_t size = 0;
  if (result != 0) {
    if (c.log_size(program, &size) == 0) text.resize(size);
    c.log(program, text.data());
    c.destroy(&program);
    throw std::runtime_error(place(device) + ": NVRTC cannot compile the kernel:\n" + text);
  }
  if (c.code_size(program, &size) == 0) text.resize(size);
  c.code(program, text.data());
  c.destroy(&program);
  return text;
}

// Returns a kernel of a device, which must be current.
const void* function_of(int device, const DeviceKernel& kernel) {
  static std::mutex mutex;
  static std::map<std::pair<int, std::string>, void*> modules;
  const std::lock_guard lock(mutex);
  void*& module = modules[{device, kernel.source}];
  if (module == nullptr) {
    const std::string code = compiled(device, kernel.source);
    require(driver().load_module(&module, code.data()), device, "a kernel cannot be loaded");
  }
  void* function = nullptr;
  require(driver().get_function(&function, module, kernel.name.c_str()), device,
          "a kernel cannot be found");
  return function;
}

}  // namespace

const DeviceMemory& memory() {
  static const DeviceMemory table{
      .kind = "cuda",
      .check = check,
      .allocate =
          [](int device, std::size_t bytes, void* stream) {
            const Current current(device);
            std::uintptr_t memory = 0;
            require(driver().allocate(&memory, bytes, pool_of(device), stream), device,
                    "memory cannot be allocated");
            return reinterpret_cast<void*>(memory);
          },
      .release =
          [](int device, void* data, void* stream) noexcept {
            const Current current(device);
            driver().release(address(data), stream);
          },
      .fill_with_zeros =
          [](int device, void* data, std::size_t bytes, void* stream) {
            const Current current(device);
            require(driver().set_bytes(address(data), 0, bytes, stream), device,
                    "memory cannot be filled");
          },
      .synchronise =
          [](int device, void* stream) {
            const Current current(device);
            require(driver().wait(stream), device, "work that was started before failed");
          },
      .copy_to_host =
          [](int device, void* host, const void* data, std::size_t bytes, void* stream) {
            const Current current(device);
            require(driver().to_host(host, address(data), bytes, stream), device,
                    "a tensor cannot be copied to the host");
            require(driver().wait(stream), device, "work that was started before failed");
          },
      .load =
          [](int device, const DeviceKernel& kernel) {
            const Current current(device);
            return function_of(device, kernel);
          },
      .launch =
          [](int device, const void* kernel, std::uint64_t blocks, std::uint32_t threads,
             const void* call, void* stream) {
            const Current current(device);
            void* arguments[] = {const_cast<void*>(call)};
            require(driver().launch(const_cast<void*>(kernel), static_cast<unsigned>(blocks), 1, 1,
                                    threads, 1, 1, 0, stream, arguments, nullptr),
                    device, "a kernel cannot be started");
          }};
  device_count();
  return table;
}

DeviceView view(const void* data, std::string_view dtype, Shape shape, Strides strides,
                void* stream) {
  const DeviceMemory& device_memory = memory();
  DeviceView v{&device_memory, 0, stream,
               view_bytes(data, format_named(dtype), std::move(shape), std::move(strides)),
               "a tensor of cuda"};
  if (v.layout.size() > 0) v.device = device_of(data, v.name);
  return v;
}

DeviceView view(const dlpack::DLTensor& tensor, void* stream) {
  if (tensor.device.device_type != dlpack::kCuda) {
    throw Refusal("a DLPack tensor: it is on device type " +
                  std::to_string(tensor.device.device_type) + " (id " +
                  std::to_string(tensor.device.device_id) +
                  "), and assay::cuda reads only memory of CUDA (type 2); " +
                  (tensor.device.device_type == dlpack::kCpu ? "give assay::view() of it"
                                                             : "copy it to the CPU first"));
  }
  TensorView layout = dlpack::layout_of(tensor);
  DeviceView v{&memory(), tensor.device.device_id, stream, std::move(layout), "a DLPack tensor"};
  if (v.layout.size() > 0) v.check();
  return v;
}

}  // namespace assay::cuda
