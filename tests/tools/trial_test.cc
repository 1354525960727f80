// Tests `assay trial` by running it on small programs, right and wrong ones.
#include <algorithm>

#include "program.h"

namespace assay {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Python starts faster without the packages of its installation.
constexpr const char* kScript =
    ASSAY_PYTHON " -I -S " ASSAY_SOURCE_DIR "/tests/tools/trial_scripts/softmax.py ";

class TrialCommand : public ProgramTest {
 protected:
  // Tries a way of the script with small inputs.
  Ran trial(const std::string& way, const std::string& options = "",
            const std::string& places = "{inputs} {output}") const {
    return run(
        "assay trial softmax --rank 1-2 --max-elements 40 --shrink-time 200ms --json r.json " +
        options + " -- " + kScript + way + " " + places);
  }
  nlohmann::json failure() const { return json("r.json")["failures"][0]; }
};

TEST_F(TrialCommand, ARightProgramPasses) {
  const Ran ran = trial("right", "--jobs 2 --draws 2", "{inputs} {output} {parameter:axis}");
  EXPECT_THAT(ran, Code(0));
  EXPECT_THAT(ran.out, StartsWith("softmax: no failure in "));
  EXPECT_THAT(ran.out, HasSubstr("attributes: "));
  const auto result = json("r.json");
  EXPECT_EQ(result["schema"], "assay-trial-1");
  EXPECT_EQ(result["outcome"], "pass");
  EXPECT_EQ(result["random"]["passed"].get<int>() + result["random"]["not_judged"].get<int>(), 2);
  EXPECT_TRUE(result["failures"].empty());
}

TEST_F(TrialCommand, EachWrongProgramHasItsFinding) {
  struct Row {
    const char *way, *finding, *text;
  };
  for (const Row& row : {
           Row{"tail", "wrong result", "differs? by more than the bound"},
           Row{"nan", "NaN or infinity", "differs? by more than the bound"},
           Row{"exit", "error",
               "the program ended with exit status 3: ValueError: the row is too long"},
           Row{"crash", "crash", "the program was ended by signal 11 \\(Segmentation fault\\)"},
           Row{"shape", "wrong shape or dtype", "the output must be float32 .*, and not float32 "},
           Row{"dtype", "wrong shape or dtype", "the output must be float32 .*, and not float64 "},
           Row{"nofile", "wrong shape or dtype",
               "the program ended well, but wrote no output file"},
       }) {
    const Ran ran = trial(row.way, "--draws 2");
    EXPECT_THAT(ran, Code(1)) << row.way;
    EXPECT_EQ(failure()["finding"], row.finding) << row.way;
    EXPECT_THAT(failure()["text"].get<std::string>(), ContainsRegex(row.text)) << row.way;
    EXPECT_THAT(ran.out, HasSubstr(std::string("\n") + row.finding + ": ")) << row.way;
  }
}

TEST_F(TrialCommand, AHangIsAFinding) {
  const Ran ran = trial("hang", "--timeout 1 --on 'x=float32[1,9]{*:1}'");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_EQ(failure()["finding"], "hang");
  EXPECT_THAT(failure()["text"].get<std::string>(), StartsWith("the program was ended after 1 s"));
}

TEST_F(TrialCommand, AReducedInputRepeatsTheFailure) {
  // Without the short time of the other tests.
  ASSERT_THAT(
      run(std::string("assay trial softmax --rank 1-2 --max-elements 40 --json r.json -- ") +
          kScript + "tail {inputs} {output}"),
      Code(1));
  const std::string repeat = failure()["repeat"], reduced = failure()["reduced"];
  EXPECT_THAT(reduced, StartsWith("x=float32[6]{"));
  write("line", repeat);
  for (const std::string& line : {repeat, std::string("assay repro \"$(cat line)\"")}) {
    EXPECT_THAT(run(line).out, StartsWith("softmax: fails 1 of 1 input\nwrong result: ")) << line;
  }
}

TEST_F(TrialCommand, WhatIsNotSupportedIsCounted) {
  const Ran some = run(std::string("assay trial softmax --rank 3-3 --max-elements 400 --draws 2 "
                                   "--json r.json -- ") +
                       kScript + "ranks {inputs} {output}");
  EXPECT_THAT(some, Code(4));
  EXPECT_GT(json("r.json")["not_supported"]["more than 2 dimensions"], 0);
  EXPECT_THAT(some.out, HasSubstr("not supported by the kernel (first reason: more than 2 "
                                  "dimensions)"));
  const Ran none = trial("skips", "--draws 1");
  EXPECT_THAT(none, Code(4));
  EXPECT_THAT(none.out, StartsWith("softmax: no output was judged: "));
  EXPECT_GT(json("r.json")["not_supported"]["needs a card"], 0);
}

TEST_F(TrialCommand, AFolderOfCasesIsOneStart) {
  EXPECT_THAT(trial("right", "--draws 20", "{folder}"), Code(0));
  EXPECT_GT(json("r.json")["random"]["passed"], 10);
  // Parameters are in case.json, so they vary.
  EXPECT_GT(json("r.json")["coverage"]["attributes"].size(), 1u);
  EXPECT_THAT(trial("stale", "", "{folder}"), Code(1));
  EXPECT_EQ(failure()["finding"], "stale result");
  EXPECT_THAT(trial("crash", "", "{folder}"), Code(1));
  EXPECT_EQ(failure()["finding"], "crash");
  const Ran ranks = run(std::string("assay trial softmax --rank 3-3 --max-elements 400 --draws 2 "
                                    "--json r.json -- ") +
                        kScript + "ranks {folder}");
  EXPECT_THAT(ranks, Code(4));
  EXPECT_GT(json("r.json")["not_supported"]["more than 2 dimensions"], 0);
}

TEST_F(TrialCommand, RawFilesAndNamedInputs) {
  const Ran ran = run(
      "assay trial add --dtype bfloat16 --as bin --max-elements 8 --draws 1 --json r.json -- sh -c "
      "'test {dtype}{dtype:output} = bfloat16bfloat16 && test -n {shape} && test -f {input:b} && "
      "cp {input:a} {output}'");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_EQ(failure()["finding"], "wrong result");
  EXPECT_THAT(failure()["reduced"].get<std::string>(), StartsWith("a=bfloat16["));
}

TEST_F(TrialCommand, AContinuedTrialCountsAsAWholeOne) {
  const std::string line =
      "assay trial softmax --machine exact --emulate --rank 1-2 --max-elements 200 ";
  ASSERT_THAT(run(line + "--draws 40 --json whole.json -q"), Code(0));
  ASSERT_THAT(run(line + "--draws 13 --out part.json -q"), Code(0));
  ASSERT_THAT(run(line + "--draws 40 --resume part.json --out part.json -q"), Code(0));
  auto whole = json("whole.json"), part = json("part.json");
  for (const char* key : {"command", "seconds"}) {
    whole.erase(key);
    part.erase(key);
  }
  EXPECT_EQ(whole, part);
  EXPECT_THAT(run(line + "--draws 40 --resume part.json --seed 2"),
              Exits(2, "error: the results are not of one trial: the seed differs"));
}

TEST_F(TrialCommand, ShardsAreJoined) {
  const std::string line =
      "assay trial softmax --machine exact --emulate --rank 1-2 --max-elements 200 --draws 20 ";
  ASSERT_THAT(run(line + "--json whole.json -q"), Code(0));
  for (const char* shard : {"1", "2", "3"}) {
    ASSERT_THAT(run(line + "--shard " + shard + "/3 --out " + shard + ".json -q"), Code(0));
  }
  EXPECT_THAT(run("assay trial --merge 1.json 2.json"), Exits(2, "error: 2 of 3 shards are there"));
  EXPECT_THAT(run("assay trial --merge 1.json 2.json 3.json --json all.json -q"), Code(0));
  auto whole = json("whole.json"), all = json("all.json");
  for (const char* key : {"command", "seconds"}) {
    whole.erase(key);
    all.erase(key);
  }
  EXPECT_EQ(whole, all);
  // The result can be continued, because all shards ended at the same input.
  const std::string more =
      "assay trial softmax --machine exact --emulate --rank 1-2 --max-elements 200 --draws 30 -q ";
  ASSERT_THAT(run(more + "--json whole.json"), Code(0));
  ASSERT_THAT(run(more + "--resume all.json --json all.json"), Code(2));
  ASSERT_THAT(run(more + "--resume all.json --json more.json"), Code(0));
  EXPECT_EQ(json("more.json")["coverage"], json("whole.json")["coverage"]);
  EXPECT_EQ(json("more.json")["next"], json("whole.json")["next"]);
}

TEST_F(TrialCommand, FailuresAreKept) {
  ASSERT_THAT(trial("tail", "--keep kept --junit r.xml --html r.html"), Code(1));
  EXPECT_TRUE(exists("kept/wrong_result.h5"));
  EXPECT_THAT(run("assay gate kept/wrong_result.h5 --recorded kernel"), Code(1));
  const std::string source = read("kept/wrong_result.cc");
  EXPECT_THAT(source, HasSubstr("TEST(SoftmaxTrial, WrongResult) {"));
  EXPECT_THAT(source, HasSubstr(failure()["reduced"].get<std::string>()));
  EXPECT_THAT(read("r.xml"), HasSubstr("<failure type=\"wrong result\""));
  EXPECT_THAT(read("r.html"), HasSubstr("Trial of softmax: <span class=fail>fail</span>"));
  EXPECT_THAT(trial("tail", "--keep kept"),
              Exits(2, "error: kept: already exists and is not empty; name a new folder"));
}

TEST_F(TrialCommand, AnInterruptKeepsWhatWasFound) {
  const Ran ran =
      run(std::string("export INTERRUPTED=$PWD/pid; echo 'echo $$ > pid; exec \"$@\"' > keep_pid; "
                      "sh keep_pid assay trial softmax --draws 100000 --rank 1-2 --max-elements 40 "
                      "--out r.json -- ") +
          kScript + "interrupts {inputs} {output}");
  EXPECT_THAT(ran.out, HasSubstr("; the trial was interrupted"));
  EXPECT_THAT(ran.err, EndsWith("note: add --resume r.json to continue\n"));
  EXPECT_EQ(json("r.json")["was_interrupted"], true);
  EXPECT_GT(json("r.json")["next"], 0);
}

// Each unknown place is refused before anything is drawn, with the nearest place that is known.
TEST_F(TrialCommand, UnknownPlacesAreRefused) {
  struct Row {
    const char *word, *place, *nearest;
  };
  for (const Row& row : {
           Row{"{inputz}", "{inputz}", "{inputs}"},
           Row{"{input_x}", "{input_x}", "{input:x}"},
           Row{"{input}", "{input}", "{inputs}"},
           Row{"--in={x}", "{x}", "{input:x}"},
           Row{"--axis={axis}", "{axis}", "{parameter:axis}"},
           Row{"{inptu:x}", "{inptu:x}", "{input:x}"},
           Row{"{parameters:axis}", "{parameters:axis}", "{parameter:axis}"},
           Row{"{dtype.x}", "{dtype.x}", "{dtype:x}"},
           Row{"{foldr}", "{foldr}", "{folder}"},
           Row{"{something}", "{something}", ""},
           Row{"python3 run.py {inputz}", "{inputz}", "{inputs}"},
       }) {
    const std::string nearest =
        row.nearest[0] == 0 ? std::string() : std::string(": did you mean '") + row.nearest + "'?";
    EXPECT_THAT(
        run(std::string("assay trial softmax -- true {inputs} {output} '") + row.word + "'"),
        Exits(2, std::string("error: the program's word '") + row.word + "' has an unknown place " +
                     row.place + nearest +
                     "; known: {inputs}, {input:NAME}, {output}, {dtype}, {dtype:NAME}, {shape}, "
                     "{shape:NAME}, {parameter:NAME}, {case} and {folder}"));
  }
  // Braces of a shell and of scripts are not places.
  for (const char* word : {"${HOME}", "f = {name}; g = {0}", "{}", "{a,b}", "{\"x\": 1}"}) {
    EXPECT_THAT(
        trial("right", "--draws 0 --only 0", std::string("{inputs} {output} -1 '") + word + "'"),
        Code(0))
        << word;
  }
}

// A program that cannot be started is one error, not a finding that is reduced.
TEST_F(TrialCommand, AProgramThatCannotBeStartedIsOneError) {
  write("text", "not a program");
  write("script", "#!/no/such/interpreter\n");
  run("chmod +x script; mkdir folder");
  struct Row {
    const char *program, *error;
  };
  for (const Row& row : {
           Row{"./nothing", "./nothing: cannot be started: No such file or directory"},
           Row{"no_such_program", "no_such_program: cannot be started: No such file or directory"},
           Row{"$PWD/script", "script: cannot be started: No such file or directory"},
           Row{"$PWD/text",
               "text: cannot be started: Permission denied; make the file executable (chmod +x), "
               "or name its interpreter first"},
           Row{"$PWD/folder",
               "folder: cannot be started: Permission denied; make the file executable (chmod +x), "
               "or name its interpreter first"},
           Row{"sh -c ./nothing", "sh: cannot be started: exit status 127: "},
       }) {
    for (const char* places : {" {inputs} {output}", " {folder}"}) {
      const Ran ran =
          run(std::string("assay trial softmax --jobs 2 --json r.json -- ") + row.program + places);
      EXPECT_THAT(ran, Code(2)) << row.program << places;
      EXPECT_THAT(ran.err, HasSubstr(row.error)) << row.program << places;
      EXPECT_THAT(ran.err, StartsWith("error: "));
      EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
      EXPECT_EQ(ran.out, "");
      EXPECT_FALSE(exists("r.json"));
    }
  }
  // A code of this kind after a call that ran is a finding.
  const Ran later = trial("notfound", "--draws 2");
  EXPECT_THAT(later, Code(1));
  EXPECT_EQ(failure()["finding"], "error");
}

// The files of the inputs are compared with what was written, in every kind of call.
TEST_F(TrialCommand, AChangedInputFileIsAFinding) {
  for (const char* way : {"spoils", "removes"}) {
    for (const char* places : {"{inputs} {output}", "{folder}"}) {
      SCOPED_TRACE(std::string(way) + " " + places);
      EXPECT_THAT(trial(way, "--draws 2", places), Code(1));
      EXPECT_EQ(failure()["finding"], "changed input");
      EXPECT_THAT(failure()["text"].get<std::string>(),
                  StartsWith("the file of the input x was changed"));
    }
  }
  EXPECT_THAT(trial("right", "--draws 2 --html r.html"), Code(0));
  EXPECT_THAT(read("r.html"), ContainsRegex("no input is changed.*kept"));
}

// A time of an option has a unit, or is a number of seconds.
TEST_F(TrialCommand, TimesHaveTheSameUnits) {
  for (const char* time : {"0.2s", "200ms", "0.2", "0.20"}) {
    const Ran ran = trial("hang", std::string("--timeout ") + time + " --on 'x=float32[1,9]{*:1}'");
    EXPECT_THAT(ran, Exits(1));
    EXPECT_THAT(failure()["text"].get<std::string>(),
                StartsWith("the program was ended after 0.2 s"));
    EXPECT_THAT(failure()["repeat"].get<std::string>(),
                HasSubstr(std::string(" --timeout ") + time + " "));
  }
  for (const char* time : {"500ms", "0.5"}) {
    EXPECT_THAT(run(std::string("assay trial softmax --machine exact --emulate --rank 1-2 "
                                "--max-elements 40 --budget ") +
                    time),
                Code(0))
        << time;
  }
}

TEST_F(TrialCommand, InputsAreListed) {
  const Ran ran = run("assay trial softmax --list --draws 3");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, StartsWith("0  float32 "));
  EXPECT_EQ(run("assay trial softmax --list --draws 3").out, ran.out);
  EXPECT_THAT(run("assay trial softmax --list --only 5").out, StartsWith("5  float32 "));
}

TEST_F(TrialCommand, WhatIsWrongIsSaid) {
  struct Row {
    const char *line, *error;
  };
  for (const Row& row : {
           Row{"", "the operator is missing, as in `assay trial softmax -- PROGRAM`"},
           Row{"sofmax -- true",
               "unknown operator 'sofmax': did you mean 'softmax'?; `assay list operators` shows "
               "all"},
           Row{"softmax",
               "there is no program to try; give it after --, as in `assay trial softmax -- "
               "./run_softmax {inputs} {output}`"},
           Row{"softmax -- true {inputs}",
               "the program has no place for its output; write {output}, {case} or {folder} in its "
               "words, as in `-- true {inputs} {output}`; known: {inputs}, {input:NAME}, {output}, "
               "{dtype}, {dtype:NAME}, {shape}, {shape:NAME}, {parameter:NAME}, {case} and "
               "{folder}"},
           Row{"softmax -- true {output} {shape}",
               "the program has no place for its inputs; write {inputs}, {input:NAME}, {case} or "
               "{folder} in its words, as in `-- true {inputs} {output}`; known: {inputs}, "
               "{input:NAME}, {output}, {dtype}, {dtype:NAME}, {shape}, {shape:NAME}, "
               "{parameter:NAME}, {case} and {folder}"},
           Row{"softmax -- true",
               "the program has no place for its inputs and its output; write {inputs} and "
               "{output}, or {case}, or {folder} in its words, as in `-- true {inputs} {output}`; "
               "known: {inputs}, {input:NAME}, {output}, {dtype}, {dtype:NAME}, {shape}, "
               "{shape:NAME}, {parameter:NAME}, {case} and {folder}"},
           Row{"softmax --dtype int32 -- true {inputs} {output}",
               "softmax takes no inputs of int32: softmax takes float operands; x is int32; it "
               "takes "
               "float64, float32, float16, bfloat16, tfloat32, hfloat32, float8_e4m3fn, "
               "float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float6_e2m3fn, "
               "float6_e3m2fn, float4_e2m1fn, float4_e1m2fn, float_e5m6, hifloat8"},
           Row{"softmax --dtype float32 --dtype int8 -- true {inputs} {output}",
               "softmax takes no inputs of int8: softmax takes float operands; x is int8; it takes "
               "float64, float32, float16, bfloat16, tfloat32, hfloat32, float8_e4m3fn, "
               "float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float6_e2m3fn, "
               "float6_e3m2fn, float4_e2m1fn, float4_e1m2fn, float_e5m6, hifloat8"},
           Row{"softmax -- true {folder} {output}",
               "the program gets all files of a case in {folder}; leave out the other places in "
               "braces"},
           Row{"softmax -- true {input:y} {output}",
               "softmax has no input 'y': did you mean 'x'?; inputs: x (...)"},
           Row{"softmax --budget 5x -- true {inputs} {output}",
               "--budget 5x: a time is needed, such as 60s, 10m, 500ms or a number of seconds"},
           Row{"softmax --timeout -1 -- true {inputs} {output}",
               "--timeout -1: a time is needed, such as 60s, 10m, 500ms or a number of seconds"},
           Row{"softmax --timeout 2d -- true {inputs} {output}",
               "--timeout 2d: a time is needed, such as 60s, 10m, 500ms or a number of seconds"},
           Row{"softmax --rank 3-2 -- true {inputs} {output}",
               "--rank 3-2: LEAST-MOST with ranks from 0 to 8 is needed, such as 2-3"},
           Row{"softmax --parameter axis -- true {inputs} {output}",
               "--parameter axis: NAME=VALUE is needed, such as axis=0"},
           Row{"softmax --emulate", "--emulate needs --machine, which names what is emulated"},
           Row{"softmax --only 3 --resume r.json -- true {inputs} {output}",
               "--resume continues a whole trial; leave out --only and --on"},
       }) {
    write("r.json", "{}");
    EXPECT_THAT(run(std::string("assay trial ") + row.line),
                Exits(2, std::string("error: ") + row.error));
  }
}

}  // namespace
}  // namespace assay
