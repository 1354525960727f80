# What is promised: headers that a user includes. All others may change any day. Those that a promised header needs are
# installed in assay/detail. None of them includes a third-party library but GoogleTest (matchers), Eigen (the two
# eigen.h) and CUDA (cuda.h). tests/dataset_tests/headers_test.py holds them to it.
set(assay_framework_headers
  assay/abft.h
  assay/case.h
  assay/check.h
  assay/error.h
  assay/fault.h
  assay/format.h
  assay/gate.h
  assay/judge.h
  assay/machine.h
  assay/operator.h
  assay/report.h
  assay/statistics.h
  assay/tensor.h
  assay/tensor/cuda.h
  assay/tensor/eigen.h
  assay/tensor/mdspan.h
  assay/trial.h)
set(assay_cuda_headers
  assay/cuda.h)
set(assay_datasets_headers
  assay/dataset_tests.h
  assay/datasets.h)
set(assay_matchers_headers
  assay/matchers.h
  assay/matchers/eigen.h)
set(assay_command_line_headers
  assay/command_line.h)
