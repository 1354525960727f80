// Tests that objects read without HDF5 equal those that HDF5 reads. Damaged objects are left to
// HDF5.
#include "assay/datasets/store/plain_objects.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"
#include "assay/datasets/store/writer.h"
#include "emulated.h"
#include "files.h"

namespace assay::h5 {
namespace {

using Answer = PlainObjects::Answer;

constexpr std::int64_t kCap = std::int64_t{1} << 30;

std::string bits_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()),
          static_cast<std::size_t>(tensor.size() * tensor.format().storage_bytes)};
}

// A file with two readers: one uses only HDF5, and the other first tries to read without HDF5.
struct Both {
  explicit Both(const std::string& path)
      : opened(path), by_hdf5(path, opened.hdf5(), kCap), first_plain(path, opened, kCap) {}
  OpenedFile opened;
  Reader by_hdf5, first_plain;
};

struct Counts {
  int known = 0, unknown = 0;
};

// Compares everything that both readers return about an object and all objects below it.
void compare(Both& file, const std::string& object, Counts& counts) {
  SCOPED_TRACE(object);
  const PlainObjects::Found found = file.opened.plain()->find(object);
  ASSERT_NE(found.answer, Answer::kNo);
  ++(found.answer == Answer::kYes ? counts.known : counts.unknown);
  const bool is_group = file.by_hdf5.kind_of(object) == Reader::ObjectKind::kGroup;
  EXPECT_EQ(file.first_plain.kind_of(object), file.by_hdf5.kind_of(object));
  EXPECT_EQ(file.first_plain.address_of(object), file.by_hdf5.address_of(object));
  EXPECT_EQ(file.first_plain.attribute_names(object), file.by_hdf5.attribute_names(object));
  EXPECT_EQ(file.first_plain.attributes(object, {}), file.by_hdf5.attributes(object, {}));
  EXPECT_EQ(file.first_plain.has_attribute(object, "dtype"),
            file.by_hdf5.has_attribute(object, "dtype"));
  if (is_group) {
    const std::vector<std::string> links = file.by_hdf5.links_in(object);
    EXPECT_EQ(file.first_plain.links_in(object), links);
    const std::string prefix = object == "/" ? object : object + "/";
    EXPECT_FALSE(file.first_plain.check_path(prefix + "none"));
    for (const std::string& link : links) compare(file, prefix + link, counts);
    return;
  }
  const auto has_dtype = file.by_hdf5.has_attribute(object, "dtype");
  if (!has_dtype || file.by_hdf5.is_absent(object)) return;
  EXPECT_EQ(file.first_plain.place_of(object), file.by_hdf5.place_of(object));
  const Tensor expected = file.by_hdf5.read_tensor(object);
  const Tensor actual = file.first_plain.read_tensor(object);
  EXPECT_EQ(actual.format().name, expected.format().name);
  EXPECT_EQ(actual.shape(), expected.shape());
  EXPECT_TRUE(bits_of(actual) == bits_of(expected)) << "other bits";
  // Reads the dataset in pieces that end anywhere, and compares them.
  const std::unique_ptr<ArraySource> source = file.first_plain.open_pieces(object);
  Tensor pieces(expected.format(), expected.shape());
  for (std::int64_t at = 0, step = 1; at < pieces.size(); at += step, step = step * 3 + 1) {
    step = std::min(step, pieces.size() - at);
    source->read(at, step, pieces.bytes() + at * expected.format().storage_bytes);
  }
  EXPECT_TRUE(bits_of(pieces) == bits_of(expected)) << "other bits in pieces";
}

Tensor zeros(std::string_view dtype, const Shape& shape) {
  Tensor tensor(format_named(dtype), shape);
  std::memset(tensor.bytes(), 0,
              static_cast<std::size_t>(tensor.size() * tensor.format().storage_bytes));
  return tensor;
}

// Writes a file that has a case with a tensor of every format, and two more cases, so that groups
// have several names.
std::string written_file(const OwnDirectory& directory, bool compress = false) {
  const std::string path = directory / (compress ? "compressed.h5" : "plain.h5");
  DatasetWriter writer(path, compress);
  Case c;
  c.op = "external";
  c.name = "all/formats";
  c.attributes = {{"rtol", 0.5}, {"seed", std::int64_t{7}}, {"why", std::string("it is")}};
  for (const Format& format : formats()) c.inputs.emplace(format.name, zeros(format.name, {2, 3}));
  c.output().golden = zeros("float64", {compress ? 4096 : 2});
  c.output().golden->bytes()[3] = std::byte{1};
  writer.write(c);
  c.inputs.erase("bool");
  for (const char* name : {"b", "c"}) {
    c.name = name;
    writer.write(c);
  }
  writer.commit();
  return path;
}

TEST(PlainObjects, AreAllOfWhatAssayWrites) {
  const OwnDirectory directory;
  Both file(written_file(directory));
  Counts counts;
  compare(file, "/", counts);
  EXPECT_GT(counts.known, 60);
  EXPECT_EQ(counts.unknown, 0);
}

TEST(PlainObjects, AreReadAsHdf5ReadsThemInShippedFiles) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/datasets/samples")) {
    if (entry.path().extension() != ".h5" || entry.file_size() > 2'000'000) continue;
    SCOPED_TRACE(entry.path().filename().string());
    Both file(entry.path());
    Counts counts;
    compare(file, "/", counts);
    EXPECT_GE(counts.known, 30);  // compressed datasets are read by HDF5 and not counted
    ++files;
  }
  EXPECT_GE(files, 6);
}

// The links of a large group are read once for all readers of one file.
TEST(PlainObjects, ShareLongListsOfLinks) {
  const OwnDirectory directory;
  const std::string path = directory / "x.h5";
  {
    DatasetWriter writer(path);
    for (int i = 0; i < 400; ++i) {
      Case c;
      c.name = formatted("many/{}", i);
      c.op = "external";
      writer.write(c);
    }
    writer.commit();
  }
  OpenedFile file(path);
  const auto one = file.another_plain(), other = OpenedFile(path).another_plain();
  const auto links = one->links_in("/cases/many");
  ASSERT_NE(links, nullptr);
  EXPECT_EQ(links->size(), 400u);
  EXPECT_EQ(other->links_in("/cases/many"), links);
  EXPECT_EQ(*other->links_in("/cases"), *one->links_in("/cases"));
  EXPECT_NE(other->links_in("/cases"), one->links_in("/cases")) << "a short list";
  // Another file has links of its own, even if it is a copy.
  std::filesystem::copy_file(path, directory / "y.h5");
  const auto copy = OpenedFile(directory / "y.h5").another_plain();
  EXPECT_EQ(*copy->links_in("/cases/many"), *links);
  EXPECT_NE(copy->links_in("/cases/many"), links);
}

TEST(PlainObjects, LeaveCompressedDatasetsToHdf5) {
  const OwnDirectory directory;
  Both file(written_file(directory, true));
  Counts counts;
  compare(file, "/", counts);
  EXPECT_EQ(file.opened.plain()->find("/cases/b/golden").answer, Answer::kUnknown);
  EXPECT_EQ(counts.unknown, 3);
  EXPECT_EQ(file.opened.plain()->find("/cases/b").answer, Answer::kYes);
}

// Objects as h5py writes them are read, too: strings of variable length, bools, arrays, and
// big-endian elements.
TEST(PlainObjects, AreReadAsHdf5ReadsThemInFilesOfH5py) {
  const OwnDirectory directory;
  const std::string path = directory / "h5py.h5";
  spill(directory / "write.py", R"(
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["assay_schema"] = 1
    g = f.create_group("cases/a")
    g.attrs["op"] = "external"
    g.attrs["why"] = "so \u00fc"
    g.attrs["empty"] = ""
    g.attrs["latin"] = np.bytes_(b"\xfc")
    g.attrs["equal_nan"] = True
    g.attrs["list"] = np.arange(3)
    g.attrs["one"] = np.array([7], "u1")
    for i, t in enumerate(["i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f4", "<f8"]):
        g.attrs["n%d" % i] = np.array(-3 if "i" in t else 200.5 if "f" in t else 2**(8*int(t[-1]))-1).astype(t)
    for name, dtype, t in [("a", "float32", ">f4"), ("b", "int16", ">i2"), ("c", "bfloat16", "<u2"),
                           ("d", "bool", "?"), ("e", "float64", "<f8")]:
        d = g.create_dataset("inputs/" + name, data=np.arange(6).reshape(2, 3).astype(t))
        d.attrs["dtype"] = dtype
    for i in range(300):
        f.create_group("many/%d" % i)
)");
  int status = -1;
  const std::string said =
      output_of(formatted("{} {} {}", ASSAY_PYTHON, directory / "write.py", path), &status);
  ASSERT_EQ(status, 0) << said;
  Both file(path);
  Counts counts;
  compare(file, "/", counts);
  EXPECT_EQ(counts.known, 310);
  EXPECT_EQ(counts.unknown, 0);
  const auto attributes = file.first_plain.attributes("/cases/a", {});
  EXPECT_EQ(std::get<std::string>(attributes.at("why")), "so \xc3\xbc");
  EXPECT_EQ(std::get<std::int64_t>(attributes.at("n0")), -3);
  EXPECT_EQ(std::get<std::int64_t>(attributes.at("n6")), 4294967295);
  EXPECT_EQ(std::get<double>(attributes.at("n7")), 0x1p64);
  EXPECT_EQ(std::get<double>(attributes.at("n8")), 200.5);
  EXPECT_EQ(std::get<std::int64_t>(attributes.at("equal_nan")), 1);
  EXPECT_EQ(attributes.count("latin") + attributes.count("list"), 0U);
}

TEST(PlainObjects, FollowNoWayButAbsolutePathsOfHardLinks) {
  const OwnDirectory directory;
  const std::string path = directory / "links.h5";
  int status = -1;
  const std::string said = output_of(
      formatted(
          "{} -c \"import h5py, sys; f = h5py.File(sys.argv[1], 'w'); f.create_group('a/b'); "
          "f.create_group('soft'); f['soft/s'] = h5py.SoftLink('/a'); f['hard'] = f['a']\" {}",
          ASSAY_PYTHON, path),
      &status);
  ASSERT_EQ(status, 0) << said;
  const OpenedFile file(path);
  EXPECT_EQ(file.plain()->find("/a/b").answer, Answer::kYes);
  EXPECT_EQ(file.plain()->find("/hard").object->address, file.plain()->find("/a").object->address);
  EXPECT_EQ(file.plain()->find("/none").answer, Answer::kNo);
  EXPECT_EQ(file.plain()->find("/none/b").answer, Answer::kNo);
  EXPECT_EQ(file.plain()->links_in("/soft"), nullptr);
  for (const char* unknown : {"", "a", "/soft/s", "/soft/s/b", "/a/./b", "/a/"}) {
    EXPECT_EQ(file.plain()->find(unknown).answer, Answer::kUnknown) << unknown;
  }
}

// ------------------------------------------------------------------------------------- damage

// A file in memory, whose bytes a test damages.
class Damaged {
 public:
  explicit Damaged(const std::string& bytes) : fd_(memfd_create("damaged", MFD_CLOEXEC)) {
    if (write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("no file in memory");
    }
    plain_ = std::make_unique<PlainObjects>(fd_, bytes.size());
  }
  ~Damaged() { close(fd_); }
  Damaged(const Damaged&) = delete;
  Damaged& operator=(const Damaged&) = delete;
  PlainObjects& operator*() { return *plain_; }
  PlainObjects* operator->() { return plain_.get(); }

 private:
  int fd_;
  std::unique_ptr<PlainObjects> plain_;
};

std::uint64_t number_at(const std::string& bytes, std::uint64_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void put(std::string& bytes, std::uint64_t at, std::uint64_t value, std::size_t size = 8) {
  std::memcpy(bytes.data() + at, &value, size);
}

// The positions of the parts of the group /cases, in a file that assay wrote. The group has three
// names.
struct Places {
  explicit Places(const std::string& bytes, PlainObjects& plain) {
    const auto object = plain.find("/cases").object;
    header = object->address;
    tree = object->tree;
    heap = object->heap;
    node = number_at(bytes, tree + 24 + 8);
    names = number_at(bytes, heap + 24);
    golden = plain.find("/cases/b/golden").object->address;
  }
  std::uint64_t header, tree, heap, node, names, golden;
};

TEST(PlainObjects, LeaveWhatIsDamagedToHdf5) {
  const OwnDirectory directory;
  const std::string whole = slurp(written_file(directory));
  Damaged file(whole);
  const Places at(whole, *file);
  ASSERT_THAT(*file->links_in("/cases"), ::testing::SizeIs(3));
  const auto links_after = [&](const std::function<void(std::string&)>& change) {
    std::string bytes = whole;
    change(bytes);
    return Damaged(bytes)->links_in("/cases") != nullptr;
  };
  EXPECT_TRUE(links_after([](std::string&) {}));
  const auto entry = [&](int i) { return at.node + 8 + 40 * static_cast<std::uint64_t>(i); };
  // Defects of the superblock: another version, another size or base of addresses than assay
  // writes, and an end behind that of the file.
  EXPECT_FALSE(links_after([&](std::string& b) { b[8] = 1; }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[13] = 4; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, 24, 8); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, 40, b.size() + 1); }));
  // Defects of the header: another version, a wrong number of messages, and a message that is
  // shared, of another kind, or reaches beyond the end.
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.header] = 2; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.header + 2, 2, 2); }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.header + 20] = 2; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.header + 16, 0x77, 2); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.header + 18, 999, 2); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.header + 8, 1 << 30, 4); }));
  // Defects of the tree: another signature, kind or level, more entries than bytes, a child that is
  // the node itself or lies outside, and names that are not between its keys.
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.tree] = 'X'; }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.tree + 4] = 1; }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.tree + 5] = 1; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 6, 65535, 2); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 32, at.tree); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 32, ~std::uint64_t{0} - 4); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 40, 0); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 40, 1 << 20); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.tree + 24, number_at(b, entry(2))); }));
  // Defects of the names: a wrong signature, too many entries, a soft link, a name outside the
  // heap, a repeated name, names out of order, '/' and '.' as a name, and a name without an end.
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.node] = 'X'; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.node + 6, 65535, 2); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, entry(1) + 16, 2, 4); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, entry(1), 1 << 20); }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, entry(1), number_at(b, entry(0))); }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.names + number_at(b, entry(1))] = 'z'; }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.names + number_at(b, entry(1))] = '/'; }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.names + number_at(b, entry(1))] = '.'; }));
  EXPECT_FALSE(
      links_after([&](std::string& b) { put(b, at.heap + 8, number_at(b, entry(2)) + 1); }));
  EXPECT_FALSE(links_after([&](std::string& b) { b[at.heap + 4] = 1; }));
  EXPECT_FALSE(links_after([&](std::string& b) { put(b, at.heap + 24, b.size() - 3); }));
}

TEST(PlainObjects, LeaveDatasetsThatDoNotAddUpToHdf5) {
  const OwnDirectory directory;
  const std::string whole = slurp(written_file(directory));
  Damaged file(whole);
  const std::uint64_t header = file->find("/cases/b/golden").object->address;
  // For each kind of message in a dataset's header: the position of the content of the first one.
  std::map<unsigned, std::uint64_t> message;
  for (std::uint64_t m = header + 16; m < header + 16 + 256;) {
    const auto kind = static_cast<unsigned>(number_at(whole, m) & 0xffff);
    message.emplace(kind, m + 8);
    m += 8 + (number_at(whole, m) >> 16 & 0xffff);
  }
  const std::uint64_t space = message.at(0x01), type = message.at(0x03), layout = message.at(0x08),
                      attribute = message.at(0x0C);
  const auto is_known = [&](const std::function<void(std::string&)>& change) {
    std::string bytes = whole;
    change(bytes);
    Damaged damaged(bytes);
    const auto found = damaged->find("/cases/b/golden");
    return found.answer == Answer::kYes;
  };
  EXPECT_TRUE(is_known([](std::string&) {}));
  // The dataset is unknown if its number of elements is not that of the layout, is 0, or is more
  // than 2^60, if its rank or a version is not known, or if its elements have another size.
  EXPECT_FALSE(is_known([&](std::string& b) { put(b, space + 8, 3); }));
  EXPECT_FALSE(is_known([&](std::string& b) { put(b, space + 8, 0); }));
  EXPECT_FALSE(is_known([&](std::string& b) { put(b, space + 8, ~std::uint64_t{0}); }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[space + 1] = 40; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[space] = 3; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[type + 4] = 4; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[type + 4] = 0; }));
  // Data is unknown if it is in chunks, outside the file, or at no address.
  EXPECT_FALSE(is_known([&](std::string& b) { b[layout + 1] = 2; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[layout] = 4; }));
  EXPECT_FALSE(is_known([&](std::string& b) { put(b, layout + 2, b.size() - 15); }));
  EXPECT_TRUE(is_known([&](std::string& b) { put(b, layout + 2, b.size() - 16); }));
  EXPECT_FALSE(is_known([&](std::string& b) { put(b, layout + 2, ~std::uint64_t{0}); }));
  // The header is unknown if it has a message on filters or external files, a second shape, or a
  // message of a group.
  for (const unsigned kind : {0x0BU, 0x07U, 0x01U, 0x11U, 0x0AU}) {
    EXPECT_FALSE(is_known([&](std::string& b) { put(b, message.at(0x05) - 8, kind, 2); })) << kind;
  }
  // The header is unknown if an attribute has a shared type, a name that does not end, an unknown
  // version, or a name of a wrong length.
  EXPECT_FALSE(is_known([&](std::string& b) { b[attribute + 1] = 1; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[attribute + 8 + 5] = 'x'; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[attribute] = 4; }));
  EXPECT_FALSE(is_known([&](std::string& b) { b[attribute + 2] = 99; }));
}

// Flips bits of a file's structures. No flip ends the program, keeps it busy or makes it take
// memory.
TEST(PlainObjects, OutliveEveryFlippedBit) {
  const OwnDirectory directory;
  const std::string whole = slurp(written_file(directory));
  int others = 0;
  // Flips one bit of each byte. The bit differs from byte to byte.
  const std::size_t step = walks_a_share() ? 5 : 1;
  for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 16384); at += step) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << (at * 7 + at / 8) % 8);
    Damaged damaged(bytes);
    std::vector<std::string> ahead = {"/"};
    int known = 0;
    while (!ahead.empty()) {
      const std::string path = ahead.back();
      ahead.pop_back();
      const auto found = damaged->find(path);
      known += found.answer == Answer::kYes;
      ASSERT_LT(known, 1000);
      const auto links = damaged->links_in(path);
      if (links == nullptr) continue;
      for (const auto& [name, address] : *links) {
        ahead.push_back((path == "/" ? "" : path) + "/" + name);
      }
    }
    others += known != 85;
  }
  EXPECT_GT(others, walks_a_share() ? 20 : 100);
}

}  // namespace
}  // namespace assay::h5
