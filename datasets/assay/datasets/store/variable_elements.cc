#include "assay/datasets/store/variable_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2::h5 {
namespace {

constexpr char kReferenceTag[] = "assay: a reference as it is stored";

// A conversion of HDF5 that leaves the bytes as they are. It converts only to the opaque type of
// this file.
herr_t keep_reference(hid_t from, hid_t to, H5T_cdata_t* what, std::size_t, std::size_t,
                      std::size_t, void*, void*, hid_t) {
  if (what->command != H5T_CONV_INIT) return 0;
  what->need_bkg = H5T_BKG_NO;
  char* const tag = H5Tget_tag(to);
  const bool is_ours = tag != nullptr && std::strcmp(tag, kReferenceTag) == 0;
  H5free_memory(tag);
  return is_ours && H5Tget_size(from) == H5Tget_size(to) ? 0 : -1;
}

// Returns an opaque type. HDF5 converts elements of variable length to it with keep_reference().
Handle reference_type(const GlobalHeap& heap) {
  const auto made = [](std::size_t bytes) {
    Handle opaque = type(H5Tcreate(H5T_OPAQUE, bytes));
    require(H5Tset_tag(opaque.get(), kReferenceTag));
    return opaque;
  };
  static const herr_t registered = [&] {
    const Handle variable = type(H5Tvlen_create(H5T_NATIVE_UCHAR)), opaque = made(16);
    return H5Tregister(H5T_PERS_SOFT, "assay_reference", variable.get(), opaque.get(),
                       keep_reference);
  }();
  (void)registered;
  return made(heap.reference_bytes());
}

bool is_variable_text(hid_t t) {
  return H5Tget_class(t) == H5T_STRING && H5Tis_variable_str(t) > 0;
}

// Returns true if `is` holds for the type or for one of its parts.
template <typename Is>
bool any_part(hid_t t, const Is& is) {
  if (is(t)) return true;
  switch (H5Tget_class(t)) {
    case H5T_VLEN:
    case H5T_ARRAY:
      return any_part(type(H5Tget_super(t)).get(), is);
    case H5T_COMPOUND:
      for (int i = 0; i < H5Tget_nmembers(t); ++i) {
        if (any_part(type(H5Tget_member_type(t, static_cast<unsigned>(i))).get(), is)) return true;
      }
      return false;
    default:
      return false;
  }
}

std::size_t extent_of(hid_t array) {
  hsize_t extents[H5S_MAX_RANK];
  const int rank = H5Tget_array_dims2(array, extents);
  hsize_t count = 1;
  for (int d = 0; d < rank; ++d) count *= extents[d];
  return rank < 0 ? 0 : static_cast<std::size_t>(count);
}

// Returns the members of a compound in the order of their places.
std::vector<unsigned> members_in_order(hid_t compound) {
  std::vector<unsigned> members(static_cast<std::size_t>(std::max(H5Tget_nmembers(compound), 0)));
  for (unsigned i = 0; i < members.size(); ++i) members[i] = i;
  std::ranges::sort(members, {}, [&](unsigned i) { return H5Tget_member_offset(compound, i); });
  return members;
}

}  // namespace

bool has_variable_length(hid_t t) {
  return any_part(
      t, [](hid_t part) { return H5Tget_class(part) == H5T_VLEN || is_variable_text(part); });
}

bool has_references(hid_t t) {
  return any_part(t, [](hid_t part) { return H5Tget_class(part) == H5T_REFERENCE; });
}

namespace {

// Returns the kind of a type of variable length in the file: 0 for a sequence, 1 for a string. HDF5
// 1.10 accepts other kinds in a damaged file, and calls functions that these do not have.
unsigned variable_kind(hid_t t) {
  // The number of bytes that H5Tencode() puts before the datatype message (IV.A.2.d).
  constexpr std::size_t kHead = 2;
  std::size_t size = 0;
  if (H5Tencode(t, nullptr, &size) < 0 || size < kHead + 2) return 15;
  std::vector<unsigned char> message(size);
  if (H5Tencode(t, message.data(), &size) < 0) return 15;
  return message[kHead + 1] & 15U;
}

ElementLayout unchecked_layout_of(hid_t t, const GlobalHeap& heap) {
  using Kind = ElementLayout::Kind;
  ElementLayout layout;
  layout.stored_bytes = layout.memory_bytes = H5Tget_size(t);
  if (!has_variable_length(t)) return layout;
  if (is_variable_text(t)) {
    layout.kind = Kind::kText;
    layout.stored_bytes = heap.reference_bytes();
    layout.is_sound = variable_kind(t) == 1;
    return layout;
  }
  if (H5Tget_class(t) == H5T_COMPOUND) {
    layout.kind = Kind::kCompound;
    // As in HDF5, if a member is smaller in the file than in memory, all members after it begin
    // earlier in the file.
    for (const unsigned i : members_in_order(t)) {
      ElementLayout part = unchecked_layout_of(type(H5Tget_member_type(t, i)).get(), heap);
      part.memory_at = H5Tget_member_offset(t, i);
      part.stored_at = part.memory_at + layout.stored_bytes - layout.memory_bytes;
      layout.stored_bytes += part.stored_bytes - part.memory_bytes;
      layout.parts.push_back(std::move(part));
    }
    return layout;
  }
  layout.parts.push_back(unchecked_layout_of(type(H5Tget_super(t)).get(), heap));
  if (H5Tget_class(t) == H5T_ARRAY) {
    layout.kind = Kind::kArray;
    layout.count = extent_of(t);
    layout.stored_bytes = layout.count * layout.parts[0].stored_bytes;
  } else {
    layout.kind = Kind::kSequence;
    layout.stored_bytes = heap.reference_bytes();
    layout.is_sound = variable_kind(t) == 0;
  }
  return layout;
}

bool is_sound(const ElementLayout& layout) {
  if (!layout.is_sound || layout.stored_bytes == 0 || layout.memory_bytes == 0) return false;
  const auto fits = [](std::size_t at, std::size_t size, std::size_t all) {
    return size <= all && at <= all - size;
  };
  return std::ranges::all_of(
             layout.parts,
             [&](const ElementLayout& part) {
               return is_sound(part) &&
                      (layout.kind != ElementLayout::Kind::kCompound ||
                       (fits(part.stored_at, part.stored_bytes, layout.stored_bytes) &&
                        fits(part.memory_at, part.memory_bytes, layout.memory_bytes)));
             }) &&
         (layout.kind != ElementLayout::Kind::kArray ||
          (layout.memory_bytes / layout.parts[0].memory_bytes == layout.count &&
           layout.stored_bytes / layout.parts[0].stored_bytes == layout.count));
}

}  // namespace

ElementLayout layout_of(hid_t t, const GlobalHeap& heap) {
  ElementLayout layout = unchecked_layout_of(t, heap);
  layout.is_sound = is_sound(layout);
  return layout;
}

bool read_as_stored(hid_t attribute, hid_t t, const ElementLayout& layout, const GlobalHeap& heap,
                    std::vector<std::byte>& to) {
  const Handle space = h5::space(H5Aget_space(attribute));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  const std::uint64_t bytes = H5Aget_storage_size(attribute);
  if (!layout.is_sound || count < 0 || bytes % layout.stored_bytes != 0 ||
      bytes / layout.stored_bytes != static_cast<std::uint64_t>(count)) {
    return false;
  }
  to.resize(bytes);
  return bytes == 0 || H5Aread(attribute, stored_type_of(t, heap).get(), to.data()) >= 0;
}

Handle stored_type_of(hid_t t, const GlobalHeap& heap) {
  if (!has_variable_length(t)) return type(H5Tcopy(t));
  switch (H5Tget_class(t)) {
    case H5T_COMPOUND: {
      const ElementLayout layout = layout_of(t, heap);
      Handle compound = type(H5Tcreate(H5T_COMPOUND, layout.stored_bytes));
      std::size_t part = 0;
      for (const unsigned i : members_in_order(t)) {
        char* const name = H5Tget_member_name(t, i);
        const Handle member = stored_type_of(type(H5Tget_member_type(t, i)).get(), heap);
        require(H5Tinsert(compound.get(), name, layout.parts[part++].stored_at, member.get()));
        H5free_memory(name);
      }
      return compound;
    }
    case H5T_ARRAY: {
      hsize_t extents[H5S_MAX_RANK];
      const int rank = H5Tget_array_dims2(t, extents);
      const Handle base = stored_type_of(type(H5Tget_super(t)).get(), heap);
      return type(H5Tarray_create2(base.get(), static_cast<unsigned>(std::max(rank, 0)), extents));
    }
    default:
      return reference_type(heap);
  }
}

std::string VariableElements::add(std::span<const std::byte> stored) {
  for (; stored.size() >= layout_.stored_bytes; stored = stored.subspan(layout_.stored_bytes)) {
    const std::size_t at = elements_.size();
    elements_.resize(at + layout_.memory_bytes);
    const std::string why =
        decode(layout_, stored.first(layout_.stored_bytes), elements_.data() + at);
    if (!why.empty()) return why;
  }
  return "";
}

void VariableElements::clear() {
  elements_.clear();
  held_.clear();
  held_bytes_ = 0;
}

std::byte* VariableElements::hold(std::vector<std::byte> bytes) {
  held_bytes_ += bytes.size();
  return held_.emplace_back(std::move(bytes)).data();
}

GlobalHeap::Object VariableElements::object(std::span<const std::byte> reference,
                                            std::size_t element_bytes) {
  GlobalHeap::Object object = heap_.object(reference, element_bytes);
  all_bytes_ += object.bytes.size();
  if (all_bytes_ > heap_.file_size()) {
    object.problem =
        formatted("elements of variable length take at least {} bytes, but the file has only {}",
                  all_bytes_, heap_.file_size());
  }
  return object;
}

std::string VariableElements::decode(const ElementLayout& layout, std::span<const std::byte> stored,
                                     std::byte* memory) {
  switch (layout.kind) {
    case ElementLayout::Kind::kFixed:
      std::memcpy(memory, stored.data(), layout.memory_bytes);
      return "";
    case ElementLayout::Kind::kText: {
      const GlobalHeap::Object object = this->object(stored, 1);
      if (!object.problem.empty()) return object.problem;
      // A string without an object becomes null, because HDF5 stores null in this way.
      const std::byte* text = nullptr;
      if (object.length > 0) {
        std::vector<std::byte> copy(object.bytes.begin(), object.bytes.end());
        copy.push_back(std::byte{0});
        text = hold(std::move(copy));
      }
      std::memcpy(memory, &text, sizeof text);
      return "";
    }
    case ElementLayout::Kind::kSequence: {
      const ElementLayout& base = layout.parts[0];
      const GlobalHeap::Object object = this->object(stored, base.stored_bytes);
      if (!object.problem.empty()) return object.problem;
      hvl_t sequence = {static_cast<std::size_t>(object.length), nullptr};
      if (object.length > 0) {
        // The bytes are copied, because they are valid only until another object is read, and the
        // sequence's elements may have objects of their own.
        std::byte* const there = hold({object.bytes.begin(), object.bytes.end()});
        sequence.p = there;
        if (base.kind != ElementLayout::Kind::kFixed) {
          std::byte* const elements =
              hold(std::vector<std::byte>(sequence.len * base.memory_bytes));
          sequence.p = elements;
          for (std::size_t i = 0; i < sequence.len; ++i) {
            const std::span<const std::byte> part(there + i * base.stored_bytes, base.stored_bytes);
            const std::string why = decode(base, part, elements + i * base.memory_bytes);
            if (!why.empty()) return why;
          }
        }
      }
      std::memcpy(memory, &sequence, sizeof sequence);
      return "";
    }
    case ElementLayout::Kind::kCompound:
      for (const ElementLayout& part : layout.parts) {
        const std::string why = decode(part, stored.subspan(part.stored_at, part.stored_bytes),
                                       memory + part.memory_at);
        if (!why.empty()) return why;
      }
      return "";
    case ElementLayout::Kind::kArray: {
      const ElementLayout& base = layout.parts[0];
      for (std::size_t i = 0; i < layout.count; ++i) {
        const std::string why =
            decode(base, stored.subspan(i * base.stored_bytes, base.stored_bytes),
                   memory + i * base.memory_bytes);
        if (!why.empty()) return why;
      }
      return "";
    }
  }
  return "";
}

}  // namespace assay::h5
