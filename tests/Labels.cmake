# Labels of tests that do not follow from their folder: tests/labels.txt. Included when CMake configures, and by
# DiscoverSuites.cmake when ctest starts.

# assay_labelled(room label names): the entries of a room that have the label, as patterns of GoogleTest.
function(assay_labelled room label out)
  assay_label_lines("${room}" lines)
  set(found "")
  foreach(line IN LISTS lines)
    assay_label_fields("${line}")
    if(label IN_LIST entry_labels)
      list(APPEND found "${entry_suite}.${entry_test}")
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# assay_rooms_labelled(label rooms): the rooms that have entries with this label.
function(assay_rooms_labelled label out)
  assay_label_lines("[a-z_]+" lines)
  set(rooms "")
  foreach(line IN LISTS lines)
    assay_label_fields("${line}")
    if(label IN_LIST entry_labels)
      list(APPEND rooms ${entry_room})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  set(${out} "${rooms}" PARENT_SCOPE)
endfunction()

# The lines of labels.txt about a room, without comments.
function(assay_label_lines room out)
  file(STRINGS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/labels.txt lines REGEX "^${room}\\.")
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# Sets entry_room, entry_suite, entry_test ("*" if the line is about the whole suite) and entry_labels.
macro(assay_label_fields line)
  if(NOT "${line}" MATCHES "^([a-z_]+)\\.([^ .]+)(\\.([^ ]+))? +([a-z,]+) +[^ ]")
    message(FATAL_ERROR "tests/labels.txt: not NAME LABELS REASON: ${line}")
  endif()
  set(entry_room "${CMAKE_MATCH_1}")
  set(entry_suite "${CMAKE_MATCH_2}")
  set(entry_test "${CMAKE_MATCH_4}")
  string(REPLACE "," ";" entry_labels "${CMAKE_MATCH_5}")
  if(entry_test STREQUAL "")
    set(entry_test "*")
  endif()
endmacro()

# assay_label_tests(): adds the labels of the file to the tests of the current folder that CMake itself knows. Long
# tests start first, so that the last test is a short one.
function(assay_label_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  file(STRINGS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/labels.txt lines REGEX "^[a-z]")
  foreach(line IN LISTS lines)
    assay_label_fields("${line}")
    set(name "${entry_room}.${entry_suite}")
    if(entry_test STREQUAL "*" AND name IN_LIST tests)
      set_property(TEST ${name} APPEND PROPERTY LABELS ${entry_labels})
      if("slow" IN_LIST entry_labels)
        set_property(TEST ${name} PROPERTY COST 100)
      endif()
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/labels.txt)
endfunction()
