# The toolchain file of 64-bit ARM under Linux: Debian's cross compiler, against the folder that
# cmake/make_arm64_sysroot.sh makes (ASSAY_ARM64_SYSROOT), and QEMU, where it is there, to run what was built.
# On Debian 12: apt-get install g++-aarch64-linux-gnu qemu-user-static
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ASSAY_ARM64_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot CACHE PATH
  "What cmake/make_arm64_sysroot.sh made")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASSAY_ARM64_SYSROOT)
get_filename_component(CMAKE_SYSROOT ${ASSAY_ARM64_SYSROOT} ABSOLUTE)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "assay: there is no arm64 sysroot in ${CMAKE_SYSROOT}; "
    "cmake/make_arm64_sysroot.sh build/arm64-sysroot makes one")
endif()

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Libraries, headers and packages of the target; programs, which run while building, of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(ASSAY_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
mark_as_advanced(ASSAY_QEMU_AARCH64)
if(ASSAY_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ASSAY_QEMU_AARCH64} -L ${CMAKE_SYSROOT})
endif()
