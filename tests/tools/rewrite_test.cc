// assay emulate, golden and inject write a new dataset file from an existing one.
#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Rewrite : public ProgramTest {
 protected:
  // Returns the stored bits of an output.
  std::vector<std::uint64_t> bits(const std::string& file, const std::string& name,
                                  const std::string& producer) const {
    const Tensor t = DatasetFile(path(file)).read_output(name, producer);
    std::vector<std::uint64_t> out;
    for (std::int64_t i = 0; i < t.size(); ++i) out.push_back(t.bits_at(i));
    return out;
  }
};

TEST_F(Rewrite, EmulateAddsTheMachinesOutputAndKeepsTheRest) {
  Case c = product("x");
  c.attributes["why"] = std::string("kept");
  make("g.h5", {c, product("y")});
  const Ran ran = run("assay emulate g.h5 --machine ascend910b --out o.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(ran.out,
            "x: float32 [2, 3] on ascend910b\ny: float32 [2, 3] on ascend910b\n"
            "2 of 2 cases, written to o.h5\n");
  const DatasetFile out(path("o.h5"));
  const StoredCase info = out.info("x");
  EXPECT_EQ(std::get<std::string>(info.attributes.at("why")), "kept");
  EXPECT_EQ(info.outputs.at("").recorded.size(), 2u);
  EXPECT_EQ(info.outputs.at("").recorded.at("ascend910b").tensor.dtype, "float32");
  EXPECT_EQ(bits("o.h5", "x", "ascend910b"), bits("g.h5", "x", "p"));
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5 --standard bit_equal"), Exits(0))
      << "what emulate added is meant";
}

// If an emulated product is written with its values before the cast (--with-accumulator), the gate
// can also check the cast itself. This needs only the command line.
TEST_F(Rewrite, EmulateWritesTheAccumulatorWhereAsked) {
  EXPECT_THAT(
      run("assay generate matmul --dtype bfloat16 --shape 32,96,48 --distribution normal --seed 3 "
          "--quiet --out i.h5"),
      Exits(0));
  EXPECT_THAT(run("assay golden i.h5 --out g.h5"), Exits(0));
  const Ran ran = run("assay emulate g.h5 --machine ascend910b --with-accumulator --out o.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("bfloat16 [32, 48] on ascend910b, with its accumulator\n"));
  const std::string name = DatasetFile(path("o.h5")).case_names().front();
  EXPECT_EQ(DatasetFile(path("o.h5")).producers_of(name), std::vector<std::string>{"ascend910b"});
  EXPECT_THAT(run("assay inspect o.h5").out,
              HasSubstr("\n  accumulators: ascend910b float32 [32, 48]\n"));
  const std::string gate = "assay gate o.h5 --recorded ascend910b --abft residual_compensated";
  EXPECT_THAT(run(gate), Exits(0));
  // Faults in the output do not change the arrays beside it. A flip of the lowest bit is detected.
  EXPECT_THAT(run("assay inject o.h5 --fault flip,bit=0,seed=3 --out b.h5"), Exits(0));
  EXPECT_THAT(run("assay gate b.h5 --standard torch --abft"), Exits(0));
  const Ran broken =
      run("assay gate b.h5 --standard torch --abft residual_compensated --save-failures f.h5");
  EXPECT_THAT(broken, Exits(1));
  EXPECT_THAT(broken.out, HasSubstr("abft: 1 of 192 checks of 16 columns is above "
                                    "residual_compensated\n"));
  EXPECT_THAT(run("assay gate f.h5 --standard torch --abft residual_compensated"), Exits(1))
      << "what was saved";
  // Without --with-accumulator, the values before the cast that an older run wrote beside the
  // output are removed.
  EXPECT_THAT(run("assay emulate o.h5 --machine ascend910b --out o.h5"), Exits(0));
  const StoredCase info = DatasetFile(path("o.h5")).info(name);
  for (const auto& [producer, recorded] : info.outputs.at("").recorded) {
    EXPECT_TRUE(recorded.epilogue.accumulator.empty()) << producer;
  }
  const Ran without = run(gate);
  EXPECT_THAT(without, Exits(3));
  EXPECT_THAT(without.out, HasSubstr("residual_compensated needs what the cast took away: C before "
                                     "its cast, or R of every check; in a dataset "
                                     "accumulators/PRODUCER or residuals/PRODUCER of the case"));
  // The gate gets C before its cast directly from the emulator.
  EXPECT_THAT(run("assay gate g.h5 --machine ascend910b --abft residual_compensated"), Exits(0));
  const Ran exact = run("assay gate g.h5 --machine exact --abft residual_compensated");
  EXPECT_THAT(exact, Exits(3));
  EXPECT_THAT(
      exact.out,
      HasSubstr("the machine exact sums exactly, so that there is no accumulator before the cast"));
}

TEST_F(Rewrite, EmulateSaysWhereThereIsNoAccumulator) {
  make("g.h5", {product("x")});
  const Ran none = run("assay emulate g.h5 --machine ascend910b --with-accumulator --out o.h5");
  EXPECT_THAT(
      none,
      Exits(3, "error: g.h5: no case has an accumulator to write; leave out --with-accumulator"));
  EXPECT_THAT(none.out,
              StartsWith("x: float32 [2, 3] on ascend910b; no accumulator: outputs of float32 are "
                         "not cast from a wider accumulator, so that they have no residual\n"));
  EXPECT_TRUE(exists("o.h5")) << "the results are as right as without";
  EXPECT_THAT(run("assay emulate g.h5 --machine ascend910b --with-accumulator --verify"),
              Exits(2, "error: --with-accumulator needs --out FILE"));
}

TEST_F(Rewrite, EmulateSaysWhatItCannotAndGoesOn) {
  Case external = product("external");
  external.op = "external";
  make("g.h5", {product("x"), external});
  const Ran ran = run("assay emulate g.h5 --machine exact --out o.h5");
  EXPECT_THAT(
      ran, Exits(0, "note: external is skipped: assay does not emulate the operator 'external'"));
  EXPECT_THAT(ran.out, HasSubstr("1 of 2 cases, written to o.h5\n"));
  EXPECT_TRUE(DatasetFile(path("o.h5")).has_case("external"));

  Case wrong = product("wrong");
  wrong.inputs["b"] =
      Tensor::from_values(format_named("float32"), {3, 1}, std::vector<double>{1, 2, 3});
  make("g.h5", {product("x"), wrong});
  EXPECT_THAT(run("assay emulate g.h5 --machine exact --out o.h5"),
              Exits(3,
                    "error: g.h5: case wrong: a [2, 2] and b [3, 1] do not multiply: K is 2 in "
                    "a and 3 in b"));
}

TEST_F(Rewrite, NothingDoneWritesNothing) {
  Case external = product("external");
  external.op = "external";
  make("g.h5", {external});
  const Ran ran = run("assay emulate g.h5 --machine exact --out o.h5");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.err, HasSubstr("\nerror: g.h5: the only case was not changed"));
  EXPECT_FALSE(exists("o.h5"));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(Rewrite, UnknownMachineLeavesNoFile) {
  make("g.h5", {product("x")});
  const Ran ran = run("assay emulate g.h5 --machine ascend910 --out o.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err,
              StartsWith("error: unknown machine 'ascend910': did you mean 'ascend910b'?"));
  EXPECT_FALSE(exists("o.h5"));
}

TEST_F(Rewrite, OutputThatCannotBeWritten) {
  make("g.h5", {product("x")});
  for (const char* command :
       {"emulate g.h5 --machine exact", "golden g.h5", "inject g.h5 --fault flip,bit=30"}) {
    const std::string line = std::string("assay ") + command + " --quiet --out ";
    EXPECT_THAT(run(line + "none/o.h5"),
                Exits(2, "error: none/o.h5: cannot be written: No such file or directory"));
    EXPECT_THAT(run(line + "bin"), Exits(2, "error: bin: cannot be written: Is a directory"));
  }
  EXPECT_THAT(leftovers(), IsEmpty());
}

// A file cannot be moved onto a device or pipe: /dev/null must not become a file.
TEST_F(Rewrite, DevicesAndPipesAreNotReplaced) {
  make("g.h5", {product("x", 0.5)});
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const char* line :
       {"assay emulate g.h5 --machine exact --out pipe", "assay golden g.h5 --out pipe",
        "assay inject g.h5 --fault flip,bit=30 --out pipe",
        "assay gate g.h5 --save-failures pipe"}) {
    EXPECT_THAT(run(std::string("timeout 20 ") + line), Code(2)) << line;
    EXPECT_TRUE(std::filesystem::is_fifo(path("pipe"))) << line;
  }
}

TEST_F(Rewrite, FullDiskLeavesNoFile) {
  Case big = product("big");
  const std::vector<double> many(64 * 64, 1.5);
  big.inputs["a"] = Tensor::from_values(format_named("float32"), {64, 64}, many);
  big.inputs["b"] = Tensor::from_values(format_named("float32"), {64, 64}, many);
  big.output().golden = Tensor::from_values(format_named("float64"), {64, 64}, many);
  big.output().recorded["p"].tensor = Tensor::from_values(format_named("float32"), {64, 64}, many);
  make("g.h5", {big});
  // A limit on the size of a file stands for a full disk.
  for (const char* line : {"assay emulate g.h5 --machine exact --quiet --out o.h5",
                           "assay golden g.h5 --quiet --out o.h5",
                           "assay inject g.h5 --fault flip,bit=30 --quiet --out o.h5"}) {
    for (const char* blocks : {"1", "20", "64"}) {
      write("o.h5", "old");
      const Ran ran = run(std::string("trap '' XFSZ; ulimit -f ") + blocks + "; " + line);
      EXPECT_THAT(ran, Code(2)) << line << " " << blocks;
      EXPECT_THAT(ran.err, StartsWith("error: o.h5")) << line << " " << blocks;
      EXPECT_FALSE(exists("o.h5")) << "an older one would pass for this run's";
      EXPECT_THAT(leftovers(), IsEmpty());
    }
  }
}

TEST_F(Rewrite, GoldenComputesWhatFloat64Gives) {
  Case c = product("x");
  c.output().golden = {};
  c.attributes.erase("output_dtype");
  make("in.h5", {c});
  const Ran ran = run("assay golden in.h5 --out g.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(ran.out, "x: float64 [2, 3]\n1 of 1 case, written to g.h5\n");
  const Case done = DatasetFile(path("g.h5")).read("x");
  EXPECT_EQ(done.output().golden->view().values(), (std::vector<double>{2, 2, 3, 5, 4, 5}));
}

// Follows the first steps of docs/dataset.md: a file from h5py, golden results, a gate.
TEST_F(Rewrite, FileFromPythonToGate) {
  python(R"py(
import h5py, numpy as np
a, b = np.random.randn(64, 128).astype("f4"), np.random.randn(128, 32).astype("f4")
with h5py.File("gemms.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    case = f.create_group("cases/gemm/m64")
    case.attrs["op"] = "matmul"
    for name, data in {"inputs/a": a, "inputs/b": b, "outputs/numpy": a @ b}.items():
        case[name] = data
        case[name].attrs["dtype"] = str(data.dtype)
)py");
  EXPECT_THAT(run("assay golden gemms.h5 --out golden.h5 --tolerance"), Exits(0));
  EXPECT_THAT(run("assay gate golden.h5"), Exits(0));
  EXPECT_THAT(run("assay gate golden.h5 --machine ascend910b"), Exits(0));
  python(R"py(
import h5py, numpy as np
with h5py.File("golden.h5") as f:
    c = f["cases/gemm/m64"]
    exact = c["inputs/a"][:].astype("f8") @ c["inputs/b"][:].astype("f8")
    assert c["golden"].dtype == "f8" and np.abs(c["golden"] - exact).max() < 1e-12
    assert c.attrs["rtol"] == 2.0 ** -24 and c.attrs["round_expected"] == 0
    assert 0 < c.attrs["atol"] < 1e-2 and "K = 128" in str(c.attrs["why"])
)py");
}

// HDF5 1.10.8 crashes, or makes files that it cannot read, when it copies attributes that lie in a
// heap, and when their copy is deleted.
TEST_F(Rewrite, FilesOfEveryKindOfAttributeStorage) {
  python(R"py(
import h5py, numpy as np
def make(name, texts, track=False, **how):
    h5py.get_config().track_order = track
    with h5py.File(name + ".h5", "w", **how) as f:
        f.attrs["assay_schema"] = 1
        for i in range(3):
            c = f.create_group(f"cases/c{i}")
            c.attrs["op"], c.attrs["output_dtype"] = "matmul", "float32"
            a, b = np.arange(4, dtype="f4").reshape(2, 2), np.arange(6, dtype="f4").reshape(2, 3)
            for path, data in (("inputs/a", a), ("inputs/b", b), ("outputs/p", a @ b),
                               ("golden", a.astype("f8") @ b.astype("f8"))):
                c[path] = data
                c[path].attrs["dtype"] = str(data.dtype)
                if path != "golden":
                    for k, text in enumerate(texts): c[path].attrs[f"x_{k}"] = text
            for k, text in enumerate(texts): c.attrs[f"x_{k}"] = text
            c.attrs["x_list"] = ["a", "bc"]
            c.attrs["x_none"] = h5py.Empty("f4")
    h5py.get_config().track_order = False
make("nine_latest", ["v"] * 9, libver="latest")
make("eight_tracked", ["v"] * 8, True)
make("eight_tracked_latest", ["v"] * 8, True, libver="latest")
make("big_latest", ["v" * 65536], libver="latest")
make("big_fixed_latest", [np.bytes_(b"v" * 65536)], libver="latest")
make("big", ["v" * 65536])
)py");
  const std::string operators = ASSAY_SOURCE_DIR "/datasets/samples/operators.h5";
  std::vector<std::string> files = {operators};
  for (const char* name : {"nine_latest", "eight_tracked", "eight_tracked_latest", "big_latest",
                           "big_fixed_latest", "big"}) {
    files.push_back(std::string(name) + ".h5");
  }
  for (const std::string& file : files) {
    const bool is_sample = file == operators;
    const std::string glob = is_sample ? " --case 'add/*'" : "";
    EXPECT_THAT(run("assay golden '" + file + "' --quiet --tolerance --out golden.h5"), Exits(0))
        << file;
    EXPECT_THAT(run("assay golden golden.h5 --quiet --out again.h5"), Exits(0)) << file;
    EXPECT_THAT(run("assay emulate golden.h5 --quiet --machine exact --out emulated.h5" + glob),
                Exits(0))
        << file;
    EXPECT_THAT(run("assay emulate emulated.h5 --quiet --machine cpu_fma --out both.h5"), Exits(0))
        << file;
    EXPECT_THAT(run("assay inject both.h5 --quiet --recorded exact --fault sign --out broken.h5"),
                Exits(0))
        << file;
    EXPECT_THAT(run("assay gate broken.h5 --quiet --recorded exact --save-failures saved.h5"),
                Exits(1))
        << file;
    EXPECT_THAT(run("assay gate saved.h5 --quiet --recorded cpu_fma"), Exits(0)) << file;
    if (is_sample) continue;
    for (const char* made : {"golden.h5", "again.h5", "both.h5", "broken.h5", "saved.h5"}) {
      const std::map<std::string, Attribute> was = DatasetFile(path(file)).info("c0").attributes,
                                             is = DatasetFile(path(made)).info("c0").attributes;
      for (const auto& [name, value] : was) EXPECT_EQ(is.at(name), value) << made << " " << name;
      EXPECT_THAT(leftovers(), IsEmpty());
    }
    python(R"py(
import h5py
with h5py.File("broken.h5") as f:
    for c in f["cases"].values():
        assert list(c.attrs["x_list"]) == ["a", "bc"] and isinstance(c.attrs["x_none"], h5py.Empty)
        assert len(c["inputs/a"].attrs["x_0"]) in (1, 65536)
        assert set(c["outputs"]) == {"p", "exact", "cpu_fma"}, list(c["outputs"])
)py");
  }
}

// h5py reads strings of variable length as str, and those of a fixed length as bytes. Only a note
// keeps the length that its author gave it.
TEST_F(Rewrite, StringsReadInPython) {
  Case c = product("x");
  c.attributes["tags"] = std::string("recorded,\xc3\xbc");
  c.attributes["x_empty"] = std::string();
  c.attributes["x_long"] = std::string(100000, 'l');
  make("own.h5", {c});
  python(R"py(
import h5py, numpy as np
with h5py.File("fixed.h5", "w") as f, h5py.File("own.h5") as own:
    f.attrs["assay_schema"] = 1
    own.copy("cases", f, expand_refs=False)
    case = f["cases/x"]
    for item in [case, case["inputs/a"], case["inputs/b"]]:
        for key in list(item.attrs):
            if key in ("op", "dtype", "tags"):
                item.attrs[key] = np.bytes_(item.attrs[key].encode())
    case.attrs["x_bytes"] = np.bytes_(b"a\0b")
)py");
  for (const std::string file : {"own.h5", "fixed.h5"}) {
    SCOPED_TRACE(file);
    EXPECT_THAT(run("assay emulate " + file + " --machine exact --out o.h5"), Exits(0));
    EXPECT_THAT(run("assay golden o.h5 --tolerance --out t.h5"), Exits(0));
    EXPECT_THAT(run("assay pack t.h5 --out p.h5"), Exits(0));
    for (const char* const written : {"o.h5", "t.h5", "p.h5"}) {
      write("written.txt", written);
      python(R"py(
import h5py
with h5py.File(open("written.txt").read()) as f:
    c = f["cases/x"]
    assert c.attrs["op"] == "matmul" and c["inputs/a"].attrs["dtype"] == "float32"
    assert c["outputs/exact"].attrs["dtype"] == "float32"
    assert c.attrs["tags"] == "recorded,\u00fc"
    assert c.attrs["x_empty"] == "" and c.attrs["x_long"] == "l" * 100000
    assert c["golden"].attrs["dtype"] == "float64"
    assert "why" not in c.attrs or c.attrs["why"].startswith("rtol")
    if "x_bytes" in c.attrs:
        assert c.attrs["x_bytes"] == b"a\0b"
    def variable(name, item):
        for key in item.attrs:
            kind = h5py.check_string_dtype(item.attrs.get_id(key).dtype)
            assert kind is None or (kind.length is None and kind.encoding == "utf-8"), (name, key)
    assert isinstance(f.attrs["assay_checksums"], str)
    f.visititems(lambda name, item: variable(name, item) if name != "cases/x" else None)
)py");
    }
  }
}

TEST_F(Rewrite, DerivedToleranceIsNeverInfinite) {
  Case c = product("x");
  c.inputs["a"] =
      Tensor::from_values(format_named("float32"), {2, 2},
                          std::vector<double>{1, std::numeric_limits<double>::infinity(), 3, 4});
  make("in.h5", {c});
  run("assay golden in.h5 --out g.h5 --tolerance");
  if (!exists("g.h5")) return;  // the command may also refuse the case
  const auto attributes = DatasetFile(path("g.h5")).info("x").attributes;
  if (attributes.count("atol") == 0) return;
  EXPECT_TRUE(std::isfinite(std::get<double>(attributes.at("atol"))));
}

TEST_F(Rewrite, GoldenOfNanIsNan) {
  Case c = product("x");
  c.inputs["a"] =
      Tensor::from_values(format_named("float32"), {2, 2},
                          std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 2, 3, 4});
  make("in.h5", {c});
  EXPECT_THAT(run("assay golden in.h5 --out g.h5"), Exits(0));
  const std::vector<double> golden =
      DatasetFile(path("g.h5")).read("x").output().golden->view().values();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(golden[i]), i < 3) << i;
  // The emulated output is NaN where NaN is expected, and the standard accepts this.
  EXPECT_THAT(run("assay gate g.h5 --machine ascend910b"), Exits(0));
  EXPECT_THAT(run("assay gate g.h5 --recorded p"), Exits(1));
}

TEST_F(Rewrite, InjectedFaultsAreFound) {
  make("g.h5", {product("x"), product("y")});
  const Ran ran = run("assay inject g.h5 --fault flip,bit=30,at=1:2 --out b.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(ran.out,
            "x: [1, 2] 5 (0x40a00000) -> 1.469368e-38 (0x00a00000)\n"
            "y: [1, 2] 5 (0x40a00000) -> 1.469368e-38 (0x00a00000)\n"
            "2 of 2 cases, written to b.h5\n");
  EXPECT_THAT(run("assay gate b.h5"), Exits(1));
  EXPECT_THAT(run("assay gate g.h5 --outputs b.h5").out, HasSubstr("\n2 cases: 2 fail\n"));
  EXPECT_THAT(run("assay gate g.h5"), Exits(0)) << "the file itself is as it was";
}

TEST_F(Rewrite, InjectFlipsOneBitOfOneElementByDefault) {
  make("g.h5", {product("x")});
  for (int bit = 0; bit < 32; ++bit) {
    ASSERT_THAT(run("assay inject g.h5 --fault flip,bit=" + std::to_string(bit) + " --out b.h5"),
                Exits(0));
    const auto before = bits("g.h5", "x", "p"), after = bits("b.h5", "x", "p");
    int changed = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == after[i]) continue;
      ++changed;
      EXPECT_EQ(before[i] ^ after[i], std::uint64_t{1} << bit);
    }
    EXPECT_EQ(changed, 1) << bit;
  }
}

TEST_F(Rewrite, InjectIsReproducibleAndSeedsDiffer) {
  const std::string line = "assay inject '" + sample() + "' --case 'layer0/qkv*' --out ";
  const std::string name = "layer0/qkv.dgrad";
  const Ran first = run(line + "a.h5 --fault flip,bit=14,seed=7,count=3");
  EXPECT_THAT(first, Exits(0));
  EXPECT_THAT(run(line + "b.h5 --fault flip,bit=14,seed=7,count=3"), Exits(0));
  EXPECT_EQ(bits("a.h5", name, "h200"), bits("b.h5", name, "h200"));
  EXPECT_THAT(run(line + "b.h5 --fault flip,bit=14,seed=8,count=3"), Exits(0));
  EXPECT_NE(bits("a.h5", name, "h200"), bits("b.h5", name, "h200"));
  // A case gets the same faults from a seed, whatever other cases are in the file.
  EXPECT_THAT(run("assay inject '" + sample() + "' --fault flip,bit=14,seed=7,count=3 --out c.h5"),
              Exits(0));
  EXPECT_EQ(bits("a.h5", name, "h200"), bits("c.h5", name, "h200"));
  EXPECT_THAT(run("assay gate a.h5"), Exits(1));
  EXPECT_THAT(run("assay gate a.h5").out, HasSubstr(": fail: 3 of 32 768 elements"));
}

TEST_F(Rewrite, FaultsThatNoElementCanTakeAreSaid) {
  make("g.h5", {product("x")});
  const Ran ran = run("assay inject g.h5 --fault flip,bit=30,direction=0to1 --out b.h5");
  // The elements 2, 3, 4 and 5 all have bit 30 set, so it cannot be flipped from 0 to 1.
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.err,
              StartsWith("note: x is skipped: not injectable: no element can take flip,bit=30,"));
  EXPECT_FALSE(exists("b.h5"));
  EXPECT_THAT(run("assay inject g.h5 --fault flip,bit=30,count=100 --out b.h5").out,
              HasSubstr("(94 more not injectable)\n"));
}

// The report of an injected NaN shows its sign only in its bits. The number is "nan" for either
// sign.
TEST_F(Rewrite, InjectedNanIsNanWhateverItsSign) {
  for (const char* dtype : {"bfloat16", "float64"}) {
    make("g.h5", {recorded("x", dtype, {2}, {-1.5, 2}, {-1.5, 2})});
    const std::string fault =
        std::string("stuck_at_1,at=0,bit=") + (std::string(dtype) == "float64" ? "62" : "14");
    const Ran ran = run("assay inject g.h5 --fault " + fault + " --out b.h5");
    EXPECT_THAT(ran, Exits(0));
    EXPECT_THAT(ran.out, StartsWith("x: [0] -1.5 ")) << dtype;
    EXPECT_THAT(ran.out, HasSubstr(std::string(dtype) == "float64" ? " -> nan (0xfff8000000000000)"
                                                                   : " -> nan (0xffc0)"));
  }
}

// If a fault changes a whole row, column or tile, the text lists only its first few elements.
TEST_F(Rewrite, InjectBreaksPlaces) {
  make("g.h5", {product("x")});
  const Ran row = run("assay inject g.h5 --fault sign,site=row,at=1:2 --out b.h5");
  EXPECT_THAT(row, Exits(0));
  EXPECT_EQ(row.out,
            "x: [1, 0] 5 (0x40a00000) -> -5 (0xc0a00000) [1, 1] 4 (0x40800000) -> -4 (0xc0800000) "
            "[1, 2] 5 (0x40a00000) -> -5 (0xc0a00000)\n1 of 1 case, written to b.h5\n");
  EXPECT_THAT(run("assay gate b.h5"), Exits(1));
  const Ran tile =
      run("assay inject '" + sample() + "' --case 'layer0/qkv*' --fault nan,site=tile --out c.h5");
  EXPECT_THAT(tile, Exits(0));
  EXPECT_THAT(tile.out, HasSubstr(" and 248 more\n"));
}

TEST_F(Rewrite, FaultsThatAreNoneAreUsageErrors) {
  make("g.h5", {product("x"), product("y")});
  const std::pair<const char*, const char*> wrong[] = {
      {"stuck,bit=1",
       "fault 'stuck,bit=1' must begin with what it does, as in flip,bit=14; known: flip, flips, "
       "burst, stuck_at_0, stuck_at_1, zero, random, infinity, minus_infinity, nan, sign, "
       "exponent, "
       "carry, add, stuck_lane, wrong_row"},
      {"flip", "fault 'flip' needs a bit, as in flip,bit=14"},
      {"flip,bit=x", "fault 'flip,bit=x': bit must be a whole number of at least 0, not 'x'"},
      {"flip,bit=1,count=0",
       "fault 'flip,bit=1,count=0': count must be a whole number of at least 1, not '0'"},
      {"flip,bit=1,sed=3",
       "fault 'flip,bit=1,sed=3': flip takes no 'sed' (did you mean 'seed'?); it takes bit, "
       "direction, site, output, at, seed, count"},
      {"flip,bit=1,direction=up",
       "fault 'flip,bit=1,direction=up': direction must be one of 0to1, 1to0, either, not 'up'"},
      // The following faults are wrong for every case, so they are reported once and not for each
      // case.
      {"flip,bit=99", "fault 'flip,bit=99': no element has a bit 99; give one from 0 to 63"},
      {"flips,k=65", "fault 'flips,k=65': k must be a whole number from 1 to 64, not '65'"},
      {"burst,bit=60,length=5",
       "fault 'burst,bit=60,length=5' goes beyond bit 63, the highest that an element has"},
      {"zero,site=accumulator,step=2,at=0",
       "fault 'zero,site=accumulator,step=2,at=0': site accumulator does not lie in the output: "
       "only a campaign, which computes the case again, can break it"},
  };
  for (const auto& [fault, message] : wrong) {
    EXPECT_THAT(run(std::string("assay inject g.h5 --out b.h5 --fault ") + fault),
                Exits(2, std::string("error: ") + message));
  }
  EXPECT_FALSE(exists("b.h5"));
  EXPECT_THAT(run("assay inject g.h5 --out b.h5 --fault flip,bit=1,bit=2"), Code(2))
      << "said twice, one of the two would be dropped";
}

// A case determines which bits and places exist. Each case that lacks them is named.
TEST_F(Rewrite, FaultsThatDoNotFitACaseNameIt) {
  make("g.h5",
       {product("x"), recorded("half", "float16", {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6})});
  const Ran bit = run("assay inject g.h5 --out b.h5 --fault flip,bit=30");
  EXPECT_THAT(bit, Exits(3, "error: g.h5: case half: float16 has no bit 30; its bits are 0 to 15"));
  EXPECT_THAT(bit.out, HasSubstr("\n1 of 2 cases, written to b.h5\n"));
  const Ran at = run("assay inject g.h5 --case x --out c.h5 --fault flip,bit=1,at=9:0");
  EXPECT_THAT(at, Code(3));
  EXPECT_THAT(at.err, StartsWith("error: g.h5: case x: there is no element [9, 0] in an output of "
                                 "shape [2, 3]\n"));
  EXPECT_FALSE(exists("c.h5"));
}

TEST_F(Rewrite, InjectNeedsAProducer) {
  Case c = product("x");
  c.output().recorded["q"].tensor = c.output().recorded["p"].tensor;
  make("two.h5", {c});
  EXPECT_THAT(run("assay inject two.h5 --fault flip,bit=1 --out b.h5"),
              Exits(2,
                    "error: two.h5 has outputs of several producers; choose one with "
                    "--recorded: p, q"));
  EXPECT_THAT(run("assay inject two.h5 --fault flip,bit=1 --recorded q --out b.h5"), Exits(0));
  EXPECT_EQ(bits("b.h5", "x", "p"), bits("two.h5", "x", "p")) << "the other is as it was";
  c.output().recorded.clear();
  make("none.h5", {c});
  EXPECT_THAT(run("assay inject none.h5 --fault flip,bit=1 --out b.h5"),
              Exits(2,
                    "error: none.h5 has no recorded outputs to put faults into; make some with "
                    "`assay emulate`"));
}

TEST_F(Rewrite, InPlaceKeepsEveryCase) {
  make("g.h5", {product("x"), product("y")});
  const Ran ran = run("assay inject g.h5 --fault flip,bit=30 --case x --out g.h5");
  // The command is refused, or the new file still has the case that was not chosen.
  EXPECT_TRUE(DatasetFile(path("g.h5")).has_case("y")) << testing::PrintToString(ran);
}

TEST_F(Rewrite, CompressedFilesHoldTheSame) {
  EXPECT_THAT(run("assay emulate '" + sample() +
                  "' --machine ascend910b --compress --out c.h5 --quiet --case 'layer0/*'"),
              Exits(0));
  EXPECT_THAT(run("assay emulate '" + sample() +
                  "' --machine ascend910b --out u.h5 --quiet --case 'layer0/*'"),
              Exits(0));
  for (const char* name : {"layer0/qkv.dgrad", "layer0/attn_pv.fwd"}) {
    EXPECT_EQ(bits("c.h5", name, "ascend910b"), bits("u.h5", name, "ascend910b"));
  }
}

}  // namespace
}  // namespace assay
