#include "assay/base/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/sanitized.h"
#include "emulated.h"
#include "error_of.h"

namespace assay {
namespace {

using How = Ended::How;
using testing::HasSubstr;

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "assay_process_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~ProcessTest() override { std::filesystem::remove_all(folder_); }

  Ended sh(const std::string& line, const ProcessLimits& limits = {}) const {
    return run_process({{"sh", "-c", line}, folder_.string(), limits});
  }
  ProcessRequest request(const std::string& line, const ProcessLimits& limits = {}) const {
    return {{"sh", "-c", line}, folder_.string(), limits};
  }
  // True if the process that wrote its number to the file ends within about 2 seconds.
  bool is_gone(const std::string& file) const {
    std::ifstream in(folder_ / file);
    pid_t pid = 0;
    EXPECT_TRUE(in >> pid) << file;
    for (int i = 0; i < 200; ++i) {
      if (kill(pid, 0) != 0 && errno == ESRCH) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::filesystem::path folder_;
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(ProcessTest, TellsExitStatusAndWhatWasPrinted) {
  const Ended done = sh("echo one; echo two >&2; pwd; echo $TMPDIR; exit 3");
  EXPECT_EQ(done.how, How::kExit);
  EXPECT_EQ(done.code, 3);
  const std::string here = std::filesystem::canonical(folder_);
  EXPECT_EQ(done.said, "one\ntwo\n" + here + "\n" + folder_.string() + "\n");
  EXPECT_EQ(done.text({}), "exit status 3");
}

TEST_F(ProcessTest, TakesWordsAsTheyAre) {
  const Ended done =
      run_process({{"printf", "%s|", "$HOME", "a b", ";", "*"}, folder_.string(), {}});
  EXPECT_EQ(done.said, "$HOME|a b|;|*|");
}

TEST_F(ProcessTest, HasAnEmptyInput) { EXPECT_EQ(sh("cat; echo end").said, "end\n"); }

TEST_F(ProcessTest, SaysWhyItCannotBeStarted) {
  const Ended done = run_process({{"no-such-program-here"}, folder_.string(), {}});
  EXPECT_EQ(done.how, How::kNotStarted);
  EXPECT_EQ(done.text({}), "cannot be started: No such file or directory");
}

TEST_F(ProcessTest, TellsTheSignal) {
  const Ended done = sh("kill -SEGV $$");
  EXPECT_EQ(done.how, How::kSignal);
  EXPECT_EQ(done.text({}), "ended by signal 11 (Segmentation fault)");
}

TEST_F(ProcessTest, EndsWhatHangs) {
  const double seconds = seconds_of([&] {
    const Ended done = sh("echo begun; sleep 100", {.seconds = 0.3});
    EXPECT_EQ(done.how, How::kTime);
    EXPECT_EQ(done.said, "begun\n");
    EXPECT_EQ(done.text({.seconds = 0.3}), "ended after 0.3 s");
  });
  EXPECT_LT(seconds, 20);
}

TEST_F(ProcessTest, EndsWhatIgnoresSignals) {
  const Ended done =
      sh("trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done", {.seconds = 0.5});
  EXPECT_EQ(done.how, How::kTime);
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(ProcessTest, EndsWhatClosedItsOutputAndGoesOn) {
  EXPECT_EQ(sh("exec >&- 2>&-; sleep 100", {.seconds = 0.3}).how, How::kTime);
}

TEST_F(ProcessTest, EndsWhatPrintsWithoutEnd) {
  const ProcessLimits limits{.seconds = 60, .output = 1 << 20};
  const Ended done = sh("yes", limits);
  EXPECT_EQ(done.how, How::kOutput);
  EXPECT_EQ(done.said.size(), std::size_t{1} << 20);
  EXPECT_EQ(done.text(limits), "ended after it had printed 1 048 576 bytes");
}

TEST_F(ProcessTest, EndsWhatWritesWithoutEnd) {
  const Ended done = sh("exec cat /dev/zero > large", {.seconds = 60, .output = 1 << 20});
  EXPECT_EQ(done.how, How::kSignal);
  EXPECT_EQ(done.code, SIGXFSZ);
  EXPECT_LE(std::filesystem::file_size(folder_ / "large"), std::uintmax_t{1} << 20);
}

TEST_F(ProcessTest, LimitsMemory) {
  if (is_emulated()) GTEST_SKIP() << "the emulator limits no memory";
  const Ended done = run_process({{ASSAY_PYTHON, "-S", "-E", "-c", "b = bytearray(1 << 30)"},
                                  folder_.string(),
                                  {.memory = 512 << 20}});
  EXPECT_EQ(done.text({}), "exit status 1");
  EXPECT_THAT(done.said, HasSubstr("MemoryError"));
}

TEST_F(ProcessTest, LeavesNoChildren) {
  if (is_emulated()) GTEST_SKIP() << "the emulator has no subreapers";
  const double seconds = seconds_of([&] {
    const Ended done =
        sh("sleep 100 & echo $! > plain;"
           "setsid sh -c 'echo $$ > session; exec sleep 100' &"
           "(setsid sh -c 'trap \"\" TERM; echo $$ > orphan; sleep 100; :' &) ;"
           "while ! [ -s session ] || ! [ -s orphan ]; do sleep 0.01; done; exit 5");
    EXPECT_EQ(done.text({}), "exit status 5");
  });
  EXPECT_LT(seconds, 20);
  EXPECT_TRUE(is_gone("plain"));
  EXPECT_TRUE(is_gone("session"));
  EXPECT_TRUE(is_gone("orphan"));
}

TEST_F(ProcessTest, RunsOnSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(sh("echo " + std::to_string(t)).said, std::to_string(t) + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ProcessTest, AnswersLines) {
  LineProcess process(request("while read -r line; do echo \"<$line>\"; echo aside >&2; done"));
  EXPECT_EQ(process.ask("one").value_or("none"), "<one>");
  EXPECT_EQ(process.ask("two words\tand a tab").value_or("none"), "<two words\tand a tab>");
}

TEST_F(ProcessTest, SaysHowOneThatAnswersEnded) {
  LineProcess process(request("read -r line; echo why >&2; exit 7"));
  EXPECT_FALSE(process.ask("one").has_value());
  EXPECT_EQ(process.ended().text({}), "exit status 7");
  EXPECT_EQ(process.error_output(), "why\n");
}

TEST_F(ProcessTest, EndsOneThatDoesNotAnswer) {
  LineProcess process(request("echo $$ > pid; exec sleep 100", {.seconds = 0.3}));
  EXPECT_FALSE(process.ask("one").has_value());
  EXPECT_EQ(process.ended().how, How::kTime);
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(ProcessTest, EndsOneThatAnswersWithoutEnd) {
  LineProcess process(request("tr '\\0' 'a' < /dev/zero", {.seconds = 60, .output = 1 << 20}));
  EXPECT_FALSE(process.ask("one").has_value());
  EXPECT_EQ(process.ended().how, How::kOutput);
}

TEST_F(ProcessTest, EndsOneThatIsNoLongerAsked) {
  {
    LineProcess process(request("echo $$ > pid; while read -r line; do echo yes; done"));
    EXPECT_EQ(process.ask("one").value_or("none"), "yes");
  }
  EXPECT_TRUE(is_gone("pid"));
}

TEST_F(ProcessTest, SaysWhyOneThatAnswersCannotBeStarted) {
  LineProcess process({{"no-such-program-here"}, folder_.string(), {}});
  EXPECT_FALSE(process.ask("one").has_value());
  EXPECT_EQ(process.ended().text({}), "cannot be started: No such file or directory");
}

// While an object lives, only `free` more files can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t free) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    // Opens files until all numbers below a known one are in use.
    do {
      filled_.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (filled_.back() >= 0 && filled_.back() < 63);
    EXPECT_GE(filled_.back(), 63) << "this program may have too few files open";
    const auto next = static_cast<rlim_t>(filled_.back() + 1);
    const struct rlimit few = {next + free, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() {
    setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : filled_) close(fd);
  }

 private:
  struct rlimit before_ = {};
  std::vector<int> filled_;
};

// The caller has nearly as many files open as it may. Starting a process needs one file for an
// empty input, and two for each pipe.
TEST_F(ProcessTest, SaysWhyThereIsNoProcess) {
  if (kAddressSanitizer) GTEST_SKIP() << "its checks of types open pipes themselves";
  const auto message = [&](rlim_t free, const auto& start) {
    const FewDescriptors few(free);
    return failure_of(start);
  };
  const auto run = [&] { (void)sh("exit 0"); };
  const std::string none = "a process cannot be started: ";
  EXPECT_EQ(message(0, run), none + "/dev/null: Too many open files");
  EXPECT_EQ(message(1, run), none + "pipe: Too many open files");
  EXPECT_EQ(message(3, run), none + "socketpair: Too many open files");
  EXPECT_EQ(message(5, run), none + "pipe: Too many open files");
  const auto answer = [&] { LineProcess process(request("cat")); };
  EXPECT_EQ(message(0, answer), none + "socketpair: Too many open files");
  EXPECT_EQ(message(2, answer), none + "pipe: Too many open files");
  EXPECT_EQ(sh("exit 3").text({}), "exit status 3") << "nothing stays open";
}

// Some limits just suffice for this process, but not for the supervisor that starts the program.
TEST_F(ProcessTest, TellsThatItsSupervisorHasTooFewFiles) {
  if (kAddressSanitizer) GTEST_SKIP() << "its checks of types open pipes themselves";
  int refused = 0;
  for (rlim_t free = 7; free < 24; ++free) {
    const Ended done = [free, this] {
      const FewDescriptors few(free);
      try {
        return sh("exit 3");
      } catch (const std::runtime_error&) {
        return Ended{.how = How::kNotStarted, .said = "Too many open files"};
      }
    }();
    if (done.how == How::kNotStarted) {
      ++refused;
      EXPECT_THAT(done.said, testing::HasSubstr("Too many open files")) << free;
    } else {
      EXPECT_EQ(done.text({}), "exit status 3") << free;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 17);
}

// Whoever kills the supervisor, the program is called killed.
TEST_F(ProcessTest, TellsThatItsSupervisorWasKilled) {
  const Ended done = sh("kill -KILL $PPID");
  EXPECT_EQ(done.how, How::kSignal);
  EXPECT_EQ(done.code, SIGKILL);
  EXPECT_EQ(done.text({}), "ended by signal 9 (Killed)");
}

// If the process does not read a question, the one who asks gets no signal.
TEST_F(ProcessTest, EndsOneThatTakesNoQuestions) {
  LineProcess process(request("exec <&-; sleep 100", {.seconds = 60}));
  EXPECT_FALSE(process.ask(std::string(1 << 22, 'q')).has_value());
  EXPECT_EQ(process.ended().how, How::kSignal);
  EXPECT_EQ(process.ended().code, SIGKILL);
}

}  // namespace
}  // namespace assay
