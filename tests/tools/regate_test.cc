// assay regate: saved results by another standard.
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Regate : public ProgramTest {};

TEST_F(Regate, ExitCodes) {
  make("g.h5", {product("x", 0.5)});
  EXPECT_THAT(run("assay gate g.h5 --standard triton_ascend --json r.json --quiet"), Exits(1));
  Ran ran = run("assay regate r.json --rtol 0.2 --atol 1e-5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, StartsWith("x     pass            custom: all elements are within atol"));
  EXPECT_THAT(run("assay regate r.json --standard torch"), Exits(1));
  ran = run("assay regate r.json --rtol 0.04 --atol 0.27");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("cannot tell from the saved metrics: they say what would pass"));
  EXPECT_THAT(run("assay regate r.json --standard torch --json s.json --quiet"), Exits(1));
  EXPECT_EQ(json("s.json")["cases"][0]["outcome"], "fail");
}

TEST_F(Regate, UsageAndFiles) {
  write("no.json", "{");
  EXPECT_THAT(run("assay regate no.json --standard torch"), Exits(2, "error: no.json: is no JSON"));
  EXPECT_THAT(run("assay regate nope.json --standard torch"),
              Exits(2, "error: nope.json: cannot be read: No such file or directory"));
  EXPECT_THAT(run("assay regate no.json"),
              Exits(2, "error: give --standard, or --rtol and --atol: what to judge by"));
  make("g.h5", {one_of_each()[2]});
  EXPECT_THAT(run("assay gate g.h5 --machine exact --json r.json --quiet"), Code(0));
  EXPECT_THAT(run("assay regate r.json --standard torch --json r.json"),
              Exits(2, "error: r.json is an input; --json would replace it"));
}

}  // namespace
}  // namespace assay
