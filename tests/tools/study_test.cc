// Tests `assay study` as a user types it.
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using StudyTool = ProgramTest;

TEST_F(StudyTool, WritesAllOfIt) {
  const Ran ran =
      run("assay study reduction --repeats 1 --csv out --svg out/pictures --json r.json");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("How much does the order of a sum change its result?\n"),
                             HasSubstr("\nFindings:\n  yes  "), HasSubstr("(2^24 + 1) - 2^24")));
  EXPECT_THAT(read("out/reduction_tiles.csv"),
              HasSubstr("machine,dtype,tile,elements,other bits,largest difference\n"
                        "cpu_fma,float32,\"M, N 32\",65536,0,0\n"));
  EXPECT_THAT(read("out/pictures/reduction_orders.svg"), HasSubstr("<svg"));
  EXPECT_EQ(json("r.json").at("study"), "reduction");
  EXPECT_TRUE(leftovers().empty());
}

TEST_F(StudyTool, JsonToStandardOutput) {
  const Ran ran = run("assay study reduction --repeats 1 --json -");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(parsed(ran.out).at("findings").size(), 6u);
  EXPECT_EQ(run("assay study reduction --repeats 1 -qq").out, "");
}

TEST_F(StudyTool, Refuses) {
  EXPECT_THAT(run("assay study fp9"),
              Exits(2,
                    "error: unknown study 'fp9': did you mean 'fp8'?; known: fma, reduction, "
                    "fp8, accumulation_order"));
  EXPECT_THAT(run("assay study"), Code(2));
  EXPECT_THAT(run("assay study fma --repeats=-1"), Code(2));
  write("file", "");
  EXPECT_THAT(run("assay study fma --svg file"),
              Exits(2, "error: --svg file: the folder cannot be made"));
}

}  // namespace
}  // namespace assay
