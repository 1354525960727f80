# Read by cpack, once a generator: what goes into which package.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  set(CPACK_INSTALL_CMAKE_PROJECTS
    ${build} assay assay / ${build} assay assay-portable /)
  set(CPACK_COMPONENTS_ALL)
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()

# Of a program for another processor than this machine's: what dpkg-shlibdeps would say, from the packages
# in the sysroot.
if(CPACK_ASSAY_SYSROOT AND CPACK_GENERATOR STREQUAL "DEB")
  execute_process(COMMAND ${CPACK_ASSAY_READELF} --dynamic --wide ${CPACK_ASSAY_PROGRAM}
    OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][]" "" dynamic "${dynamic}")  # which lists are not split between
  string(REGEX MATCHALL "Shared library: [^\n]+" needed "${dynamic}")
  file(GLOB files ${CPACK_ASSAY_SYSROOT}/var/lib/dpkg/info/*.shlibs)
  set(depends "")
  foreach(library IN LISTS needed)
    string(REGEX REPLACE "^Shared library: (.+)\\.so\\.([0-9.]+)$" "\\1 \\2" library "${library}")
    string(REPLACE "+" "\\+" pattern "^${library} ")
    set(found "")
    foreach(file IN LISTS files)
      file(STRINGS ${file} lines REGEX "${pattern}")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "${pattern}" "" found "${line}")
        break()
      endforeach()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "assay: no package in ${CPACK_ASSAY_SYSROOT} has ${library}")
    endif()
    list(APPEND depends "${found}")
  endforeach()
  list(REMOVE_DUPLICATES depends)
  list(JOIN depends ", " CPACK_DEBIAN_ASSAY_PACKAGE_DEPENDS)
endif()
