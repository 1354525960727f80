// assay gate --html: what the program puts into the page. (tests/report/html_browser_test.py opens
// it in a browser.)
#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GatePage : public ProgramTest {
 protected:
  // Returns the data that the page's script reads.
  nlohmann::json data(const std::string& name) const {
    const std::string page = read(name), head = "<script type=\"application/json\" id=data>";
    const std::size_t begin = page.find(head) + head.size();
    return parsed(page.substr(begin, page.find("</script>", begin) - begin));
  }
};

TEST_F(GatePage, SaysWhatRanWhereAndWhen) {
  make("g.h5", {product("x")});
  const std::string gate =
      "SOURCE_DATE_EPOCH=1772323200 assay gate g.h5 --standard torch --standard 'ulp(3)' "
      "--machine cpu_fma -q --html ";
  EXPECT_THAT(run(gate + "r.html"), Exits(0));
  const std::string page = read("r.html");
  const auto fact = [](const std::string& name, const std::string& html) {
    return HasSubstr(formatted("<dt>{}</dt><dd>{}</dd>\n", name, html));
  };
  EXPECT_THAT(page, fact("command",
                         "<code>assay gate g.h5 --standard torch --standard &#39;ulp(3)&#39; "
                         "--machine cpu_fma -q --html r.html</code>"));
  EXPECT_THAT(page, fact("golden results", "<code>g.h5</code>"));
  EXPECT_THAT(page, fact("standards", "torch (1), ulp(3) (1)"));
  EXPECT_THAT(page, fact("producers", "cpu_fma (1)"));
  EXPECT_THAT(page, fact("machine", "cpu_fma"));
  EXPECT_THAT(page, fact("date", "2026-03-01 00:00:00 UTC"));
  const Ran host = run("uname -n");
  EXPECT_THAT(page, fact("host", "<code>" + host.out.substr(0, host.out.size() - 1) + "</code>"));
  std::string version = run("assay --version").out;  // as in "assay 0.2.0 (commit abc, HDF5 ..."
  version = version.substr(0, version.find(' ', 6));
  EXPECT_THAT(page, HasSubstr("<dt>made by</dt><dd>" + version));
  EXPECT_THAT(page, HasSubstr("<footer>" + version + ", 2026-03-01 00:00:00 UTC</footer>"));
  // A second run with the same inputs gives a page of the same bytes.
  EXPECT_THAT(run("mv r.html first.html; " + gate + "r.html"), Exits(0));
  EXPECT_EQ(read("first.html"), read("r.html"));
  EXPECT_THAT(run("SOURCE_DATE_EPOCH=now assay gate g.h5 --html r.html"),
              Exits(2, "error: SOURCE_DATE_EPOCH is 'now', not a number of seconds"));
}

TEST_F(GatePage, MapsTheMissesOfWhatFails) {
  make("g.h5", {product("x"), product("y", 0.5)});
  EXPECT_THAT(run("assay gate g.h5 --standard torch -q --html r.html"), Code(1));
  const auto page = data("r.html");
  ASSERT_EQ(page["details"].size(), 1u);
  // 2 x 3 elements in blocks of one element, three blocks across. The only mismatch is in the last
  // block.
  EXPECT_EQ(page["details"][0]["map"], parsed("[2,3,1,1,3,[5,1]]"));
  EXPECT_THAT(page["details"][0]["reproduce"].get<std::string>(),
              HasSubstr("assay gate g.h5 --case y"));
}

// The first failing cases have pictures, whichever thread judged them.
TEST_F(GatePage, PicturesDoNotDependOnThreads) {
  std::vector<Case> cases;
  for (int i = 0; i < 520; ++i) {
    cases.push_back(recorded(formatted("c{}", i), "float32", {2}, {1, 2}, {1, i == 3 ? 2 : 2.5}));
  }
  make("g.h5", cases);
  for (const char* threads : {"1", "4"}) {
    EXPECT_THAT(run(formatted("assay gate g.h5 --standard torch -q --threads {0} --html {0}.html",
                              threads)),
                Code(1));
  }
  const auto one = data("1.html"), four = data("4.html");
  EXPECT_EQ(one, four);
  ASSERT_EQ(one["details"].size(), 519u);
  for (std::size_t i = 0; i < one["details"].size(); ++i) {
    EXPECT_EQ(one["details"][i].contains("map"), i < 500) << i;
    EXPECT_EQ(one["details"][i].contains("histograms"), i < 500) << i;
  }
}

// Every report of a failure has the line that repeats it. This includes cases that are not
// comparable, untrusted, unreadable or excused.
TEST_F(GatePage, EveryFailureCarriesItsLine) {
  make("g.h5", one_of_each());
  write("known.json", R"({"schema": 1, "known_failures": [
    {"cases": "fail", "reason": "r", "expires": "2999-01-01"}]})");
  for (const char* more : {"", " --known-failures known.json"}) {
    const Ran ran = run(std::string("assay gate g.h5 --recorded p --standard torch --json r.json "
                                    "--junit r.xml --html r.html") +
                        more);
    const bool excused = *more != 0;
    const auto report = json("r.json");
    const auto page = data("r.html");
    std::vector<std::string> lines;
    for (const auto& detail : page["details"]) lines.push_back(detail["reproduce"]);
    for (const auto& c : report["cases"]) {
      const std::string line = c["reproduce"];
      EXPECT_THAT(line, HasSubstr("assay gate g.h5 --case " + c["case"].get<std::string>()));
      if (c["outcome"] == "pass") continue;
      if (!(excused && c["case"] == "fail")) {
        EXPECT_THAT(ran.out, HasSubstr("\nreproduce: " + line));
      }
      EXPECT_THAT(read("r.xml"), HasSubstr("reproduce: " + line));
      EXPECT_THAT(lines, testing::Contains(line));
      EXPECT_THAT(read("r.html"), HasSubstr("\nreproduce: " + line));
    }
  }
  // The report of a file that cannot be read has a reproducer line, too.
  EXPECT_THAT(run("printf nothing > broken.h5; assay gate g.h5 broken.h5 --recorded p --junit "
                  "r.xml --html r.html"),
              Code(2));
  const Ran ran = run("assay gate g.h5 broken.h5 --recorded p");
  EXPECT_THAT(ran.out, HasSubstr("\nreproduce: assay gate broken.h5\n"));
  EXPECT_THAT(read("r.xml"), HasSubstr("\nreproduce: assay gate broken.h5<"));
  EXPECT_THAT(read("r.html"), AllOf(HasSubstr("\nreproduce: assay gate broken.h5<"),
                                    HasSubstr("\"reproduce\":\"assay gate broken.h5\"")));
  EXPECT_THAT(run("assay repro 'assay gate broken.h5'"), Code(2));
}

}  // namespace
}  // namespace assay
