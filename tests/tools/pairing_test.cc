// Tests which output is judged against which golden result, for every layout and option that pairs
// them. Only arrays that the user gave the same name belong together. The resulting name of the
// case does not matter.
#include <fstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Writes arrays by name, as a user has them: save(KIND, PATH, {NAME: array}).
constexpr const char* kSave = R"(
import json, os, struct
import h5py, numpy as np

def save(kind, path, arrays, side='golden'):
    if kind == 'folder':
        for name, array in arrays.items():
            os.makedirs(os.path.dirname(f'{path}/{name}') or '.', exist_ok=True)
            np.save(f'{path}/{name}.npy', array)
    elif kind == 'npz':
        os.makedirs(path)
        np.savez(f'{path}/z.npz', **arrays)
    elif kind == 'safetensors':
        os.makedirs(path)
        header, data = {}, b''
        for name, array in arrays.items():
            header[name] = {'dtype': 'F32', 'shape': list(array.shape),
                            'data_offsets': [len(data), len(data) + array.nbytes]}
            data += array.astype('<f4').tobytes()
        text = json.dumps(header).encode()
        with open(f'{path}/z.safetensors', 'wb') as f:
            f.write(struct.pack('<Q', len(text)) + text + data)

x = np.arange(1, 65, dtype='f4')
y = -x
)";

class Pairing : public ProgramTest {
 protected:
  void save(const std::string& calls) const { python(kSave + calls); }

  // Returns the outcomes by the names that the user gave, sorted by case, as in "q-1=fail
  // q:1=not_comparable".
  std::string outcomes(const std::string& file) const {
    std::string text;
    const nlohmann::json report = json(file);
    for (const auto& c : report["cases"]) {
      const std::string name = c.contains("source_name") ? c["source_name"] : c["case"];
      text += formatted("{}{}={}", text.empty() ? "" : " ", name, c["outcome"].get<std::string>());
    }
    return text;
  }
};

// q+1 of the outputs holds what q-1 should be, q-1 is wrong by a factor of two, and q:1 is missing.
class PairingOfKinds : public Pairing, public testing::WithParamInterface<const char*> {};

TEST_P(PairingOfKinds, AnOutputIsJudgedAgainstTheGoldenResultOfItsOwnName) {
  const std::string kind = GetParam(), above = kind == "folder" ? "" : "z/";
  save(
      formatted("save('{0}', 'g', {{'q-1': x, 'q:1': y}})\n"
                "save('{0}', 'o', {{'q+1': x, 'q-1': 2 * x}})\n",
                kind));
  const std::string wanted = formatted("{0}q:1=not_comparable {0}q-1=fail", above);
  for (const char* strict : {"", " --strict"}) {
    const Ran ran = run(formatted("assay gate g --outputs o --json r.json{}", strict));
    EXPECT_EQ(ran.code, 1) << testing::PrintToString(ran);
    EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
    EXPECT_THAT(ran.out, HasSubstr(formatted("('{}q-1'): fail: ", above)));
    EXPECT_THAT(ran.out, HasSubstr(formatted("('{}q:1'): not_comparable: ", above)));
  }
  // A dataset file as an intermediate step changes nothing, on either side of a second gate.
  EXPECT_EQ(run("assay pack g --out g.h5 -q").code, 0);
  EXPECT_EQ(run("assay gate g.h5 --outputs o --json r.json -q").code, 1);
  EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
  EXPECT_EQ(run("assay pack g --outputs o --out both.h5 -q").code, 0);
  EXPECT_EQ(run("assay gate both.h5 --json r.json -q").code, 1);
  EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
  EXPECT_EQ(run("assay gate g --outputs both.h5 --json r.json -q").code, 1);
  EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
  // Unpacking the arrays and packing them again changes nothing, either.
  for (const char* as : {"npy", "npz"}) {
    EXPECT_EQ(run(formatted("rm -rf u p.h5 && assay unpack both.h5 --as {} --out u -q && "
                            "assay pack u --out p.h5 -q && h5diff both.h5 p.h5 /cases /cases",
                            as))
                  .code,
              0)
        << as;
    EXPECT_EQ(run("assay gate u --json r.json -q").code, 1);
    EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
    EXPECT_EQ(run("assay gate u --outputs o --json r.json -q").code, 1);
    EXPECT_THAT(outcomes("r.json"), HasSubstr(wanted));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PairingOfKinds, testing::Values("folder", "npz", "safetensors"));

TEST_F(Pairing, AFolderOfBothSides) {
  save(
      "save('folder', 's/gold', {'q-1': x, 'q:1': y})\n"
      "save('folder', 's/npu', {'q+1': x, 'q-1': 2 * x})\n");
  EXPECT_EQ(run("assay gate s --json r.json").code, 1);
  EXPECT_EQ(outcomes("r.json"), "q:1=not_comparable q-1=fail");
}

// Names with the same letters in other forms, composed or decomposed, large or small, are different
// names, so their arrays are not paired.
TEST_F(Pairing, NamesThatOnlyLookAlikeAreOtherNames) {
  save(
      "save('folder', 'g', {'caf\\u00e9': x, 'Q': x})\n"
      "save('folder', 'o', {'cafe\\u0301': x, 'q': x})\n");
  const Ran ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 3) << testing::PrintToString(ran);
  EXPECT_THAT(ran.err, HasSubstr("none"));
}

// A case cannot have the name q-1 or q+1, and is named q_1 instead. If different names become one
// name in this way, the error shows both.
TEST_F(Pairing, DifferentNamesThatBecomeOneAreAnErrorThatShowsBoth) {
  save(
      "save('folder', 'g', {'q-1': x, 'r': x})\nsave('folder', 'o', {'q+1': x, 'r': x})\n"
      "save('folder', 'h', {'q_1': x, 'r': x})\n");
  const std::string both =
      "o: q_1: the output is that of 'q+1', but the golden result in {} is that of '{}'; give both "
      "the same name";
  ASSERT_EQ(run("assay pack g --out g.h5 -q").code, 0);
  ASSERT_EQ(run("assay pack h --out h.h5 -q").code, 0);
  for (const auto& [golden, name] : {std::pair("g", "q-1"), std::pair("g.h5", "q-1"),
                                     std::pair("h", "q_1"), std::pair("h.h5", "q_1")}) {
    const Ran ran = run(formatted("assay gate {} --outputs o --json r.json", golden));
    EXPECT_EQ(ran.code, 2) << golden << testing::PrintToString(ran);
    EXPECT_THAT(outcomes("r.json"), AllOf(HasSubstr("r=pass"), HasSubstr("=error"))) << golden;
    EXPECT_THAT(ran.err, HasSubstr(formatted(fmt::runtime(both), golden, name)));
    EXPECT_THAT(run(formatted("assay pack {} --outputs o --out p.h5", golden)).err,
                HasSubstr(formatted(fmt::runtime(both), golden, name)));
    EXPECT_FALSE(exists("p.h5"));
    EXPECT_THAT(run(formatted("assay audit --target torch {} --outputs o", golden)).err,
                HasSubstr(formatted(fmt::runtime(both), golden, name)));
  }
}

TEST_F(Pairing, TwoDatasetFiles) {
  python(R"(
import h5py, numpy as np
x = np.arange(1, 9, dtype='f4')
def write(path, part, cases):
    with h5py.File(path, 'w') as f:
        f.attrs['assay_schema'] = 1
        for case, name in cases.items():
            group = f.create_group('cases/' + case)
            group.attrs['op'] = 'external'
            if name: group.attrs['x_name'] = name
            group[part] = x
            group[part].attrs['dtype'] = 'float32'
write('g.h5', 'golden', {'q_1': 'q-1', 'r_1': 'r-1', 's': 'any note', 't_1': None})
write('o.h5', 'outputs/npu', {'q_1': 'q+1', 'r_1': 'r-1', 's': 'another note', 't_1': 't-1'})
)");
  const Ran ran = run("assay gate g.h5 --outputs o.h5 --json r.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(outcomes("r.json"), "q-1=error r-1=pass s=pass t_1=error");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("'q+1'"), HasSubstr("'q-1'"), HasSubstr("'t-1'"),
                             HasSubstr("'t_1'"), Not(HasSubstr("note"))));
}

// The keys of an archive may look like a path, like another archive's array, or like a file's
// ending. Arrays are paired only by equal keys.
TEST_F(Pairing, KeysOfArchives) {
  save(
      "keys = ['a:b', 'a+b', 'x.npz:y', 'x.npz:/y', 'b.npy', '.', '..', 'golden', 'k/l', 'k']\n"
      "save('npz', 'g', {key: (i + 1) * x for i, key in enumerate(keys)})\n"
      "save('npz', 'o', {key: (i + 1) * x for i, key in enumerate(keys)})\n"
      "save('npz', 'swapped', {key: (10 - i) * x for i, key in enumerate(keys)})\n");
  EXPECT_EQ(run("assay gate g --outputs o --strict --json r.json").code, 0);
  EXPECT_EQ(json("r.json")["cases"].size(), 10U);
  EXPECT_EQ(run("assay gate g --outputs swapped --strict --json r.json").code, 1);
  const nlohmann::json report = json("r.json");
  for (const auto& c : report["cases"]) EXPECT_EQ(c["outcome"], "fail") << c["case"];
}

TEST_F(Pairing, RowsThatAreCases) {
  save(
      "save('folder', 'g', {'q-1': np.stack([x, y])})\n"
      "save('folder', 'o', {'q+1': np.stack([x, y])})\n"
      "save('folder', 'p', {'q+1': np.stack([x, x]), 'q-1': np.stack([x, y])})\n");
  const Ran ran = run("assay gate g --outputs o --rows-are-cases");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("'q+1/0'"), HasSubstr("'q-1/0'")));
  EXPECT_EQ(run("assay gate g --outputs p --rows-are-cases").code, 0);
}

// A case cannot lie within another one. So if a side has the arrays `a` and `a/b`, one of them gets
// another name as a case. It is still paired by its own name.
TEST_F(Pairing, AnArrayBesideAFolderOfItsName) {
  save(
      "save('folder', 'g', {'a': x, 'a/b': y, 'a_': 2 * x})\nsave('folder', 'o', {'a': x})\n"
      "save('folder', 'p', {'a': x, 'a/b': y, 'a_': 2 * x})\n");
  EXPECT_EQ(run("assay gate g --outputs p --strict").code, 0);
  EXPECT_EQ(run("assay gate g --outputs o --json r.json").code, 3);
  EXPECT_EQ(outcomes("r.json"), "a/b=not_comparable a=pass a_=not_comparable");
  EXPECT_EQ(run("assay pack g --outputs p --out both.h5 -q").code, 0);
  EXPECT_EQ(run("assay gate both.h5").code, 0);
  EXPECT_EQ(run("assay gate both.h5 --outputs o --json r.json").code, 3);
  EXPECT_EQ(outcomes("r.json"), "a/b=not_comparable a=pass a_=not_comparable");
}

TEST_F(Pairing, ABaselineKnowsCasesByTheNamesThatTheUserGave) {
  save(
      "save('folder', 'g', {'q-1': x, 'r': x})\nsave('folder', 'o', {'q-1': x, 'r': x})\n"
      "save('folder', 'h', {'q+1': x, 'r': x})\nsave('folder', 'p', {'q+1': x, 'r': x})\n");
  const std::string baseline = " --recorded o --baseline b.json";
  ASSERT_EQ(run("assay gate g --outputs o --update-baseline" + baseline).code, 0);
  EXPECT_EQ(run("assay gate g --outputs o" + baseline).code, 0);
  EXPECT_EQ(run("assay gate h --outputs p --json r.json" + baseline).code, 1);
  EXPECT_EQ(outcomes("r.json"), "q+1=pass r=pass q-1=disappeared");
}

// Files are added to a folder and removed from it. Each case stays with its own file.
TEST_F(Pairing, ABaselineOfSeveralFilesKnowsTheirCasesByFile) {
  const auto with_error = [](const std::string& name, double error) {
    return recorded(name, "float32", {3}, {1, 2, 3}, {1 + error, 2, 3});
  };
  const std::string gate = "assay gate G --rtol 0.5 --atol 0 --baseline b.json --json r.json";
  run("mkdir G");
  for (const char* file : {"1", "2", "3"}) {
    make(formatted("G/{}.h5", file), {with_error("c", *file == '1' ? 1e-2 : 1e-5)});
  }
  ASSERT_EQ(run(gate + " --update-baseline").code, 0);
  EXPECT_EQ(run(gate).code, 0);
  run("mv G/3.h5 three.h5");
  EXPECT_EQ(run(gate).code, 1);
  EXPECT_EQ(outcomes("r.json"), "c=pass c=pass c=disappeared");
  // The only remaining file has an error that would be small by the baseline of another file's
  // case. It is judged by its own.
  run("mv G/1.h5 one.h5");
  make("G/2.h5", {with_error("c", 1e-3)});
  for (const std::string& line : {gate, "assay gate 'G/*.h5'" + gate.substr(12)}) {
    EXPECT_EQ(run(line).code, 1);
    EXPECT_EQ(outcomes("r.json"), "c=worse c=disappeared c=disappeared") << line;
  }
}

TEST_F(Pairing, KnownFailuresAreThoseOfTheNamesThatTheUserGave) {
  save(
      "save('folder', 'g', {'q-1': x}), save('folder', 'o', {'q-1': y})\n"
      "save('folder', 'h', {'q:1': x}), save('folder', 'p', {'q:1': y})\n");
  write("k.json",
        R"({"schema": 1, "known_failures":
            [{"cases": "q-1", "reason": "a test", "expires": "2999-01-31"}]})");
  EXPECT_EQ(run("assay gate g --outputs o --known-failures k.json").code, 0);
  EXPECT_EQ(run("assay gate h --outputs p --known-failures k.json").code, 1);
}

TEST_F(Pairing, ATableOfVerdictsHasThoseOfItsOwnRows) {
  save(
      "save('folder', 'd', {'a-b_dyn_output_0': x, 'a-b_golden_0': x, 'a:b_dyn_output_0': y,\n"
      "    'a:b_golden_0': x})\n");
  write("d/cases.csv",
        "testcase_name,op_name,input_shapes,input_dtypes,output_shapes,output_dtypes\n"
        "a:b,my_op,(),(),\"((64,),)\",\"('float32',)\"\n"
        "a-b,my_op,(),(),\"((64,),)\",\"('float32',)\"\n");
  const Ran ran = run("assay gate d --recorded dyn --table d/cases.csv --csv v.csv");
  EXPECT_EQ(ran.code, 1) << testing::PrintToString(ran);
  EXPECT_THAT(read("v.csv"), testing::ContainsRegex("\na:b,[^\n]*,fail,[^\n]*\na-b,[^\n]*,pass,"));
}

// ---------------------------------------------------------------- files that cannot be read

// If one of several files of a folder is damaged, on either side or on both, only its own cases are
// errors.
TEST_F(Pairing, AFileThatCannotBeReadCostsItsOwnCasesOnly) {
  save(
      "save('folder', 'good', {'ok': x})\nsave('npz', 'npz', {'a': x, 'b': y})\n"
      "save('safetensors', 'safetensors', {'a': x})\nsave('folder', 'npy', {'z': x})\n"
      "os.makedirs('pt'), os.makedirs('pb')\n");
  run("cp " ASSAY_SOURCE_DIR "/datasets/interop/torch/gold/layers.pt pt/z.pt");
  // TensorProto: dims = 1, data_type = FLOAT, name = "t", raw_data.
  python("open('pb/z.pb', 'wb').write(b'\\x08\\x01\\x10\\x01B\\x01tJ\\x04\\0\\0\\x80?')");
  for (const std::string kind : {"npz", "safetensors", "pt", "pb", "npy"}) {
    const std::string whole = read(formatted("{0}/z.{0}", kind));
    for (const std::string& damaged :
         {whole.substr(0, whole.size() / 2), std::string(), std::string(1000, '\xff')}) {
      for (const std::string sides : {"g", "o", "go"}) {
        run("rm -rf g o s r.json && cp -r good g && cp -r good o && mkdir s");
        for (const char* side : {"g", "o"}) {
          const bool is_damaged = sides.find(side) != std::string::npos;
          write(formatted("{}/z.{}", side, kind), is_damaged ? damaged : whole);
        }
        run("cp -r g s/gold && cp -r o s/npu");
        const std::string where = formatted("{} {} {} bytes", kind, sides, damaged.size());
        const bool is_archive = kind != "npy" && kind != "pb";
        const std::string exclude = is_archive ? " --exclude 'z/*'" : " --exclude z";
        for (const std::string line : {"assay gate g --outputs o", "assay gate s",
                                       "assay gate g --outputs o --rows-are-cases"}) {
          const Ran ran = run(line + " --json r.json");
          EXPECT_EQ(ran.code, 2) << where << ": " << line << testing::PrintToString(ran);
          EXPECT_THAT(outcomes("r.json"), AllOf(HasSubstr("=pass"), HasSubstr("=error"))) << where;
          EXPECT_THAT(ran.err, HasSubstr("z." + kind)) << where;
          if (line.ends_with("cases")) continue;
          const Ran without = run(line + exclude);
          EXPECT_EQ(without.code, 0) << where << ": " << line << testing::PrintToString(without);
        }
      }
    }
  }
}

TEST_F(Pairing, ADatasetFileAmongSeveralThatCannotBeReadCostsItsOwnCasesOnly) {
  run("mkdir g o");
  make("g/a.h5", {product("a")});
  make("g/b.h5", {product("b")});
  run("cp g/b.h5 o && head -c 700 g/a.h5 > o/a.h5");
  Ran ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 2) << testing::PrintToString(ran);
  EXPECT_EQ(outcomes("r.json"), "a=error b=pass");
  run("cp g/a.h5 o && head -c 700 o/a.h5 > g/a.h5");
  ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 2) << testing::PrintToString(ran);
}

TEST_F(Pairing, ADamagedGoldenFileAmongSeveralLeavesTheOthersToAFolderOfOutputs) {
  run("mkdir g");
  Case c = recorded("a", "float32", {3}, {1, 2, 3}, {1, 2, 3});
  c.output().recorded.clear();
  make("g/a.h5", {c});
  write("g/b.h5", "no HDF5");
  save("save('folder', 'o', {'a': np.array([1, 2, 3], dtype='f4')})\n");
  EXPECT_EQ(run("assay gate g --outputs o --json r.json").code, 2);
  EXPECT_THAT(outcomes("r.json"), AllOf(HasSubstr("a=pass"), HasSubstr("(file)=error")));
}

// Folders are read as usual if they hold a link to itself, a link to a folder, or a link back to
// their own folder. An array that is a pipe or a link that leads nowhere is an error of its own
// case.
TEST_F(Pairing, LinksAndSpecialFilesInFolders) {
  save(
      "save('folder', 'g', {'a': x, 'm': x, 'l': x})\nsave('folder', 'o', {'a': x, 'l': x})\n"
      "save('folder', 'real', {'c': x})\nsave('folder', 'wrong', {'c': 2 * x})\n"
      "for side, inner in ('g', 'real'), ('o', 'wrong'):\n"
      "    os.symlink('../' + inner, side + '/linked')\n    os.symlink('..', side + '/back')\n"
      "    os.symlink('nowhere', side + '/README.txt')\n    os.symlink('self', side + '/self')\n"
      "os.mkfifo('o/m.npy'), os.remove('g/l.npy'), os.symlink('nowhere', 'g/l.npy')\n");
  const Ran ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 2) << testing::PrintToString(ran);
  EXPECT_THAT(outcomes("r.json"),
              AllOf(HasSubstr("a=pass"), HasSubstr("l=error"), HasSubstr("linked/c=fail"),
                    HasSubstr("m=error"), Not(HasSubstr("README"))));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("g/l.npy"), HasSubstr("o/m.npy")));
}

TEST_F(Pairing, ANameThatLooksMadeUpCostsItsOwnCaseOnly) {
  save(
      "arrays = {'a': x, 'q-1': x, 'q:1': x, 'q_1=520ab699': x}\n"
      "save('folder', 'g', arrays), save('folder', 'o', arrays)\n");
  const Ran ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 2) << testing::PrintToString(ran);
  EXPECT_THAT(outcomes("r.json"),
              AllOf(HasSubstr("a=pass"), HasSubstr("q-1=pass"), HasSubstr("=error")));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("'q:1'"), HasSubstr("q_1=520ab699"), HasSubstr("rename")));
}

TEST_F(Pairing, ADamagedListOfOneRankCostsItsOwnCallsOnly) {
  for (const char* side : {"bench", "npu"}) {
    run("rm -rf m");
    std::filesystem::copy(ASSAY_SOURCE_DIR "/datasets/interop/msprobe", path("m"),
                          std::filesystem::copy_options::recursive);
    run("cp -r m/bench/step0/rank0 m/bench/step0/rank1 && "
        "cp -r m/npu/step0/rank0 m/npu/step0/rank1");
    run("assay gate m/bench --outputs m/npu --json whole.json");
    write(formatted("m/{}/step0/rank1/dump.json", side), "{");
    const Ran ran = run("assay gate m/bench --outputs m/npu --json r.json");
    EXPECT_EQ(ran.code, 2) << side << testing::PrintToString(ran);
    const std::string all = outcomes("r.json");
    EXPECT_THAT(all, testing::ContainsRegex("step0/rank0/[^ ]*=pass")) << side;
    EXPECT_THAT(all, testing::ContainsRegex("step0/rank1/[^ ]*=error")) << side;
    EXPECT_THAT(all, Not(testing::ContainsRegex("step0/rank1/[^ ]*=pass"))) << side;
  }
}

// Two files of a folder that would be the same case are an error of only that case.
TEST_F(Pairing, TwoFilesOfOneNameCostThatCaseOnly) {
  save(
      "save('folder', 'g', {'q': x, 'ok': x})\nsave('folder', 'o', {'q': x, 'ok': x})\n"
      "x.tofile('g/q_float32.bin')\nos.rename('g/q_float32.bin', 'g/q.bin')\n");
  const Ran ran = run("assay gate g --outputs o --json r.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(outcomes("r.json"), "ok=pass q=error");
  EXPECT_THAT(ran.err, HasSubstr("g/q.npy: and g/q.bin have one name, 'q': which of them is "
                                 "meant?"));
}

}  // namespace
}  // namespace assay
