#include "assay/base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "permissions.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class WriteFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(testing::TempDir()) / "assay_file_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const char* name) const { return (folder / name).string(); }
  static std::string content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  static std::string error_of(const std::string& file) {
    try {
      write_file(file, "new");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  }
  int entries() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
    return count;
  }

  fs::path folder;
};

TEST_F(WriteFileTest, WritesAndReplaces) {
  write_file(path("a"), "first");
  EXPECT_EQ(content(path("a")), "first");
  write_file(path("a"), std::string("x\0y\n", 4));
  EXPECT_EQ(content(path("a")), std::string("x\0y\n", 4));
  write_file(path("a"), "");
  EXPECT_EQ(content(path("a")), "");
  EXPECT_EQ(entries(), 1);  // no temporary file stays
}

TEST_F(WriteFileTest, LargeText) {
  const std::string text(5'000'000, 'q');
  write_file(path("large"), text);
  EXPECT_EQ(content(path("large")), text);
}

TEST_F(WriteFileTest, AFailureNamesThePathAndTheReason) {
  const std::string nowhere = path("no/such/folder");
  EXPECT_EQ(error_of(nowhere), nowhere + ": cannot be written: No such file or directory");
  const std::string directory = folder.string();
  EXPECT_EQ(error_of(directory), directory + ": cannot be written: Is a directory");
  EXPECT_EQ(entries(), 0);
}

TEST_F(WriteFileTest, AFailureLeavesTheFileAsItWas) {
  write_file(path("kept"), "old");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  {
    const PermissionsApply also_to_root;
    EXPECT_EQ(error_of(path("kept")), path("kept") + ": cannot be written: Permission denied");
  }
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_EQ(content(path("kept")), "old");
}

TEST_F(WriteFileTest, AFullDiskLeavesTheFileAsItWas) {
  write_file(path("kept"), "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  // A write beyond this size fails.
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error = "no error";
  try {
    write_file(path("kept"), std::string(5000, 'n'));
  } catch (const std::runtime_error& thrown) {
    error = thrown.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error, path("kept") + ": cannot be written: File too large");
  EXPECT_EQ(content(path("kept")), "old");
  EXPECT_EQ(entries(), 1);  // no temporary file stays
}

TEST_F(WriteFileTest, ADeviceIsWrittenInPlace) {
  write_file("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  if (fs::exists("/dev/full")) {
    EXPECT_EQ(error_of("/dev/full"), "/dev/full: cannot be written: No space left on device");
  }
}

TEST_F(WriteFileTest, APipeIsWrittenInPlace) {
  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::fstream both(pipe, std::ios::in | std::ios::out);  // keeps the pipe open for writing
  write_file(pipe, "through\n");
  std::string line;
  std::getline(both, line);
  EXPECT_EQ(line, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(WriteFileTest, ReadsTheWholeFile) {
  std::string bytes(200001, 'x');
  bytes[7] = '\0';
  bytes.back() = '\n';
  for (const std::string& text : {std::string(), std::string("one"), bytes}) {
    write_file(path("a"), text);
    EXPECT_EQ(read_file(path("a")), text);
  }
  const auto failure = [](const std::string& file) {
    try {
      (void)read_file(file);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(failure(path("none")), path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(failure(folder.string()), folder.string() + ": cannot be read: Is a directory");
}

TEST_F(WriteFileTest, SameFile) {
  write_file(path("a"), "text");
  write_file(path("b"), "text");
  fs::create_symlink(path("a"), path("symbolic"));
  fs::create_hard_link(path("a"), path("hard"));
  EXPECT_TRUE(same_file(path("a"), path("a")));
  EXPECT_TRUE(same_file(path("a"), path("symbolic")));
  EXPECT_TRUE(same_file(path("hard"), path("symbolic")));
  EXPECT_TRUE(same_file(path("a"), (folder / "." / "a").string()));
  EXPECT_FALSE(same_file(path("a"), path("b")));
  EXPECT_FALSE(same_file(path("a"), path("absent")));
  EXPECT_FALSE(same_file(path("absent"), path("absent")));
  EXPECT_FALSE(same_file("", ""));
}

}  // namespace
}  // namespace assay
