# Included by ctest: makes the tests of one dataset, from the variables program, dataset, prefix,
# options, labels, properties and tests (the file that keeps the list).
if(NOT EXISTS "${program}")
  add_test("${prefix}NOT_BUILT" "${program}")
else()
  set(stale TRUE)
  if(EXISTS "${tests}" AND NOT "${program}" IS_NEWER_THAN "${tests}" AND EXISTS "${dataset}"
     AND NOT "${dataset}" IS_NEWER_THAN "${tests}"
     AND NOT "${CMAKE_CURRENT_LIST_FILE}" IS_NEWER_THAN "${tests}")
    set(stale FALSE)
  endif()
  if(stale)
    file(REMOVE "${tests}")
    execute_process(
      COMMAND "${program}" "${dataset}" --ctest "${prefix}" ${options} ${labels}
      OUTPUT_FILE "${tests}.new" RESULT_VARIABLE result ERROR_VARIABLE error)
    file(SIZE "${tests}.new" size)
    if(result EQUAL 0 AND size GREATER 0)
      file(RENAME "${tests}.new" "${tests}")
    else()
      file(REMOVE "${tests}.new")
    endif()
  endif()
  if(EXISTS "${tests}")
    include("${tests}")
    if(properties)
      file(STRINGS "${tests}" lines REGEX "^add_test")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^add_test\\(\\[==\\[([^]]*)\\]==\\].*" "\\1" name "${line}")
        set_tests_properties("${name}" PROPERTIES ${properties})
      endforeach()
    endif()
  else()
    # The listing failed: so does this test, with the same message.
    add_test("${prefix}LISTING" "${program}" "${dataset}" --ctest "${prefix}" ${options})
  endif()
endif()
