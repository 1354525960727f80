# Read by cpack, once a generator: what goes into which package.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  set(CPACK_INSTALL_CMAKE_PROJECTS
    ${build} assay assay / ${build} assay assay-portable /)
  set(CPACK_COMPONENTS_ALL)
else()
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
