#include "assay/datasets/store/file_look.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "assay/base/sanitized.h"
#include "assay/base/text.h"
#include "assay/datasets/checks/file_check.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"

namespace assay::inline v0_2 {
namespace {

// The most bytes of address space that this process may use.
constexpr rlim_t kMostMemory = rlim_t{4} << 30;
// The limit on the size of datasets, so high that it never applies. This process reads no elements.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 62;

void limit(int what, rlim_t most) {
  struct rlimit now;
  if (getrlimit(static_cast<__rlimit_resource_t>(what), &now) != 0) return;
  now.rlim_cur = std::min(most, now.rlim_max);
  (void)setrlimit(static_cast<__rlimit_resource_t>(what), &now);
}

void allow_seconds(std::int64_t more) {
  struct timespec used = {};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  limit(RLIMIT_CPU, static_cast<rlim_t>(used.tv_sec + 1 + more));
}

// Reads what a question is about. "l" asks about the list of cases, "c" and a name about a case,
// "d", a dtype, '\n' and a path about a dataset. Any other letter only opens the file.
void look(const std::string& question, std::unique_ptr<DatasetFile>& file) {
  const std::string rest = question.substr(1);
  if (question[0] == 'd') {
    const std::size_t end = rest.find('\n');
    h5::OpenedFile opened("", h5::kFileCheckFile);
    h5::Reader("", opened.hdf5(), kNoLimit).look_at_any(rest.substr(end + 1), rest.substr(0, end));
    return;
  }
  if (!file) file = std::make_unique<DatasetFile>(h5::FileLook::open(h5::kFileCheckFile));
  if (question[0] == 'l') (void)file->case_names();
  if (question[0] == 'c') h5::FileLook::look_at_case(*file, rest);
}

// Returns an error if HDF5 itself found the objects in question damaged, and otherwise an empty
// string. Objects that assay refuses without an error in HDF5 are left to the process that asked,
// which will refuse them, too. After an error of its own, HDF5 1.10 frees memory that it has not
// set, at once or when it closes the file. That may succeed here and crash the process that asked.
// So that process must not use HDF5 on these objects, and reports the returned error.
std::string answer(const std::string& question, std::unique_ptr<DatasetFile>& file) {
  std::string text;
  h5::forget_damage();
  try {
    if (!question.empty()) look(question, file);
    if (!h5::damage_was_seen()) return "";
    text = "is truncated or corrupt";
  } catch (const FileError& e) {
    if (!h5::damage_was_seen()) return "";
    text = e.what();
    // The text begins with ": ", because this process has no name for the file.
    if (text.starts_with(": ")) text.erase(0, 2);
  } catch (const std::exception& e) {
    text = formatted("cannot be looked at: {}", e.what());
  }
  file.reset();
  return text;
}

[[noreturn]] void serve() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  // Sanitizers reserve very much address space, so it is not limited for them.
  if (!kAddressSanitizer && !kThreadSanitizer) limit(RLIMIT_AS, kMostMemory);
  const std::int64_t seconds = h5::file_check_seconds(h5::kFileCheckFile);
  std::unique_ptr<DatasetFile> file;
  std::string said;
  bool asked = false;
  for (char part[4096];;) {
    const ssize_t n = read(h5::kFileCheckSocket, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(n == 0 && asked ? 0 : 2);
    said.append(part, static_cast<std::size_t>(n));
    for (std::size_t end; (end = said.find('\0')) != std::string::npos;) {
      const std::string question = said.substr(0, end);
      said.erase(0, end + 1);
      allow_seconds(seconds);
      asked = true;
      const std::string said_back = answer(question, file);
      if (!h5::send_all(h5::kFileCheckSocket, {said_back.c_str(), said_back.size() + 1})) _exit(0);
    }
  }
}

}  // namespace

void serve_file_checks(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], h5::kFileCheckWord) == 0) serve();
}

}  // namespace assay
