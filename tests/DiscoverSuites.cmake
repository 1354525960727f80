# Included by ctest: one test a suite of a GoogleTest program (a process a test takes longer to start
# than most tests take), from the variables program, room, properties and list (the file that keeps
# the suites). Listed again whenever the program is another.
if(NOT EXISTS "${program}")
  add_test("${room}.NOT_BUILT" "${program}")
  return()
endif()
file(SIZE "${program}" size)
file(TIMESTAMP "${program}" time "%s.%f" UTC)
set(key "# ${size} ${time}")
set(kept "")
if(EXISTS "${list}")
  file(STRINGS "${list}" kept LIMIT_COUNT 1)
endif()
if(NOT kept STREQUAL key)
  execute_process(COMMAND "${program}" --gtest_list_tests
    OUTPUT_VARIABLE lines RESULT_VARIABLE result ERROR_VARIABLE error)
  string(REGEX REPLACE "#[^\n]*" "" lines "${lines}")  # parameters, in any characters
  set(suites "")
  set(suite "")
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([A-Za-z0-9_/]+)\\.( |$)")
      set(suite "${CMAKE_MATCH_1}")
    elseif(suite AND line MATCHES "^  [^ ]" AND NOT "${suite}${line}" MATCHES "DISABLED_")
      string(APPEND suites "${suite}\n")  # a suite counts once a test of it runs
      set(suite "")
    endif()
  endforeach()
  if(NOT result EQUAL 0 OR NOT suites)
    add_test("${room}.LISTING" "${program}" --gtest_list_tests --gtest_filter=NONE)
    set_tests_properties("${room}.LISTING" PROPERTIES WILL_FAIL TRUE)
    return()
  endif()
  string(RANDOM LENGTH 8 new)
  file(WRITE "${list}.${new}" "${key}\n${suites}")
  file(RENAME "${list}.${new}" "${list}")  # another ctest may read it at the same time
endif()
file(STRINGS "${list}" suites REGEX "^[^#]")
foreach(suite IN LISTS suites)
  add_test("${room}.${suite}" "${program}" "--gtest_filter=${suite}.*")
  # A filter that matches nothing is no pass.
  set_tests_properties("${room}.${suite}" PROPERTIES
    FAIL_REGULAR_EXPRESSION "Running 0 tests" ${properties})
endforeach()
