// Views of std::mdspan. This header declares nothing if the standard library has no std::mdspan, as
// before C++23.
//
//   std::mdspan y(pointer, 64, 512);
//   EXPECT_THAT(y, CloseTo(reference));
#pragma once

#include <version>

#include "assay/tensor/tensor.h"

#ifdef __cpp_lib_mdspan
#include <mdspan>

namespace assay::inline v0_2 {

// The view of an mdspan whose layout has strides and whose accessor is the default one.
template <typename T, typename Extents, typename Layout>
requires(Element<T>&& std::mdspan<T, Extents, Layout>::is_always_strided()) struct ViewOf<
    std::mdspan<T, Extents, Layout>> {
  static TensorView of(const std::mdspan<T, Extents, Layout>& m) {
    Shape shape;
    Strides strides;
    for (std::size_t r = 0; r < Extents::rank(); ++r) {
      shape.push_back(static_cast<std::int64_t>(m.extent(r)));
      strides.push_back(static_cast<std::int64_t>(m.stride(r)));
    }
    return view_bytes(m.data_handle(), FormatOf<std::remove_cv_t<T>>::get(), std::move(shape),
                      std::move(strides));
  }
};

}  // namespace assay
#endif
