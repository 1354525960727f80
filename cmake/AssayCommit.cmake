# Run by every build: writes OUT, a source file with the commit of SOURCE, where it says another one
# than before, so that nothing else is compiled again. A tree without git has the commit in
# cmake/commit.txt, where `git archive` put it.
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --show-toplevel WORKING_DIRECTORY ${SOURCE}
    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  # A copy inside another repository has not that one's commit.
  file(REAL_PATH ${SOURCE} source)
  if(top STREQUAL source)
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
      WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()
if(NOT commit)
  file(STRINGS ${SOURCE}/cmake/commit.txt archived LIMIT_COUNT 1)
  if(archived MATCHES "^[0-9a-f]+$")
    set(commit ${archived})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#include \"commit.h\"

std::string assay::tools::commit() { return \"@commit@\"; }
" @ONLY)
