# What is installed beside libraries and headers: manual pages and completions, which the program
# writes itself, plans, samples, pages and examples. Components: assay (the program and what belongs
# to it), assay-dev (what programs are built with), assay-mpi, assay-python (python/CMakeLists.txt) and
# assay-portable (cmake/AssayPackages.cmake).

if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${made}/assay.bash ${made}/_assay ${made}/man1/assay.1 DEPENDS assay
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}
    COMMAND assay man --out ${made}/man1
    COMMAND assay completion bash > ${made}/assay.bash
    COMMAND assay completion zsh > ${made}/_assay
    COMMENT "Manual pages and completions" VERBATIM)
  add_custom_target(assay_manual ALL DEPENDS ${made}/assay.bash)
  install(DIRECTORY ${made}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT assay)
  install(FILES ${made}/assay.bash COMPONENT assay
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions RENAME assay)
  # Where zsh looks; below /usr Debian's looks elsewhere.
  install(CODE "set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(folder vendor-completions)
    endif()
    file(INSTALL \"${made}/_assay\"
      DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}/zsh/\${folder}\")"
    COMPONENT assay)
endif()

# Plans name datasets by relative paths, and pages each other and the examples.
foreach(folder plans datasets/samples datasets/recordings datasets/published datasets/interop)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder})
    get_filename_component(above ${folder} DIRECTORY)
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/${above} COMPONENT assay
      PATTERN __pycache__ EXCLUDE)
  endif()
endforeach()
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT assay)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT assay
  PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE)
