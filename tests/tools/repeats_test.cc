// A message that many files or cases have is printed once, with their number.
#include <filesystem>

#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kMany = 300;

class Repeats : public ProgramTest {
 protected:
  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(path(name));
    return name;
  }
  // Writes files of the same bytes, with numbers in their names.
  void write_many(const std::string& name, const char* ending, const std::string& bytes) const {
    folder(name);
    for (int i = 0; i < kMany; ++i) write(formatted("{}/x_{:03}{}", name, i, ending), bytes);
  }
  static std::vector<Case> many(const std::string& op) {
    std::vector<Case> cases;
    for (int i = 0; i < kMany; ++i) {
      cases.push_back(product(formatted("c{:03}", i)));
      cases.back().op = op;
    }
    return cases;
  }
  static auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
};

TEST_F(Repeats, RawFilesWithoutADtype) {
  write_many("gold", ".bin", std::string(64, 'a'));
  write_many("out", ".bin", std::string(64, 'a'));
  for (const char* line : {"gate gold --outputs out", "pack gold --out p.h5", "inspect gold"}) {
    const Ran ran = run(std::string("assay ") + line);
    EXPECT_THAT(ran, Code(2)) << line;
    EXPECT_LE(lines(ran.err), 2) << line << "\n" << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("error: gold/x_000.bin: "), HasSubstr("give --dtype"),
                               HasSubstr(" (and 299 more like it)\n")))
        << line;
  }
  EXPECT_THAT(run("assay pack gold --out p.h5").err,
              HasSubstr("\nerror: 300 of 300 cases cannot be packed; nothing was written\n"));
}

TEST_F(Repeats, FilesThatCannotBeRead) {
  write_many("gold", ".npy", "junk");
  write_many("out", ".npy", "junk");
  write_many("bad", ".h5", "junk");
  for (const char* line : {"gate gold --outputs out", "gate bad", "inspect gold"}) {
    const Ran ran = run(std::string("assay ") + line);
    EXPECT_THAT(ran, Code(2)) << line;
    EXPECT_EQ(lines(ran.err), 1) << line << "\n" << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(" (and 299 more like it)\n")) << line;
  }
}

TEST_F(Repeats, FilesWithoutAPartner) {
  folder("gold"), folder("out");
  for (int i = 0; i < 20; ++i) {
    make(formatted("gold/g{}.h5", i), {product("x")});
    make(formatted("out/o{}.h5", i), {product("x")});
  }
  make("gold/a.h5", {product("x")});
  make("out/a.h5", {product("x")});
  EXPECT_THAT(run("assay gate gold --outputs out").out,
              HasSubstr("\nnote: 20 files of out were not judged (first: out/o0.h5): gold has no "
                        "o0.h5\n"));
}

TEST_F(Repeats, CasesThatAreSkipped) {
  make("g.h5", many("external"));
  for (const char* line : {"emulate g.h5 --machine exact --out o.h5", "golden g.h5 --out o.h5"}) {
    const Ran ran = run(std::string("assay ") + line);
    EXPECT_THAT(ran, Code(3)) << line;
    EXPECT_EQ(lines(ran.err), 2) << line << "\n" << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("note: 300 cases are skipped: assay does not "),
                               HasSubstr(" the operator 'external' (first: c000)\n"),
                               HasSubstr("error: g.h5: none of 300 cases was changed")))
        << line;
  }
}

TEST_F(Repeats, CasesWithoutAGoldenResultOrAnOutput) {
  std::vector<Case> cases = many("matmul");
  for (Case& c : cases) {
    c.output().golden = {};
    c.output().recorded.clear();
  }
  make("g.h5", cases);
  const Ran ran = run("assay gate g.h5 --machine exact");
  EXPECT_THAT(ran, Code(3));
  EXPECT_LE(lines(ran.err), 1) << ran.err;
  EXPECT_LE(lines(ran.out), kMany + 40) << ran.out;
}

TEST_F(Repeats, NamesThatAreNotKnown) {
  make("g.h5", {product("x")});
  std::string entries, cases;
  for (int i = 0; i < kMany; ++i) {
    entries += formatted(R"({}{{"cases": "gone{}", "reason": "r", "expires": "2999-01-01"}})",
                         i > 0 ? "," : "", i);
    cases += formatted(" --exclude none{}", i);
  }
  write("known.json", R"({"schema": 1, "known_failures": [)" + entries + "]}");
  const Ran ran = run("assay gate g.h5 --known-failures known.json" + cases);
  EXPECT_THAT(ran, Exits(0));
  EXPECT_LE(lines(ran.out), 12) << ran.out;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("\nnote: known.json: 300 entries match no judged case, the first is "
                              "'gone0'; --strict makes them failures\n"),
                    HasSubstr("\nnote: 300 --exclude match no case (first: none0)\n")));
}

TEST_F(Repeats, FewErrorsArePrintedOneByOne) {
  write("b.txt",
        "exp --dtype float32 --shape 3 --frob\nadd --dtype float32 --shape 3\n"
        "exp --dtype float32 --shape 4 --frob\n");
  EXPECT_THAT(run("assay generate --from b.txt --out g.h5").err,
              AllOf(HasSubstr("error: b.txt: line 1: "), HasSubstr("error: b.txt: line 3: ")));
}

}  // namespace
}  // namespace assay
