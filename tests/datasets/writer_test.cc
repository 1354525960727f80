// Tests that a file is written whole or not at all, is read alike by other programs, and loses
// nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "files.h"

// This file replaces gettimeofday(), the clock that HDF5 reads. A test moves it forward instead of
// waiting.
namespace {
std::atomic<time_t> clock_is_ahead = 0;  // seconds
}
extern "C" int gettimeofday(timeval* now, void*) noexcept {
  timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  *now = {real.tv_sec + clock_is_ahead, real.tv_nsec / 1000};
  return 0;
}
extern "C" time_t time(time_t* now) noexcept {
  timeval read;
  gettimeofday(&read, nullptr);
  if (now != nullptr) *now = read.tv_sec;
  return read.tv_sec;
}

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Tensor constant(std::int64_t size, double value) {
  return Tensor::from_values(format_named("float32"), {size},
                             std::vector<double>(static_cast<std::size_t>(size), value));
}

// Returns bits that no compression can shorten.
Tensor noise(std::int64_t size) {
  Tensor tensor(format_named("int32"), {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const auto bits = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15;
    tensor.set_bits(i, (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9 >> 32);
  }
  return tensor;
}

Case case_of(const std::string& name, Tensor x) {
  Case c;
  c.name = name;
  c.op = "relu";
  c.inputs.emplace("x", std::move(x));
  return c;
}

Case constant_case(const std::string& name) { return case_of(name, constant(3, 1)); }

class Writer : public ::testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // Runs Python lines and returns their output.
  std::string python(const std::string& lines) {
    const std::string script = directory_ / "script.py";
    spill(script, "import h5py, numpy as np\n" + lines);
    int status = -1;
    const std::string said = output_of(formatted("{} {}", ASSAY_PYTHON, script), &status);
    EXPECT_EQ(status, 0) << said;
    std::filesystem::remove(script);
    return said;
  }

  OwnDirectory directory_;
  const std::string path_ = directory_ / "out.h5";
};

// ---------------------------------------------------------------------------- copy and replace

// Cases can be copied after copied objects have been replaced. HDF5's own copying (1.10.8) refuses
// this after a copied object has been deleted. An object that is replaced by one of another dtype
// must leave nothing behind.
TEST_F(Writer, CopiesFollowReplacements) {
  const std::string source = std::string(ASSAY_SOURCE_DIR "/datasets/samples/operators.h5");
  const DatasetFile from(source);
  DatasetWriter writer(path_);
  for (const std::string& name : from.case_names()) {
    writer.copy(from, name);
    const Case c = from.read(name);
    const Tensor& golden = *c.output().golden;
    const bool wide = golden.format().name == "float64";
    writer.put_golden(name, Tensor::from_values(format_named(wide ? "float32" : "float64"),
                                                golden.shape(), golden.view().values()));
  }
  writer.commit();
  const DatasetFile written(path_);
  for (const std::string& name : from.case_names()) {
    EXPECT_NE(written.read(name).output().golden->format().name,
              from.read(name).output().golden->format().name);
  }
  EXPECT_EQ(python(formatted("print(list(h5py.File('{}')))\n", path_)), "['cases', 'checksums']\n");
}

TEST_F(Writer, CopyKeepsWhatAssayDoesNotKnow) {
  const std::string source = directory_ / "source.h5";
  python(
      formatted("f = h5py.File('{}', 'w')\n"
                "f.attrs['assay_schema'] = 1\n"
                "c = f.create_group('cases/a/b')\n"
                "c.attrs['op'] = 'relu'\n"
                "c.attrs['list'] = np.arange(5)\n"
                "c.attrs['half'] = np.float16(0.5)\n"
                "c.attrs['flag'] = True\n"
                "c.attrs['pair'] = np.array((1, 2.0), dtype=[('i', 'i4'), ('f', 'f8')])\n"
                "x = c.create_dataset('inputs/x', data=np.arange(2000, dtype='>f4'),\n"
                "                     chunks=(300,), compression='gzip', fletcher32=True)\n"
                "x.attrs['dtype'] = 'float32'\n"
                "x.attrs['unit'] = ['m', 's']\n"
                "c['inputs'].attrs['note'] = 'kept'\n"
                "c.create_dataset('extra/log', data=[1, 2, 3])\n"
                "c['inputs/y'] = h5py.SoftLink('/cases/a/b/inputs/x')\n",
                source));
  const DatasetFile from(source);
  DatasetWriter writer(path_);
  writer.copy(from, "a/b");
  writer.put_output("a/b", "npu", constant(2, 4), {{"clock", "1.8 GHz"}});
  writer.commit();
  EXPECT_EQ(python(formatted(
                "c = h5py.File('{}', 'r')['cases/a/b']\n"
                "x = c['inputs/x']\n"
                "print(list(c.attrs['list']), c.attrs['half'].dtype, c.attrs['flag'],\n"
                "      c.attrs['pair'], list(x.attrs['unit']), x.dtype, x.chunks,\n"
                "      x.fletcher32, x[1999], c['inputs'].attrs['note'],\n"
                "      list(c['extra/log']), type(c.get('inputs/y', getlink=True)).__name__,\n"
                "      c['outputs/npu'].attrs['clock'])\n",
                path_)),
            "[0, 1, 2, 3, 4] float16 True (1, 2.) ['m', 's'] >f4 (300,) True 1999.0 kept "
            "[1, 2, 3] HardLink 1.8 GHz\n");
  EXPECT_EQ(bytes_of(DatasetFile(path_).read("a/b").inputs.at("y")),
            bytes_of(from.read("a/b").inputs.at("x")));
}

TEST_F(Writer, WhatIsPutReplacesWhatWasThere) {
  {
    DatasetWriter writer(path_);
    Case c = constant_case("c");
    c.output().golden = constant(1, 1);
    c.output().recorded["npu"].tensor = constant(1, 1);
    c.attributes["rtol"] = 0.5;
    writer.write(c);
    writer.commit();
  }
  const DatasetFile from(path_);
  const std::string path = directory_ / "other.h5";
  DatasetWriter writer(path);
  writer.copy(from, "c");
  writer.put_golden("c", constant(2, 2));
  writer.put_output("c", "npu", constant(3, 3));
  writer.put_output("c", "gpu", constant(4, 4));
  writer.put_attribute("c", "rtol", "now a text");
  writer.put_attribute("c", "rtol", 0.25);
  writer.put_attribute("c", "op", "gelu");
  writer.commit();
  const Case c = DatasetFile(path).read("c");
  EXPECT_EQ(c.op, "gelu");
  EXPECT_EQ(c.real("rtol"), 0.25);
  EXPECT_EQ(bytes_of(*c.output().golden), bytes_of(constant(2, 2)));
  EXPECT_EQ(bytes_of(c.output().recorded.at("npu").tensor), bytes_of(constant(3, 3)));
  EXPECT_EQ(bytes_of(c.output().recorded.at("gpu").tensor), bytes_of(constant(4, 4)));
}

TEST_F(Writer, TheSameContentIsTheSameFile) {
  for (const char* name : {"1.h5", "2.h5"}) {
    clock_is_ahead += 3600;
    DatasetWriter writer(directory_ / name, true);
    writer.write_attributes({{"description", "d"}});
    for (int i = 0; i < 20; ++i) writer.write(case_of(formatted("c/{}", i), noise(2000)));
    writer.commit();
  }
  clock_is_ahead = 0;
  EXPECT_TRUE(slurp(directory_ / "1.h5") == slurp(directory_ / "2.h5"));
}

TEST_F(Writer, RefusesWhatNoReaderWouldAccept) {
  DatasetWriter writer(path_);
  writer.write(constant_case("c"));
  const auto said = [&](const std::function<void()>& action) {
    const std::string error = file_error_of(action);
    return error.starts_with(path_) ? error.substr(path_.size()) : error;
  };
  for (const char* name : {"", "a b", "a-b", "a//b", "/a", "inputs/a", "..", "a/golden"}) {
    EXPECT_EQ(
        said([&] { writer.write(constant_case(name)); }),
        formatted(": /cases/{}: is no case name; use parts of letters, digits, '_', '.' and '='",
                  name));
  }
  EXPECT_EQ(said([&] { writer.write(constant_case("c")); }), ": /cases/c: is there already");
  EXPECT_EQ(said([&] { writer.write(constant_case("c/d")); }),
            ": /cases/c/d: lies inside the case /cases/c; cases do not nest");
  EXPECT_EQ(said([&] { writer.put_golden("d", constant(1, 1)); }),
            ": /cases/d: is not in this file; write or copy the case first");
  EXPECT_EQ(said([&] { writer.put_output("c", "a/b", constant(1, 1)); }),
            ": /cases/c: 'a/b' is no name of an operand or producer; use letters, digits, '_', '.' "
            "and '='");
  EXPECT_EQ(said([&] { writer.put_attribute("c", "why", std::string("\xff")); }),
            ": /cases/c: its attribute 'why' must be UTF-8 without zero bytes");
  Tensor odd(format_named("float4_e2m1fn"), {2});
  odd.set_bits(0, 1);
  odd.bytes()[1] = std::byte{0x10};
  EXPECT_EQ(said([&] { writer.put_golden("c", odd); }),
            ": /cases/c/golden: element [1] is 0x10, which is no float4_e2m1fn (it has bits beyond "
            "the format)");
  writer.commit();
  EXPECT_EQ(said([&] { writer.commit(); }), ": has been committed already");
  EXPECT_EQ(DatasetFile(path_).case_names(), std::vector<std::string>{"c"});
}

// ---------------------------------------------------------------------------- whole or not at all

TEST_F(Writer, NothingIsThereBeforeCommit) {
  for (const bool there : {false, true}) {
    if (there) spill(path_, "what was there");
    const std::vector<std::string> before = files();
    { DatasetWriter unused(path_); }
    {
      DatasetWriter writer(path_);
      writer.write(case_of("c", noise(100000)));
    }
    try {
      DatasetWriter writer(path_);
      writer.write(constant_case("c"));
      throw std::logic_error("in between");
    } catch (const std::logic_error&) {
    }
    EXPECT_EQ(files(), before);
    EXPECT_EQ(slurp(path_), there ? "what was there" : "");
  }
  DatasetWriter first(path_), second(path_);  // two writers of one file do not disturb each other
  first.write(constant_case("first"));
  second.write(constant_case("second"));
  first.commit();
  second.commit();
  EXPECT_EQ(DatasetFile(path_).case_names(), std::vector<std::string>{"second"});
  EXPECT_EQ(files(), std::vector<std::string>{"out.h5"});
}

TEST_F(Writer, APlaceThatCannotBeWrittenSaysWhy) {
  const auto opening = [](const std::string& path) {
    return file_error_of([&] { DatasetWriter writer(path); });
  };
  EXPECT_EQ(opening(directory_ / "no/out.h5"),
            (directory_ / "no/out.h5") + ": cannot be written: No such file or directory");
  EXPECT_EQ(opening(directory_.path()),
            directory_.path() + ": is a directory; name a file to write");
  EXPECT_EQ(opening("/dev/null"), "/dev/null: is not a regular file");
}

// Runs `action` in a separate process, including HDF5's clean-up at exit. The value that `action`
// returns is the exit status.
int in_child(const std::function<int()>& action) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    try {
      std::exit(action());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(100);
    }
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Ways to fill a disk; all of them need far more than `kRoom` bytes.
constexpr int kRoom = 96 << 10;
const std::vector<std::pair<const char*, std::function<void(DatasetWriter&)>>>& fillers() {
  static const std::vector<std::pair<const char*, std::function<void(DatasetWriter&)>>> all = {
      {"one large dataset", [](DatasetWriter& w) { w.write(case_of("c", noise(1 << 18))); }},
      {"many small cases",
       [](DatasetWriter& w) {
         for (int i = 0; i < 500; ++i) w.write(constant_case(formatted("c/{}", i)));
       }},
      {"middling datasets",
       [](DatasetWriter& w) {
         for (int i = 0; i < 20; ++i) w.write(case_of(formatted("c/{}", i), noise(5000)));
       }},
      {"attributes",
       [](DatasetWriter& w) {
         w.write(constant_case("c"));
         for (int i = 0; i < 100; ++i) {
           w.put_attribute("c", formatted("a{}", i), std::string(2000, 'x'));
         }
       }},
      {"outputs put over each other",
       [](DatasetWriter& w) {
         w.write(constant_case("c"));
         for (int i = 0; i < 30; ++i) w.put_output("c", "npu", noise(3000 + 2000 * i));
       }},
  };
  return all;
}

// Fills `directory`, which has room for kRoom bytes. Every filler must end in one FileError with
// the reason. The destination must stay, nothing may be left beside it, and HDF5 must go on
// working. Returns the number of fillers that did not meet this.
int fill_disk(const std::string& directory, const std::string& reason, bool compress) {
  const std::string path = directory + "/out.h5";
  int wrong = 0;
  for (const auto& filler : fillers()) {
    spill(path, "what was there");
    const std::string error = file_error_of([&] {
      DatasetWriter writer(path, compress);
      filler.second(writer);
      writer.commit();
    });
    const auto left = std::distance(std::filesystem::directory_iterator(directory), {});
    const bool ok = error == path + ": cannot be written: " + reason && left == 1 &&
                    slurp(path) == "what was there";
    if (ok) continue;
    ++wrong;
    std::fprintf(stderr, "%s: '%s', %d files\n", filler.first, error.c_str(),
                 static_cast<int>(left));
  }
  DatasetWriter writer(path);
  writer.write(constant_case("c"));
  writer.commit();
  return DatasetFile(path).case_names().size() == 1 ? wrong : wrong + 1;
}

TEST_F(Writer, AFullDiskGivesOneErrorAndNoCrash) {
  for (const bool compress : {false, true}) {
    const int status = in_child([&] {
      // The child process mounts a small disk of its own. If it cannot, only the next test checks
      // writes that fail.
      if (unshare(CLONE_NEWNS) != 0 ||
          mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("none", directory_.path().c_str(), "tmpfs", 0,
                formatted("size={}", kRoom).c_str()) != 0) {
        return 77;
      }
      return fill_disk(directory_.path(), "No space left on device", compress);
    });
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no tmpfs can be mounted";
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST_F(Writer, AFileSizeLimitGivesOneErrorAndNoCrash) {
  for (const bool compress : {false, true}) {
    const int status = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{kRoom, kRoom};
      setrlimit(RLIMIT_FSIZE, &limit);
      return fill_disk(directory_.path(), "File too large", compress);
    });
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST_F(Writer, AWriterThatIsKilledLeavesTheDestinationAlone) {
  {
    DatasetWriter writer(path_);
    writer.write(constant_case("c"));
    writer.commit();
  }
  const std::string before = slurp(path_);
  const int status = in_child([&] {
    DatasetWriter writer(path_);
    writer.write(case_of("c", noise(1 << 18)));
    std::raise(SIGKILL);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(slurp(path_) == before);
}

// The process is killed after any step of a row of commits, while the next one is running. The file
// is then one of the written files, and is whole.
TEST_F(Writer, AKillAtAnyMomentLeavesAWholeFile) {
  for (int round = 0; round < 12; ++round) {
    int steps[2];
    ASSERT_EQ(pipe(steps), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto step = [&] {
        if (::write(steps[1], "+", 1) != 1) _exit(1);
      };
      for (int i = 1;; ++i) {
        DatasetWriter writer(path_);
        for (const char* name : {"a", "b", "c"}) {
          writer.write(case_of(name, constant(20000, i)));
          step();
        }
        writer.commit();
        step();
      }
    }
    char done;
    for (int i = 0; i < 4 + round; ++i) ASSERT_EQ(::read(steps[0], &done, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(steps[0]);
    close(steps[1]);
    const DatasetFile file(path_);
    const std::string a = bytes_of(file.read("a").inputs.at("x"));
    EXPECT_EQ(a.size(), 80000u);
    for (const char* name : {"b", "c"}) {
      EXPECT_TRUE(bytes_of(file.read(name).inputs.at("x")) == a) << name;
    }
  }
}

// ------------------------------------------------------------------------------- other programs

// Returns a case with every code of a format as one tensor and their values in float64 as another.
Case codes_and_values(const std::string& name) {
  const Format& f = format_named(name);
  Tensor x(f, {std::int64_t{1} << f.bits}), values(format_named("float64"), x.shape());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.set_bits(i, static_cast<std::uint64_t>(i));
    values.set_bits(i, encode(values.format(), decode(f, static_cast<std::uint64_t>(i))));
  }
  Case c;
  c.name = name;
  c.op = "cast";
  c.inputs.emplace("x", std::move(x));
  c.output().golden = std::move(values);
  return c;
}

TEST_F(Writer, H5pyReadsTheTrueValues) {
  DatasetWriter writer(path_);
  for (const char* name : {"float16", "bfloat16", "float8_e5m2"}) {
    writer.write(codes_and_values(name));
  }
  writer.commit();
  EXPECT_EQ(python(formatted("f = h5py.File('{}', 'r')\n"
                             "for name in 'float16', 'bfloat16', 'float8_e5m2':\n"
                             "    c = f['cases/' + name]\n"
                             "    x = c['inputs/x'][:].astype('f8')\n"
                             "    same = np.array_equal(x, c['golden'][:], equal_nan=True)\n"
                             "    print(name, c['inputs/x'].attrs['dtype'], x.size, same)\n"
                             "print(f.attrs['assay_schema'], c.attrs['op'])\n",
                             path_)),
            "float16 float16 65536 True\n"
            "bfloat16 bfloat16 65536 True\n"
            "float8_e5m2 float8_e5m2 256 True\n"
            "1 cast\n");
}

TEST_F(Writer, H5dumpShowsTheTrueValues) {
  if (access("/usr/bin/h5dump", X_OK) != 0) GTEST_SKIP() << "no h5dump here";
  DatasetWriter writer(path_);
  Case c = constant_case("c");
  for (const char* name : {"float16", "bfloat16", "float8_e5m2"}) {
    c.inputs.insert_or_assign(
        name, Tensor::from_values(format_named(name), {5},
                                  std::vector<double>{1, -1.5, 96, 0.25, -0x1p-14}));
  }
  writer.write(c);
  writer.commit();
  for (const char* name : {"float16", "bfloat16", "float8_e5m2"}) {
    int status = -1;
    const std::string text =
        output_of(formatted("/usr/bin/h5dump -d /cases/c/inputs/{} {}", name, path_), &status);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(text, AllOf(HasSubstr("(0): 1, -1.5, 96, 0.25, -6.10352e-05\n"),
                            HasSubstr(formatted("(0): \"{}\"\n", name))));
  }
}

}  // namespace
}  // namespace assay
