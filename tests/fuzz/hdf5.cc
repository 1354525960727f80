// HDF5 files. The HDF5 library is not assay's code, and damaged files crash it. So a process of its
// own opens each file first, as in the program. This process then reads only the files that the
// other one found whole or refused itself. MetadataChecks, which sees every byte of the input,
// decides which files HDF5 is not given at all.
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "assay/base/sanitized.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/file_look.h"
#include "assay/datasets/store/metadata_checks.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/plain_objects.h"
#include "assay/datasets/store/reader.h"
#include "target.h"

namespace {

// Exit codes of the process that opens a file first: HDF5 had an error (see below), or libFuzzer's
// limit of memory was reached. In the program, the limit makes malloc() fail instead.
constexpr int kHdf5Died = 78, kTooMuchMemory = 71;

}  // namespace

// Called before a report. Ends the process if the report is about HDF5, because that report is not
// about our code and would take seconds. A report is about HDF5 if a frame of the stack is in
// libhdf5. An error of our own driver, which HDF5 calls, counts as HDF5's, too. But that driver is
// also run in the process that reports errors.
extern "C" void __asan_on_error();
extern "C" void __asan_on_error() {
  if (!assay::fuzz::is_looking) return;
  void* frames[64];
  const int count = backtrace(frames, 64);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr &&
        std::strstr(info.dli_fname, "libhdf5") != nullptr) {
      _exit(kHdf5Died);
    }
  }
}
// HDF5 leaks some of its own memory on damaged files.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace assay::fuzz {
namespace {

constexpr std::size_t kMostCases = 8;

void check_metadata(std::span<const std::uint8_t> input) {
  const auto bytes = std::as_bytes(input);
  const auto read = [bytes](std::uint64_t at, std::size_t size) {
    const std::size_t begin = std::min<std::uint64_t>(at, bytes.size());
    const std::size_t count = std::min(size, bytes.size() - begin);
    return std::vector<std::byte>(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(begin + count));
  };
  h5::MetadataChecks checks(read, bytes.size());
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 8) {
    const auto is = [&](const char* word) { return std::memcmp(&bytes[at], word, 4) == 0; };
    const bool is_old = bytes[at] == std::byte{1} && bytes[at + 1] == std::byte{0};
    if (!is("OHDR") && !is("OCHK") && !is("GCOL") && !is_old) continue;
    for (const std::size_t size : {std::size_t{16}, std::size_t{512}}) {
      (void)checks.problem(at, bytes.subspan(at, std::min(size, bytes.size() - at)), !is("GCOL"));
    }
  }
}

// Reads everything that can be read without HDF5, whatever the file is.
void check_plain(int fd, std::size_t file_size) {
  h5::PlainObjects plain(fd, file_size);
  std::vector<std::string> ahead = {"/"};
  for (int left = 500; !ahead.empty() && left > 0; --left) {
    const std::string path = ahead.back();
    ahead.pop_back();
    const auto found = plain.find(path);
    const bool is_known = found.answer == h5::PlainObjects::Answer::kYes;
    if (is_known != (found.object != nullptr)) finding("an object that is known and not there");
    if (!is_known) continue;
    const auto links = plain.links_in(path);
    if (links != nullptr && !found.object->is_group) finding("a dataset has links");
    if (links != nullptr && path.size() < 200) {
      for (const auto& [name, address] : *links) {
        ahead.push_back((path == "/" ? "" : path) + "/" + name);
      }
    }
    if (found.object->is_group) continue;
    const std::uint64_t size = static_cast<std::uint64_t>(element_count(found.object->shape)) *
                               found.object->element_bytes;
    if (size > file_size) finding("a dataset is larger than its file");
    std::vector<std::byte> bytes(size);
    if (!plain.read(*found.object, 0, size, bytes.data())) finding("elements are not there");
  }
}

// Does what the process of file_check.cc does. Ends with 1 if HDF5 had trouble with the file.
[[noreturn]] void look(int fd) {
  is_looking = true;
  for (const int one : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGXCPU}) {
    signal(one, SIG_DFL);
  }
  const struct rlimit none = {0, 0}, seconds = {5, 6}, memory = {rlim_t{4} << 30, rlim_t{4} << 30};
  (void)setrlimit(RLIMIT_CORE, &none);
  // A forked process starts with no CPU time used.
  (void)setrlimit(RLIMIT_CPU, &seconds);
  if (!kAddressSanitizer) (void)setrlimit(RLIMIT_AS, &memory);
  h5::forget_damage();
  (void)refuses("look", [&] {
    const DatasetFile file = h5::FileLook::open(fd);
    std::size_t done = 0;
    for (const std::string& name : file.case_names()) {
      if (++done > kMostCases) break;
      (void)refuses("look", [&] { h5::FileLook::look_at_case(file, name); });
    }
  });
  (void)refuses("look", [&] {
    h5::OpenedFile opened("", fd);
    h5::Reader("", opened.hdf5(), std::int64_t{1} << 62).look_at_any("/data", "");
  });
  _exit(h5::damage_was_seen() ? 1 : 0);
}

// A process that was forked while this one was small, so that it forks quickly itself. It is given
// the bytes of a file. One of its forks looks at the file, and how that fork ends is the answer.
class Looker {
 public:
  Looker() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) finding("no sockets");
    const pid_t pid = fork();
    if (pid < 0) finding("no process could be started");
    if (pid == 0) {
      close(pair[0]);
      serve(pair[1]);
    }
    close(pair[1]);
    socket_ = pair[0];
  }

  // Returns the status of the process that looked at the file, as waitpid() gives it.
  int look_at(std::span<const std::uint8_t> bytes) const {
    const std::uint64_t size = bytes.size();
    int status = 0;
    if (!send_all(socket_, &size, sizeof size) || !send_all(socket_, bytes.data(), bytes.size()) ||
        !receive_all(socket_, &status, sizeof status)) {
      finding("the process that starts others is gone");
    }
    return status;
  }

 private:
  static bool send_all(int to, const void* from, std::size_t size) {
    const char* at = static_cast<const char*>(from);
    while (size > 0) {
      const ssize_t n = send(to, at, size, MSG_NOSIGNAL);
      // libFuzzer has an alarm, which interrupts send().
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }
  static bool receive_all(int from, void* to, std::size_t size) {
    char* at = static_cast<char*>(to);
    while (size > 0) {
      const ssize_t n = recv(from, at, size, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }

  [[noreturn]] static void serve(int socket) {
    for (std::uint64_t size = 0; receive_all(socket, &size, sizeof size);) {
      Bytes bytes(size);
      if (!receive_all(socket, bytes.data(), size)) break;
      const MemoryFile memory(bytes);
      const pid_t pid = fork();
      if (pid == 0) look(memory.descriptor());
      int status = 0;
      while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      if (!send_all(socket, &status, sizeof status)) break;
    }
    _exit(0);
  }

  int socket_ = -1;
};

// True if the program would go on to read the file itself.
bool is_read_here(std::span<const std::uint8_t> input) {
  static const Looker looker;
  const int status = looker.look_at(input);
  // If a signal ended the process, the program calls the file damaged.
  if (WIFSIGNALED(status)) return false;
  const int code = WEXITSTATUS(status);
  if (code > 1 && code != kHdf5Died && code != kTooMuchMemory) {
    finding(formatted("the process that looked ended with {}", code));
  }
  return code == 0;
}

std::string text_of(const std::map<std::string, Attribute>& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += formatted("{}={}\n", name, attribute_text(value));
  return text;
}

std::string text_of(const Tensor& tensor) {
  if (tensor.empty()) return "none\n";
  return formatted("{} {} ", tensor.format().name, shape_text(tensor.shape())) +
         std::string(reinterpret_cast<const char*>(tensor.bytes()),
                     static_cast<std::size_t>(tensor.size() * tensor.format().storage_bytes)) +
         "\n";
}

// A case that can be read both by HDF5 and without it must be the same both ways.
void compare_with_hdf5(const DatasetFile& file, const DatasetFile& by_hdf5,
                       const std::string& name) {
  const auto texts = [&](const DatasetFile& of) {
    const Case c = of.read(name);
    std::string text = text_of(c.attributes);
    for (const auto& [operand, tensor] : c.inputs) text += operand + " " + text_of(tensor);
    if (c.output().golden) text += "golden " + text_of(*c.output().golden);
    for (const auto& [producer, recorded] : c.output().recorded)
      text += producer + " " + text_of(recorded.tensor);
    return text;
  };
  std::string here, there;
  const bool refused = refuses("hdf5", [&] { here = texts(file); }) ||
                       refuses("hdf5", [&] { there = texts(by_hdf5); });
  if (!refused && here != there) {
    finding(formatted("case '{}' is read as {}, and by HDF5 as {}", name, here, there));
  }
}

void read_here(const std::string& path, int fd) {
  (void)refuses("hdf5", [&] {
    const DatasetFile file(path, std::int64_t{1} << 28);
    (void)file.attributes();
    std::size_t done = 0;
    for (const std::string& name : file.case_names()) {
      if (++done > kMostCases) break;
      (void)refuses("hdf5", [&] {
        (void)file.info(name);
        (void)file.attributes_of(name);
        (void)file.result_bytes(name, "");
        (void)file.result_place(name, "");
        (void)file.read(name);
      });
      (void)refuses("hdf5", [&] {
        for (const std::string& producer : file.producers_of(name)) {
          (void)refuses("hdf5", [&] {
            (void)file.read_output(name, producer);
            if (const auto output = file.open_result(name, producer)) (void)read_array(*output);
          });
        }
      });
      (void)refuses("hdf5", [&] {
        if (const auto golden = file.open_result(name, "")) (void)read_array(*golden);
      });
    }
    const DatasetFile by_hdf5 = h5::FileLook::open(fd);
    done = 0;
    for (const std::string& name : file.case_names()) {
      if (++done > kMostCases) break;
      compare_with_hdf5(file, by_hdf5, name);
    }
  });
  (void)refuses("hdf5", [&] {
    const std::unique_ptr<ArrayFile> file = array_format_named("hdf5").open(path);
    const std::unique_ptr<ArraySource> source =
        file->open("data", {.path = path + ":/data", .dtype = "", .shape = {}});
    (void)read_array(*source);
  });
}

}  // namespace

void run_hdf5(std::span<const std::uint8_t> input) {
  check_metadata(input);
  if (input.size() < 8) return;
  const MemoryFile memory(input);
  check_plain(memory.descriptor(), input.size());
  if (is_read_here(input)) read_here(memory.path(), memory.descriptor());
}

}  // namespace assay::fuzz
