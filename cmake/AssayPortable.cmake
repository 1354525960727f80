# Run while the archive is installed, after the program and its libraries: writes PORTABLE.md, with
# the C library that they need, and the licences of what is carried.
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
file(GLOB libraries RELATIVE "${root}/lib/assay" "${root}/lib/assay/*.so*")
set(glibc 0)
foreach(file bin/assay ${libraries})
  if(NOT file STREQUAL "bin/assay")
    string(PREPEND file lib/assay/)
  endif()
  execute_process(COMMAND ${readelf} --version-info --wide "${root}/${file}"
    OUTPUT_VARIABLE versions COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${versions}")
  foreach(version_needed IN LISTS versions)
    string(REPLACE "GLIBC_" "" version_needed ${version_needed})
    if(version_needed VERSION_GREATER glibc)
      set(glibc ${version_needed})
    endif()
  endforeach()
endforeach()
if(glibc STREQUAL "0")
  message(FATAL_ERROR "assay: no version of the C library was found in ${root}/bin/assay")
endif()

# Debian keeps each package's licence by the package's name.
set(carried "")
find_program(dpkg dpkg)
foreach(library IN LISTS libraries ITEMS "${archive}")
  get_filename_component(name "${library}" NAME)
  if(NOT name OR IS_SYMLINK "${root}/lib/assay/${name}")
    continue()
  endif()
  set(package "")
  if(dpkg)
    execute_process(COMMAND ${dpkg} --admindir=${sysroot}/var/lib/dpkg -S
      "*/${architecture}/*${name}" OUTPUT_VARIABLE owner ERROR_QUIET)
    string(REGEX MATCH "^[^:,]+" package "${owner}")
  endif()
  string(APPEND carried "- ${name}")
  if(package AND EXISTS "${sysroot}/usr/share/doc/${package}/copyright")
    file(INSTALL "${sysroot}/usr/share/doc/${package}/copyright" DESTINATION
      "${CMAKE_INSTALL_PREFIX}/${docs}/licences" RENAME ${package} FOLLOW_SYMLINK_CHAIN)
    string(APPEND carried " (licences/${package})")
  endif()
  string(APPEND carried "\n")
endforeach()
file(WRITE "${root}/${docs}/PORTABLE.md" "# assay ${version}, to be put anywhere

Needs Linux on ${processor} with glibc ${glibc} or newer (`ldd --version`), and nothing else: unpack
it where you like and call `bin/assay`, or put that folder on PATH. The Python package is none of it:
it is built for one Python (docs/python.md).

In it are libraries of others, as Debian built them:

${carried}")
