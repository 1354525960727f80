// Checks files from outside in a separate process before this one reads them. A file that crashes
// HDF5, keeps it busy or makes it take memory without end then causes an error that names it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace assay::inline v0_2 {

// Sets the program that checks files. Its main() must begin with serve_file_checks() of
// store/file_look.h, as that of `assay` does. The environment variable ASSAY_FILE_CHECKER overrides
// it. If neither names a program, only the checks of this process apply (docs/reliability.md).
void set_file_checker(const std::string& program);

// If `trust` is true, files are read without a check in a separate process, and their checksums are
// not verified.
void set_trust_files(bool trust);
bool trust_files();

namespace h5 {

// The first constant is the argument that starts the checking process. It ends in the version of
// the protocol. The next two are the descriptors of that process for its socket, which carries
// questions and answers, and for the file. file_check_seconds() returns the processor seconds that
// it may use for a question.
constexpr char kFileCheckWord[] = "--assay-file-check-1";
constexpr int kFileCheckSocket = 3, kFileCheckFile = 4;
std::int64_t file_check_seconds(int fd);
// Returns true if all of the text was sent.
bool send_all(int socket, std::string_view text);

// Checks one file in a separate process, until this object is closed. All objects for the same open
// file share that process, which is asked each question once.
class FileCheck {
 public:
  // Throws FileError if the program does not answer, or dies while it opens the file.
  FileCheck(std::string path, int fd);
  ~FileCheck();
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  // Each function makes the other process read what the question is about. They throw FileError if
  // that process crashes, runs out of time, does not answer, or reports that HDF5 found damage. If
  // it refuses the file for another reason, that is not an error here, because this process will
  // refuse the file with its own message.
  void list_cases();
  void look_at_case(const std::string& name, const std::string& object);
  void look_at_dataset(const std::string& object, const std::string& dtype);

 private:
  struct Process;
  std::string path_;
  std::shared_ptr<Process> process_;
};

// Returns the check of a file, or null if the file is trusted, if this process wrote it, or if
// there is no checking program.
std::unique_ptr<FileCheck> check_of(const std::string& path, int fd);

// Records that this process wrote the file, in its present state.
void file_was_written(int fd);

}  // namespace h5
}  // namespace assay
