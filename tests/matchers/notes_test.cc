// Tests the notes of passes, which are properties in the test's XML and lines that ASSAY_NOTES asks
// for.
#include "assay/matchers/notes.h"

#include <assay/matchers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/process.h"
#include "assay/base/text.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// An output that CloseTo(...).atol(1) is blind to in part, which its verdict notes: 2 of 8 elements
// are below the tolerance.
const std::vector<float> kValues = {0.5F, 0.25F, 100, 200, 300, 400, 500, 600};
auto blind_in_part() { return CloseTo(std::vector<float>(kValues)).rtol(0).atol(1); }

// -- What the program below runs. Disabled, so that nothing else does. --

TEST(DISABLED_NotesProgram, SeveralExpectations) {
  EXPECT_THAT(kValues, blind_in_part());
  EXPECT_THAT(kValues, blind_in_part());  // the same note
  EXPECT_THAT(kValues, CloseTo(std::vector<float>(kValues)).rtol(0).atol(2));
  EXPECT_THAT(kValues, SnrAtLeast(std::vector<float>(kValues), 20));
}
TEST(DISABLED_NotesProgram, NoNotes) {
  EXPECT_THAT(kValues, CloseTo(std::vector<float>(kValues)).rtol(1e-6).atol(0));
}
TEST(DISABLED_NotesProgram, OfWorkers) {
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([t] {
      for (int i = 0; i < 5; ++i) tell_notes({formatted("worker {} note {}", t, i)});
    });
  }
  for (std::thread& worker : workers) worker.join();
}
TEST(DISABLED_NotesProgram, OfMany) {
  for (int i = 0; i < 103; ++i) tell_notes({formatted("note number {}", i)});
}

struct Ran {
  std::string said, xml;
};

Ran run_program(const std::string& environment, const std::string& more = "") {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / formatted("assay_notes_{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string xml = (folder / "notes.xml").string();
  std::vector<std::string> words = {"env",
                                    environment,
                                    std::string(path, static_cast<std::size_t>(length)),
                                    "--gtest_filter=DISABLED_NotesProgram.*",
                                    "--gtest_also_run_disabled_tests",
                                    "--gtest_output=xml:" + xml};
  if (!more.empty()) words.push_back(more);
  ProcessLimits limits;
  // The limit is RLIM_INFINITY, because sanitizers map all memory that there is.
  limits.memory = -1;
  const Ended done = run_process({.words = words, .folder = folder.string(), .limits = limits});
  EXPECT_EQ(done.code, 0) << done.said;
  Ran ran{done.said, read_file(xml)};
  std::filesystem::remove_all(folder);
  return ran;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Returns the XML element of one test.
std::string test_in(const std::string& xml, const std::string& name) {
  const std::size_t first = xml.find("name=\"" + name + "\"");
  EXPECT_NE(first, std::string::npos) << name;
  const std::size_t last = xml.find("<testcase", first);
  return xml.substr(first, last == std::string::npos ? last : last - first);
}

TEST(Notes, AreInTheXmlAlways) {
  const Ran ran = run_program("ASSAY_NOTES=0");
  EXPECT_THAT(ran.said, Not(HasSubstr("note:")));
  const std::string several = test_in(ran.xml, "SeveralExpectations");
  EXPECT_THAT(several, AllOf(HasSubstr("assay_note_1"), HasSubstr("assay_note_2")));
  EXPECT_THAT(several, HasSubstr("2 of the 8"));
  EXPECT_EQ(count_of(several, "assay_note_"), 3) << several;
  EXPECT_THAT(test_in(ran.xml, "NoNotes"), Not(HasSubstr("assay_note")));
}

TEST(Notes, ArePrintedOnceForEachExpectation) {
  const Ran ran = run_program("ASSAY_NOTES=1");
  EXPECT_EQ(count_of(ran.said, "[ assay    ] DISABLED_NotesProgram.SeveralExpectations: note: "), 4)
      << ran.said;
  EXPECT_THAT(ran.said, Not(HasSubstr("NoNotes: note")));
}

TEST(Notes, DoNotOverwriteEachOtherOnThreads) {
  const std::string test = test_in(run_program("ASSAY_NOTES=0").xml, "OfWorkers");
  for (int i = 1; i <= 20; ++i) {
    EXPECT_THAT(test, HasSubstr(formatted("\"assay_note_{}\"", i)));
    EXPECT_THAT(test, HasSubstr(formatted("worker {} note {}", (i - 1) / 5, (i - 1) % 5)));
  }
}

TEST(Notes, AreCountedBeyondAHundred) {
  const std::string test = test_in(run_program("ASSAY_NOTES=0").xml, "OfMany");
  EXPECT_THAT(test, AllOf(HasSubstr("\"assay_note_100\""), Not(HasSubstr("assay_note_101"))));
  EXPECT_THAT(test, HasSubstr("name=\"assay_notes_left_out\" value=\"3\""));
}

// Tells notes before the first test and after the last one.
class OutsideATest : public testing::Environment {
  void SetUp() override { tell_notes({"outside a test"}); }
  void TearDown() override { tell_notes({"outside a test"}); }
};
const auto* const outside = testing::AddGlobalTestEnvironment(new OutsideATest);

TEST(Notes, OutsideATestArePrinted) {
  EXPECT_NE(outside, nullptr);
  const Ran ran = run_program("ASSAY_NOTES=1");
  EXPECT_EQ(count_of(ran.said, "[ assay    ] note: outside a test"), 2);
  EXPECT_THAT(ran.xml, Not(HasSubstr("outside a test")));
}

TEST(Notes, AWrongWordIsAnError) {
  setenv("ASSAY_NOTES", "yes", 1);
  EXPECT_THROW(tell_notes({"a note"}), std::invalid_argument);
  unsetenv("ASSAY_NOTES");
}

}  // namespace
}  // namespace assay
