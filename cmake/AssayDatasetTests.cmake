# assay_add_dataset_tests(target
#   DATASETS file.h5...    golden files; each case becomes a CTest test <target>.<file>.<case>
#   [MACHINE m]            tests the operators' emulation on this machine, not the target's functions;
#                          the tests are <target>.<file>.<machine>.<case>, labelled by the machine.
#                          own.json is the machine of a file (docs/machines.md)
#   [STANDARD s...]        judged by these standards instead of the cases' own; "ulp(4)" in quotes
#   [STANDARDS own.json]   a file of more standards, which STANDARD may name (docs/judging.md)
#   [REFERENCE_IMPLEMENTATION producer]   whose recorded output dual-benchmark standards compare with
#   [ABFT [threshold]]     checks matrix products by checksums as well (`assay list thresholds`)
#   [SAMPLE rows=n,seed=n] products and attention without a golden result: so many rows are judged
#   [CASES glob]           only these cases
#   [LABELS l...]          beside the labels that each case has: op, dtype and its tags
#   [WHOLE]                one test a file instead of one a case
#   [PROPERTIES p v ...])  further test properties, as for set_tests_properties
#
# `target` is an executable whose main calls assay::run_dataset_tests. Cases are listed when ctest
# runs, again whenever the program, the file or the arguments changed. A file without a case, or a
# glob that matches none, is a failing test. A keyword whose value is empty is an error, for it is
# mostly a variable that is not set.
function(assay_add_dataset_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "CASES;MACHINE;STANDARDS;REFERENCE_IMPLEMENTATION;SAMPLE" "DATASETS;STANDARD;ABFT;LABELS;PROPERTIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "assay_add_dataset_tests(${target}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(keyword CASES MACHINE STANDARDS REFERENCE_IMPLEMENTATION SAMPLE DATASETS STANDARD ABFT LABELS PROPERTIES)
    set(empty FALSE)
    if(keyword IN_LIST ARGN)
      list(FIND arg_${keyword} "" at)
      # ABFT may stand alone.
      if(at GREATER -1 OR ("${arg_${keyword}}" STREQUAL ""
          AND NOT (keyword STREQUAL "ABFT" AND keyword IN_LIST arg_KEYWORDS_MISSING_VALUES)))
        set(empty TRUE)
      endif()
    endif()
    if(empty)
      message(FATAL_ERROR "assay_add_dataset_tests(${target}): the value of ${keyword} is empty; is a variable not set?")
    endif()
  endforeach()
  if(NOT arg_DATASETS)
    message(FATAL_ERROR "assay_add_dataset_tests(${target}): DATASETS needs at least one file")
  endif()
  set(options)
  if(arg_STANDARDS)
    get_filename_component(file ${arg_STANDARDS} ABSOLUTE)
    list(APPEND options --standards ${file})
  endif()
  foreach(standard IN LISTS arg_STANDARD)
    if(standard MATCHES "\\.json:")  # a standard of a file
      get_filename_component(standard ${standard} ABSOLUTE)
    endif()
    list(APPEND options --standard ${standard})
  endforeach()
  if(arg_REFERENCE_IMPLEMENTATION)
    list(APPEND options --reference-implementation ${arg_REFERENCE_IMPLEMENTATION})
  endif()
  if(arg_ABFT)
    list(APPEND options --abft ${arg_ABFT})
  elseif("ABFT" IN_LIST ARGN)
    list(APPEND options --abft rounding_variance)
  endif()
  if(arg_SAMPLE)
    list(APPEND options --sample ${arg_SAMPLE})
  endif()
  if(arg_CASES)
    list(APPEND options --case ${arg_CASES})
  endif()
  set(machine)
  set(machine_label)
  if(arg_MACHINE)
    # hopper,kept_bits=24 is part of a file's name too.
    get_filename_component(machine ${arg_MACHINE} NAME)
    string(REPLACE ".json" "" machine ${machine})
    set(machine_label ${machine})
    string(REGEX REPLACE "[^A-Za-z0-9_=]" "_" machine ${machine})
    if(arg_MACHINE MATCHES "\\.json")  # the machine of a file
      get_filename_component(arg_MACHINE ${arg_MACHINE} ABSOLUTE)
    endif()
    list(APPEND options --machine ${arg_MACHINE})
    string(PREPEND machine ".")
  endif()
  set(whole_labels ${arg_LABELS} ${machine_label})
  foreach(dataset IN LISTS arg_DATASETS)
    get_filename_component(file ${dataset} ABSOLUTE)
    get_filename_component(stem ${dataset} NAME_WLE)
    string(APPEND stem "${machine}")
    if(arg_WHOLE)
      add_test(NAME ${target}.${stem} COMMAND ${target} ${file} ${options})
      set_tests_properties(${target}.${stem} PROPERTIES LABELS "${whole_labels}" ${arg_PROPERTIES})
      continue()
    endif()
    set(base ${CMAKE_CURRENT_BINARY_DIR}/${target}.${stem})
    set(labels)
    foreach(label IN LISTS arg_LABELS)
      list(APPEND labels --label ${label})
    endforeach()
    file(GENERATE OUTPUT ${base}-$<CONFIG>.cmake CONTENT "# Lists the cases of ${file} as tests.
set(program [==[$<TARGET_FILE:${target}>]==])
set(dataset [==[${file}]==])
set(prefix [==[${target}.${stem}.]==])
set(options [==[${options}]==])
set(labels [==[${labels}]==])
set(properties [==[${arg_PROPERTIES}]==])
set(tests [==[${base}-$<CONFIG>-tests.cmake]==])
include([==[${CMAKE_CURRENT_FUNCTION_LIST_DIR}/AssayDiscoverCases.cmake]==])
")
    # Multi-config generators include the configuration that ctest was given.
    get_property(multi GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    if(multi)
      file(WRITE ${base}.cmake "include(\"${base}-\${CTEST_CONFIGURATION_TYPE}.cmake\")\n")
    else()
      file(WRITE ${base}.cmake "include(\"${base}-${CMAKE_BUILD_TYPE}.cmake\")\n")
    endif()
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${base}.cmake)
  endforeach()
endfunction()
