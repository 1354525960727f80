// Tests the messages of every subcommand about a file that it cannot read.
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Files : public ProgramTest {
 protected:
  // Returns a command line for each subcommand that reads a dataset file. All of them read `file`.
  static std::vector<std::string> lines(const std::string& file) {
    return {"assay gate " + file,
            "assay gate " + file + " --machine exact",
            "assay gate good.h5 --outputs " + file,
            "assay inspect " + file,
            "assay emulate " + file + " --machine exact --out o.h5",
            "assay golden " + file + " --out o.h5",
            "assay inject " + file + " --fault flip,bit=1 --out o.h5"};
  }
  // All of these commands refuse the file with one line, and write nothing.
  void expect_refused(const std::string& file, const std::string& message, int code = 2) const {
    make("good.h5", {product("x")});
    for (const std::string& line : lines(file)) {
      const Ran ran = run(line);
      EXPECT_THAT(ran, Exits(code, "error: " + file + ": " + message)) << line;
      EXPECT_THAT(ran.out, IsEmpty()) << line;
      EXPECT_FALSE(exists("o.h5")) << line;
    }
    EXPECT_THAT(leftovers(), IsEmpty());
  }
};

TEST_F(Files, Missing) { expect_refused("none.h5", "cannot be opened: No such file or directory"); }

// Subcommands that take folders report that this folder is in no layout that they know.
TEST_F(Files, Directory) {
  make("good.h5", {product("x")});
  for (const std::string& line : lines("bin")) {
    const bool takes_folders = line.starts_with("assay gate") || line.starts_with("assay inspect");
    const Ran ran = run(line);
    EXPECT_THAT(ran, Code(2)) << line;
    EXPECT_THAT(ran.err,
                StartsWith(takes_folders ? "error: bin: is in no layout that assay knows (dataset, "
                                         : "error: bin: is a directory, not a dataset file\n"))
        << line;
    EXPECT_FALSE(exists("o.h5")) << line;
  }
}

TEST_F(Files, TextNamedH5) {
  write("text.h5", std::string(5000, 'x'));
  expect_refused("text.h5", "is not an HDF5 file");
}

TEST_F(Files, NoBytes) {
  write("empty.h5", "");
  expect_refused("empty.h5", "is empty (0 bytes)");
}

TEST_F(Files, Device) { expect_refused("/dev/null", "is not a regular file"); }

TEST_F(Files, Truncated) {
  make("whole.h5", {product("x")});
  const std::string whole = read("whole.h5");
  write("cut.h5", whole.substr(0, whole.size() / 2));
  make("good.h5", {product("x")});
  for (const std::string& line : lines("cut.h5")) {
    const Ran ran = run(line);
    EXPECT_THAT(ran, Code(2)) << line;
    EXPECT_THAT(ran.err, StartsWith("error: cut.h5: is truncated, corrupt or locked")) << line;
  }
}

TEST_F(Files, OfAnotherKind) {
  python(R"py(
import h5py
with h5py.File("plain.h5", "w") as f: f["x"] = [1, 2, 3]
with h5py.File("new.h5", "w") as f: f.attrs["assay_schema"] = 3
)py");
  expect_refused("plain.h5", "/: has no attribute 'assay_schema'; it is no dataset file of assay");
  expect_refused("new.h5", "/: has assay_schema 3; this version reads schemas 1 and 2");
}

// In a file without a case there is nothing to compare, so the exit code is 3.
TEST_F(Files, WithoutACase) {
  python(R"py(
import h5py
with h5py.File("bare.h5", "w") as f: f.attrs["assay_schema"] = 1
with h5py.File("empty.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    f.create_group("cases")
)py");
  make("good.h5", {product("x")});
  for (const char* file : {"bare.h5", "empty.h5"}) {
    for (const char* command : {"gate ", "inspect "}) {
      const Ran ran = run(std::string("assay ") + command + file);
      EXPECT_THAT(ran, Code(3)) << command << file;
      EXPECT_THAT(ran.err, HasSubstr("case")) << command << file;
      EXPECT_THAT(ran.out, IsEmpty());
    }
  }
  EXPECT_THAT(run("assay gate bare.h5").err,
              HasSubstr("error: bare.h5: /cases: does not exist; the file holds no cases"));
  EXPECT_THAT(run("assay gate empty.h5").err, HasSubstr("error: empty.h5: /cases: holds no case"));
}

TEST_F(Files, GlobThatMatchesNothing) {
  make("g.h5", {product("x")});
  const std::string message = "error: g.h5: no case matches 'zzz'; it has 1 case, the first is 'x'";
  for (const char* line : {"assay gate g.h5 --case zzz", "assay inspect g.h5 --case zzz",
                           "assay emulate g.h5 --machine exact --out o.h5 --case zzz",
                           "assay golden g.h5 --out o.h5 --case zzz",
                           "assay inject g.h5 --fault flip,bit=1 --out o.h5 --case zzz"}) {
    EXPECT_THAT(run(line), Exits(3, message)) << line;
  }
  EXPECT_FALSE(exists("o.h5"));
}

TEST_F(Files, FileObjectAndReasonOfWhatIsRefused) {
  python(R"py(
import h5py, numpy as np
def case(name):
    f = h5py.File(name, "w")
    f.attrs["assay_schema"] = 1
    c = f.create_group("cases/x")
    c.attrs["op"], c.attrs["output_dtype"] = "external", "float32"
    for path, dtype in (("golden", "f8"), ("outputs/p", "f4")):
        c[path] = np.arange(3, dtype=dtype)
        c[path].attrs["dtype"] = str(c[path].dtype)
    return f, c
f, c = case("noop.h5"); del c.attrs["op"]; f.close()
f, c = case("nodtype.h5"); del c["outputs/p"].attrs["dtype"]; f.close()
f, c = case("dtype.h5"); c["outputs/p"].attrs["dtype"] = "float33"; f.close()
f, c = case("name.h5"); f.move("cases/x", "cases/x-y"); f.close()
f, c = case("link.h5"); del c["golden"]; c["golden"] = h5py.ExternalLink("other.h5", "/x"); f.close()
)py");
  const std::pair<const char*, const char*> refused[] = {
      {"noop.h5", "error: noop.h5: /cases/x: "},
      {"nodtype.h5", "error: nodtype.h5: /cases/x/outputs/p: has no attribute 'dtype'"},
      {"dtype.h5",
       "error: dtype.h5: /cases/x/outputs/p: its dtype 'float33' is no dtype that "
       "assay knows; docs/formats.md lists all"},
      {"name.h5", "error: name.h5: /cases/x-y: is no case name"},
      {"link.h5", "error: link.h5: /cases/x/golden: is an external link"},
  };
  for (const auto& [file, message] : refused) {
    const Ran ran = run(std::string("assay gate ") + file);
    EXPECT_THAT(ran, Code(2)) << file;
    EXPECT_THAT(ran.err, StartsWith(message)) << file;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// Nobody may read the file. Root could, so that the program runs without this capability.
TEST_F(Files, WithoutPermission) {
  if (geteuid() == 0) {
    std::filesystem::remove(path("bin/assay"));
    write("bin/assay",
          "#!/bin/sh\nexec setpriv --bounding-set=-dac_override,-dac_read_search -- '" ASSAY_TOOL
          "' \"$@\"\n");
    std::filesystem::permissions(path("bin/assay"), std::filesystem::perms::owner_all);
  }
  make("secret.h5", {product("x")});
  std::filesystem::permissions(path("secret.h5"), std::filesystem::perms::none);
  expect_refused("secret.h5", "cannot be read: Permission denied");
  std::filesystem::create_directory(directory_ / "locked");
  std::filesystem::permissions(
      path("locked"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  make("good.h5", {product("x")});
  EXPECT_THAT(run("assay golden good.h5 --quiet --out locked/o.h5"),
              Exits(2, "error: locked/o.h5: cannot be written: Permission denied"));
}

TEST_F(Files, ADashIsStandardOutputOnlyWhereThatIsSaid) {
  make("g.h5", {product("x")});
  for (const char* option : {"--junit", "--html", "--save-failures"}) {
    EXPECT_THAT(run(std::string("assay gate g.h5 ") + option + " -"),
                Exits(2, std::string("error: ") + option +
                             " cannot write to standard output; name a file, such as ./-"));
    EXPECT_FALSE(exists("-")) << option;
  }
  EXPECT_THAT(run("assay gate g.h5 --json -"), Exits(0));
}

TEST_F(Files, InspectGoesOnAfterACaseThatCannotBeRead) {
  make("g.h5", {product("a"), product("b")});
  python(
      "import h5py\n"
      "with h5py.File('g.h5', 'a') as f: f['cases/a'].attrs['rtol'] = 'small'\n");
  const Ran ran = run("assay inspect g.h5");
  EXPECT_THAT(ran, Exits(2,
                         "error: g.h5: /cases/a: its attribute 'rtol' must be a number, but it is "
                         "'small'"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("a +error"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("b +matmul"));
}

// A broken case does not affect the others.
TEST_F(Files, GateAndInspectGoOnBesideACaseWithoutOp) {
  make("g.h5", {product("a", 0, "npu"), product("b", 0, "npu")});
  python(
      "import h5py\n"
      "with h5py.File('g.h5', 'a') as f: del f['cases/a'].attrs['op']\n");
  for (const char* command : {"inspect g.h5", "gate g.h5", "gate g.h5 --machine exact"}) {
    const Ran ran = run(std::string("assay ") + command + " --trust");
    EXPECT_THAT(ran, Exits(2, "error: g.h5: /cases/a: is a case without the attribute 'op'"));
    EXPECT_THAT(ran.out, testing::ContainsRegex("a +error")) << command;
    EXPECT_THAT(ran.out, testing::ContainsRegex("b +(matmul|pass)|1 pass")) << command;
  }
}

}  // namespace
}  // namespace assay
