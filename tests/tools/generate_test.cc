// assay generate: cases made from seeds.
#include <cmath>

#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Generate : public ProgramTest {
 protected:
  std::vector<std::string> names(const std::string& file) const {
    return DatasetFile(path(file)).case_names();
  }
  std::string text(const std::string& file, const std::string& name,
                   const std::string& attribute) const {
    return attribute_text(DatasetFile(path(file)).attributes_of(name).at(attribute));
  }
};

constexpr const char* kNormal = "matmul/bfloat16/4x6x5/normal.mean=1/seed3";

TEST_F(Generate, MakesACaseThatSaysHowItWasMade) {
  const Ran ran = run(
      "assay generate matmul --dtype bfloat16 --shape 4,6,5 --distribution normal,mean=1 --seed 3 "
      "--out g.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_EQ(ran.out, std::string(kNormal) +
                         ": a bfloat16 [4, 6], b bfloat16 [6, 5], golden float64 [4, 5]\n"
                         "1 case, written to g.h5\n");
  const Case c = DatasetFile(path("g.h5")).read(kNormal);
  EXPECT_EQ(c.op, "matmul");
  EXPECT_EQ(c.integer("seed"), 3);
  EXPECT_EQ(c.text("distribution"), "normal,mean=1");
  EXPECT_EQ(c.text("why"), "a: mean + deviation N(0, 1); b: mean + deviation N(0, 1)");
  EXPECT_EQ(c.text("source"),
            "assay generate matmul --dtype bfloat16 --shape 4,6,5 --distribution normal,mean=1 "
            "--seed 3");
  const Tensor golden = golden_result(c);
  for (std::int64_t i = 0; i < golden.size(); ++i) {
    EXPECT_EQ(c.output().golden->bits_at(i), golden.bits_at(i));
  }
}

TEST_F(Generate, EveryCombinationIsACase) {
  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --dtype float16 --shape 2,3,4 --shape "
                  "2,2,3,4 --distribution normal --distribution uniform,low=-6,high=6 --count 2 "
                  "--quiet --out g.h5"),
              Exits(0));
  EXPECT_EQ(names("g.h5").size(), 16u);
  EXPECT_TRUE(
      DatasetFile(path("g.h5")).has_case("matmul/float16/2x2x3x4/uniform.low=m6.high=6/seed1"));
  EXPECT_THAT(run("assay generate matmul --dtype float32 --shape 2,3,4 --a normal --a uniform --b "
                  "student_t --b lognormal --quiet --no-golden --out g.h5"),
              Exits(0));
  EXPECT_THAT(names("g.h5"), ElementsAre("matmul/float32/2x3x4/a_normal__b_lognormal/seed0",
                                         "matmul/float32/2x3x4/a_normal__b_student_t/seed0",
                                         "matmul/float32/2x3x4/a_uniform__b_lognormal/seed0",
                                         "matmul/float32/2x3x4/a_uniform__b_student_t/seed0"));
  EXPECT_FALSE(DatasetFile(path("g.h5")).read(names("g.h5")[0]).output().golden);
  EXPECT_THAT(run("assay generate matmul --dtype float32 --shape 2,3,4 --a uniform --distribution "
                  "lognormal --quiet --out g.h5"),
              Exits(0));
  EXPECT_EQ(text("g.h5", names("g.h5")[0], "distribution"), "a: uniform; b: lognormal");
}

TEST_F(Generate, ParametersOfTheOperator) {
  EXPECT_THAT(run("assay generate matmul --dtype int8 --shape 2,4,6,5 --distribution integers "
                  "--bias integers,high=100 --transpose-a --transpose-b --parameter split_k=2 "
                  "--quiet --out g.h5"),
              Exits(0));
  ASSERT_THAT(names("g.h5"),
              ElementsAre("matmul/int8/2x4x6x5_split_k=2_transpose_a=1_transpose_b=1_bias/"
                          "a_integers__b_integers__bias_integers.high=100/seed0"));
  const Case c = DatasetFile(path("g.h5")).read(names("g.h5")[0]);
  EXPECT_EQ(c.input("a").shape(), (Shape{2, 6, 4}));
  EXPECT_EQ(c.input("b").shape(), (Shape{2, 5, 6}));
  EXPECT_EQ(c.input("bias").shape(), (Shape{5}));
  EXPECT_EQ(c.input("bias").format().name, "int32");
  EXPECT_EQ(c.output().golden->format().name, "int32");
  EXPECT_EQ(c.output().golden->shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(c.integer("split_k"), 2);

  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --output-dtype float32 --shape 4,6,5 "
                  "--tolerance --quiet --out g.h5"),
              Exits(0));
  const Case d = DatasetFile(path("g.h5")).read("matmul/bfloat16_to_float32/4x6x5/normal/seed0");
  EXPECT_EQ(d.text("output_dtype"), "float32");
  EXPECT_EQ(d.real("rtol"), 0x1p-24);
  EXPECT_EQ(d.flag("round_expected"), false);
  EXPECT_THAT(*d.text("why"), StartsWith("rtol: half a float32 ulp; atol: K 2^-24"));
}

// A case's 'source' attribute is enough to make the case again, bit for bit.
TEST_F(Generate, TheSourceMakesTheCaseAgain) {
  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --shape 3,4,6,5 --a outlier_channels "
                  "--b correlated,axis=-2 --bias uniform --transpose-b --output-dtype float32 "
                  "--count 3 --seed 40 --quiet --out g.h5"),
              Exits(0));
  const std::string last = names("g.h5")[2];
  EXPECT_THAT(run(text("g.h5", last, "source") + " --quiet --out again.h5"), Exits(0));
  ASSERT_THAT(names("again.h5"), ElementsAre(last));
  const Case first = DatasetFile(path("g.h5")).read(last),
             again = DatasetFile(path("again.h5")).read(last);
  EXPECT_EQ(first.attributes, again.attributes);
  for (const char* input : {"a", "b", "bias"}) {
    const Tensor &x = first.input(input), &y = again.input(input);
    ASSERT_EQ(x.shape(), y.shape());
    for (std::int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.bits_at(i), y.bits_at(i)) << input;
  }
}

TEST_F(Generate, SameBytesTwiceWhateverTheThreads) {
  const std::string line =
      "assay generate matmul --dtype float16 --shape 40,300,200 --distribution normal "
      "--distribution specials --quiet --count 2 --seed 5 ";
  EXPECT_THAT(
      run(line + "--threads 1 --out x.h5 && " + line + "--threads 2 --out y.h5 && cmp x.h5 y.h5"),
      Exits(0));
  EXPECT_THAT(run(line + "--compress --out z.h5"), Exits(0));
  EXPECT_LT(read("z.h5").size(), read("x.h5").size());
}

// The inputs that a seed makes never change. Every version on every machine makes these bits.
TEST_F(Generate, BitsAreFrozen) {
  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --shape 4,6,5 --quiet --out g.h5"),
              Exits(0));
  const Case c = DatasetFile(path("g.h5")).read("matmul/bfloat16/4x6x5/normal/seed0");
  std::vector<std::uint64_t> a, b;
  for (std::int64_t i = 0; i < 4; ++i) {
    a.push_back(c.input("a").bits_at(i));
    b.push_back(c.input("b").bits_at(i));
  }
  EXPECT_THAT(a, ElementsAre(0xbf07, 0x3f30, 0xbf9b, 0x3f89));
  EXPECT_THAT(b, ElementsAre(0x3fae, 0x3d7e, 0xbd90, 0x3d15));
}

// docs/generate.md says how normally distributed values are drawn. Python draws the same values by
// this description, with its own log, sin and cos.
TEST_F(Generate, PythonDrawsTheSame) {
  EXPECT_THAT(run("assay generate matmul --dtype float64 --shape 40,50,3 --seed 77 --quiet --out "
                  "g.h5"),
              Exits(0));
  python(R"(
import h5py, math
def philox(seed, stream, index):
    c = [index & 0xffffffff, index >> 32, stream & 0xffffffff, stream >> 32]
    k = [seed & 0xffffffff, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xffffffff, (p >> 32) ^ c[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + 0x9E3779B9) & 0xffffffff, (k[1] + 0xBB67AE85) & 0xffffffff]
    return (c[1] << 32) | c[0], (c[3] << 32) | c[2]
def fnv(name):
    h = 0xcbf29ce484222325
    for b in name.encode():
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h
inputs = h5py.File("g.h5")["cases/matmul/float64/40x50x3/normal/seed77/inputs"]
for name in ("a", "b"):
    values = inputs[name][...].ravel()
    for i, value in enumerate(values):
        first, second = philox(77, fnv(name), i // 2)
        radius = math.sqrt(-2 * math.log(1 - (first >> 11) * 2**-53))
        angle = 2 * math.pi * (second >> 11) * 2**-53
        expected = radius * (math.sin(angle) if i % 2 else math.cos(angle))
        assert abs(value - expected) <= 1e-15 * radius * 8, (name, i, value, expected)
)");
}

TEST_F(Generate, AnyInputHasItsDistribution) {
  EXPECT_THAT(run("assay generate layernorm --dtype float32 --shape 3,7 --distribution uniform "
                  "--input weight=normal,mean=1 --input weight=lognormal --input bias=student_t "
                  "--quiet --out g.h5"),
              Exits(0));
  ASSERT_THAT(names("g.h5"), ElementsAre("layernorm/float32/3x7_bias_weight/"
                                         "bias_student_t__weight_lognormal__x_uniform/seed0",
                                         "layernorm/float32/3x7_bias_weight/"
                                         "bias_student_t__weight_normal.mean=1__x_uniform/seed0"));
  EXPECT_EQ(text("g.h5", names("g.h5")[1], "source"),
            "assay generate layernorm --dtype float32 --shape 3,7 --input bias=student_t --input "
            "weight=normal,mean=1 --distribution uniform --seed 0");
}

TEST_F(Generate, NamesAndReasonsOfOnesOwn) {
  EXPECT_THAT(
      run("assay generate exp --dtype float16 --shape 9 --distribution "
          "uniform,low=10,high=11 --name exp/near_overflow --why 'it is near' --quiet "
          "--out g.h5 && assay generate exp --dtype float16 --shape 9 --name e --why 'it is "
          "near' --tolerance --quiet --out t.h5"),
      Exits(0));
  ASSERT_THAT(names("g.h5"), ElementsAre("exp/near_overflow"));
  EXPECT_EQ(text("g.h5", "exp/near_overflow", "why"), "it is near");
  EXPECT_EQ(text("g.h5", "exp/near_overflow", "source"),
            "assay generate exp --dtype float16 --shape 9 --distribution uniform,low=10,high=11 "
            "--seed 0 --name exp/near_overflow");
  EXPECT_THAT(text("t.h5", "e", "why"), StartsWith("it is near; rtol, atol: "));
}

// A bound that the case already has is not replaced.
TEST_F(Generate, ToleranceLeavesOwnBounds) {
  EXPECT_THAT(
      run("assay generate exp --dtype float16 --shape 9 --parameter standard=torch --name a "
          "--why own --tolerance --quiet --out g.h5"),
      Exits(0));
  const auto attributes = DatasetFile(path("g.h5")).attributes_of("a");
  EXPECT_EQ(attributes.count("rtol") + attributes.count("atol"), 0u);
  EXPECT_EQ(text("g.h5", "a", "why"), "own");
}

TEST_F(Generate, ABatchMakesOneFile) {
  write("batch.txt",
        "# cases\n\n"
        "add --dtype float32 --dtype float16 --shape 3,4   # two\n"
        "exp --dtype float32 --shape 5 \\\n  --name e --why \"it's \\\"hard\\\"\"\r\n"
        "   \n"
        "sub --dtype float32 --shape 2 --count 2 --seed 7");
  const Ran ran = run("assay generate --from batch.txt --tolerance --out g.h5");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("5 cases, written to g.h5\n"));
  EXPECT_THAT(names("g.h5"),
              ElementsAre("add/float16/3x4/normal/seed0", "add/float32/3x4/normal/seed0", "e",
                          "sub/float32/2/normal/seed7", "sub/float32/2/normal/seed8"));
  EXPECT_THAT(text("g.h5", "e", "why"), StartsWith("it's \"hard\"; rtol, atol: "));
  // A line of the batch makes the same case as a command with its arguments.
  EXPECT_THAT(run("assay generate sub --dtype float32 --shape 2 --seed 8 --tolerance --quiet --out "
                  "one.h5"),
              Exits(0));
  const Case one = DatasetFile(path("one.h5")).read("sub/float32/2/normal/seed8"),
             same = DatasetFile(path("g.h5")).read("sub/float32/2/normal/seed8");
  EXPECT_EQ(one.attributes, same.attributes);
  EXPECT_EQ(one.input("a").view().values(), same.input("a").view().values());
}

TEST_F(Generate, LinesOfABatchAreRefusedByFileAndNumber) {
  // The case of the good line is written nevertheless.
  const auto refuses = [&](const std::string& batch, const std::string& message) {
    write("b.txt", batch);
    EXPECT_THAT(
        run("assay generate --from b.txt --quiet --out some.h5"),
        Exits(2, "error: b.txt: " + message +
                     "\nerror: b.txt: 1 line is refused; some.h5 has the cases of the other lines"))
        << batch;
    EXPECT_THAT(names("some.h5"), ElementsAre("add/float32/3/normal/seed0")) << batch;
    EXPECT_THAT(leftovers(), IsEmpty());
  };
  const std::string good = "# one\nadd --dtype float32 --shape 3\n";
  refuses(good + "exp --dtype float31 --shape 3\n",
          "line 3: unknown dtype 'float31': did you mean 'float32'?; docs/formats.md lists all");
  refuses(good + "\nexp \\\n --dtype float32\n", "line 4: --shape is needed");
  refuses(good + "exp --dtype float32 --shape 3 --frob 1",
          "line 3: unexpected arguments: --frob 1");
  refuses(good + "exp --dtype float32 --shpae 3",
          "line 3: unexpected arguments: --shpae (did you mean '--shape'?) 3");
  refuses(good + "exp --dtype float32 --shape 3 --out x.h5",
          "line 3: unexpected arguments: --out x.h5");
  refuses(good + "exp --dtype 'float32", "line 3: a quote ' is not closed");
  refuses(good + good,
          "line 4: case add/float32/3/normal/seed0 would be made twice; change --seed, or a name");
  refuses(good + "exp --dtype float32 --shape 3 --seed x",
          "line 3: --seed: a whole number from 0 to 4611686018427387904 is needed, not 'x'");
  write("b.txt", "# nothing\n");
  EXPECT_THAT(run("assay generate --from b.txt --out some.h5"),
              Exits(2, "error: b.txt: no line makes a case"));
  write("b.txt", "frob\n" + good + "exp --shape 3\nadd --dtype float32 --shape 4\n");
  const Ran two = run("assay generate --from b.txt --out some.h5");
  EXPECT_THAT(two, Code(2));
  EXPECT_THAT(
      two.err,
      AllOf(
          StartsWith("error: b.txt: line 1: "), HasSubstr("\nerror: b.txt: line 4: "),
          HasSubstr(
              "\nerror: b.txt: 2 lines are refused; some.h5 has the cases of the other lines\n")));
  EXPECT_THAT(names("some.h5"),
              ElementsAre("add/float32/3/normal/seed0", "add/float32/4/normal/seed0"));
  EXPECT_THAT(run("assay generate --from none.txt --out x.h5"),
              Exits(2, "error: none.txt: cannot be read: No such file or directory"));
  EXPECT_THAT(run("assay generate exp --from b.txt --out x.h5"),
              Exits(2, "error: --from b.txt: its lines define the cases; leave OP out"));
  EXPECT_THAT(run("assay generate --from b.txt --seed 3 --out x.h5"),
              Exits(2, "error: --from b.txt: its lines define the cases; leave --seed out"));
  EXPECT_THAT(run("assay generate --from b.txt --out b.txt"),
              Exits(2, "error: b.txt is an input; --out would replace it"));
}

TEST_F(Generate, WhatItMakesCanBeGated) {
  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --shape 32,64,48 --distribution normal "
                  "--distribution student_t --quiet --out g.h5 && assay emulate g.h5 --machine "
                  "ascend910b --quiet --out o.h5 && assay gate g.h5 --outputs o.h5 --abft --quiet"),
              Exits(0));
}

// Golden results use the constants 1e-4, gamma and scale in float64. Kernels use their float32
// values, for which the tolerances have room.
TEST_F(Generate, ConstantsOfGoldenResultsAreFloat64) {
  const std::string tiny =
      "assay generate quantize --dtype float32 --shape 8 --distribution "
      "normal,scale=1e-6 --tolerance --quiet --out ";
  EXPECT_THAT(run(tiny + "s.h5 --parameter result=scales --parameter "
                         "quantized_dtype=float8_e4m3fn --output-dtype float32 --name s"),
              Exits(0));
  EXPECT_EQ(DatasetFile(path("s.h5")).read("s").output().golden->view().value_at(0), 1e-4 / 448);
  EXPECT_THAT(run(tiny + "v.h5 --output-dtype float16 --name v"), Exits(0));
  const Case v = DatasetFile(path("v.h5")).read("v");
  EXPECT_EQ(v.output().golden->view().value_at(3),
            v.input("x").view().value_at(3) / (1e-4 / 65504));
  for (const char* file : {"s.h5", "v.h5"}) {
    for (const char* machine : {"ascend910b", "hopper", "cpu_fma"}) {
      EXPECT_THAT(run(std::string("assay gate ") + file + " --machine " + machine), Exits(0))
          << file << machine;
    }
  }
  // The input rises by 1 for each column, so a sample equals its x coordinate. It is 0 (the left
  // edge) + gamma times 8 (the width) times 1 (the offset) + 4 (half of the width).
  Case c;
  c.name = "roi";
  c.op = "deform_roi_pool";
  const Format& f32 = format_named("float32");
  std::vector<double> slope;
  for (int i = 0; i < 100; ++i) slope.push_back(i % 10);
  c.inputs["input"] = Tensor::from_values(f32, {1, 1, 10, 10}, slope);
  c.inputs["rois"] = Tensor::from_values(f32, {1, 5}, std::vector<double>{0, 0.5, 0.5, 8.5, 8.5});
  c.inputs["offset"] = Tensor::from_values(f32, {1, 2, 1, 1}, std::vector<double>{1, 0});
  for (const char* name : {"pooled_height", "pooled_width", "sampling_ratio"}) {
    c.attributes[name] = std::int64_t{1};
  }
  make("d.h5", {c});
  EXPECT_THAT(run("assay golden d.h5 --tolerance --out e.h5"), Exits(0));
  EXPECT_NEAR(DatasetFile(path("e.h5")).read("roi").output().golden->view().value_at(0), 4.8,
              1e-14);
  EXPECT_THAT(run("assay gate e.h5 --machine ascend910b"), Exits(0));
}

// Returns the operators that cases can be made for, as messages list them.
std::string makers() {
  std::vector<std::string> names;
  for (const Operator& row : operators()) {
    if (row.generate != nullptr) names.emplace_back(row.name);
  }
  return joined(names);
}

TEST_F(Generate, TheHelpOfAnOperatorSaysWhatItTakes) {
  const std::string list = run("assay list operators").out;
  const std::size_t begin = list.find("\nlayernorm: ") + 1;
  const std::string text = list.substr(begin, list.find("\n\n", begin) + 1 - begin);
  EXPECT_THAT(text, HasSubstr("\n  eps=1e-5 "));
  const Ran ran = run("assay generate layernorm --help");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("\n" + text + "\nExample:\n  assay generate "));
  for (const char* line : {"assay generate --help", "assay generate frob --help"}) {
    const Ran plain = run(line);
    EXPECT_THAT(plain, Exits(0)) << line;
    EXPECT_THAT(plain.out, HasSubstr("\n\nExample:\n  assay generate ")) << line;
    EXPECT_THAT(plain.out, Not(HasSubstr("inputs: "))) << line;
  }
}

TEST_F(Generate, RefusesWithOneLineAndLeavesNoFile) {
  const std::string good = "assay generate matmul --dtype bfloat16 --shape 4,6,5 --out old.h5 ";
  const auto refuses = [&](const std::string& line, const std::string& message) {
    write("old.h5", "old");
    EXPECT_THAT(run(line), Exits(2, "error: " + message)) << line;
    EXPECT_FALSE(exists("old.h5")) << line;
    EXPECT_THAT(leftovers(), IsEmpty());
  };
  refuses("assay generate cast --dtype bfloat16 --shape 4 --out old.h5",
          "case cast: cast needs the attribute output_dtype: dtype to which x is converted");
  refuses("assay generate cast --dtype bfloat16 --out old.h5", "--shape is needed");
  refuses("assay generate --out old.h5", "OP and --dtype and --shape are needed");
  refuses("assay generate matmull --dtype bfloat16 --shape 4 --out old.h5",
          "unknown operator 'matmull': did you mean 'matmul'?; cases can be made for " + makers());
  refuses("assay generate matmul --dtype bfloat16 --shape 4,5 --out old.h5",
          "matmul takes sizes M,K,N of at least 1, batch dimensions before them; given [4, 5]");
  refuses("assay generate matmul --dtype bfloat16 --shape 4,0,5 --out old.h5",
          "--shape 4,0,5: whole numbers of at least 1 are needed, such as 128,1024,256");
  refuses(good + "--parameter split_k",
          "--parameter split_k: NAME=VALUE is needed, such as split_k=256");
  refuses(
      good + "--parameter split=2",
      "case matmul: matmul does not know the parameter 'split': did you mean 'split_k'?; it knows "
      "transpose_a, transpose_b, output_dtype, compute_dtype, compute_rounding, "
      "promotion_interval, split_k, split_first, split_parts, split_order, split_dtype, "
      "split_sum_dtype, compute_terms, round_before_bias, output_rounding");
  refuses(good + "--a normal,men=1",
          "distribution 'normal,men=1': normal takes no 'men' (did you mean 'mean'?); it takes "
          "mean, deviation, scale");
  refuses(good + "--a normal --b normal --distribution uniform",
          "--distribution is not used: each input of matmul has its own; leave it out");
  refuses(good + "--input weight",
          "--input weight: NAME=DISTRIBUTION is needed, such as weight=normal,mean=1");
  refuses(good + "--input normal,mean=1",
          "--input normal,mean=1: NAME=DISTRIBUTION is needed, such as weight=normal,mean=1");
  refuses(good + "--input weight=normal",
          "matmul has no input 'weight': a (..., M, K), b (..., K, N), optional bias (N)");
  refuses(good + "--name a --count 2", "--name is for one case, but these options make 2");
  refuses(good + "--why a --a normal --a uniform",
          "--why is for one case, but these options make 2");
  refuses(good + "--name a-b",
          "--name a-b: a name has parts of letters, digits, '_', '.' and '=', joined by '/', such "
          "as softmax/near_overflow");
  refuses(good + "--dtype bfloat16",
          "case matmul/bfloat16/4x6x5/normal/seed0 would be made twice; change --seed, or a name");
  refuses(good + "--a outlier_channels,count=9",
          "distribution 'outlier_channels,count=9': there are fewer than 9 channels in a tensor of "
          "shape [4, 6]");
  refuses("assay generate matmul --dtype int8 --shape 4,6,5 --a subnormals --out old.h5",
          "distribution 'subnormals': int8 has no subnormal numbers");
  EXPECT_THAT(run("assay generate matmul --dtype bfloat17 --shape 4,6,5 --out old.h5").err,
              HasSubstr("did you mean 'bfloat16'?"));
  EXPECT_THAT(run("assay generate matmul --dtype bfloat16 --shape 4,6,5 --out none/g.h5"),
              Exits(2, "error: none/g.h5: cannot be written: No such file or directory"));
  for (const char* bad : {"--count 0", "--seed -1", "--seed x", "--frob"}) {
    EXPECT_THAT(run(good + bad), Code(2)) << bad;
  }
  EXPECT_FALSE(exists("old.h5"));
}

}  // namespace
}  // namespace assay
