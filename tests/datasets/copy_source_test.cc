// Tests that plainly stored objects are copied without HDF5, byte for byte as HDF5 copies them. All
// others are left to HDF5.
#include "assay/datasets/store/copy_source.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"
#include "assay/datasets/store/types.h"
#include "assay/datasets/store/writer.h"
#include "assay/format/convert.h"
#include "files.h"

namespace assay::h5 {
namespace {

// Copies everything in a group of a source to the open group `to`.
void copy_all(CopySource& source, const std::string& group, hid_t to) {
  const auto copy_attributes = [&](const std::string& object, hid_t at) {
    for (const auto& [name, value] : source.attributes(object)) {
      EXPECT_EQ(source.copy_attribute(object, name, at).kind, CopySource::Copied::kYes) << name;
    }
  };
  copy_attributes(group, to);
  for (const std::string& link : source.links_in(group)) {
    const std::string object = group + "/" + link;
    if (source.is_group(object)) {
      const Handle inner =
          h5::group(H5Gcreate2(to, link.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      copy_all(source, object, inner.get());
      continue;
    }
    EXPECT_EQ(source.copy_object(object, to, link).kind, CopySource::Copied::kYes) << object;
    const Handle copy = h5::object(H5Oopen(to, link.c_str(), H5P_DEFAULT));
    copy_attributes(object, copy.get());
  }
}

class CopySourceTest : public ::testing::Test {
 protected:
  // Writes tensors of every format and attributes of every kind. The golden result is so long that
  // it is read from the file and not from a block in memory (BlockReader).
  void SetUp() override {
    DatasetWriter writer(path_);
    Case c;
    c.name = "of/all";
    c.op = "external";
    c.attributes = {{"rtol", 0.5},
                    {"seed", std::int64_t{-7}},
                    {"why", std::string("it is")},
                    {"x_none", std::string()},
                    {"x_word", std::string("pr\u00fcfen")}};
    for (const Format& format : formats()) {
      Tensor tensor(format, {2, 3});
      std::memset(tensor.bytes(), 0, static_cast<std::size_t>(6 * format.storage_bytes));
      tensor.set_bits(5, encode(format, 1));
      c.inputs.emplace(format.name, std::move(tensor));
    }
    for (const Format& format : complex_formats()) {
      Tensor tensor(format, {1});
      std::memset(tensor.bytes(), 0, static_cast<std::size_t>(format.storage_bytes));
      c.inputs.emplace(format.name, std::move(tensor));
    }
    c.output().golden =
        Tensor::from_values(format_named("float64"), {1000}, std::vector<double>(1000, 0.1));
    c.output().recorded["npu"].tensor =
        Tensor::from_values(format_named("bfloat16"), {3}, std::vector<double>{1, -2, 0.1});
    c.output().recorded["npu"].machine = "ascend910b";
    writer.write(c);
    c.name = "plain";
    writer.write(c);
    writer.commit();
  }

  // Runs Python lines on the file, open as `f`, and its case /cases/plain as `c`.
  void change(const std::string& lines) {
    const std::string script = directory_ / "script.py";
    spill(script, formatted("import h5py, numpy as np\nf = h5py.File('{}', 'r+')\n"
                            "c = f['cases/plain']\n{}\n",
                            path_, lines));
    int status = -1;
    const std::string said = output_of(formatted("{} {}", ASSAY_PYTHON, script), &status);
    ASSERT_EQ(status, 0) << said;
  }

  static ChecksumTable sums_of(OpenedFile& opened, const std::string& path) {
    Reader reader(path, opened, std::int64_t{1} << 30);
    const auto root = reader.attributes("/", {});
    reader.read_checksums(std::get<std::string>(root.at(kChecksumsAttribute)));
    return reader.checksums();
  }

  std::unique_ptr<CopySource> plain(const std::string& group) {
    OpenedFile opened(path_);
    return plain_copy_source(path_, opened.lasting_plain(), group, sums_of(opened, path_));
  }

  std::string copied(CopySource& source, const std::string& group) {
    const std::string path = directory_ / "copy.h5";
    {
      const Handle file =
          h5::file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
      const Handle root = h5::group(H5Gopen2(file.get(), "/", H5P_DEFAULT));
      copy_all(source, group, root.get());
    }
    return slurp(path);
  }

  OwnDirectory directory_;
  const std::string path_ = directory_ / "from.h5";
};

TEST_F(CopySourceTest, OfWhatLiesPlainlyGivesWhatHdf5Gives) {
  // Attributes of types in which assay itself writes no attributes. Their copies have the same
  // bits.
  change(
      "c.attrs['x_i8'] = np.int8(-3)\n"
      "c.attrs['x_u16'] = np.uint16(65535)\n"
      "c.attrs['x_u64'] = np.uint64(2**63 - 1)\n"
      "c.attrs['x_f32'] = np.float32(-0.1)\n"
      "c.attrs['x_one'] = np.array([[5]], np.int32)\n"
      "c.attrs['x_fixed'] = np.bytes_('abc')\n"
      "c.attrs['x_variable'] = 'abc'\n"
      "c.attrs['x_long'] = 'abc' * 5000\n"
      "c.attrs['x_ascii'] = np.array('abc', h5py.string_dtype('ascii'))\n"
      "c['outputs/npu'].attrs['x_empty'] = ''\n"
      "c['outputs'].attrs['x_note'] = np.float64(-0.0)\n"
      "c['inputs/float32'].attrs['x_inf'] = np.float32('inf')");
  for (const char* group : {"/cases/of/all", "/cases/plain", "/cases/of"}) {
    SCOPED_TRACE(group);
    const std::unique_ptr<CopySource> without_hdf5 = plain(group);
    ASSERT_NE(without_hdf5, nullptr);
    OpenedFile opened(path_);
    const std::unique_ptr<CopySource> by_hdf5 = copy_source(path_, opened.hdf5());
    const std::string expected = copied(*by_hdf5, group);
    EXPECT_GT(expected.size(), 10000U);
    EXPECT_TRUE(copied(*without_hdf5, group) == expected);
  }
}

TEST_F(CopySourceTest, LeavesToHdf5WhatItMayNotCopyBitForBit) {
  const struct {
    const char* what;
    const char* lines;
  } changes[] = {
      {"several values", "c.attrs['x'] = [1, 2]"},
      {"text behind a zero", "c.attrs['x'] = np.bytes_(b'a\\0b')"},
      {"no value", "c.attrs['x'] = h5py.Empty('f4')"},
      {"a bool", "c.attrs['x'] = True"},
      {"a NaN", "c.attrs['x'] = np.float32('nan')"},
      {"a half", "c.attrs['x'] = np.float16(1)"},
      {"an integer that was rounded", "c.attrs['x'] = np.uint64(2**63 + 1)"},
      {"big-endian", "c.attrs['x'] = np.array(1, '>i4')"},
      {"an attribute deep inside", "c['outputs/npu'].attrs['x'] = [1, 2]"},
      {"an attribute of a group inside", "c['outputs'].attrs['x'] = [1, 2]"},
      {"text padded with spaces",
       "t = h5py.h5t.C_S1.copy(); t.set_size(4); t.set_strpad(h5py.h5t.STR_SPACEPAD)\n"
       "a = h5py.h5a.create(c.id, b'x', t, h5py.h5s.create(h5py.h5s.SCALAR))\n"
       "a.write(np.array(b'ab  ', 'S4'), mtype=t)"},
      {"no checksum",
       "c.create_dataset('x', data=np.float32([1])).attrs['dtype'] = np.bytes_('float32')"},
      {"other bytes' order",
       "c.__delitem__('golden')\n"
       "d = c.create_dataset('golden', data=np.array([1., 2.], '>f8'))\n"
       "d.attrs['dtype'] = np.bytes_('float64')"},
      {"another type of the same format",
       "c.__delitem__('inputs/bfloat16')\n"
       "d = c.create_dataset('inputs/bfloat16', data=np.array([1, 2], 'u2'))\n"
       "d.attrs['dtype'] = np.bytes_('bfloat16')"},
      {"chunks",
       "c.__delitem__('golden')\n"
       "d = c.create_dataset('golden', data=np.zeros(9), chunks=(3,))\n"
       "d.attrs['dtype'] = np.bytes_('float64')"},
      {"what stands for elements that are not there",
       "c.__delitem__('golden')\n"
       "d = c.create_dataset('golden', data=np.zeros(9), fillvalue=1)\n"
       "d.attrs['dtype'] = np.bytes_('float64')"},
      {"elements in the header",
       "c.__delitem__('golden')\n"
       "p = h5py.h5p.create(h5py.h5p.DATASET_CREATE); p.set_layout(h5py.h5d.COMPACT)\n"
       "d = h5py.h5d.create(c.id, b'golden', h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((2,)), "
       "p)\n"
       "d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(2))\n"
       "h5py.Dataset(d).attrs['dtype'] = np.bytes_('float64')"},
      {"more than a mebibyte",
       "c.__delitem__('golden')\n"
       "d = c.create_dataset('golden', data=np.zeros(1 << 17 | 1))\n"
       "d.attrs['dtype'] = np.bytes_('float64')"},
      {"no dtype", "c.__delitem__('golden')\nc.create_dataset('golden', data=np.zeros(2))"},
      {"a group in itself", "c['inputs/again'] = c"},
      {"more groups than a case has", "for i in range(1000): c.create_group('inputs/%d' % i)"},
      {"a soft link", "c['x'] = h5py.SoftLink('/cases/plain/golden')"},
  };
  ASSERT_NE(plain("/cases/plain"), nullptr);
  const std::string before = slurp(path_);
  for (const auto& [what, lines] : changes) {
    SCOPED_TRACE(what);
    spill(path_, before);
    change(lines);
    EXPECT_EQ(plain("/cases/plain"), nullptr);
    EXPECT_NE(plain("/cases/of/all"), nullptr);  // another case can still be copied plainly
  }
}

// An element of a sequence. It is a compound that holds a string and a sequence. h5py cannot write
// such a type.
struct Deep {
  int number;
  const char* word;
  hvl_t numbers;
};
Handle deep_type() {
  const Handle word = string_type(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const Handle numbers = type(H5Tvlen_create(H5T_NATIVE_INT));
  const Handle one = type(H5Tcreate(H5T_COMPOUND, sizeof(Deep)));
  H5Tinsert(one.get(), "number", offsetof(Deep, number), H5T_NATIVE_INT);
  H5Tinsert(one.get(), "word", offsetof(Deep, word), word.get());
  H5Tinsert(one.get(), "numbers", offsetof(Deep, numbers), numbers.get());
  return type(H5Tvlen_create(one.get()));
}

TEST_F(CopySourceTest, SequencesInSequencesAreCopied) {
  const Handle deep = deep_type();
  const hsize_t count = 3;
  const Handle space = h5::space(H5Screate_simple(1, &count, nullptr));
  {
    const Handle to = h5::file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    int numbers[] = {7, 8, 9};
    Deep first[] = {{1, "one", {3, numbers}}, {2, "", {0, nullptr}}},
         last[] = {{3, "three", {1, numbers}}};
    const hvl_t elements[] = {{2, first}, {0, nullptr}, {1, last}};
    const Handle made = h5::dataset(H5Dcreate2(to.get(), "/cases/plain/deep", deep.get(),
                                               space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    ASSERT_GE(H5Dwrite(made.get(), deep.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements), 0);
  }
  {
    const DatasetFile from(path_);
    DatasetWriter writer(directory_ / "to.h5");
    writer.copy(from, "plain");
    writer.commit();
    EXPECT_THAT(writer.notes(), ::testing::IsEmpty());
  }
  const Handle to = h5::file(H5Fopen((directory_ / "to.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  const Handle copy = h5::dataset(H5Dopen2(to.get(), "/cases/plain/deep", H5P_DEFAULT));
  hvl_t read[3] = {};
  ASSERT_GE(H5Dread(copy.get(), deep.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, read), 0);
  ASSERT_EQ(read[0].len, 2U);
  const auto* const first = static_cast<const Deep*>(read[0].p);
  EXPECT_STREQ(first[0].word, "one");
  ASSERT_EQ(first[0].numbers.len, 3U);
  EXPECT_EQ(static_cast<const int*>(first[0].numbers.p)[2], 9);
  EXPECT_EQ(first[1].number, 2);
  EXPECT_EQ(first[1].numbers.len, 0U);
  EXPECT_EQ(read[1].len, 0U);
  ASSERT_EQ(read[2].len, 1U);
  EXPECT_STREQ(static_cast<const Deep*>(read[2].p)->word, "three");
  H5Dvlen_reclaim(deep.get(), space.get(), H5P_DEFAULT, read);
}

// Changes each part of each reference to the global heap, and each size in the heap. No separate
// process checks the file here, and HDF5 would follow most of these changes until it crashes.
TEST_F(CopySourceTest, WhatLeadsNowhereIsAnError) {
  change(
      "c.create_dataset('words', data=['of', 'a', 'team'], dtype=h5py.string_dtype())\n"
      "c.create_dataset('chunks', data=['of', 'a'], dtype=h5py.string_dtype(), chunks=(1,))\n"
      "t = np.dtype([('i', 'i4'), ('s', h5py.string_dtype())])\n"
      "c.create_dataset('pairs', data=np.array([(1, 'x'), (2, 'yz')], t), dtype=t)\n"
      "c.attrs['x_words'] = ['red', 'green']\n"
      "c.attrs.create('x_pairs', np.array([(1, 'x'), (2, 'yz')], t), dtype=t)\n"
      "c['text'] = h5py.string_dtype()\n"
      "c.attrs.create('x_named', 'named', dtype=c['text'])");
  const std::string whole = slurp(path_);
  const auto copies = [&](const std::string& bytes) {
    spill(path_, bytes);
    try {
      const DatasetFile from(path_);
      DatasetWriter writer(directory_ / "to.h5");
      writer.copy(from, "plain");
      writer.commit();
      return true;
    } catch (const FileError& e) {
      EXPECT_THAT(e.what(), ::testing::StartsWith(path_ + ": "));
      return false;
    }
  };
  EXPECT_TRUE(copies(whole));
  int copied = 0, refused = 0, asked = 0;
  const auto with = [&](std::size_t at, std::uint64_t number, std::size_t size) {
    if (++asked % 4 != 0) return;  // to save time; every kind of change is among the rest
    std::string changed = whole;
    std::memcpy(changed.data() + at, &number, size);
    if (changed == whole) return;
    ++(copies(changed) ? copied : refused);
  };
  std::vector<std::string> heaps;
  for (std::size_t at = whole.find("GCOL"); at != std::string::npos;
       at = whole.find("GCOL", at + 1)) {
    heaps.emplace_back(reinterpret_cast<const char*>(&at), sizeof(at));
    for (std::size_t object = at + 16; object + 16 < whole.size() && whole[object] != 0;) {
      std::uint64_t size = 0;
      std::memcpy(&size, &whole[object + 8], sizeof size);
      for (const std::uint64_t other : {size + 24, size + 1, ~std::uint64_t{0}}) {
        with(object + 8, other, sizeof other);
      }
      object += 16 + (size + 7) / 8 * 8;
    }
  }
  for (const std::string& heap : heaps) {
    for (std::size_t at = whole.find(heap); at != std::string::npos;
         at = whole.find(heap, at + 1)) {
      for (const std::uint64_t length : {std::uint64_t{4}, std::uint64_t{0xFFFFFFFF}}) {
        with(at - 4, length, 4);
      }
      for (const std::uint64_t address : {std::uint64_t{1}, ~std::uint64_t{0}, whole.size() - 8}) {
        with(at, address, 8);
      }
      for (const std::uint64_t index : {0U, 1U, 0xFFFFU}) with(at + 8, index, 4);
    }
  }
  EXPECT_GT(refused, 50);
  // Some changes are in another case's data, or lead to an object of the same size.
  EXPECT_GT(copied, 0);
}

// There is one note for each reason, which names an object that was left out.
TEST_F(CopySourceTest, WhatRefersElsewhereIsLeftOutWithANote) {
  change(
      "c.attrs['x_ref'] = c.ref\nc['outputs'].attrs['x_ref'] = c.ref\n"
      "l = h5py.VirtualLayout(shape=(3,), dtype='f4')\n"
      "l[:] = h5py.VirtualSource('other.h5', 'x', shape=(3,))\n"
      "c.create_virtual_dataset('virtual', l)\nc['again'] = c['virtual']");
  const std::string to = directory_ / "to.h5";
  const DatasetFile from(path_);
  DatasetWriter writer(to);
  writer.copy(from, "plain");
  writer.commit();
  EXPECT_THAT(
      writer.notes(),
      ::testing::ElementsAre("/cases/plain/again is left out of " + to +
                                 ": it is a virtual dataset; its data lie elsewhere",
                             "the attribute 'x_ref' of /cases/plain (and 1 more) is left out of " +
                                 to + ": it refers to objects of the file"));
  EXPECT_EQ(DatasetFile(to).read("plain").inputs.size(), from.read("plain").inputs.size());
}

TEST_F(CopySourceTest, SaysThatAFileWasChangedMeanwhile) {
  const DatasetFile from(path_);
  DatasetWriter writer(directory_ / "to.h5");
  writer.copy(from, "plain");
  std::filesystem::resize_file(path_, 4096);
  try {
    writer.commit();
    FAIL() << "committed";
  } catch (const FileError& e) {
    EXPECT_THAT(e.what(), ::testing::StartsWith(path_ + ": /cases/plain"));
    EXPECT_THAT(e.what(), ::testing::EndsWith("was changed while it was copied"));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "to.h5"));
}

// No thread's errors of HDF5 are printed. HDF5 prints them until this is switched off for the
// thread, even the error that a name does not exist yet.
TEST_F(CopySourceTest, Hdf5IsSilentWhoeverAsks) {
  ::testing::internal::CaptureStderr();
  {
    auto writer = std::make_unique<DatasetWriter>(directory_ / "to.h5");
    std::thread([&] {
      const DatasetFile from(path_);
      writer->copy(from, "plain");
    }).join();
    const Tensor one = Tensor::from_values(format_named("float32"), {1}, std::vector<double>{1});
    std::thread([&] { writer->put_output("plain", "gpu", one.view()); }).join();
    std::thread([&] { writer->commit(); }).join();
    std::thread([&] { writer.reset(); }).join();
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// A dataset with several links keeps them. The added link has no checksum, so HDF5 copies this
// case. The other case is copied without HDF5.
TEST_F(CopySourceTest, OfAWriterKeepsLinksAndTakesEitherWay) {
  change("c['inputs/twice'] = c['inputs/int8']\nf['cases/of/all'].attrs['x_text'] = 'variable'");
  const std::string to = directory_ / "to.h5";
  {
    const DatasetFile from(path_);
    DatasetWriter writer(to);
    for (const std::string& name : from.case_names()) writer.copy(from, name);
    writer.put_output("plain", "gpu", from.read_output("plain", "npu").view());
    writer.commit();
  }
  const std::string script = directory_ / "look.py";
  spill(
      script,
      formatted("import h5py\nf = h5py.File('{}')\nc = f['cases/plain']\n"
                "print(c['inputs/twice'] == c['inputs/int8'], f['cases/of/all'].attrs['x_text'],\n"
                "      list(c['outputs']), c['outputs/npu'].attrs['machine'])\n",
                to));
  EXPECT_EQ(output_of(formatted("{} {}", ASSAY_PYTHON, script)),
            "True variable ['gpu', 'npu'] ascend910b\n");
  EXPECT_EQ(output_of(formatted("{} inspect {} --verify", ASSAY_TOOL, to)).find("error"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::h5
