// Tests files that get their name only when they are complete, with destinations that are links or
// out of reach.
#include "assay/base/temporary_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "assay/base/file.h"
#include "assay/base/unsynced.h"
#include "error_of.h"

namespace assay {
namespace {

class TemporaryFileTest : public testing::Test {
 protected:
  TemporaryFileTest() {
    std::string name = (std::filesystem::path(testing::TempDir()) / "assay_part_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~TemporaryFileTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  int entries() const {
    int count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }
  static int mode_of(const std::string& file) {
    struct stat status = {};
    return stat(file.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 0777) : -1;
  }
  std::filesystem::path folder_;
};

// There is no file until it is complete, and a file that is given up leaves nothing.
TEST_F(TemporaryFileTest, HasNoNameUntilItIsWhole) {
  {
    TemporaryFile given_up(path("a"));
    ASSERT_GE(given_up.descriptor(), 0);
    ASSERT_EQ(write(given_up.descriptor(), "text", 4), 4);
    EXPECT_FALSE(std::filesystem::exists(path("a")));
  }
  EXPECT_EQ(entries(), 0);
  TemporaryFile whole(path("a"));
  ASSERT_EQ(write(whole.descriptor(), "text", 4), 4);
  EXPECT_EQ(whole.commit(false), 0);
  EXPECT_EQ(read_file(path("a")), "text");
  EXPECT_EQ(entries(), 1);
}

// The file that a link leads to is replaced, or made if it does not exist. The links stay.
TEST_F(TemporaryFileTest, LinksAreFollowed) {
  std::filesystem::create_directory(path("sub"));
  write_file(path("sub/target"), "old");
  std::filesystem::create_symlink("sub/target", path("relative"));
  std::filesystem::create_symlink(path("relative"), path("absolute"));
  write_file(path("absolute"), "new");
  EXPECT_EQ(read_file(path("sub/target")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("relative")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("absolute")));
  std::filesystem::create_symlink("sub/none", path("dangling"));
  write_file(path("dangling"), "first");
  EXPECT_EQ(read_file(path("sub/none")), "first");
  EXPECT_TRUE(std::filesystem::is_symlink(path("dangling")));
}

// Links that lead in a circle lead to no file. The link itself is replaced, and nobody waits.
TEST_F(TemporaryFileTest, LinksInACircle) {
  std::filesystem::create_symlink("b", path("a"));
  std::filesystem::create_symlink("a", path("b"));
  TemporaryFile file(path("a"));
  ASSERT_GE(file.descriptor(), 0);
  EXPECT_EQ(file.commit(false), 0);
  EXPECT_TRUE(std::filesystem::is_regular_file(path("a")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("b")));
}

TEST_F(TemporaryFileTest, TheModeStays) {
  write_file(path("a"), "old");
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  write_file(path("a"), "new");
  EXPECT_EQ(mode_of(path("a")), 0640);
  keep_mode(path("a"));
  std::filesystem::remove(path("a"));
  write_file(path("a"), "again");
  EXPECT_EQ(mode_of(path("a")), 0640);
  // A file that does not exist has no mode to keep.
  keep_mode(path("none"));
}

// Tests the errors for a folder that does not exist, and for a file system on which nobody may make
// files.
TEST_F(TemporaryFileTest, TheErrorIsTold) {
  const TemporaryFile nowhere(path("no/such/folder"));
  EXPECT_LT(nowhere.descriptor(), 0);
  EXPECT_EQ(nowhere.error(), ENOENT);
  const TemporaryFile denied("/proc/assay_file");
  EXPECT_LT(denied.descriptor(), 0);
  EXPECT_NE(denied.error(), 0);
}

TEST_F(TemporaryFileTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(failure_of([&] { (void)read_file(path("pipe")); }),
            path("pipe") + ": cannot be read: it is not a regular file");
  EXPECT_EQ(failure_of([] { (void)read_file("/dev/zero"); }),
            "/dev/zero: cannot be read: it is not a regular file");
}

TEST_F(TemporaryFileTest, UnsyncedWritesAreOfTheirThreadAndNest) {
  EXPECT_FALSE(UnsyncedWrites::active());
  {
    const UnsyncedWrites outer;
    {
      const UnsyncedWrites inner;
      EXPECT_TRUE(UnsyncedWrites::active());
    }
    EXPECT_TRUE(UnsyncedWrites::active());
    bool elsewhere = true;
    std::thread([&] { elsewhere = UnsyncedWrites::active(); }).join();
    EXPECT_FALSE(elsewhere);
    write_file(path("a"), "text");
    EXPECT_EQ(read_file(path("a")), "text");
  }
  EXPECT_FALSE(UnsyncedWrites::active());
}

}  // namespace
}  // namespace assay
