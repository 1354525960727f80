// The help texts of all subcommands, and what -q and -qq print.
#include <algorithm>
#include <map>
#include <sstream>

#include "program.h"

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// An option or a positional in a help text, with its description on one line.
struct Described {
  std::string name, text;
};

class Help : public ProgramTest {
 protected:
  // Runs a command without the environment variables that make a campaign a shard. They are set if
  // the tests themselves run as shards.
  Ran run(const std::string& line) const {
    return ProgramTest::run("unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX\n" + line);
  }

  static std::vector<Described> described(const std::string& help) {
    std::vector<Described> all;
    std::istringstream lines(help);
    bool listed = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] != ' ') {
        listed = line.ends_with(":") && line != "Example:" && line != "Studies:";
      } else if (listed && line[2] != ' ') {
        const std::size_t end = line.find(' ', 2), text = line.find("  ", 2);
        all.push_back(
            {line.substr(2, end - 2),
             text == std::string::npos
                 ? ""
                 : line.substr(std::min(line.find_first_not_of(' ', text), line.size()))});
      } else if (listed && !all.empty()) {
        const std::string more = line.substr(line.find_first_not_of(' '));
        all.back().text += (all.back().text.empty() ? "" : " ") + more;
      }
    }
    return all;
  }
  static std::size_t options_in(const std::string& help) {
    const std::vector<Described> all = described(help);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [](const Described& d) { return d.name.starts_with("-"); }));
  }

  // For each subcommand, a command line that does something.
  static std::map<std::string, std::string> lines() {
    return {
        {"gate", "g.h5"},
        {"trial", "add --machine exact --emulate --draws 1"},
        {"compare", "g.h5:/cases/x/outputs/p g.h5:/cases/x/golden"},
        {"regate", "r.json --standard torch"},
        {"join", "part.json"},
        {"repro", "'assay gate g.h5'"},
        {"generate", "add --dtype float32 --shape 4 --out n.h5"},
        {"golden", "g.h5 --out n.h5"},
        {"emulate", "g.h5 --machine exact --verify --out n.h5"},
        {"probes", "float16 --out n.h5"},
        {"pack", "g.h5 --out n.h5"},
        {"unpack", "g.h5 --as npy --out u"},
        {"inject", "g.h5 --fault flip,bit=30 --out n.h5"},
        {"audit", "g.h5 --target torch --draws 1 --no-searches"},
        {"campaign", "plan.json"},
        {"merge", "shard"},
        {"replay", "plan.json --cell 1 --trial 0"},
        {"identify", "g.h5"},
        {"study", "fma --repeats 1"},
        {"calibrate", "--machine ascend910b --dtype float16 --shape 4,32,8 --trials 1"},
        {"inspect", "g.h5"},
        {"list", "dtypes"},
        {"report", "c.json --html n.html"},
        {"completion", "bash"},
        {"man", "gate"},
    };
  }
};

TEST_F(Help, FewOptionsFirstAndAllOnRequest) {
  for (const std::string& command : subcommands()) {
    const Ran few = run("assay " + command + " --help"),
              all = run("assay " + command + " --help-all");
    EXPECT_THAT(few, Exits(0));
    EXPECT_THAT(all, Exits(0));
    EXPECT_THAT(all.out, HasSubstr("Example:\n  assay " + command + " "));
    const std::size_t shown = options_in(few.out), known = options_in(all.out);
    EXPECT_GE(shown, 4u) << command;
    EXPECT_LE(shown, 16u) << command;
    if (shown == known) {
      EXPECT_EQ(few.out, all.out) << command;
    } else {
      EXPECT_THAT(few.out, EndsWith("\n`assay " + command + " --help-all` shows " +
                                    std::to_string(known - shown) + " more options.\n"));
    }
  }
}

TEST_F(Help, ManualAndCompletionsHaveAllOptions) {
  const std::string bash = run("assay completion bash").out, zsh = run("assay completion zsh").out;
  for (const std::string& command : subcommands()) {
    const std::string page = run("assay man " + command).out;
    for (const Described& one : described(run("assay " + command + " --help-all").out)) {
      std::string name =
          one.name.substr(one.name.find("--") == std::string::npos ? 0 : one.name.find("--"));
      name = name.substr(0, name.find(','));
      if (!name.starts_with("--")) continue;
      EXPECT_THAT(bash, HasSubstr(name)) << command;
      EXPECT_THAT(zsh, HasSubstr(name)) << command;
      for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) {
        name.insert(at, "\\");
      }
      EXPECT_THAT(page, HasSubstr(name)) << command;
    }
  }
}

// Descriptions are whole sentences or labels that begin with a capital letter and end with a
// period.
TEST_F(Help, TextsArePlainSentences) {
  std::string texts;
  const std::vector<std::string> names = subcommands();
  std::vector<Described> all = described(run("assay --help").out);
  for (const std::string& command : names) {
    const std::string help = run("assay " + command + " --help-all").out;
    texts += help.substr(0, help.find('\n')) + "\n\n";
    for (Described& one : described(help)) {
      one.name = command + " " + one.name;
      all.push_back(std::move(one));
    }
  }
  for (const Described& one : all) {
    ASSERT_THAT(one.text, Not(IsEmpty())) << one.name;
    const auto first = static_cast<unsigned char>(one.text[0]);
    EXPECT_TRUE(std::islower(first) == 0 || one.text.starts_with("flip,")) << one.name << one.text;
    EXPECT_THAT(one.text, EndsWith(".")) << one.name;
    texts += one.text + "\n\n";
  }
  write("texts.txt", texts);
  const Ran checked =
      run(ASSAY_PYTHON " " ASSAY_SOURCE_DIR "/tests/language/check_language.py --texts texts.txt");
  EXPECT_THAT(checked, Exits(0));
  EXPECT_EQ(checked.out, "");
}

TEST_F(Help, QuietPrintsOneLineAndTwiceNothing) {
  make("g.h5", {product("x"), product("y")});
  write("plan.json", R"({"schema": 1, "name": "small", "cells": [
      {"dataset": "g.h5", "case": "y", "clean_rows": 2, "gates": ["rounding_variance"],
       "faults": [{"fault": "flip,bit=20", "trials": 4}]}]})");
  ASSERT_THAT(run("assay gate g.h5 --json r.json --histograms -qq; assay campaign plan.json --out "
                  "shard --json c.json -qq; assay gate g.h5 --shard 1/1 --json part.json -qq"),
              Exits(0));
  const std::map<std::string, std::string> known = lines();
  for (const std::string& command : subcommands()) {
    ASSERT_EQ(known.count(command), 1u) << command << " needs a line in this test";
    const std::string line = "rm -rf u; assay " + command + " " + known.at(command);
    const Ran loud = run(line);
    EXPECT_NE(loud.code, 2) << line << "\n" << loud.err;
    EXPECT_NE(loud.out, "") << line;
    for (const char* quiet : {" -q", " --quiet"}) {
      const Ran ran = run(line + quiet);
      EXPECT_THAT(ran, Exits(loud.code)) << line << quiet;
      EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << line << quiet << ran.out;
      EXPECT_THAT(ran.out, EndsWith("\n")) << line << quiet;
      EXPECT_GT(ran.out.size(), 6u) << line << quiet;
    }
    for (const char* quiet : {" -qq", " -q -q", " --quiet --quiet"}) {
      const Ran ran = run(line + quiet);
      EXPECT_THAT(ran, Exits(loud.code)) << line << quiet;
      EXPECT_EQ(ran.out, "") << line << quiet;
    }
  }
}

TEST_F(Help, QuietSaysTheSameOfFailuresAndErrors) {
  make("each.h5", one_of_each());
  EXPECT_EQ(run("assay gate each.h5 --recorded p -q").out,
            "4 cases: 1 pass, 1 fail, 1 untrusted, 1 not_comparable\n");
  EXPECT_EQ(run("assay gate each.h5 --recorded p -qq").out, "");
  EXPECT_EQ(run("assay gate each.h5 --recorded p -qq").code, 1);
  for (const char* quiet : {"", " -q", " -qq"}) {
    const Ran ran = run(std::string("assay gate none.h5") + quiet);
    EXPECT_THAT(ran, Exits(2, "error: none.h5: cannot be opened: No such file or directory"))
        << quiet;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace assay
