// Runs the real program in a directory of its own and keeps what it said.
#pragma once

#include <assay/datasets/store.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

namespace assay {

struct Ran {
  int code;  // exit code; 128 and a signal's number where one ended it
  std::string out, err;
};

inline void PrintTo(const Ran& ran, std::ostream* to) {
  *to << "exit code " << ran.code << "\n--- standard output:\n"
      << ran.out << "--- standard error:\n"
      << ran.err << "---";
}

// Exits(0): nothing on standard error either. Exits(2, "error: ..."): this one line there.
MATCHER_P(Exits, code, "") { return arg.code == code && arg.err.empty(); }
MATCHER_P2(Exits, code, line, "") {
  return arg.code == code && arg.err == std::string(line) + "\n";
}
MATCHER_P(Code, code, "") { return arg.code == code; }

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "assay_tools_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(directory_ / "bin");
    std::filesystem::create_symlink(ASSAY_TOOL, directory_ / "bin/assay");
  }
  ~ProgramTest() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::string sample() const { return ASSAY_SOURCE_DIR "/datasets/samples/transformer_gemms.h5"; }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read(name)); }
  // Temporary files that were left behind.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      const std::string name = entry.path().filename();
      if (name.find(".tmp") != std::string::npos) found.push_back(name);
    }
    return found;
  }

  // Runs a line of sh in the test's directory, with `assay` on PATH, for at most five minutes, of
  // which the sanitizers take more than one.
  Ran run(const std::string& line) const {
    write("line.sh", line + "\n");
    const std::string command = "cd '" + directory_.string() +
                                "' && PATH=\"$PWD/bin:$PATH\" timeout 300 sh line.sh "
                                ">stdout.txt 2>stderr.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read("stdout.txt"),
            read("stderr.txt")};
  }

  // Runs a Python program; the test fails where it does.
  void python(const std::string& program) const {
    write("program.py", program);
    const Ran ran = run(std::string(ASSAY_PYTHON) + " program.py");
    ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  }

  // A matrix product of a [2, 2] and b [2, 3] in float32. The output of `producer` is off by `off`
  // at [1, 2]; the golden result is float64.
  static Case product(const std::string& name, double off = 0, const std::string& producer = "p") {
    const Format& f32 = format_named("float32");
    Case c;
    c.name = name;
    c.op = "matmul";
    c.attributes["output_dtype"] = std::string("float32");
    c.inputs["a"] = Tensor::from_values(f32, {2, 2}, std::vector<double>{1, 2, 3, 4});
    c.inputs["b"] = Tensor::from_values(f32, {2, 3}, std::vector<double>{1, 0, -1, 0.5, 1, 2});
    const std::vector<double> right = {2, 2, 3, 5, 4, 5};
    c.golden = Tensor::from_values(format_named("float64"), {2, 3}, right);
    std::vector<double> got = right;
    got[5] += off;
    c.outputs[producer] = Tensor::from_values(f32, {2, 3}, got);
    return c;
  }

  // A case without operands: golden result and output alone.
  static Case recorded(const std::string& name, const std::string& dtype, const Shape& shape,
                       const std::vector<double>& golden, const std::vector<double>& output) {
    Case c;
    c.name = name;
    c.op = "external";
    c.attributes["output_dtype"] = dtype;
    const bool is_float = format_named(dtype).is_float();
    c.golden = Tensor::from_values(format_named(is_float ? "float64" : dtype), shape, golden);
    c.outputs["p"] = Tensor::from_values(format_named(dtype), shape, output);
    return c;
  }

  // One case of every outcome, named after it.
  static std::vector<Case> one_of_each() {
    std::vector<Case> cases = {product("pass"), product("fail", 0.5), product("missing"),
                               recorded("untrusted", "float32", {3}, {0, 0, 0}, {0, 0, 0})};
    cases[2].outputs.clear();
    return cases;
  }

  void make(const std::string& name, const std::vector<Case>& cases) const {
    DatasetWriter writer(path(name));
    for (const Case& c : cases) writer.write(c);
    writer.commit();
  }

  std::filesystem::path directory_;
};

}  // namespace assay
