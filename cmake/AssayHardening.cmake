# What a distribution hardens its programs by, for the programs of a build of assay alone: a project
# around it has flags of its own. Not under the sanitizers, which see more.
option(ASSAY_HARDENING "Harden the programs as distributions do" ON)
if(NOT ASSAY_HARDENING OR NOT PROJECT_IS_TOP_LEVEL OR ASSAY_SANITIZE OR ASSAY_SANITIZE_THREADS OR ASSAY_COVERAGE)
  return()
endif()
include(CheckPIESupported)
include(CheckCXXCompilerFlag)

# Addresses that nobody can foretell.
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Tables of functions are filled at the start, and are read alone from then on.
add_link_options(LINKER:-z,relro LINKER:-z,now)
# A stack that is written beyond is noticed, also where an array is larger than the page that guards
# it; jumps end where jumps may.
foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection -mbranch-protection=standard)
  string(MAKE_C_IDENTIFIER "ASSAY_HAS${flag}" has)
  check_cxx_compiler_flag("-Werror ${flag}" ${has})
  if(${has})
    add_compile_options(${flag})
  endif()
endforeach()
# The C library's functions know the sizes of what they write to; that needs an optimiser. The
# standard library looks at indices but in Release, where kernels would pay for it.
add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
  $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
add_compile_definitions($<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
