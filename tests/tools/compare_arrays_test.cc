// assay compare: files of PyTorch, safetensors, ONNX and raw bytes; archives by the names of their
// arrays.
#include <fstream>

#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CompareArrays : public ProgramTest {
 protected:
  // Makes right and wrong arrays in files of every kind. Those of PyTorch have its layout, with
  // stand-ins for its classes.
  void make_arrays() const {
    python(R"py(
import json, struct, sys
import numpy as np
sys.path.insert(0, ")py" ASSAY_SOURCE_DIR R"py(/tests/datasets")
import array_files as files
import collections
torch, utils, storage, tensor = files.stand_ins()
x = np.random.default_rng(5).standard_normal((4, 6)).astype("f4")
y = x.copy(); y[2, 3] += 1
bits = (x.view("u4") >> 16).astype("u2"); exact = (bits.astype("u4") << 16).view("f4")
def of(a, key="0"):
    return files.Call(utils._rebuild_tensor_v2, files.Storage(torch.FloatStorage, key, a.size, a.tobytes()), 0,
                      a.shape, (6, 1), False, collections.OrderedDict())
files.torch_archive("x.pt", of(x))
files.torch_archive("good.pt", {"a": of(x), "b": of(exact, "1"), "only": of(x, "2")})
files.torch_archive("bad.pt", {"a": of(y), "b": of(exact, "1"), "mine": of(x, "2")})
np.savez("good.npz", a=x, b=exact, other=x)
np.savez("none.npz", p=x, q=x)
np.save("x.npy", x); np.save("bf.npy", exact); np.save("one.npy", x[0, 0])
entry = lambda a, b, e: {"dtype": a, "shape": [4, 6], "data_offsets": [b, e]}
open("x.safetensors", "wb").write(files.safetensors({"a": entry("F32", 0, 96), "b": entry("BF16", 96, 144)},
                                                    x.tobytes() + bits.tobytes()))
open("x.pb", "wb").write(files.onnx((4, 6), 1, files.blob(9, x.tobytes())))
x.tofile("x.bin"); y.tofile("y.bin"); bits.tofile("bf.bin"); exact.astype("f8").tofile("gold64.bin")
bits.tofile("output_0_bfloat16__shape_4x6.bin"); x[0, 0].tofile("s_float32__shape_scalar.bin")
x.tofile("r.4x6xf32.bin"); x.tofile("side.bin")
open("side.bin.json", "w").write('{"dtype": "float32", "shape": [4, 6]}')
)py");
  }
};

// Integers do not pass because float expected values round to them.
TEST_F(CompareArrays, IntegersAndFractions) {
  python(R"py(
import numpy as np
golden = np.array([[0.25, 3, 1], [2.5, -7, 0]])
np.save("golden.npy", golden); np.save("whole.npy", np.rint(golden))
np.save("float.npy", np.rint(golden).astype("f4"))
for dtype in ("int8", "int32", "int64", "uint8", "bool"):
    np.save(dtype + ".npy", np.abs(np.rint(golden)).astype(dtype) if dtype[0] in "ub" else np.rint(golden).astype(dtype))
)py");
  for (const char* dtype : {"int8", "int32", "int64", "uint8", "bool"}) {
    for (const char* options : {"", " --atol 0.5", " --standard torch", " --standard bit_equal"}) {
      const Ran ran =
          run(std::string("assay compare ") + dtype + ".npy golden.npy --json r.json" + options);
      EXPECT_THAT(ran, Code(3));
      EXPECT_THAT(ran.out,
                  HasSubstr(std::string("not_comparable: the output is ") + dtype +
                            ", but 2 of 6 expected values (float64) are not whole numbers, the "
                            "first is 0.25 at [0, 0]; return an output of a float dtype, or round "
                            "the expected result if integers are right"));
      EXPECT_EQ(json("r.json")["outcome"], "not_comparable");
    }
  }
  const Ran whole = run("assay compare int32.npy whole.npy");
  EXPECT_THAT(whole, Code(0));
  EXPECT_THAT(whole.out,
              HasSubstr("the output is int32 and the expected result is float64, but all "
                        "expected values are whole numbers"));
  EXPECT_THAT(run("assay compare float.npy golden.npy"), Code(1));
}

TEST_F(CompareArrays, FilesOfEveryKind) {
  make_arrays();
  for (const char* pair :
       {"x.pt x.npy", "x.npy x.pt", "good.pt:/a x.npy", "good.pt:b bf.npy", "x.pb x.npy",
        "x.safetensors:/a x.npy", "x.safetensors:/b bf.npy", "x.safetensors:/b good.pt:/b",
        "side.bin x.npy", "r.4x6xf32.bin x.npy", "output_0_bfloat16__shape_4x6.bin bf.npy",
        "s_float32__shape_scalar.bin one.npy", "x.bin x.npy --dtype float32 --shape 4,6",
        "x.bin x.npy --dtype-actual fp32", "x.npy x.bin --dtype-expected float32",
        "bf.bin gold64.bin --dtype-actual bfloat16 --dtype-expected float64",
        "bf.bin gold64.bin --dtype-actual bfloat16 --dtype-expected float64 --shape 4,6",
        "bf.bin gold64.bin --dtype-actual bfloat16 --dtype-expected float64 --shape-actual 4,6"}) {
    EXPECT_THAT(run(std::string("assay compare ") + pair + " --standard bit_equal"), Exits(0))
        << pair;
  }
  EXPECT_THAT(run("assay compare y.bin x.npy --dtype float32 --standard torch"), Exits(1));
}

TEST_F(CompareArrays, WhatIsInferredIsSaid) {
  make_arrays();
  EXPECT_THAT(run("assay compare x.bin x.npy --dtype-actual float32 --standard torch").out,
              HasSubstr("\nnote: x.bin: the shape [4, 6] was taken from x.npy\n"));
  Ran ran =
      run("assay compare bf.bin gold64.bin --dtype-actual bfloat16 --dtype-expected float64 "
          "--standard torch");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(
      ran.out,
      HasSubstr("\nnote: bf.bin: the shape [24] was inferred from the size of the file\n"
                "note: gold64.bin: the shape [24] was inferred from the size of the file\n"));
  // A failure's report has the note on an inferred shape, too, and its reproducer line gives the
  // same text.
  ran = run("assay compare y.bin x.npy --dtype-actual float32 --standard torch");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("y.bin: the shape [4, 6] was taken from x.npy\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nreproduce: assay compare y.bin x.npy --dtype-actual float32 "
                                 "--standard torch\n"));
  EXPECT_EQ(run("assay compare y.bin x.npy --dtype-actual float32 --standard torch").out, ran.out);
  ran = run("assay compare x.bin one.npy --dtype-actual float32");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, StartsWith("not_comparable: the output's shape is [24], the expected one is "
                                  "[]; nothing is broadcast\n"));
  EXPECT_THAT(ran.out, HasSubstr("x.bin: the shape [24] was inferred from the size of the file\n"));
}

TEST_F(CompareArrays, OptionsOfOneSideThatNoFileGoesBy) {
  make_arrays();
  EXPECT_THAT(run("assay compare x.npy x.pt --dtype-actual bf16"),
              Exits(2, "error: --dtype-actual bf16: x.npy has the dtype float32; leave it out"));
  EXPECT_THAT(run("assay compare x.npy x.pt --shape-expected 6,4"),
              Exits(2, "error: --shape-expected 6,4: x.pt has the shape [4, 6]; leave it out"));
  EXPECT_THAT(run("assay compare x.bin x.npy --dtype-actual float32 --shape-actual 5,6"),
              Exits(2, "error: x.bin: has 96 bytes; float32 of shape [5, 6] needs 120"));
  EXPECT_THAT(run("assay compare x.bin x.npy --dtype-actual float32 --shape-actual 4x6"),
              Exits(2,
                    "error: --shape-actual '4x6': sizes joined by commas are needed, such as "
                    "64,512, or scalar"));
  EXPECT_THAT(run("assay compare output_0_bfloat16__shape_4x6.bin bf.npy --dtype-actual float16"),
              Exits(2,
                    "error: --dtype-actual float16: output_0_bfloat16__shape_4x6.bin has the dtype "
                    "bfloat16; leave it out"));
  EXPECT_THAT(run("assay compare good.pt x.npy"),
              Exits(2, "error: good.pt: holds 3 arrays (a, b, only): name one, as in good.pt:/a"));
}

TEST_F(CompareArrays, ArchivesByName) {
  make_arrays();
  Ran ran = run("assay compare good.pt good.npz --standard torch");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\na     pass     float32  [4, 6]"));
  EXPECT_THAT(ran.out, HasSubstr("\nb     pass     float32  [4, 6]"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\nonly")));
  EXPECT_THAT(
      ran.out,
      HasSubstr("\nnot compared, because the other file has no such array: only in good.pt; "
                "other in good.npz; --strict makes them not comparable\n"));
  ran = run("assay compare good.pt good.npz --standard torch --strict --json r.json");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, HasSubstr("good.npz has no array of this name"));
  EXPECT_THAT(ran.out, HasSubstr("good.pt has no array of this name"));
  EXPECT_EQ(json("r.json")["cases"].size(), 4U);

  ran = run("assay compare bad.pt good.pt --standard torch");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("\na     fail     float32  [4, 6]"));
  EXPECT_THAT(ran.out,
              HasSubstr("\nreproduce: assay compare bad.pt:/a good.pt:/a --standard torch\n"));
  EXPECT_THAT(run("assay compare bad.pt:/a good.pt:/a --standard torch"), Exits(1));
  // In one file b is bfloat16, and in the other one it has the values that were rounded to
  // bfloat16. a is equal in both. So both arrays pass.
  EXPECT_THAT(run("assay compare x.safetensors good.npz --standard torch"), Exits(0));
  EXPECT_THAT(run("assay compare x.safetensors good.npz --dtype float16"),
              Exits(2,
                    "error: --dtype float16: x.safetensors has the dtype float32, and good.npz has "
                    "float32; leave it out"));
  EXPECT_THAT(run("assay compare good.pt none.npz"),
              Exits(3,
                    "error: good.pt: and none.npz have no array of the same name: a, b, only in "
                    "the one; p, q in the other. Name two arrays: good.pt:/a none.npz:/p"));
  // A file that is compared with itself proves nothing, so the verdict is untrusted.
  EXPECT_THAT(run("assay compare good.pt good.pt --standard torch"), Exits(4));
}

// A single array is looked up by its name. Two arrays of different names are never paired without a
// note.
TEST_F(CompareArrays, SingleArraysByName) {
  make_arrays();
  python(R"py(
import json, struct
import numpy as np
x = np.load("x.npy")
np.savez("only_a.npz", a=x); np.savez("only_z.npz", z=x.astype("f8")); np.savez("two.npz", a=x, q=x + 1)
header = json.dumps({"a": {"dtype": "F32", "shape": [4, 6], "data_offsets": [0, 96]}}).encode()
open("only_a.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + x.tobytes())
)py");
  const std::string standard = " --standard torch";
  // The name of a file's only array is looked up in the other file, on whichever side that is.
  // Further arrays of the other file are reported.
  for (const char* pair : {"only_a.npz two.npz", "two.npz only_a.npz", "only_a.safetensors good.pt",
                           "good.npz only_a.safetensors"}) {
    const Ran ran = run("assay compare " + std::string(pair) + standard);
    EXPECT_THAT(ran, Exits(0)) << pair;
    EXPECT_THAT(ran.out, HasSubstr("\na     pass     float32  [4, 6]")) << pair;
    EXPECT_THAT(ran.out, HasSubstr("\nnot compared, because the other file has no such array: "))
        << pair;
    EXPECT_THAT(run("assay compare " + std::string(pair) + standard + " --strict"), Exits(3));
  }
  for (const char* pair :
       {"only_a.npz:/a two.npz", "two.npz only_a.npz:/a.npy", "good.pt only_a.npz:/a",
        "only_a.npz only_a.safetensors", "x.pt only_z.npz", "only_z.npz x.npy", "only_a.npz x.pb",
        "only_a.npz:/a only_z.npz:/z"}) {
    const Ran ran = run("assay compare " + std::string(pair) + standard);
    EXPECT_THAT(ran, Exits(0)) << pair;
    EXPECT_THAT(ran.out, StartsWith("pass")) << pair;
    EXPECT_THAT(ran.out, Not(HasSubstr("names differ"))) << pair;
  }
  const std::string note =
      "the names differ: the array a of only_a.npz was compared with the array z of only_z.npz";
  for (const char* pair :
       {"only_a.npz only_z.npz", "only_a.npz:/a only_z.npz", "only_a.npz only_z.npz:/z"}) {
    Ran ran = run("assay compare " + std::string(pair) + standard + " --json r.json");
    EXPECT_THAT(ran, Exits(0)) << pair;
    EXPECT_THAT(ran.out, HasSubstr("\nnote: " + note + "\n")) << pair;
    EXPECT_EQ(json("r.json")["notes"].dump(), "[\"" + note + "\"]") << pair;
  }
  EXPECT_THAT(run("assay compare only_a.npz only_z.npz --strict"),
              Exits(3,
                    "error: only_a.npz: and only_z.npz have no array of the same name: a in the "
                    "one; z in the "
                    "other. Name two arrays: only_a.npz:/a only_z.npz:/z"));
  EXPECT_THAT(run("assay compare only_z.npz two.npz"),
              Exits(3,
                    "error: only_z.npz: and two.npz have no array of the same name: z in the one; "
                    "a, q in the "
                    "other. Name two arrays: only_z.npz:/z two.npz:/a"));
  EXPECT_THAT(run("assay compare only_z.npz:/z two.npz"),
              Exits(2, "error: two.npz: holds 2 arrays (a, q): name one, as in two.npz:/a"));
  EXPECT_THAT(run("assay compare x.pt two.npz"),
              Exits(2, "error: two.npz: holds 2 arrays (a, q): name one, as in two.npz:/a"));
}

// For every class of HDF5 types, the message gives the type and what can be done.
TEST_F(CompareArrays, Hdf5TypesThatAreNoDtype) {
  python(R"py(
import h5py, numpy as np
from h5py import h5d, h5s, h5t
f = h5py.File("t.h5", "w")
three = h5s.create_simple((3,))
f["enum"] = np.zeros(3, dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i4"))
f["text"] = "abc"; f["fixed"] = np.array([b"a", b"b"], dtype="S4")
f.create_dataset("strings", data=["a", "bb"], dtype=h5py.string_dtype())
d = f.create_dataset("vlen", (2,), dtype=h5py.vlen_dtype("f4")); d[0] = [1, 2]; d[1] = [3]
f["records"] = np.zeros(3, dtype=[("x", "f4"), ("y", "i4")])
f["many"] = np.zeros(3, dtype=[(c, "f4") for c in "abcdefg"])
h5d.create(f.id, b"array", h5t.array_create(h5t.IEEE_F32LE, (2,)), three)
f.create_dataset("refs", (2,), dtype=h5py.ref_dtype)
for n in (1, 2, 3):
    h5d.create(f.id, b"opaque%d" % n, h5t.create(h5t.OPAQUE, n), three)
h5d.create(f.id, b"bits", h5t.STD_B16LE, three)
h5d.create(f.id, b"time", h5t.UNIX_D32LE, three)
t = h5t.STD_U16LE.copy(); t.set_precision(12)
h5d.create(f.id, b"uint12", t, three)
h5d.create(f.id, b"long", h5t.NATIVE_LDOUBLE, three)
f["u16"] = np.zeros(3, dtype="u2")
)py");
  const std::string other = "store its elements as a dtype of docs/formats.md";
  const std::pair<const char*, std::string> never[] = {
      {"enum",
       "an enumeration of GREEN, RED, which is no dtype of assay; store its numbers as integers"},
      {"text", "a string, which is no dtype of assay; text is not compared"},
      {"fixed", "a string, which is no dtype of assay; text is not compared"},
      {"strings", "a string, which is no dtype of assay; text is not compared"},
      {"vlen",
       "a variable-length sequence, which is no dtype of assay; store the sequences as one array, "
       "padded to one length"},
      {"records",
       "a compound of x, y, which is no dtype of assay; store each member as a dataset of its own"},
      {"many",
       "a compound of a, b, c, d, e, ..., which is no dtype of assay; store each member as a "
       "dataset of "
       "its own"},
      {"array",
       "an array in each element, which is no dtype of assay; store its extents as the last ones "
       "of the "
       "dataset"},
      {"refs", "a reference, which is no dtype of assay; name the dataset that it points to"},
      {"opaque3", "3 opaque bytes, which is no dtype of assay; " + other},
      {"bits", "a bit field, which is no dtype of assay; " + other},
      {"time", "a time, which is no dtype of assay; " + other},
      {"uint12", "an unsigned 12-bit integer in 16 bits, which is no dtype of assay; " + other},
      {"long",
       "a 128-bit float (exponent 15 bits, mantissa 64, bias 16383), which is no dtype of assay; " +
           other},
  };
  for (const auto& [name, why] : never) {
    for (const char* dtype : {"", " --dtype float32", " --dtype bfloat16", " --dtype bool"}) {
      const std::string path = std::string("t.h5:/") + name;
      EXPECT_THAT(run("assay compare " + path + " " + path + dtype),
                  Exits(2, "error: t.h5: /" + std::string(name) + ": stored as " + why));
    }
  }
  const std::pair<const char*, std::pair<std::string, std::string>> said[] = {
      {"opaque1", {"1 opaque byte", "float8_e5m2"}},
      {"opaque2", {"2 opaque bytes", "float16, bfloat16"}},
      {"u16", {"an unsigned 16-bit integer", "float16, bfloat16, float_e5m6, uint16"}}};
  for (const auto& [name, what] : said) {
    const std::string path = std::string("t.h5:/") + name,
                      line = "assay compare " + path + " " + path,
                      stored = "error: t.h5: /" + std::string(name) + ": stored as " + what.first;
    EXPECT_THAT(run(line), Exits(2, stored + ", and has no attribute 'dtype'; give --dtype (" +
                                        what.second + ")"));
    EXPECT_THAT(run(line + " --dtype int32"),
                Exits(2, stored + ", which cannot hold int32; it may be " + what.second));
    EXPECT_THAT(
        run(line + " --dtype " + what.second.substr(0, what.second.find(',')) + " --rtol 1"),
        Exits(4));
  }
}

// Runs the commands of docs/arrays.md.
TEST_F(CompareArrays, CommandsOfThePage) {
  make_arrays();
  python(R"py(
import shutil
import numpy as np
shutil.copy("good.pt", "step10_gpu.pt"); shutil.copy("good.pt", "step10_npu.pt")
golden = (np.arange(2048) % 7).astype("f4")
golden.tofile("golden.bin"); (golden.view("u4") >> 16).astype("u2").tofile("output.bin")
)py");
  std::ifstream page(ASSAY_SOURCE_DIR "/docs/arrays.md");
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("assay ")) continue;
    EXPECT_THAT(run(line), Exits(0)) << line;
    ++commands;
  }
  EXPECT_EQ(commands, 2);
}

}  // namespace
}  // namespace assay
