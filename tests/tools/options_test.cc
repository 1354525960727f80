// Tests the files and names that options take, for every subcommand: empty values, inputs that an
// output would replace, and files that an earlier run left.
#include <sstream>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::StartsWith;

// An option or positional that `assay COMMAND --help` lists.
struct Listed {
  std::string name, type;  // such as "--json" and "FILE", or "GOLDEN" and "FILE"
};

struct Command {
  std::string line;                  // a valid command line that writes no file
  std::vector<std::string> inputs;   // the files that `line` reads
  std::vector<std::string> outputs;  // the command's options that name output files
  std::string wrong = {};            // a command line that fails, if `line` reads no files
};

class Options : public ProgramTest {
 protected:
  Options() {
    make("g.h5", {product("x", 0.5), product("y")});
    make("o.h5", {product("x", 0.5), product("y")});
    write("own.json", R"({"schema": 1, "standards": [{"name": "own", "rows": [
      {"dtype": "*", "rtol": 0.1, "atol": 0.1}]}]})");
    write("base.json", R"({"schema": 2, "baseline": []})");
    write("known.json", R"({"schema": 1, "known_failures": []})");
    write("batch.txt", "add --dtype float32 --shape 3\n");
    write("plan.json", R"({"schema": 1, "name": "small", "published": "rates.csv", "cells": [
      {"dataset": "g.h5", "case": "y", "clean_rows": 2, "gates": ["rounding_variance"],
       "faults": [{"fault": "flip,bit=20", "trials": 4}]}]})");
    for (const char* table : {"rates.csv", "own.csv"}) {
      write(table, "algorithm,dtype,distribution,direction,bit,rate_percent,trials,remark\n");
    }
    write("a.raw", std::string(24, 'a'));
    write("b.raw", std::string(24, 'a'));
    run("assay gate g.h5 --json r.json --histograms --quiet; assay campaign plan.json --out shard "
        "--json c.json --quiet; assay gate g.h5 --shard 1/1 --json part.json --quiet");
  }

  // Runs a command without the environment variables that make a campaign a shard. They are set if
  // the tests themselves run as shards.
  Ran run(const std::string& line) const {
    return ProgramTest::run("unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX\n" + line);
  }

  // Returns valid command lines, each with all options of its subcommand that name an output file.
  static std::vector<Command> commands() {
    const std::string standards = " --standards own.json";
    return {
        {"gate g.h5 --outputs o.h5 --baseline base.json --known-failures known.json" + standards,
         {"g.h5", "o.h5", "own.json", "base.json", "known.json"},
         {"--json", "--junit", "--html", "--csv", "--save-failures"}},
        {"audit g.h5 --outputs o.h5 --target torch --corruption all_nan" + standards,
         {"g.h5", "o.h5", "own.json"},
         {"--json", "--html"}},
        {"compare a.raw b.raw --dtype float32 --shape 6" + standards,
         {"a.raw", "b.raw", "own.json"},
         {"--json"}},
        {"regate r.json --standard torch" + standards, {"r.json", "own.json"}, {"--json"}},
        {"join part.json", {"part.json"}, {"--json"}},
        {"campaign plan.json --published own.csv",
         {"plan.json", "g.h5", "rates.csv", "own.csv"},
         {"--json", "--csv"}},
        {"merge shard --published own.csv",
         {"g.h5", "rates.csv", "own.csv", "shard/campaign.txt"},
         {"--json", "--csv"}},
        {"report c.json", {"c.json"}, {"--html"}},
        {"trial add --machine exact --emulate --draws 0 --max-elements 8" + standards,
         {"own.json"},
         {"--json", "--junit", "--html", "--out"}},
        {"study fp8 --repeats 1", {}, {"--json"}, "study fmma"},
        {"list standards", {}, {"--json"}, "list standarts"},
        {"identify g.h5", {"g.h5"}, {"--json", "--out"}},
        {"probes float16", {}, {"--out"}, "probes float17"},
        {"generate --from batch.txt", {"batch.txt"}, {"--out"}},
        {"golden g.h5", {"g.h5"}, {"--out"}},
        {"emulate g.h5 --machine exact", {"g.h5"}, {"--out"}},
        {"inject g.h5 --fault flip,bit=30", {"g.h5"}, {"--out"}},
        {"pack g.h5", {"g.h5"}, {"--out"}},
        {"inspect g.h5", {"g.h5"}, {}},
        {"unpack g.h5 --as npy --out unpacked", {"g.h5"}, {}},
    };
  }
  static bool is_in_place(const std::string& line) {
    return line.starts_with("golden ") || line.starts_with("emulate ") ||
           line.starts_with("inject ");
  }

  // Returns the options and positionals of a subcommand that take a value.
  std::vector<Listed> values_of(const std::string& command) const {
    std::istringstream help(run("assay " + command + " --help-all").out);
    std::vector<Listed> found;
    bool listed = false;
    for (std::string line; std::getline(help, line);) {
      if (line.starts_with("Example:")) {
        listed = false;
      } else if (line.ends_with(":") && line[0] != ' ') {
        listed = true;
      } else if (listed && line.starts_with("  ") && line[2] != ' ') {
        std::istringstream words(line);
        Listed one;
        words >> one.name >> one.type;
        const bool is_type =
            !one.type.empty() && std::isupper(static_cast<unsigned char>(one.type[0])) != 0 &&
            (one.type.size() > 1 && std::isupper(static_cast<unsigned char>(one.type[1])) != 0);
        if (is_type && one.name.find(',') == std::string::npos) found.push_back(one);
      }
    }
    return found;
  }
};

TEST_F(Options, AnEmptyValueOfAnyIsRefused) {
  const std::vector<std::string> names = subcommands();
  ASSERT_THAT(names, IsSupersetOf({"gate", "generate", "campaign", "replay", "list"}));
  int options = 0;
  for (const std::string& command : names) {
    std::string positionals;
    for (const Listed& value : values_of(command)) {
      const std::string refusal = value.name + ": the value is empty; is a variable not set?\n";
      std::vector<std::string> lines = {positionals + " ''"};
      if (value.name.starts_with("--")) {
        lines = {" " + value.name + " ''", " " + value.name + "="};
        ++options;
      } else {
        positionals += " x";
      }
      for (const std::string& line : lines) {
        const Ran ran = run("assay " + command + line);
        EXPECT_THAT(ran, Code(2)) << command << line;
        EXPECT_THAT(ran.err, StartsWith(refusal)) << command << line;
        EXPECT_THAT(ran.out, IsEmpty()) << command << line;
      }
    }
  }
  EXPECT_GT(options, 80);
}

// An option with an empty value does not take the next word as its value.
TEST_F(Options, OutputsOfAnUnsetVariableAreNotTheGoldenFilesOwn) {
  for (const char* line : {"assay gate g.h5 --outputs \"$OUT\"", "assay gate g.h5 --outputs=$OUT",
                           "assay gate --outputs=$OUT g.h5"}) {
    EXPECT_THAT(run(line).err,
                StartsWith("--outputs: the value is empty; is a variable not set?\n"))
        << line;
  }
  write("b.txt", "add --dtype float32 --shape 3 --name ''\n");
  EXPECT_THAT(run("assay generate --from b.txt --out n.h5").err,
              StartsWith("error: b.txt: line 1: --name: the value is empty; is a variable not "
                         "set?\n"));
}

// This test fails if the tests below lack an option that names a file.
TEST_F(Options, EveryOptionThatNamesAFileIsTested) {
  for (const std::string& name : subcommands()) {
    std::vector<std::string> outputs, files;
    bool reads = false;
    for (const Command& command : commands()) {
      if (!command.line.starts_with(name + " ")) continue;
      outputs = command.outputs;
      reads = true;
    }
    for (const Listed& value : values_of(name)) {
      if (value.name.starts_with("--") && value.type == "FILE") files.push_back(value.name);
    }
    if (!reads) {
      EXPECT_THAT(files, IsEmpty()) << name;
      continue;
    }
    for (const char* input : {"--outputs", "--standards", "--from", "--published", "--table",
                              "--baseline", "--known-failures", "--resume", "--merge"})
      std::erase(files, input);
    EXPECT_THAT(files, testing::UnorderedElementsAreArray(outputs)) << name;
  }
}

// Nobody can read a report that goes to standard output if that is closed, or full.
TEST_F(Options, AReportThatCannotBeWrittenIsAnError) {
  for (const char* command : {"gate g.h5 --machine exact", "compare a.raw b.raw --dtype float32",
                              "regate r.json --standard torch", "join part.json", "list standards",
                              "study fp8 --repeats 1", "identify g.h5"}) {
    const std::string line = std::string("assay ") + command + " --json -";
    EXPECT_THAT(run(line + " >&-"), Exits(2, "error: --json -: standard output is closed")) << line;
    EXPECT_THAT(run(line + " >/dev/full"), Exits(2, "error: standard output cannot be written"))
        << line;
  }
  EXPECT_THAT(run("assay report c.json --html - >&-"),
              Exits(2, "error: --html -: standard output is closed"));
}

TEST_F(Options, NoOutputReplacesAnInput) {
  for (const Command& command : commands()) {
    for (const std::string& output : command.outputs) {
      for (const std::string& input : command.inputs) {
        if (is_in_place(command.line)) continue;
        const std::string before = read(input);
        const bool in_folder = input.starts_with("shard/");
        std::vector<std::string> names = {input, "./" + input, path(input)};
        if (!in_folder) {
          std::filesystem::remove(path("link"));
          std::filesystem::remove(path("hard"));
          std::filesystem::create_symlink(path(input), path("link"));
          std::filesystem::create_hard_link(path(input), path("hard"));
          names.insert(names.end(), {"link", "hard"});
        }
        for (const std::string& name : names) {
          const std::string line = "assay " + command.line + " " + output + " " + name;
          EXPECT_THAT(run(line), Exits(2, in_folder ? "error: " + name +
                                                          " lies in shard, which is an input; " +
                                                          output + " must lie elsewhere"
                                                    : "error: " + name + " is an input; " + output +
                                                          " would replace it"))
              << line;
          EXPECT_TRUE(read(input) == before) << line;
        }
      }
    }
  }
}

TEST_F(Options, NoTwoOutputsAreOneFile) {
  for (const Command& command : commands()) {
    for (const std::string& one : command.outputs) {
      for (const std::string& other : command.outputs) {
        if (one == other) continue;
        write("same", "old");
        const std::string line = "assay " + command.line + " " + one + " same " + other + " ./same";
        const Ran ran = run(line);
        EXPECT_THAT(ran, Code(2)) << line;
        EXPECT_THAT(ran.err, AllOf(HasSubstr(" would both write "), HasSubstr(one))) << line;
        EXPECT_EQ(read("same"), "old") << "what is refused stays";
      }
    }
  }
  EXPECT_THAT(run("assay gate g.h5 --json r --html r"),
              Exits(2, "error: --json and --html would both write r"));
  EXPECT_THAT(run("assay campaign plan.json --out out --csv out/results.json"),
              Exits(2, "error: --out and --csv would both write out/results.json"));
}

// However a command ends, its output files are of this run, or they do not exist.
TEST_F(Options, NoOutputIsAnOlderOne) {
  for (const Command& command : commands()) {
    for (const std::string& output : command.outputs) {
      const std::string line = "assay " + command.line + " " + output + " new";
      const auto fails = [&](const std::string& failing) {
        write("new", "old");
        EXPECT_THAT(run(failing), Code(2)) << failing;
      };
      const auto expect_gone = [&](const std::string& failing) {
        fails(failing);
        EXPECT_FALSE(exists("new")) << failing;
      };
      expect_gone(line + " --frob");
      expect_gone(line + " --frob=1");
      expect_gone("mkdir -p empty; cp own.json empty/; cd empty; " +
                  (command.inputs.empty() ? "assay " + command.wrong + " " + output + " ../new"
                                          : "assay " + command.line + " " + output + " ../new"));
      if (command.outputs.size() < 2) continue;
      const std::string& other = command.outputs[output == command.outputs[0] ? 1 : 0];
      expect_gone(line + " " + other + " ''");
      fails(line + " " + other + " none/r");
      EXPECT_TRUE(!exists("new") || read("new") != "old") << line << " " << other;
    }
  }
  // Command lines with verdicts of every kind, and with wrong options.
  make("each.h5", one_of_each());
  const std::pair<const char*, int> lines[] = {
      {"assay gate each.h5 --recorded p --case pass", 0},
      {"assay gate each.h5 --recorded p --case fail", 1},
      {"assay gate each.h5 --recorded nobody", 2},
      {"assay gate each.h5 --recorded p --rtol y", 2},
      {"assay gate each.h5 --case nothing", 3},
      {"assay gate each.h5 --machine exact --case untrusted", 3},
      {"assay gate each.h5 --recorded p --case untrusted", 4},
  };
  for (const auto& [line, code] : lines) {
    for (const char* name : {"j", "x", "h", "f"}) write(name, "old");
    EXPECT_THAT(run(std::string(line) + " --json j --junit x --html h --save-failures f"),
                Code(code))
        << line;
    for (const char* name : {"j", "x", "h", "f"}) {
      EXPECT_TRUE(!exists(name) || read(name) != "old") << line << " " << name;
    }
  }
}

TEST_F(Options, APassLeavesNoOldFailures) {
  EXPECT_THAT(run("assay gate g.h5 --save-failures f.h5"), Exits(1));
  EXPECT_TRUE(exists("f.h5"));
  EXPECT_THAT(run("assay gate g.h5 --case y --save-failures f.h5"), Exits(0));
  EXPECT_FALSE(exists("f.h5"));
}

// A failed command that would replace its input keeps that input.
TEST_F(Options, InPlaceTheInputStaysUntilItIsReplaced) {
  const std::string before = read("g.h5");
  std::filesystem::create_symlink(path("g.h5"), path("link.h5"));
  for (const char* line :
       {"assay golden g.h5 --out g.h5 --frob", "assay golden --out g.h5 --frob g.h5",
        "assay golden --out g.h5 --case '' g.h5", "assay golden --out g.h5 --compress=x g.h5",
        "assay golden --out=g.h5 --compress=x ./g.h5",
        "assay golden --out g.h5 --compress=x link.h5", "assay gate --json g.h5 --mutate=x g.h5",
        "assay compare --json g.h5 --equal-nan=x g.h5:/a",
        "assay emulate g.h5 --machine nonsense --out g.h5",
        "assay emulate g.h5 --machine exact --case x --out g.h5",
        "assay inject g.h5 --fault flip,bit=99 --out g.h5"}) {
    EXPECT_THAT(run(line), Code(2)) << line;
    EXPECT_TRUE(read("g.h5") == before) << line;
  }
  EXPECT_THAT(run("assay golden g.h5 --out g.h5 --quiet"), Exits(0));
  EXPECT_EQ(DatasetFile(path("g.h5")).case_names().size(), 2u);
}

// Only regular files are removed.
TEST_F(Options, FoldersAndPipesStay) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* place : {"bin", "pipe"}) {
    for (const char* option : {"--json", "--junit", "--html", "--save-failures"}) {
      run(std::string("timeout 5 assay gate g.h5 --frob ") + option + " " + place);
      EXPECT_TRUE(std::filesystem::is_directory(path("bin")));
      EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
    }
  }
}

// `--help` does nothing.
TEST_F(Options, HelpRemovesNothing) {
  write("new", "old");
  EXPECT_THAT(run("assay gate g.h5 --json new --help"), Exits(0));
  EXPECT_EQ(read("new"), "old");
}

TEST_F(Options, ResultsInAFolderAreOfThisRun) {
  write("shard/results.txt", "old");
  EXPECT_THAT(run("assay merge shard none --out shard"), Code(2));
  EXPECT_FALSE(exists("shard/results.txt"));
  // The files of another campaign's folder stay unchanged.
  write("shard/results.txt", "old");
  write("other.json", R"({"schema": 1, "name": "other", "cells": [{"dataset": "g.h5", "case": "y",
    "clean_rows": 2, "gates": ["rounding_variance"]}]})");
  EXPECT_THAT(run("assay campaign other.json --out shard --resume"), Code(2));
  EXPECT_EQ(read("shard/results.txt"), "old");
}

TEST_F(Options, NamesThatNobodyNeedsAreCheckedToo) {
  EXPECT_THAT(run("assay gate g.h5 --recorded p --machine hoper").err,
              StartsWith("error: unknown machine 'hoper': did you mean 'hopper'?"));
  EXPECT_THAT(
      run("assay gate g.h5 --recorded p --reference-implementation q"),
      Exits(
          2,
          "error: --reference-implementation: unknown producer 'q': did you mean 'p'?; known: p"));
  EXPECT_THAT(
      run("assay gate g.h5 --outputs o.h5 --reference-implementation q"),
      Exits(
          2,
          "error: --reference-implementation: unknown producer 'q': did you mean 'p'?; known: p"));
}

}  // namespace
}  // namespace assay
