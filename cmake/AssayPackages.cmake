# `cpack` in a build folder: assay_*.deb and assay-dev_*.deb, whose dependencies are read from the
# program, and assay-*.tar.gz, which carries its libraries and runs wherever the C library is new
# enough.

# The program of the archive: it looks for its libraries beside itself, whose own are looked for
# there as well (DT_RPATH: DT_RUNPATH would speak of the program's alone). HDF5 is linked in where
# its archive is there: Debian's shared one brings an HTTP client and thirty libraries with it.
add_executable(assay-portable tools/main.cc)
target_link_libraries(assay-portable PRIVATE assay_command_line assay_warnings assay_arithmetic)
target_link_options(assay-portable PRIVATE -Wl,--disable-new-dtags)
set_target_properties(assay-portable PROPERTIES OUTPUT_NAME assay
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/portable
  INSTALL_RPATH "$ORIGIN/../lib/assay")
if(ASSAY_HDF5_ARCHIVE)
  find_library(ASSAY_SZ_LIBRARY sz)  # which it may have been built with
  mark_as_advanced(ASSAY_SZ_LIBRARY)
  set(linked_in ${ASSAY_HDF5_ARCHIVE} ${ASSAY_SZ_LIBRARY} ${CMAKE_DL_LIBS})
  list(FILTER linked_in EXCLUDE REGEX NOTFOUND)
  set_property(TARGET assay-portable PROPERTY ASSAY_HDF5_LINKED_IN ${linked_in})
endif()
set(of_system "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv))\\.so\\.[0-9]+$")  # the C library's own
if(CMAKE_CROSSCOMPILING)
  # Which no dependency set of install() looks through.
  install(TARGETS assay-portable COMPONENT assay-portable EXCLUDE_FROM_ALL)
  install(CODE "set(CMAKE_GET_RUNTIME_DEPENDENCIES_PLATFORM linux+elf)
    set(CMAKE_GET_RUNTIME_DEPENDENCIES_TOOL objdump)
    set(CMAKE_GET_RUNTIME_DEPENDENCIES_COMMAND \"${CMAKE_OBJDUMP}\")
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:assay-portable>\"
      RESOLVED_DEPENDENCIES_VAR libraries PRE_EXCLUDE_REGEXES [==[${of_system}]==]
      DIRECTORIES \"${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}\"
        \"${CMAKE_SYSROOT}/lib/${CMAKE_LIBRARY_ARCHITECTURE}\")
    file(INSTALL \${libraries} DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/assay\" FOLLOW_SYMLINK_CHAIN)"
    COMPONENT assay-portable EXCLUDE_FROM_ALL)
else()
  install(TARGETS assay-portable COMPONENT assay-portable EXCLUDE_FROM_ALL
    RUNTIME_DEPENDENCY_SET assay_carried)
  install(RUNTIME_DEPENDENCY_SET assay_carried DESTINATION lib/assay
    COMPONENT assay-portable EXCLUDE_FROM_ALL PRE_EXCLUDE_REGEXES ${of_system})
endif()
install(CODE "set(archive \"${ASSAY_HDF5_ARCHIVE}\")
  set(docs \"${CMAKE_INSTALL_DOCDIR}\")
  set(version \"${PROJECT_VERSION}\")
  set(processor \"${CMAKE_SYSTEM_PROCESSOR}\")
  set(architecture \"${CMAKE_LIBRARY_ARCHITECTURE}\")
  set(readelf \"${CMAKE_READELF}\")
  set(sysroot \"${CMAKE_SYSROOT}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/AssayPortable.cmake\")"
  COMPONENT assay-portable EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VENDOR assay)
set(CPACK_PACKAGE_CONTACT "The assay maintainers <maintainers@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME
  ${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL assay assay-dev)
if(TARGET assay_python)
  list(APPEND CPACK_COMPONENTS_ALL assay-python)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/AssayCPack.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
if(CMAKE_CROSSCOMPILING)  # cmake/AssayCPack.cmake reads the dependencies
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_ASSAY_PROGRAM ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/assay)
  set(CPACK_ASSAY_READELF ${CMAKE_READELF})
  set(CPACK_ASSAY_SYSROOT ${CMAKE_SYSROOT})
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_ASSAY_PACKAGE_NAME assay)
set(CPACK_DEBIAN_ASSAY_DESCRIPTION
  "The program assay, its manual, plans, samples and pages.")
set(CPACK_DEBIAN_ASSAY_PACKAGE_SUGGESTS "assay-dev, python3-assay")
set(CPACK_DEBIAN_ASSAY-DEV_PACKAGE_NAME assay-dev)
set(CPACK_DEBIAN_ASSAY-DEV_DESCRIPTION
  "What find_package(assay) finds: assay::matchers, assay::datasets, assay::command_line.")
set(CPACK_DEBIAN_ASSAY-DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_ASSAY-DEV_PACKAGE_DEPENDS "assay (= ${PROJECT_VERSION}), cmake (>= 3.25), \
libhwy-dev, libfmt-dev, libhdf5-dev, zlib1g-dev, libzip-dev, libgtest-dev, libgmock-dev")
set(CPACK_DEBIAN_ASSAY-PYTHON_PACKAGE_NAME python3-assay)
set(CPACK_DEBIAN_ASSAY-PYTHON_DESCRIPTION "The Python package assay: the judge in the process.")
if(TARGET assay_python)
  math(EXPR next "${ASSAY_PYTHON_MINOR} + 1")
  set(CPACK_DEBIAN_ASSAY-PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${ASSAY_PYTHON_MINOR}), python3 (<< 3.${next}), python3-numpy")
endif()
include(CPack)
