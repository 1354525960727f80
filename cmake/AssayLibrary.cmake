# assay_find_library(name header names...): the imported target assay::<name> for a C library that
# has this header and one of these names; assay_<name>_FOUND says whether it is there. CMake's own
# FindHDF5 compiles C programs to find out more, which a project in C++ alone cannot. Libraries in
# places of their own: CMAKE_PREFIX_PATH, or <NAME>_ROOT.
function(assay_find_library name header)
  string(TOUPPER ${name} upper)
  set(hints HINTS ${${upper}_ROOT} ENV ${upper}_ROOT)
  set(places lib lib64 include ${name} ${name}/serial)  # Debian has one HDF5 beside another
  find_library(ASSAY_${upper}_LIBRARY NAMES ${ARGN} ${hints} PATH_SUFFIXES ${places})
  find_path(ASSAY_${upper}_INCLUDE ${header} ${hints} PATH_SUFFIXES ${places})
  mark_as_advanced(ASSAY_${upper}_LIBRARY ASSAY_${upper}_INCLUDE)
  if(ASSAY_${upper}_LIBRARY AND ASSAY_${upper}_INCLUDE)
    set(assay_${name}_FOUND TRUE PARENT_SCOPE)
    if(NOT TARGET assay::${name})
      add_library(assay::${name} UNKNOWN IMPORTED)
      set_target_properties(assay::${name} PROPERTIES
        IMPORTED_LOCATION "${ASSAY_${upper}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${ASSAY_${upper}_INCLUDE}")
    endif()
  else()
    set(assay_${name}_FOUND FALSE PARENT_SCOPE)
  endif()
endfunction()
