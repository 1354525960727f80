#include "assay/datasets/arrays/torch_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/pickle.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/arrays/zip_member.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

using pickle::Pickle;
using pickle::Ref;
using pickle::Value;

// The largest pickle that is read, in bytes. The pickles of the largest models have some megabytes.
constexpr std::int64_t kMostPickle = std::int64_t{64} << 20;
// The most values that the search for tensors visits. It needs this limit because lists may share
// lists, so that a few bytes can name very many tensors.
constexpr std::size_t kMostVisits = 1000000;
constexpr int kDeepestPickle = 64;

constexpr std::string_view kStoragePrefix = "torch ";
constexpr std::string_view kUntyped = "torch.storage UntypedStorage";

// The functions and classes that a pickle may name: those that rebuild tensors, those of objects
// that are often saved beside tensors and are left out, and a dtype that cannot be read. Files with
// such a dtype are opened, so that their other tensors can be read. A tensor with such a dtype is
// refused, and the error names the dtype.
constexpr std::string_view kRebuild = "torch._utils _rebuild_tensor";
constexpr std::string_view kRebuild2 = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kRebuild3 = "torch._utils _rebuild_tensor_v3";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";
constexpr std::string_view kParameterWithState = "torch._utils _rebuild_parameter_with_state";
constexpr std::string_view kFromType = "torch._tensor _rebuild_from_type_v2";
constexpr std::string_view kKnown[] = {kRebuild,
                                       kRebuild2,
                                       kRebuild3,
                                       kParameter,
                                       kParameterWithState,
                                       kFromType,
                                       kUntyped,
                                       "torch Size",
                                       "torch device",
                                       "torch Tensor",
                                       "torch.nn.parameter Parameter",
                                       "torch.serialization _get_layout",
                                       "_codecs encode",
                                       "torch float4_e2m1fn_x2"};

// Returns the dtype of a class of storages, "torch BFloat16Storage", or of a dtype's own name,
// "torch bfloat16".
const Format* dtype_named(std::string_view global, DtypeNames names) {
  return global.starts_with(kStoragePrefix)
             ? find_dtype(names, global.substr(kStoragePrefix.size()))
             : nullptr;
}

bool is_allowed(std::string_view global) {
  return contains(kKnown, global) || dtype_named(global, kTorchDtypes) != nullptr ||
         (global.starts_with(kStoragePrefix) && global.ends_with("Storage"));
}

struct TorchTensor {
  std::string name, storage;  // the storage's key
  const Format* format = nullptr;
  std::int64_t storage_bytes = 0, offset = 0;  // the offset in the storage is in elements
  Shape shape;
  Strides strides;
};

// Finds the tensors in a pickle.
class Finder {
 public:
  explicit Finder(const Pickle& p) : pickle_(p) {}

  std::vector<TorchTensor> find() {
    walk(pickle_.result, "", 0);
    return std::move(found_);
  }

 private:
  [[noreturn]] static void refuse(const std::string& name, const std::string& why) {
    assay::refuse(name.empty() ? why : name + ": " + why);
  }

  void walk(Ref ref, const std::string& name, int depth) {
    if (depth > kDeepestPickle) {
      refuse("", formatted("its pickle nests lists and dicts more than {} deep", kDeepestPickle));
    }
    if (++visits_ > kMostVisits) {
      refuse("", formatted("its pickle has more than {} values, counting those that are repeated",
                           kMostVisits));
    }
    const Value& value = pickle_[ref];
    const auto below = [&](const std::string& key) {
      return name.empty() ? key : name + "/" + key;
    };
    if (value.kind == pickle::Kind::kCall) {
      if (is_tensor(value, 0)) found_.push_back(tensor(value, name, 0));
    } else if (value.kind == pickle::Kind::kList || value.kind == pickle::Kind::kTuple) {
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        walk(value.items[i], below(std::to_string(i)), depth + 1);
      }
    } else if (value.kind == pickle::Kind::kDict) {
      for (std::size_t i = 0; i < value.items.size(); i += 2) {
        const Value& key = pickle_[value.items[i]];
        const bool is_text = key.kind == pickle::Kind::kText;
        if (!is_text && key.kind != pickle::Kind::kInt) {
          refuse(name,
                 "a dict has a key that is neither text nor a number; save it with other keys");
        }
        walk(value.items[i + 1], below(is_text ? key.text : std::to_string(key.integer)),
             depth + 1);
      }
    }
  }

  // Returns the name of the function that a call calls.
  std::string_view function(const Value& call) const { return pickle_[call.items[0]].text; }
  const Value& argument(const Value& call, std::size_t i, const std::string& name) const {
    const Value& arguments = pickle_[call.items[1]];
    if (i >= arguments.items.size()) refuse(name, "its pickle is damaged: an argument is missing");
    return pickle_[arguments.items[i]];
  }

  bool is_tensor(const Value& call, int depth) const {
    if (call.kind != pickle::Kind::kCall || depth > kDeepestPickle) return false;
    const std::string_view called = function(call);
    return called == kRebuild || called == kRebuild2 || called == kRebuild3 ||
           called == kParameter || called == kParameterWithState || called == kFromType;
  }

  TorchTensor tensor(const Value& call, const std::string& name, int depth) const {
    const std::string_view called = function(call);
    if (called == kParameter || called == kParameterWithState) {
      const Value& data = argument(call, 0, name);
      if (!is_tensor(data, depth + 1))
        refuse(name, "is a Parameter that holds no tensor; save the tensor itself");
      return tensor(data, name, depth + 1);
    }
    if (called == kFromType) {
      const Value& inner = argument(call, 0, name);
      const Value& arguments = argument(call, 2, name);
      const bool is_call =
          inner.kind == pickle::Kind::kGlobal && arguments.kind == pickle::Kind::kTuple;
      const Ref outer = pickle_[call.items[1]].items[0], of = pickle_[call.items[1]].items[2];
      const Value unwrapped{pickle::Kind::kCall, 0, "", {outer, of}};
      if (!is_call || !is_tensor(unwrapped, depth + 1))
        refuse(name,
               "is of a class that assay does not read as a tensor; save it as a torch.Tensor");
      return tensor(unwrapped, name, depth + 1);
    }
    return rebuilt(call, name, called == kRebuild3);
  }

  std::int64_t whole(const Value& value, const std::string& name) const {
    if (value.kind != pickle::Kind::kInt || value.integer < 0) {
      refuse(name, "its pickle is damaged: a size or stride is no whole number of at least 0");
    }
    return value.integer;
  }
  Shape extents(const Value& value, const std::string& name) const {
    if (value.kind != pickle::Kind::kTuple)
      refuse(name, "its pickle is damaged: a size is no tuple");
    Shape shape;
    for (const Ref ref : value.items) shape.push_back(whole(pickle_[ref], name));
    return shape;
  }

  // Returns the tensor that a call rebuilds. The arguments of the call are (storage, offset, size,
  // stride, requires_grad, backward_hooks[, dtype][, metadata]).
  TorchTensor rebuilt(const Value& call, const std::string& name, bool says_dtype) const {
    TorchTensor t;
    t.name = name;
    add_storage(argument(call, 0, name), t);
    if (says_dtype) {
      const Value& dtype = argument(call, 6, name);
      t.format = dtype_named(dtype.text, kTorchDtypes);
      if (t.format == nullptr) refuse(name, unread(dtype.text));
    }
    if (t.format == nullptr)
      refuse(name, "its pickle is damaged: it does not give the dtype of the tensor");
    t.offset = whole(argument(call, 1, name), name);
    t.shape = extents(argument(call, 2, name), name);
    t.strides = extents(argument(call, 3, name), name);
    if (t.strides.size() != t.shape.size()) {
      refuse(name, "its pickle is damaged: size and stride differ in length");
    }
    refuse_lazy(call, says_dtype ? 7 : 6, name);
    return t;
  }

  static std::string unread(std::string_view global) {
    return unread_elements(global.substr(global.rfind(' ') + 1));
  }

  // Sets the storage of a tensor. `id` is ("storage", class, key, location, number of elements).
  // For an untyped storage the last one is the number of bytes.
  void add_storage(const Value& id, TorchTensor& t) const {
    const bool is_id = id.kind == pickle::Kind::kPersistent &&
                       pickle_[id.items[0]].kind == pickle::Kind::kTuple &&
                       pickle_[id.items[0]].items.size() >= 5;
    if (!is_id) refuse(t.name, "its pickle is damaged: it has no storage");
    const std::vector<Ref>& parts = pickle_[id.items[0]].items;
    const Value &kind = pickle_[parts[0]], &type = pickle_[parts[1]], &key = pickle_[parts[2]];
    if (kind.text != "storage" || type.kind != pickle::Kind::kGlobal ||
        key.kind != pickle::Kind::kText) {
      refuse(t.name, "its pickle is damaged: it has no storage");
    }
    t.storage = key.text;
    t.storage_bytes = whole(pickle_[parts[4]], t.name);
    if (type.text == kUntyped) return;
    t.format = dtype_named(type.text, kTorchStorages);
    if (t.format == nullptr) refuse(t.name, unread(type.text));
    if (__builtin_mul_overflow(t.storage_bytes, std::int64_t{t.format->storage_bytes},
                               &t.storage_bytes)) {
      refuse(t.name, "its pickle is damaged: its storage has too many elements");
    }
  }

  // Refuses tensors that torch conjugates or negates when it reads elements, because their bytes
  // are not the values.
  void refuse_lazy(const Value& call, std::size_t at, const std::string& name) const {
    const std::vector<Ref>& arguments = pickle_[call.items[1]].items;
    if (at >= arguments.size() || pickle_[arguments[at]].kind != pickle::Kind::kDict) return;
    const std::vector<Ref>& pairs = pickle_[arguments[at]].items;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      const Value &key = pickle_[pairs[i]], &value = pickle_[pairs[i + 1]];
      if ((key.text == "conj" || key.text == "neg") && value.integer != 0) {
        refuse(name, "is negated or conjugated lazily; save x.resolve_neg() or x.resolve_conj()");
      }
    }
  }

  const Pickle& pickle_;
  std::vector<TorchTensor> found_;
  std::size_t visits_ = 0;
};

class TorchFile : public ArrayFile {
 public:
  explicit TorchFile(const std::string& path) : path_(path), archive_(open_archive(path)) {
    for (std::size_t i = 0; i < archive_.names().size(); ++i) {
      const std::string& member = archive_.names()[i];
      if (!members_.emplace(member, i).second) {
        throw FileError(path, member, "stands twice in the archive");
      }
      const bool is_root = member == "data.pkl" ||
                           (member.ends_with("/data.pkl") && member.find('/') + 9 == member.size());
      if (is_root) folder_ = member.substr(0, member.size() - 8);
      has_pickle_ = has_pickle_ || is_root;
    }
    if (!has_pickle_) {
      throw FileError(path, "", "is no file of torch.save: its archive has no data.pkl");
    }
    const std::unique_ptr<ByteSource> bytes = archive_.open(members_.at(folder_ + "data.pkl"));
    tensors_ = in_file(path, [&] {
      return Finder(pickle::read_pickle(text_of(*bytes, kMostPickle, path, folder_ + "data.pkl"),
                                        is_allowed))
          .find();
    });
    for (std::size_t i = 0; i < tensors_.size(); ++i) places_.emplace(tensors_[i].name, i);
    swap_ = is_big_endian();
  }

  std::vector<std::string> names() const override { return names_of(tensors_); }

  std::unique_ptr<ArraySource> open(const std::string& name,
                                    const ArrayRequest& request) const override {
    const TorchTensor& t = tensors_.at(places_.at(name));
    const auto refuse = [&](const std::string& why) { throw FileError(path_, t.name, why); };
    const auto member = members_.find(folder_ + "data/" + t.storage);
    if (member == members_.end()) {
      refuse(formatted("its storage {} is not in the archive", t.storage));
    }
    std::shared_ptr<ByteSource> bytes = archive_.open(member->second);
    if (bytes->size() != t.storage_bytes) {
      refuse(formatted(
          "its storage {} has {} bytes where the pickle says {}: the file is truncated or corrupt",
          t.storage, bytes->size(), t.storage_bytes));
    }
    const double needed = bytes_needed(path_, *t.format, t.shape);
    const std::int64_t width = t.format->storage_bytes;
    ArrayLayout layout{.format = said_format(t.format, static_cast<int>(width), request),
                       .shape = t.shape,
                       .swap = swap_ && width > 1,
                       .strides = t.strides};
    if (needed > 0) {
      double last = static_cast<double>(t.offset);
      for (std::size_t d = 0; d < t.shape.size(); ++d) {
        last += static_cast<double>(t.shape[d] - 1) * static_cast<double>(t.strides[d]);
      }
      if ((last + 1) * static_cast<double>(width) > static_cast<double>(t.storage_bytes)) {
        refuse(formatted("reaches beyond its storage {}, which has {} bytes", t.storage,
                         t.storage_bytes));
      }
      // An expanded tensor repeats its elements, so it can be much larger than its file. This limit
      // protects the memory.
      if (needed > static_cast<double>(kMostPerDeflatedByte * file_place(path_).size)) {
        refuse(
            formatted("repeats the {} bytes of its storage to {:.0f}, which is more than assay "
                      "reads; save a copy of the tensor, as x.contiguous() makes",
                      t.storage_bytes, needed));
      }
      layout.offset = t.offset * width;
    }
    layout.place = place_within(*bytes, layout.offset, static_cast<std::int64_t>(needed));
    const bool by_columns = t.strides.size() > 1 && t.strides.front() == 1 && needed > 0;
    if (by_columns && t.strides.back() != 1) bytes = spooled(path_, *bytes);
    pair_parts(layout, request);
    return plain_array(request.path, std::move(bytes), std::move(layout));
  }

 private:
  static ZipArchive open_archive(const std::string& path) {
    const std::unique_ptr<ByteSource> bytes = open_plain(path);
    std::byte start[2] = {};
    bytes->read(0, std::min<std::int64_t>(2, bytes->size()), start);
    if (start[0] != std::byte{'P'} || start[1] != std::byte{'K'}) {
      throw FileError(path, "",
                      "is not in the zip format of torch.save: it is truncated, or of PyTorch "
                      "before 1.6; load it there, and save it again by a newer one");
    }
    return ZipArchive(path);
  }

  bool is_big_endian() const {
    const auto record = members_.find(folder_ + "byteorder");
    if (record == members_.end()) return false;
    const std::string order =
        text_of(*archive_.open(record->second), 64, path_, folder_ + "byteorder");
    if (order != "little" && order != "big") {
      throw file_error(path_, folder_ + "byteorder", "is '{}', neither little nor big", order);
    }
    return order == "big";
  }

  std::string path_;
  ZipArchive archive_;
  std::map<std::string, std::size_t> members_, places_;
  std::string folder_;  // the folder of the records in the archive, with a '/' at the end
  bool has_pickle_ = false, swap_ = false;
  std::vector<TorchTensor> tensors_;
};

// ------------------------------------------------------------------------------------- writing

void add_number(std::string& to, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) to += static_cast<char>(value >> 8 * i & 0xFF);
}
void add_text(std::string& to, std::string_view text) {
  to += 'X';
  add_number(to, text.size(), 4);
  to += text;
}
void add_integer(std::string& to, std::int64_t value) {
  to += "\x8a\x08";
  add_number(to, static_cast<std::uint64_t>(value), 8);
}
void add_global(std::string& to, std::string_view module, std::string_view name) {
  to += assay::formatted("c{}\n{}\n", module, name);
}
void add_extents(std::string& to, const std::vector<std::int64_t>& extents) {
  to += '(';
  for (const std::int64_t extent : extents) add_integer(to, extent);
  to += 't';
}

// Follows torch's Tensor.__reduce_ex__: dtypes without a class of storages use an untyped storage.
void add_tensor(std::string& to, const TensorView& view, std::size_t key) {
  const std::string_view storage = dtype_name(kTorchStorages, *view.format);
  const std::int64_t elements = view.size();
  add_global(to, "torch._utils", storage.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  to += "((";
  add_text(to, "storage");
  if (storage.empty()) {
    add_global(to, "torch.storage", "UntypedStorage");
  } else {
    add_global(to, "torch", storage);
  }
  add_text(to, std::to_string(key));
  add_text(to, "cpu");
  add_integer(to, storage.empty() ? elements * view.format->storage_bytes : elements);
  to += "tQ";
  add_integer(to, 0);
  add_extents(to, view.shape);
  add_extents(to, contiguous_strides(view.shape));
  to += '\x89';
  add_global(to, "collections", "OrderedDict");
  to += ")R";
  if (storage.empty()) add_global(to, "torch", dtype_name(kTorchDtypes, *view.format));
  to += "tR";
}

}  // namespace

std::unique_ptr<ArrayFile> open_torch(const std::string& path) {
  return std::make_unique<TorchFile>(path);
}

void write_torch(const std::string& path, const std::map<std::string, TensorView>& arrays) {
  const bool is_alone = arrays.size() == 1 && arrays.begin()->first.empty();
  std::string pickled = is_alone ? "\x80\x02" : "\x80\x02}(";
  std::vector<ZipEntry> entries(1);
  for (const auto& [name, view] : arrays) {
    const std::size_t key = entries.size() - 1;
    if (!is_alone) add_text(pickled, name);
    add_tensor(pickled, view, key);
    entries.push_back({assay::formatted("archive/data/{}", key), bytes_of(view)});
  }
  pickled += is_alone ? "." : "u.";
  entries[0] = {"archive/data.pkl", std::move(pickled)};
  entries.push_back({"archive/byteorder", "little"});
  entries.push_back({"archive/version", "3\n"});
  write_file(path, zipped(entries));
}

}  // namespace assay
