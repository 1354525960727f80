// Files from outside are looked at in a process of its own before this one reads them: what
// crashes HDF5, keeps it busy or makes it take memory without end is then an error with a name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace assay {

// The program that looks: one whose main() begins with serve_file_checks() of store/file_look.h, as
// that of `assay` does. The environment's ASSAY_FILE_CHECKER names another one. Empty, as it is at
// first, and without that variable, files are held to the checks of this process alone
// (docs/reliability.md).
void set_file_checker(const std::string& program);

// Whether files are read without being looked at in a process of its own, and not held to their
// checksums.
void set_trust_files(bool trust);
bool trust_files();

namespace h5 {

// How the process that looks is called, with the version of what is said over its socket; its
// descriptors of questions and answers, and of the file; and the seconds of its processor that it
// may take for a question.
constexpr char kFileCheckWord[] = "--assay-file-check-1";
constexpr int kFileCheckSocket = 3, kFileCheckFile = 4;
std::int64_t file_check_seconds(int fd);
// Returns whether all of it was sent.
bool send_all(int socket, std::string_view text);

// What looks at one file, until it is closed. All who have the same file open share the process
// that looks, which is asked each question once.
class FileCheck {
 public:
  // Throws FileError where the program does not answer, or does not survive to open the file.
  FileCheck(std::string path, int fd);
  ~FileCheck();
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  // Reads what the question is about there. Throws FileError where that does not end well; that
  // the file is refused there is no error here, for this process will say so in its own words.
  void list_cases();
  void look_at_case(const std::string& name, const std::string& object);
  void look_at_dataset(const std::string& object, const std::string& dtype);

 private:
  struct Process;
  std::string path_;
  std::shared_ptr<Process> process_;
};

// Null where the file is trusted, this process wrote it, or there is no program that looks.
std::unique_ptr<FileCheck> check_of(const std::string& path, int fd);

// That this process wrote the file, as it is now.
void file_was_written(int fd);

}  // namespace h5
}  // namespace assay
