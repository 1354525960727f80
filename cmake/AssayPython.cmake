# ASSAY_PYTHON: the first Python that has h5py and numpy, of those on the path and the system's; and
# Python_EXECUTABLE, which find_package(Python) takes.
function(assay_has_h5py result program)
  execute_process(COMMAND ${program} -c "import h5py, numpy" RESULT_VARIABLE failed
    OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
find_program(ASSAY_PYTHON NAMES python3 python VALIDATOR assay_has_h5py REQUIRED
  DOC "A Python 3 with h5py and numpy")
if(NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE ${ASSAY_PYTHON})
endif()
