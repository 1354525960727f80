// assay compare: NumPy archives, and arrays that are larger than the memory.
#include <sys/resource.h>

#include <fstream>

#include "assay/base/sanitized.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_file.h"
#include "emulated.h"
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CompareNpz : public ProgramTest {
 protected:
  void make_archives() const {
    python(R"py(
import numpy as np, zipfile, io, struct
r = np.random.default_rng(1)
a = r.standard_normal((4, 6)).astype("f4")
b = np.asfortranarray(r.standard_normal((3, 4, 5)))
np.save("a.npy", a); np.save("b.npy", np.ascontiguousarray(b))
np.savez("plain.npz", a=a, b=b); np.savez_compressed("packed.npz", a=a, b=b)
np.savez("one.npz", a); np.savez("none.npz")
def npy(x):
    f = io.BytesIO(); np.save(f, x); return f.getvalue()
with zipfile.ZipFile("lzma.npz", "w", zipfile.ZIP_LZMA) as z: z.writestr("a.npy", npy(a))
with zipfile.ZipFile("comment.npz", "w") as z:
    z.comment = b"PK\x05\x06" + 40 * b"no end "; z.writestr("folder/a.npy", npy(a))
whole = open("plain.npz", "rb").read()
at = whole.index(a.tobytes())
open("flipped.npz", "wb").write(whole[:at + 5] + bytes([whole[at + 5] ^ 1]) + whole[at + 6:])
packed = open("packed.npz", "rb").read()
open("cut.npz", "wb").write(packed[:len(packed) // 2])
name = packed.index(b"a.npy") + 5 + 60
open("broken.npz", "wb").write(packed[:name] + b"\xff" * 20 + packed[name + 20:])
open("text.npz", "w").write("hello")
locked = bytearray(whole)
directory = whole.index(b"PK\x01\x02"); locked[directory + 8] |= 1
open("locked.npz", "wb").write(bytes(locked))
import warnings; warnings.simplefilter("ignore")
with zipfile.ZipFile("twice.npz", "w") as z:
    z.writestr("a.npy", npy(a)); z.writestr("b.npy", npy(b)); z.writestr("a.npy", npy(a + 1))
open("empty.npz", "wb").close()

# Sizes in both headers that are not those of the data; offsets behind the headers' signatures.
def with_size(name, archive, size, at_local, at_central):
    data = bytearray(open(archive, "rb").read())
    struct.pack_into("<I", data, at_local, size)
    struct.pack_into("<I", data, data.rindex(b"PK\x01\x02") + at_central, size)
    open(name, "wb").write(bytes(data))
with zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("a.npy", npy(a))
whole_size = len(npy(a))
with_size("shorter.npz", "deflated.npz", whole_size - 8, 22, 24)
with_size("longer.npz", "deflated.npz", whole_size + 8, 22, 24)
with_size("bomb.npz", "deflated.npz", 0xfffffff0, 22, 24)
with_size("sizes.npz", "one.npz", whole_size - 1, 22, 24)
header = b"\x93NUMPY\x02\x00" + struct.pack("<I", 0x3ffffff0)
with zipfile.ZipFile("header.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    with z.open("a.npy", "w") as member:
        member.write(header)
        for _ in range(1025): member.write(bytes(1 << 20))

# An archive in the layout of those beyond 4 GiB: sizes, offset and counts in zip64 fields alone.
data = npy(a); import zlib; crc = zlib.crc32(data)
local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0, crc, 0xffffffff, 0xffffffff, 5, 20)
local += b"a.npy" + struct.pack("<HHQQ", 1, 16, len(data), len(data)) + data
entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0, crc, 0xffffffff, 0xffffffff,
                    5, 28, 0, 0, 0, 0, 0xffffffff)
entry += b"a.npy" + struct.pack("<HHQQQ", 1, 24, len(data), len(data), 0)
end64 = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, 1, 1, len(entry), len(local))
locator = struct.pack("<IIQI", 0x07064b50, 0, len(local) + len(entry), 1)
end = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
open("wide.npz", "wb").write(local + entry + end64 + locator + end)
assert (np.load("wide.npz")["a"] == a).all()
)py");
  }
};

TEST_F(CompareNpz, MembersOfEveryKind) {
  make_archives();
  for (const char* pair :
       {"plain.npz:/a a.npy", "packed.npz:/a a.npy", "a.npy packed.npz:a", "plain.npz:/b b.npy",
        "packed.npz:/b.npy b.npy", "packed.npz:/b plain.npz:/b", "one.npz a.npy",
        "one.npz:/arr_0 packed.npz:/a", "wide.npz a.npy", "wide.npz:/a packed.npz:/a",
        "comment.npz a.npy", "comment.npz:/folder/a a.npy"}) {
    EXPECT_THAT(run(std::string("assay compare ") + pair + " --standard bit_equal"), Exits(0))
        << pair;
  }
  EXPECT_THAT(run("assay compare plain.npz:/a plain.npz:/b"), Exits(3));
}

TEST_F(CompareNpz, ArchivesThatAreNone) {
  make_archives();
  const std::pair<const char*, const char*> refused[] = {
      {"plain.npz", "plain.npz: holds 2 arrays (a, b): name one, as in plain.npz:/a"},
      {"plain.npz:/c", "plain.npz: c: does not exist; the file holds a, b"},
      {"none.npz", "none.npz: holds no arrays"},
      {"gone.npz:/a", "gone.npz: cannot be opened: No such file or directory"},
      {"text.npz", "text.npz: is no zip archive, or is truncated"},
      {"cut.npz:/a", "cut.npz: is no zip archive, or is truncated"},
      {"lzma.npz",
       "lzma.npz: a.npy: is compressed by method 14; only stored and deflated members are read"},
      {"flipped.npz:/a", "flipped.npz: a.npy: fails its checksum (CRC-32): the archive is corrupt"},
      {"locked.npz:/a", "locked.npz: a.npy: is encrypted"},
      {"empty.npz", "empty.npz: is no zip archive, or is truncated"},
      {"twice.npz:/a", "twice.npz: a: stands twice in the file: which is meant cannot be told"},
      {"shorter.npz", "shorter.npz: is truncated: it ends before the array does"},
      {"longer.npz", "longer.npz: has more bytes than its array: the archive is corrupt"},
      {"sizes.npz", "sizes.npz: arr_0.npy: has two different sizes"},
  };
  for (const auto& [file, message] : refused) {
    EXPECT_THAT(run(std::string("assay compare ") + file + " a.npy"),
                Exits(2, std::string("error: ") + message));
  }
  EXPECT_THAT(run("assay compare twice.npz:/b b.npy --standard bit_equal"), Exits(0));
  // Archives that would fill memory or disk are refused.
  EXPECT_THAT(run("assay compare bomb.npz a.npy").err,
              StartsWith("error: bomb.npz: a.npy: says that it has 4294967280 bytes, which "));
  EXPECT_THAT(run("assay compare header.npz a.npy"),
              Exits(2,
                    "error: header.npz: has an .npy header of 1073741808 bytes, but assay reads at "
                    "most 1048576"));
  const Ran ran = run("assay compare broken.npz:/a a.npy");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, StartsWith("error: broken.npz: a.npy: "));
  EXPECT_THAT(ran.out, IsEmpty());
}

// An array that is read in pieces of any size has the same elements, for every kind of file and
// layout.
TEST_F(CompareNpz, PiecesAreTheArray) {
  python(R"py(
import h5py, numpy as np
x = np.random.default_rng(3).standard_normal((5, 7, 11)).astype("f4")
x.tofile("x.raw"); np.save("c.npy", x); np.save("f.npy", np.asfortranarray(x)); np.save("b.npy", x.astype(">f4"))
np.savez_compressed("z.npz", c=x, f=np.asfortranarray(x)); np.savez("s.npz", c=x, f=np.asfortranarray(x))
with h5py.File("x.h5", "w") as f:
    f["plain"] = x
    f["big"] = x.astype(">f4")
    f.create_dataset("chunks", data=x, chunks=(2, 3, 4))
    f.create_dataset("packed", data=x, chunks=(3, 7, 5), compression="gzip", shuffle=True, fletcher32=True)
    late = f.create_dataset("late", x.shape, "f4", chunks=(1, 7, 11), fillvalue=2.5)
    late[3] = x[3]
    f.create_dataset("never", x.shape, "f4", fillvalue=2.5)
    d = h5py.h5p.create(h5py.h5p.DATASET_CREATE); d.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(x.shape), d).write(
        h5py.h5s.ALL, h5py.h5s.ALL, x)
    f["flat"] = x.ravel()
    f["scalar"] = x[0, 0, 0]
y = np.full_like(x, 2.5); y.tofile("never.raw"); y[3] = x[3]; y.tofile("late.raw")
)py");
  const auto bytes_of = [&](const std::string& name, std::int64_t piece) {
    const std::unique_ptr<ArraySource> source = open_array({path(name), "", {}});
    const std::int64_t size = element_count(source->shape());
    std::string bytes(static_cast<std::size_t>(size * 4), '?');
    for (std::int64_t begin = 0; begin < size; begin += piece) {
      source->read(begin, std::min(piece, size - begin),
                   reinterpret_cast<std::byte*>(bytes.data()) + begin * 4);
    }
    // Reads the pieces once more, from the last to the first.
    std::string again(bytes.size(), '?');
    for (std::int64_t begin = (size - 1) / piece * piece; begin >= 0; begin -= piece) {
      source->read(begin, std::min(piece, size - begin),
                   reinterpret_cast<std::byte*>(again.data()) + begin * 4);
    }
    EXPECT_EQ(again == bytes, true) << name << " out of order, by " << piece;
    return bytes;
  };
  const std::string x = read("x.raw");
  for (const std::int64_t piece : {1, 3, 10, 11, 50, 77, 100, 154, 384, 385}) {
    for (const char* name :
         {"c.npy", "f.npy", "b.npy", "z.npz:/c", "z.npz:/f", "s.npz:/c", "s.npz:/f", "x.h5:/plain",
          "x.h5:/big", "x.h5:/chunks", "x.h5:/packed", "x.h5:/compact", "x.h5:/flat"}) {
      EXPECT_EQ(bytes_of(name, piece) == x, true) << name << " by " << piece;
    }
    EXPECT_EQ(bytes_of("x.h5:/late", piece) == read("late.raw"), true) << piece;
    EXPECT_EQ(bytes_of("x.h5:/never", piece) == read("never.raw"), true) << piece;
    EXPECT_EQ(bytes_of("x.h5:/scalar", piece), x.substr(0, 4));
  }
}

// Compares arrays of 64 Mi float32 elements, 256 MiB in each file, with at most 140 MB of address
// space, which includes the program itself. The files have holes and take no room on the disk.
class CompareLarge : public ProgramTest {
 protected:
  static constexpr std::int64_t kRows = 64, kColumns = 1 << 20;

  void SetUp() override {
    if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer needs address space of its own";
    if (is_emulated()) GTEST_SKIP() << "the emulator needs address space of its own";
  }

  // Writes a file of `header` and an array behind it. All elements but one are zero.
  void make_sparse(const std::string& name, const std::string& header, std::int64_t element,
                   float value) const {
    std::ofstream out(path(name), std::ios::binary);
    out << header;
    out.seekp(static_cast<std::streamoff>(header.size()) + element * 4);
    out.write(reinterpret_cast<const char*>(&value), 4);
    out.close();
    std::filesystem::resize_file(path(name), header.size() + kRows * kColumns * 4);
  }
  static std::string npy_header() {
    std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 1048576), }";
    dict.resize(117, ' ');
    return std::string("\x93NUMPY\x01\x00", 8) + '\x76' + '\0' + dict + "\n";
  }
  Ran capped(const std::string& line) const { return run("ulimit -v 140000; " + line); }
};

TEST_F(CompareLarge, RawAndNpyInBoundedMemory) {
  const std::int64_t last = kRows * kColumns - 2;
  make_sparse("a.raw", "", last, 1.0F);
  make_sparse("b.npy", npy_header(), last, 1.5F);
  const std::string raw = " --dtype float32 --shape 64,1048576 ";
  Ran ran = capped("assay compare a.raw b.npy" + raw + "--standard torch --json -");
  ASSERT_THAT(ran, Exits(1));
  const auto verdict = parsed(ran.out);
  EXPECT_EQ(verdict["mismatches"], 1);
  EXPECT_EQ(verdict["sites"], kRows * kColumns);
  EXPECT_EQ(verdict["worst"][0]["index"], (std::vector<std::int64_t>{63, kColumns - 2}));
  EXPECT_EQ(verdict["metrics"]["max_abs_index"], last);
  EXPECT_EQ(verdict["metrics"]["max_abs_error"], 0.5);
  EXPECT_EQ(verdict["metrics"]["expected"]["zero"], kRows * kColumns - 1);
  EXPECT_EQ(verdict["metrics"]["actual"]["zero"], kRows * kColumns - 1);
}

TEST_F(CompareLarge, Hdf5AndNpzInBoundedMemory) {
  const std::int64_t last = kRows * kColumns - 2;
  make_sparse("b.npy", npy_header(), last, 1.5F);
  python(R"py(
import h5py, numpy as np, zipfile
shape = (64, 1 << 20)
with h5py.File("x.h5", "w") as f:
    packed = f.create_dataset("packed", shape, "f4", chunks=(7, 1 << 17), compression="gzip",
                              compression_opts=1, shuffle=True)
    packed[63, -2] = 1.5
    plain = f.create_dataset("plain", shape, "f4")
    plain[63, -2] = 1.5
    plain[3, 4] = 0.25
with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1, allowZip64=True) as z:
    z.write("b.npy")
)py");
  EXPECT_THAT(capped("assay compare x.npz x.h5:/packed --standard bit_equal --quiet"), Exits(0));
  const Ran ran = capped("assay compare x.npz x.h5:/plain --standard torch");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, StartsWith("fail by torch: 1 of 67 108 864 elements (1.49e-06 %) differs by "
                                  "more"));
  EXPECT_THAT(ran.out, HasSubstr("\n  [3, 4]: actual 0 (0x00000000), expected 0.25"));
}

TEST_F(CompareLarge, PyTorchSafetensorsAndOnnxInBoundedMemory) {
  const std::int64_t last = kRows * kColumns - 2;
  make_sparse("a.raw", "", last, 1.5F);
  std::string header =
      R"({"x": {"dtype": "F32", "shape": [64, 1048576], "data_offsets": [0, 268435456]}})";
  header.resize(96, ' ');
  make_sparse("x.safetensors", std::string("\x60\0\0\0\0\0\0\0", 8) + header, last, 1.5F);
  // The header is a TensorProto's: dims, data_type, and the head of raw_data, which has 2^28 bytes.
  make_sparse("x.pb", std::string("\x08\x40\x08\x80\x80\x40\x10\x01\x4a\x80\x80\x80\x80\x01", 14),
              last, 1.5F);
  python(R"py(
import collections, sys, zipfile
sys.path.insert(0, ")py" ASSAY_SOURCE_DIR R"py(/tests/datasets")
import array_files as files
torch, utils, storage, tensor = files.stand_ins()
root = files.Call(utils._rebuild_tensor_v2, files.Storage(torch.FloatStorage, "0", 1 << 26, None), 0,
                  (64, 1 << 20), (1 << 20, 1), False, collections.OrderedDict())
files.torch_archive("x.pt", root, storages={})
with zipfile.ZipFile("x.pt", "a", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    z.write("a.raw", "archive/data/0")
)py");
  for (const char* pair : {"x.safetensors x.pb", "x.pt x.safetensors"}) {
    EXPECT_THAT(capped(formatted("assay compare {} --standard bit_equal --quiet", pair)), Exits(0))
        << pair;
  }
}

// Column-major files cannot be read in the order of their bytes. They still compare equal to
// row-major files with the same elements, in little memory.
TEST_F(CompareLarge, ColumnMajorInBoundedMemory) {
  python(R"py(
import numpy as np, os
shape = (3000, 12001)
f = np.lib.format.open_memmap("f.npy", "w+", "f4", shape, fortran_order=True)
c = np.lib.format.open_memmap("c.npy", "w+", "f4", shape)
c[:] = (np.arange(shape[0])[:, None] * 7 + np.arange(shape[1])[None, :] * 3) % 1009
f[:] = c
)py");
  EXPECT_THAT(capped("assay compare f.npy c.npy --standard bit_equal --quiet"), Exits(0));
}

}  // namespace
}  // namespace assay
