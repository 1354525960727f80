#include "program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "emulated.h"
#include "forked_program.h"

namespace assay {

void PrintTo(const Ran& ran, std::ostream* to) {
  *to << "exit code " << ran.code << "\n--- standard output:\n"
      << ran.out << "--- standard error:\n"
      << ran.err << "---";
}

ProgramTest::ProgramTest() {
  std::string pattern = std::filesystem::temp_directory_path() / "assay_tools_XXXXXX";
  directory_ = mkdtemp(pattern.data());
  std::filesystem::create_directories(directory_ / "bin");
  std::filesystem::create_symlink(ASSAY_TOOL, directory_ / "bin/assay");
}
ProgramTest::~ProgramTest() { std::filesystem::remove_all(directory_); }

std::string ProgramTest::path(const std::string& name) const { return directory_ / name; }
std::string ProgramTest::sample() const {
  return ASSAY_SOURCE_DIR "/datasets/samples/transformer_gemms.h5";
}
bool ProgramTest::exists(const std::string& name) const {
  return std::filesystem::exists(path(name));
}
std::string ProgramTest::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path(name), std::ios::binary).rdbuf();
  return std::move(text).str();
}
void ProgramTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
}
nlohmann::json ProgramTest::json(const std::string& name) const { return parsed(read(name)); }
std::vector<std::string> ProgramTest::leftovers() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    const std::string name = entry.path().filename();
    if (name.find(".tmp") != std::string::npos) found.push_back(name);
  }
  return found;
}

Ran ProgramTest::run(const std::string& line) const {
  const int seconds = is_emulated() ? 3000 : 300;
  std::optional<int> status;
  if (const auto words = plain_words(line); words && starts_the_program()) {
    const char* others = std::getenv("PATH");
    const std::string path =
        this->path("bin") + (others == nullptr ? "" : ":" + std::string(others));
    status = run_forked(directory_, path, seconds, *words);
  }
  if (!status) {
    write("line.sh", line + "\n");
    const std::string command = "cd '" + directory_.string() +
                                "' && PATH=\"$PWD/bin:$PATH\" timeout " + std::to_string(seconds) +
                                " sh line.sh >stdout.txt 2>stderr.txt </dev/null";
    status = std::system(command.c_str());
  }
  return {WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status), read("stdout.txt"),
          read("stderr.txt")};
}

bool ProgramTest::starts_the_program() const {
  std::error_code none;
  return std::filesystem::read_symlink(path("bin/assay"), none) == ASSAY_TOOL;
}

std::vector<std::string> ProgramTest::subcommands() const {
  std::istringstream help(run("assay --help").out);
  std::vector<std::string> names;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (line.ends_with(":")) {
      listed = line != "Options:";
    } else if (listed && line.starts_with("  ")) {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
    } else {
      listed = false;
    }
  }
  return names;
}

void ProgramTest::python(const std::string& program) const {
  write("program.py", program);
  const Ran ran = run(ASSAY_PYTHON " program.py");
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
}

Case ProgramTest::product(const std::string& name, double off, const std::string& producer) {
  const Format& f32 = format_named("float32");
  Case c;
  c.name = name;
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  c.inputs["a"] = Tensor::from_values(f32, {2, 2}, std::vector<double>{1, 2, 3, 4});
  c.inputs["b"] = Tensor::from_values(f32, {2, 3}, std::vector<double>{1, 0, -1, 0.5, 1, 2});
  const std::vector<double> right = {2, 2, 3, 5, 4, 5};
  c.output().golden = Tensor::from_values(format_named("float64"), {2, 3}, right);
  std::vector<double> got = right;
  got[5] += off;
  c.output().recorded[producer].tensor = Tensor::from_values(f32, {2, 3}, got);
  return c;
}

Case ProgramTest::recorded(const std::string& name, const std::string& dtype, const Shape& shape,
                           const std::vector<double>& golden, const std::vector<double>& output) {
  Case c;
  c.name = name;
  c.op = "external";
  c.attributes["output_dtype"] = dtype;
  const bool is_float = format_named(dtype).is_float();
  c.output().golden =
      Tensor::from_values(format_named(is_float ? "float64" : dtype), shape, golden);
  c.output().recorded["p"].tensor = Tensor::from_values(format_named(dtype), shape, output);
  return c;
}

std::vector<Case> ProgramTest::one_of_each() {
  std::vector<Case> cases = {product("pass"), product("fail", 0.5), product("missing"),
                             recorded("untrusted", "float32", {3}, {0, 0, 0}, {0, 0, 0})};
  cases[2].output().recorded.clear();
  return cases;
}

void ProgramTest::make(const std::string& name, const std::vector<Case>& cases) const {
  DatasetWriter writer(path(name));
  for (const Case& c : cases) writer.write(c);
  writer.commit();
}

}  // namespace assay
