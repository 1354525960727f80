// Tests that a case gets the same verdict, to the bit, if it is judged in pieces while it is read
// and if it is read as a whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/sanitized.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/array_judge.h"
#include "assay/datasets/arrays/npy_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/runner/file_gate.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/report.h"
#include "every_standard.h"
#include "files.h"

namespace assay {
namespace {

constexpr std::int64_t kUnit = PiecewiseJudge::kUnit;
constexpr PieceReading kWhole{.whole_bytes = std::numeric_limits<std::int64_t>::max()};

PieceReading pieces(std::int64_t units) {
  return {.whole_bytes = 0, .pattern_bytes = 0, .piece = units * kUnit};
}

// Returns everything about the verdicts that is printed or saved, except the pattern of a failure.
std::string all_of(const std::vector<GatedCase>& gated) {
  std::string text;
  for (const GatedCase& one : gated) {
    text += formatted("{}:{} {} {} {}\n", one.report.name, one.report.output, one.report.producer,
                      one.report.dtype, shape_text(one.report.shape));
    for (Verdict v : one.report.verdicts) {
      v.where.clear();
      text += verdict_json(v) + (v.metrics ? metrics_text(v) : "");
    }
  }
  return text;
}

std::vector<GatedCase> gate(const DatasetFile& file, const std::string& name,
                            const GateRequest& request, const PieceReading& reading) {
  return gate_file_case(file, name, {.name = "npu", .recorded = &file}, request, reading);
}

// Makes an output that is off by a little, off by more at some places, and has NaN and infinity.
void fill(Case& c, const Format& output, const Format& golden, std::int64_t size) {
  Random random(11, static_cast<std::uint64_t>(size));
  const bool real = golden.is_float();
  std::vector<double> expected, actual;
  for (std::int64_t i = 0; i < size; ++i) {
    const double e = real ? random.normal() : std::floor(3 * std::abs(random.normal()));
    const bool far_off = random.below(1000) == 0;
    expected.push_back(e);
    actual.push_back(real ? e * (1 + 1e-3 * random.normal()) + (far_off ? 0.25 : 0)
                          : e + (far_off ? 1 : 0));
  }
  if (real && output.has_infinity()) {
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    actual[at(7)] = std::numeric_limits<double>::quiet_NaN();
    expected[at(size - 1)] = actual[at(size - 1)] = std::numeric_limits<double>::infinity();
  }
  c.output().golden = Tensor::from_values(golden, {size}, expected);
  c.output().recorded["npu"].tensor = Tensor::from_values(output, {size}, actual);
}

class GatePieces : public testing::Test {
 protected:
  std::string write(const std::vector<Case>& cases, bool compress) const {
    std::string path = directory_ / (compress ? "packed.h5" : "plain.h5");
    DatasetWriter writer(path, compress);
    for (const Case& c : cases) writer.write(c);
    writer.commit();
    return path;
  }
  static Case external(const std::string& name, const char* dtype = "float32") {
    Case c;
    c.name = name;
    c.op = "external";
    c.attributes["output_dtype"] = std::string(dtype);
    return c;
  }
  OwnDirectory directory_;
};

TEST_F(GatePieces, EveryStandardAndDtypeIsTheWholeToTheBit) {
  Random random(1, 2);
  std::size_t place = 0;
  for (const Format& f : formats()) {
    SCOPED_TRACE(f.name);
    // Each dtype is tested with a third of the standards. The next dtype has another third.
    const std::vector<std::string> standards = every_standard(3, place++);
    const bool common = f.name == "float32" || f.name == "bfloat16" || f.name == "int64";
    Case c = external("c", std::string(f.name).c_str());
    const bool same = f.kind != Kind::kFloat || random.below(2) == 0;
    fill(c, f, same ? f : format_named("float64"), (common ? 2 * kUnit : kUnit) + 777);
    const DatasetFile file(write({c}, common));
    GateRequest all;
    std::vector<std::string> names = {"ulp(2)", "bit_equal"};
    names.insert(names.end(), standards.begin(), standards.end());
    std::size_t judged = 0;
    std::vector<ElementCheck> grown;
    for (const std::string& name : names) {
      const auto bound = standard_bound(name, f, 64);
      if (bound && !PiecewiseJudge::can_judge(*bound)) continue;
      // Standards whose tolerance grows with the number of accumulations read a case's inputs.
      if (needs_operands(name)) {
        if (bound) grown.emplace_back(ChosenBound{*bound, name, ""});
        continue;
      }
      judged += bound ? 1 : 0;
      all.bounds.standards.push_back(name);
    }
    EXPECT_GE(judged, 2u);
    const auto units = static_cast<std::int64_t>(1 + random.below(3));
    const std::vector<GatedCase> in_pieces = gate(file, "c", all, pieces(units));
    ASSERT_EQ(in_pieces.size(), 1u);
    EXPECT_TRUE(in_pieces[0].in_pieces);
    EXPECT_FALSE(in_pieces[0].output);
    const std::vector<GatedCase> whole = gate(file, "c", all, kWhole);
    EXPECT_FALSE(whole[0].in_pieces);
    EXPECT_EQ(whole[0].report.verdicts.size(), all.bounds.standards.size());
    EXPECT_EQ(all_of(in_pieces), all_of(whole)) << units;
    const auto golden = file.open_result("c", ""), output = file.open_result("c", "npu");
    const std::vector<Verdict> by_pieces = judge_arrays(*output, *golden, grown, {}, units * kUnit);
    const std::vector<Verdict> by_whole = judge_by(grown, c.output().recorded.at("npu").tensor,
                                                   *c.output().golden, {.patterns = false});
    ASSERT_EQ(by_pieces.size(), by_whole.size());
    for (std::size_t i = 0; i < by_whole.size(); ++i) {
      EXPECT_EQ(verdict_json(by_pieces[i]), verdict_json(by_whole[i])) << grown[i].standard;
    }
  }
}

TEST_F(GatePieces, BudgetsPoliciesAndThreads) {
  Case c = external("c");
  fill(c, format_named("float32"), format_named("float64"), 3 * kUnit + 5);
  c.attributes["rtol"] = 1e-2;
  c.attributes["atol"] = 1e-3;
  const DatasetFile file(write({c}, false));
  for (const double share : {0.0, 1e-4, 0.5}) {
    if (kThreadSanitizer && share != 1e-4) continue;
    GateRequest request;
    request.bounds.max_mismatch_fraction = share;
    request.bounds.equal_nan = share > 0;
    request.worst = 20;
    const std::string whole = all_of(gate(file, "c", request, kWhole));
    for (const int threads : {1, 3}) {
      request.threads = threads;
      for (const std::int64_t units : {1, 2, 4, 0}) {
        EXPECT_EQ(all_of(gate(file, "c", request, pieces(units))), whole) << share << " " << units;
      }
    }
  }
}

TEST_F(GatePieces, SeveralOutputsEachByItsOwn) {
  Case c = external("s");
  c.attributes.clear();
  for (const char* name : {"y", "z"}) {
    Case one = external("one");
    fill(one, format_named(name[0] == 'y' ? "float32" : "bfloat16"), format_named("float32"),
         kUnit + (name[0] == 'y' ? 9 : 8));
    CaseOutput& output = c.outputs[name];
    output.golden = std::move(*one.output().golden);
    output.recorded = std::move(one.output().recorded);
    output.attributes["output_dtype"] = std::string(name[0] == 'y' ? "float32" : "bfloat16");
    output.attributes["standard"] = std::string(name[0] == 'y' ? "torch" : "cann_ecosystem@2025");
  }
  c.outputs["scratch"].golden = Golden::absent();
  c.outputs["scratch"].recorded["npu"].tensor =
      Tensor::from_values(format_named("float32"), {1}, std::vector<double>{1});
  const DatasetFile file(write({c}, false));
  const std::vector<GatedCase> in_pieces = gate(file, "s", {}, pieces(1));
  ASSERT_EQ(in_pieces.size(), 2u);
  EXPECT_TRUE(in_pieces[0].in_pieces);
  EXPECT_TRUE(in_pieces[1].in_pieces);
  EXPECT_EQ(all_of(in_pieces), all_of(gate(file, "s", {}, kWhole)));
}

// Outputs that are not comparable are reported without reading their data, in the same words.
TEST_F(GatePieces, ShapesAndDtypesThatDiffer) {
  Case shape = external("shape"), dtype = external("dtype"), output = external("output");
  fill(shape, format_named("float32"), format_named("float32"), kUnit);
  shape.output().golden =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, 2});
  fill(dtype, format_named("float32"), format_named("float32"), 100);
  dtype.output().golden =
      Tensor::from_values(format_named("int32"), {100}, std::vector<double>(100, 1));
  fill(output, format_named("bfloat16"), format_named("float32"), 100);
  const DatasetFile file(write({shape, dtype, output}, false));
  for (const char* name : {"shape", "dtype", "output"}) {
    const std::vector<GatedCase> in_pieces = gate(file, name, {}, pieces(1));
    ASSERT_EQ(in_pieces.size(), 1u);
    EXPECT_TRUE(in_pieces[0].in_pieces) << name;
    EXPECT_EQ(in_pieces[0].report.outcome(), Outcome::kNotComparable) << name;
    EXPECT_EQ(all_of(in_pieces), all_of(gate(file, name, {}, kWhole))) << name;
  }
}

// If the case leaves the output dtype open, it follows from the dtypes of both arrays. The case is
// still read in pieces.
TEST_F(GatePieces, AnOutputDtypeThatIsOpen) {
  const auto write = [&](const char* folder, const Format& format) {
    std::filesystem::create_directory(directory_ / folder);
    const std::vector<double> values(static_cast<std::size_t>(2 * kUnit), 0.1);
    write_npy(directory_ / folder + "/x.npy",
              {{"", Tensor::from_values(format, {2 * kUnit}, values).view()}});
  };
  write("gold", format_named("float64"));
  write("out", format_named("float32"));
  const OpenedCases golden = open_cases(directory_ / "gold");
  const OpenedCases outputs = open_cases(directory_ / "out", {.side = Side::kOutputs});
  GateRequest request;
  request.bounds.standards = {"torch"};
  const OutputSource source{.name = "out", .recorded = outputs.cases.get()};
  const auto whole = gate_file_case(*golden.cases, "x", source, request, kWhole);
  const auto read = gate_file_case(*golden.cases, "x", source, request, pieces(1));
  EXPECT_FALSE(whole[0].in_pieces);
  EXPECT_TRUE(read[0].in_pieces);
  EXPECT_EQ(whole[0].report.outcome(), Outcome::kPass);
  EXPECT_EQ(all_of(read), all_of(whole));
  EXPECT_THAT(all_of(read), testing::HasSubstr("the output dtype is that of the output"));
}

// A case is read as a whole if its verdict needs more than the two arrays, or all elements at once.
TEST_F(GatePieces, WhatTakesTheWhole) {
  const std::vector<double> one = {1, 2, 3, 4};
  Case c = external("c");
  c.output().golden = Tensor::from_values(format_named("float32"), {2, 2}, one);
  c.output().recorded["npu"].tensor = *c.output().golden;
  c.output().recorded["gpu"].tensor = *c.output().golden;
  Case product = c;
  product.name = "product";
  product.op = "matmul";
  product.inputs["a"] =
      Tensor::from_values(format_named("float32"), {2, 1}, std::vector<double>{1, 3});
  product.inputs["b"] =
      Tensor::from_values(format_named("float32"), {1, 2}, std::vector<double>{1, 2});
  Case without = external("without");
  without.output().recorded = c.output().recorded;
  const DatasetFile file(write({c, product, without}, false));
  const auto in_pieces = [&](const std::string& name, const GateRequest& request) {
    const std::vector<GatedCase> gated = gate(file, name, request, pieces(1));
    return !gated.empty() && gated[0].in_pieces;
  };
  const auto by = [](const std::string& standard) {
    GateRequest request;
    request.bounds.standards = {standard};
    return request;
  };
  EXPECT_TRUE(in_pieces("c", {}));
  EXPECT_TRUE(in_pieces("product", by("torch")));
  EXPECT_FALSE(in_pieces("product", {})) << "its own bound is made of its operands";
  EXPECT_FALSE(in_pieces("without", {})) << "there is no golden result";
  EXPECT_FALSE(in_pieces("c", by("cann_l1"))) << "a reference implementation";
  EXPECT_FALSE(in_pieces("c", by("accumulation")));
  EXPECT_FALSE(in_pieces("c", by("distribution(normal,mean=0,deviation=1)")));
  GateRequest request;
  request.checksums = parse_threshold("rounding_variance");
  EXPECT_FALSE(in_pieces("product", request));
  GateRequest mutate;
  mutate.mutate = true;
  EXPECT_FALSE(in_pieces("c", mutate));
}

// A failure that is small enough is read as a whole, to find a change that would correct it.
TEST_F(GatePieces, ThePatternOfAFailure) {
  Case c = external("c");
  fill(c, format_named("float32"), format_named("float32"), kUnit);
  std::vector<double> half = c.output().golden->view().values();
  for (double& value : half) value /= 2;
  c.output().recorded["npu"].tensor = Tensor::from_values(format_named("float32"), {kUnit}, half);
  const DatasetFile file(write({c}, false));
  const auto where = [&](std::int64_t pattern_bytes) {
    PieceReading reading = pieces(1);
    reading.pattern_bytes = pattern_bytes;
    return gate(file, "c", {}, reading).front().report.verdicts.front().where;
  };
  EXPECT_THAT(where(8 * kUnit), testing::StartsWith("the output times 2 would pass"));
  EXPECT_EQ(where(8 * kUnit - 1), "");
}

TEST_F(GatePieces, BytesOfACase) {
  Case c = external("c");
  fill(c, format_named("bfloat16"), format_named("float64"), 10);
  Case several = external("several");
  several.outputs["y"].golden = *c.output().golden;
  several.outputs["y"].recorded["npu"].tensor = c.output().recorded["npu"].tensor;
  several.outputs["z"] = several.outputs["y"];
  const DatasetFile file(write({c, several}, false));
  EXPECT_EQ(file.result_bytes("c", ""), 80);
  EXPECT_EQ(file.result_bytes("c", "npu"), 20);
  EXPECT_EQ(file.result_bytes("c", "nobody"), 0);
  EXPECT_EQ(file.result_bytes("several", ""), 160);
  EXPECT_EQ(file.result_bytes("several", "npu"), 40);
  EXPECT_EQ(file.open_result("several", ""), nullptr);
  EXPECT_EQ(file.open_result("several", "", "y")->shape(), Shape{10});
  EXPECT_EQ(file.open_result("c", "npu")->format().name, "bfloat16");
}

// Each side is checked against its checksum, in whatever order threads read it.
TEST_F(GatePieces, ADatasetThatChangedIsRefused) {
  const Format& f = format_named("float32");
  Case c = external("c");
  fill(c, f, f, 5 * kUnit + 777);
  const std::string path = write({c}, false);
  const std::string good = slurp(path);
  GateRequest request;
  request.bounds.standards = {"torch"};
  for (const Tensor* side : {&*c.output().golden, &c.output().recorded.at("npu").tensor}) {
    const auto size = static_cast<std::size_t>(side->size()) * sizeof(float);
    const std::size_t at = good.find({reinterpret_cast<const char*>(side->bytes()), size});
    ASSERT_NE(at, std::string::npos);
    for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
      std::string changed = good;
      changed[at + place] = static_cast<char>(changed[at + place] ^ 1);
      spill(path, changed);
      for (const int threads : {1, 2, 7}) {
        request.threads = threads;
        const std::string message = file_error_of([&] {
          const DatasetFile file(path);
          ASSERT_TRUE(file.open_result("c", "")->serves_threads());
          (void)gate(file, "c", request, pieces(1));
        });
        EXPECT_THAT(message, testing::HasSubstr(": its elements are not those that were written"))
            << place << " by " << threads;
      }
    }
  }
}

// Checksums are verified part by part in order, even if there are more parts than may wait for a
// check.
TEST_F(GatePieces, ManyPartsAreCheckedInOrder) {
  const Format& f = format_named("int8");
  const std::int64_t size = 70 * kUnit + 5;
  Case c = external("c", "int8");
  Tensor expected(f, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    expected.bytes()[i] = static_cast<std::byte>((i * 7 + i / kUnit) % 100 + 1);
  }
  Tensor actual = expected;
  actual.bytes()[66 * kUnit + 3] ^= std::byte{1};
  c.output().golden = std::move(expected);
  c.output().recorded["npu"].tensor = std::move(actual);
  const std::string path = write({c}, false);
  GateRequest request;
  request.bounds.standards = {"bit_equal"};
  const std::string whole = all_of(gate(DatasetFile(path), "c", request, kWhole));
  for (const int threads : {2, 9}) {
    request.threads = threads;
    EXPECT_EQ(all_of(gate(DatasetFile(path), "c", request, pieces(1))), whole) << threads;
  }
  std::string changed = slurp(path);
  const std::size_t at = changed.find(
      {reinterpret_cast<const char*>(c.output().golden->bytes()), static_cast<std::size_t>(size)});
  ASSERT_NE(at, std::string::npos);
  changed[at + 69 * static_cast<std::size_t>(kUnit)] ^= 1;
  spill(path, changed);
  for (const int threads : {2, 9}) {
    request.threads = threads;
    EXPECT_THAT(file_error_of([&] { (void)gate(DatasetFile(path), "c", request, pieces(1)); }),
                testing::HasSubstr("golden: its elements are not those that were written"))
        << threads;
  }
}

// Each thread reads the part that it judges. The file must hold the array as it lies in memory.
class ReadByThreads : public testing::Test {
 protected:
  std::unique_ptr<ArraySource> saved(const std::string& name, const Tensor& t) const {
    const std::string path = directory_ / name;
    array_format_of(path).write(path, {{"", t.view()}});
    return open_array({path, std::string(t.format().name), t.shape()});
  }
  OwnDirectory directory_;
};

TEST_F(ReadByThreads, IsTheWholeToTheBit) {
  // Under a sanitizer a format takes a minute, so only float32 is tested.
  const bool is_slow = kAddressSanitizer || kThreadSanitizer;
  for (const char* name : {"float32", "float64", "bfloat16", "int8"}) {
    if (is_slow && std::string_view(name) != "float32") continue;
    const Format& f = format_named(name);
    Case c;
    fill(c, f, f, (is_slow ? 1 : 3) * kUnit + 777);
    const Tensor &a = c.output().recorded.at("npu").tensor, &e = *c.output().golden;
    std::vector<ElementCheck> checks;
    for (const char* standard : {"torch", "ulp(2)", "bit_equal"}) {
      checks.emplace_back(ChosenBound{*standard_bound(standard, f), standard, ""});
    }
    checks.emplace_back(ChosenBound{std::nullopt, "none", "no bound"});
    if (f.is_float()) {
      checks.emplace_back(ChosenBound{*standard_bound("msprobe", f), "msprobe", ""});
    }
    std::string whole;
    for (const Verdict& v : judge_by(checks, a, e, {.patterns = false})) whole += verdict_json(v);
    const auto actual = saved("a.bin", a), expected = saved("e.bin", e);
    ASSERT_TRUE(actual->serves_threads());
    for (const int threads : {1, 2, 5}) {
      if (kThreadSanitizer && threads == 1) continue;  // a single thread has no races
      SCOPED_TRACE(testing::Message() << name << ", threads " << threads);
      std::string text;
      for (const Verdict& v :
           judge_arrays(*actual, *expected, checks, {.threads = threads}, kUnit)) {
        text += verdict_json(v);
      }
      EXPECT_EQ(text, whole);
    }
  }
}

// One thread reads a file that cannot serve several threads.
TEST_F(ReadByThreads, WhichFilesAre) {
  const Tensor t(format_named("float32"), {3, 5});
  for (const char* name : {"a.bin", "a.npy", "a.safetensors"}) {
    EXPECT_TRUE(saved(name, t)->serves_threads()) << name;
  }
  EXPECT_FALSE(saved("a.npz", t)->serves_threads());
}

TEST_F(ReadByThreads, AFileThatShrinks) {
  const Format& f = format_named("float32");
  const Tensor t(f, {8 * kUnit});
  const std::vector<ElementCheck> checks = {
      ElementCheck(ChosenBound{*standard_bound("torch", f), "torch", ""})};
  const auto actual = saved("a.bin", t), expected = saved("e.bin", t);
  std::filesystem::resize_file(directory_ / "e.bin", 4 * 3 * kUnit + 8);
  for (const int threads : {1, 4}) {
    try {
      judge_arrays(*actual, *expected, checks, {.threads = threads}, kUnit);
      ADD_FAILURE() << "was judged";
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(),
                  testing::EndsWith("e.bin: is truncated: it ends before the array does"));
    }
  }
}

}  // namespace
}  // namespace assay
