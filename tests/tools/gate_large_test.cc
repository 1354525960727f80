// assay gate: cases larger than the memory there is.
#include <filesystem>

#include "assay/base/sanitized.h"
#include "emulated.h"
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Judges cases of 512 MiB with at most 160 MB of address space, which includes the program itself.
// The file has holes and takes no room on the disk.
class GateLarge : public ProgramTest {
 protected:
  void SetUp() override {
    if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer needs address space of its own";
    python(R"py(
import h5py, numpy as np
shape = (64, 1 << 20)
def case(f, name, values, **how):
    group = f.create_group("cases/" + name)
    group.attrs["op"] = "external"
    for part in ("golden", "outputs/npu"):
        data = group.create_dataset(part, shape, "f4", **how)
        data.attrs["dtype"] = "float32"
        for place, value in values.items(): data[place] = value
    return group
with h5py.File("large.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    case(f, "plain", {(0, 0): 1.0, (63, 5): 2.0, (63, -2): 1.5})
    case(f, "wrong", {(63, 5): 2.0, (63, -2): 1.5})["outputs/npu"][63, 5] = 2.5
    packed = case(f, "packed", {(63, -2): 1.5}, chunks=(7, 1 << 17), compression="gzip",
                  compression_opts=1, shuffle=True, fletcher32=True)
    same = case(f, "same", {(63, -2): 1.5})
    del same["outputs/npu"]
    same["outputs/npu"] = same["golden"]
)py");
  }
  Ran capped(const std::string& line) const { return run("ulimit -v 160000; " + line); }
};

TEST_F(GateLarge, CasesLargerThanTheMemory) {
  if (is_emulated()) GTEST_SKIP() << "the emulator needs address space of its own";
  const Ran judged = capped("assay gate large.h5 --threads 2 --json r.json --histograms");
  EXPECT_EQ(judged.code, 1) << judged.err;
  EXPECT_EQ(judged.err, "");
  const auto cases = json("r.json")["cases"];
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0]["case"], "packed");
  EXPECT_EQ(cases[0]["outcome"], "pass");
  EXPECT_EQ(cases[0]["verdicts"][0]["metrics"]["expected"]["zero"], 64 * (1 << 20) - 1);
  EXPECT_EQ(cases[1]["outcome"], "pass");
  EXPECT_EQ(cases[2]["outcome"], "untrusted");
  EXPECT_THAT(
      std::string(cases[2]["because"]),
      StartsWith("the output is the golden result itself, because both are the same bytes of "));
  EXPECT_EQ(cases[3]["outcome"], "fail");
  EXPECT_EQ(cases[3]["verdicts"][0]["mismatches"], 1);
  EXPECT_EQ(cases[3]["verdicts"][0]["worst"][0]["index"], (std::vector<std::int64_t>{63, 5}));
  EXPECT_EQ(cases[3]["verdicts"][0]["metrics"]["max_abs_error"], 0.5);
}

TEST_F(GateLarge, NoResultDependsOnThreads) {
  ASSERT_THAT(run("assay gate large.h5 --case plain --case wrong --threads 1 --json one.json -q"),
              Code(1));
  ASSERT_THAT(run("assay gate large.h5 --case plain --case wrong --threads 7 --json many.json -q"),
              Code(1));
  auto one = json("one.json"), many = json("many.json");
  for (auto* report : {&one, &many}) {
    report->erase("command");
    for (auto& c : (*report)["cases"]) c.erase("seconds");
  }
  EXPECT_EQ(one, many);
}

// A damaged or truncated file is named, with the case. The others are judged.
TEST_F(GateLarge, DamagedAndTruncated) {
  std::filesystem::rename(path("large.h5"), path("cut.h5"));
  std::filesystem::resize_file(path("cut.h5"), 700 << 20);
  const Ran cut = run("assay gate cut.h5");
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.err, StartsWith("error: cut.h5: "));
  EXPECT_THAT(cut.err, HasSubstr("truncated"));
  python(R"py(
import h5py, numpy as np
with h5py.File("chunk.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for name in ("bad", "good"):
        group = f.create_group("cases/" + name)
        group.attrs["op"] = "external"
        for part in ("golden", "outputs/npu"):
            data = group.create_dataset(part, (40, 1 << 18), "f4", chunks=(3, 1 << 18), fletcher32=True)
            data.attrs["dtype"] = "float32"
            for row in range(40): data[row] = row + 1
    where = f["cases/bad/outputs/npu"].id.get_chunk_info_by_coord((36, 0)).byte_offset
with open("chunk.h5", "r+b") as f:
    f.seek(where + 100); f.write(b"\x01")
)py");
  const Ran ran = run("assay gate chunk.h5 -q");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "error: chunk.h5: /cases/bad/outputs/npu: its chunk at [36, 0] fails its fletcher32 "
            "checksum; the file is truncated or corrupt\n");
  EXPECT_THAT(ran.out, HasSubstr("1 pass"));
}

}  // namespace
}  // namespace assay
