// Help, version, the tables, inspect, and usage errors.
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class Usage : public ProgramTest {};

TEST_F(Usage, HelpNamesEverySubcommandAndTheExitCodes) {
  const Ran ran = run("assay --help");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(subcommands().size(), 25u);
  EXPECT_THAT(
      ran.out,
      HasSubstr("Exit codes: 0 pass, 1 fail, 2 wrong usage or unreadable file, 3 not comparable,"));
}

TEST_F(Usage, EverySubcommandHasHelpWithAnExample) {
  for (const std::string& command : subcommands()) {
    const Ran ran = run("assay " + command + " --help");
    EXPECT_THAT(ran, Exits(0));
    EXPECT_THAT(ran.out, HasSubstr("Example:\n  assay " + command + " "));
  }
}

TEST_F(Usage, ExamplesOfTheHelpAreNoUsageErrors) {
  // Runs in the repository's root, so that the paths in the examples are right. Their outputs go
  // elsewhere.
  for (const char* command : {"gate", "inspect", "list", "emulate", "generate"}) {
    std::string help = run(std::string("assay ") + command + " --help").out;
    std::string example = help.substr(help.find("Example:\n  ") + 11);
    example.resize(example.find("\n"));
    for (const char* option : {"--json ", "--out "}) {
      const std::size_t at = example.find(option);
      if (at != std::string::npos) example.insert(at + std::string(option).size(), path("x."));
    }
    EXPECT_THAT(run("cd '" ASSAY_SOURCE_DIR "' && " + example), Code(0)) << example;
  }
}

TEST_F(Usage, VersionSaysWhatIsInside) {
  const Ran ran = run("assay --version");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out,
              MatchesRegex("assay [0-9]+\\.[0-9]+\\.[0-9]+ \\((commit [0-9a-f]+(-dirty)?, )?HDF5 "
                           "[0-9.]+, SIMD target [A-Z0-9_]+\\)\n"));
}

TEST_F(Usage, ErrorsExitWithTwoAndPrintNothingOnStandardOutput) {
  make("g.h5", {product("x")});
  for (const char* line : {"assay",
                           "assay frob",
                           "assay gate",
                           "assay gate --frob g.h5",
                           "assay gate g.h5 h.h5",
                           "assay gate g.h5 --json",
                           "assay gate g.h5 --pairs a b",
                           "assay gate g.h5 --threads 0",
                           "assay gate g.h5 --update-baseline",
                           "assay gate g.h5 --rtol x",
                           "assay gate g.h5 --rtol -1",
                           "assay gate g.h5 --atol -0.5",
                           "assay emulate g.h5 --out o.h5",
                           "assay emulate g.h5 --machine exact",
                           "assay golden g.h5",
                           "assay inject g.h5 --out o.h5",
                           "assay inspect",
                           "assay list",
                           "assay list frobs",
                           "assay compare g.h5"}) {
    const Ran ran = run(line);
    EXPECT_THAT(ran, Code(2)) << line;
    EXPECT_THAT(ran.out, IsEmpty()) << line;
    EXPECT_THAT(ran.err, Not(IsEmpty())) << line;
  }
}

TEST_F(Usage, MessagesNameTheOptionAndStayShort) {
  make("g.h5", {product("x")});
  EXPECT_THAT(run("assay gate").err, HasSubstr("GOLDEN is required"));
  EXPECT_THAT(run("assay gate g.h5 --frob").err, HasSubstr("--frob"));
  EXPECT_THAT(run("assay list frobs").err, AllOf(HasSubstr("frobs"), HasSubstr("machines")));
  const std::pair<const char*, const char*> wrong[] = {
      {"--rtol x", "--rtol: a tolerance is a number of at least 0, not 'x'\n"},
      {"--atol -1", "--atol: a tolerance is a number of at least 0, not '-1'\n"},
      {"--max-mismatches -1",
       "--max-mismatches: a number of mismatches is a whole number of at least 0, not '-1'\n"},
      {"--max-mismatches 1.5",
       "--max-mismatches: a number of mismatches is a whole number of at least 0, not '1.5'\n"},
      {"--max-mismatch-fraction 1.5",
       "--max-mismatch-fraction: a fraction is a number from 0 to 1, not '1.5'\n"},
      {"--max-mismatch-fraction nan",
       "--max-mismatch-fraction: a fraction is a number from 0 to 1, not 'nan'\n"},
  };
  for (const auto& [options, message] : wrong) {
    const Ran ran = run(std::string("assay gate g.h5 ") + options);
    EXPECT_THAT(ran, Code(2)) << options;
    EXPECT_THAT(ran.err, StartsWith(message)) << options;
    EXPECT_LT(ran.err.size(), 200u) << ran.err;
  }
}

TEST_F(Usage, UnknownSubcommandsAndOptionsGetASuggestion) {
  make("g.h5", {product("x")});
  const Ran slip = run("assay gaet g.h5");
  EXPECT_THAT(slip, Code(2));
  EXPECT_THAT(slip.err, AllOf(StartsWith("error: unknown subcommand 'gaet': did you mean 'gate'?; "
                                         "known: gate, trial, compare, regate, "),
                              EndsWith(", completion, man\n")));
  EXPECT_THAT(run("assay frobnicate").err,
              StartsWith("error: unknown subcommand 'frobnicate'; known: gate, "));
  const std::string more = "\nRun with --help for more information.";
  EXPECT_THAT(run("assay gate g.h5 --mashine exact"),
              Exits(2, "error: unexpected argument: --mashine (did you mean '--machine'?)" + more));
  EXPECT_THAT(
      run("assay gate g.h5 --stndard=torch"),
      Exits(2, "error: unexpected argument: --stndard=torch (did you mean '--standard'?)" + more));
  EXPECT_THAT(run("assay gate g.h5 --frobnicate"),
              Exits(2, "error: unexpected argument: --frobnicate" + more));
  EXPECT_THAT(run("assay --bogus"), Exits(2, "error: unexpected argument: --bogus" + more));
  EXPECT_THAT(run("assay list machines --our"),
              Exits(2, "error: unexpected argument: --our" + more));
  EXPECT_THAT(run("assay list standarts").err,
              StartsWith("TABLE: unknown table 'standarts': did you mean 'standards'?; known: "
                         "dtypes, machines, operators, standards, thresholds, "));
  EXPECT_THAT(
      run("assay man gat").err,
      StartsWith("SUBCOMMAND: unknown subcommand 'gat': did you mean 'gate'?; known: gate, "));
  EXPECT_THAT(run("assay completion bsh").err,
              StartsWith("SHELL: unknown shell 'bsh': did you mean 'bash'?; known: bash, zsh\n"));
}

TEST_F(Usage, ManPrintsAPageOrWritesThemAll) {
  const Ran page = run("assay man gate");
  EXPECT_THAT(page, Exits(0));
  EXPECT_THAT(page.out, StartsWith(".TH ASSAY\\-GATE 1 \"\" \"assay "));
  EXPECT_THAT(page.out, HasSubstr(".TP\n\\fB\\-\\-recorded\\fR \\fIVALUE\\fR\nJudge the recorded "
                                  "outputs of this producer.\n"));
  EXPECT_THAT(page.out, HasSubstr("One of: exact, ascend910b, hopper"));
  EXPECT_THAT(run("assay man").out, HasSubstr("Exit codes: 0 pass, 1 fail"));
  EXPECT_THAT(run("assay man --out pages"), Exits(0));
  EXPECT_EQ(read("pages/assay-gate.1"), page.out);
  EXPECT_EQ(read("pages/assay.1"), run("assay man").out);
  EXPECT_THAT(run("assay man gate --out pages"),
              Exits(2,
                    "error: give SUBCOMMAND, whose page is printed, or --out, which writes all "
                    "pages; not both"));
}

TEST_F(Usage, ExchangedNeighboursAreOneSlip) {
  EXPECT_THAT(run("assay generate matmul --dtype bfloat61 --shape 4,4,4 --out o.h5").err,
              HasSubstr("did you mean 'bfloat16'?"));
}

TEST_F(Usage, ToleranceThatIsNoNumberIsRefused) {
  make("g.h5", {product("x", 0.5)});
  // If an option were ignored, the gate would judge by something else than what was asked for.
  EXPECT_THAT(run("assay gate g.h5 --rtol nan"), Code(2));
  EXPECT_THAT(run("assay gate g.h5 --atol nan"), Code(2));
  EXPECT_THAT(run("assay gate g.h5 --rtol inf"), Code(2));
}

TEST_F(Usage, StandardDoesNotSwallowTheFile) {
  make("g.h5", {product("x")});
  EXPECT_THAT(run("assay gate --standard torch g.h5"), Exits(0));
  EXPECT_THAT(run("assay gate --standard torch g.h5 --quiet"), Exits(0));
  EXPECT_THAT(run("assay gate --standard torch --standard bit_equal g.h5 --quiet"), Exits(0));
}

TEST_F(Usage, ListDtypes) {
  const Ran ran = run("assay list dtypes");
  EXPECT_THAT(ran, Exits(0));
  for (const char* name : {"float64",
                           "float32",
                           "float16",
                           "bfloat16",
                           "float8_e4m3fn",
                           "float8_e5m2",
                           "float8_e4m3fnuz",
                           "hifloat8",
                           "tfloat32",
                           "hfloat32",
                           "float8_e5m2fnuz",
                           "float4_e2m1fn",
                           "float6_e2m3fn",
                           "float6_e3m2fn",
                           "float8_e8m0fnu",
                           "float_e5m6",
                           "int8",
                           "uint8",
                           "int16",
                           "int32",
                           "int64",
                           "bool",
                           "int4",
                           "uint4",
                           "uint16",
                           "uint32",
                           "uint64",
                           "float4_e1m2fn"}) {
    EXPECT_THAT(ran.out, HasSubstr(std::string("\n") + name + " "));
  }
}

TEST_F(Usage, ListOfEveryTableHasItsRows) {
  EXPECT_THAT(run("assay list machines").out,
              AllOf(HasSubstr("ascend910b: "), HasSubstr("source: "), HasSubstr("documented")));
  EXPECT_THAT(run("assay list operators").out, StartsWith("matmul: "));
  EXPECT_THAT(run("assay list standards").out,
              AllOf(HasSubstr("default (default)"), HasSubstr("torch"), HasSubstr("ulp(n)"),
                    HasSubstr("bit_equal")));
  EXPECT_THAT(run("assay list faults").out, AllOf(StartsWith("flip"), HasSubstr("bit=N")));
  EXPECT_THAT(run("assay list distributions").out,
              AllOf(StartsWith("normal: mean + deviation N(0, 1)\n  source: Box and Muller"),
                    HasSubstr("\n  nu=3                  degrees of freedom\n"),
                    HasSubstr("\n  count=                or the number of these channels\n")));
  EXPECT_THAT(run("assay list attributes").out,
              AllOf(StartsWith("attribute"), HasSubstr("\nround_expected         a bool")));
  for (const char* table : {"dtypes", "machines", "operators", "standards", "thresholds", "faults",
                            "distributions", "attributes"}) {
    EXPECT_THAT(run(std::string("assay list ") + table), Exits(0));
  }
}

TEST_F(Usage, InspectShowsEveryCase) {
  make("g.h5", {product("layer0/x"), product("y")});
  const Ran ran = run("assay inspect g.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(
      ran.out,
      "assay_schema: 1\n\n"
      "case      operator  inputs                              golden result   recorded outputs\n"
      "layer0/x  matmul    a float32 [2, 2], b float32 [2, 3]  float64 [2, 3]  p float32 [2, 3]\n"
      "y         matmul    a float32 [2, 2], b float32 [2, 3]  float64 [2, 3]  p float32 [2, 3]\n"
      "\n2 cases\n")
      << "columns are aligned under their headings";
}

TEST_F(Usage, InspectOfOneCaseShowsItsAttributes) {
  Case c = product("x");
  c.attributes["why"] = std::string("because");
  c.attributes["rtol"] = 0.25;
  make("g.h5", {c, product("y")});
  const Ran ran = run("assay inspect g.h5 --case x");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("  why: because\n"), HasSubstr("  rtol: 0.25\n"),
                             EndsWith("\n1 case\n")));
}

TEST_F(Usage, ColoursOnTerminalsAlone) {
  make("g.h5", {product("x", 0.5)});
  const std::string escape = "\x1b[";
  const std::string terminal = "TERM=xterm script -qec 'assay gate g.h5' /dev/null";
  EXPECT_THAT(run("env -u NO_COLOR " + terminal).out, HasSubstr(escape + "31mfail"));
  // Looks only for sequences of colors, which end in m. A long run may also show its progress,
  // whose line ends in a sequence that erases the rest of it.
  EXPECT_THAT(run("NO_COLOR=1 " + terminal).out, Not(ContainsRegex("\x1b\\[[0-9;]*m")));
  EXPECT_THAT(run("assay gate g.h5").out, Not(HasSubstr(escape)));
}

TEST_F(Usage, FullStandardOutputIsAnError) {
  make("g.h5", {product("x")});
  for (const char* line :
       {"assay gate g.h5", "assay gate g.h5 --json -", "assay inspect g.h5", "assay list dtypes"}) {
    EXPECT_THAT(run(std::string(line) + " >/dev/full"), Code(2)) << line;
  }
}

}  // namespace
}  // namespace assay
