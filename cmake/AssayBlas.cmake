# OPENBLAS_LIBRARY and OPENBLAS_INCLUDE: the build of OpenBLAS with threads where there are several.
set(places openblas-pthread openblas)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(PREPEND places ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread)
endif()
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES ${places} REQUIRED)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES ${places} REQUIRED)
