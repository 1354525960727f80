// Measures the compile time of a test that includes <assay/matchers.h>, against one that includes
// only GoogleTest. Uses the compiler of this build, and processor time.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "ratios.h"

namespace {

double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void compile(benchmark::State& state, const std::string& name, const std::string& test) {
  const std::filesystem::path source =
      std::filesystem::temp_directory_path() / ("assay_compile_bench_" + name + ".cc");
  std::ofstream(source) << "#include <gmock/gmock.h>\n#include <gtest/gtest.h>\n#include <vector>\n"
                        << test;
  const std::string command = ASSAY_COMPILE " -c -o /dev/null " + source.string();
  for (auto _ : state) {
    const double before = children_seconds();
    if (std::system(command.c_str()) != 0) state.SkipWithError("it does not compile");
    state.SetIterationTime(children_seconds() - before);
  }
  std::filesystem::remove(source);
}

const char* const kData = "  const std::vector<float> out = {1, 2}, golden = {1, 2};\n";

void googletest_alone(benchmark::State& state) {
  compile(state, "googletest",
          std::string("TEST(A, B) {\n") + kData + "  EXPECT_THAT(out, testing::Eq(golden));\n}\n");
}
void assay_matchers(benchmark::State& state) {
  compile(state, "matchers",
          std::string("#include <assay/matchers.h>\nTEST(A, B) {\n") + kData +
              "  EXPECT_THAT(out, assay::CloseTo(golden));\n}\n");
}

BENCHMARK(googletest_alone)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->UseManualTime();
BENCHMARK(assay_matchers)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(5)
    ->UseManualTime();

}  // namespace

int main(int argc, char** argv) {
  return assay_bench::run_with_ratios(argc, argv,
                                      {{"compiling GoogleTest alone: with <assay/matchers.h>",
                                        "assay_matchers", "googletest_alone", 1 / 1.2}});
}
