# assay_embed(target name file): links a file into the target; std::string_view
# assay::embedded_<name>() gives its bytes.
function(assay_embed target name file)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.cc)
  file(CONFIGURE OUTPUT ${output} CONTENT "// Made by assay_embed.
#include <cstddef>
#include <string_view>
__asm__(
    \".section .rodata\\n\"
    \"assay_@name@_begin: .incbin \\\"@file@\\\"\\n\"
    \"assay_@name@_end:\\n\"
    \".global assay_@name@_begin, assay_@name@_end\\n\"
    \".text\\n\");
extern const char assay_@name@_begin[], assay_@name@_end[];
namespace assay {
std::string_view embedded_@name@();
std::string_view embedded_@name@() {
  return {assay_@name@_begin,
          static_cast<std::size_t>(assay_@name@_end - assay_@name@_begin)};
}
}  // namespace assay
" @ONLY)
  target_sources(${target} PRIVATE ${output})
endfunction()
