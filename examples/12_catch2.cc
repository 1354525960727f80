// assay in tests of Catch2: CHECK prints the explanation of a result that fails.
#define CATCH_CONFIG_MAIN
#include <assay/check.h>

#include <catch2/catch.hpp>
#include <vector>

TEST_CASE("a result within its tolerance") {
  const std::vector<float> out = {1.0F, 2.000001F, 4.0F}, golden = {1.0F, 2.0F, 4.0F};
  CHECK(assay::check_close(assay::view(out), assay::view(golden)));
  CHECK(assay::check_close(assay::view(out), assay::view(golden),
                           {.bounds = {.rtol = 1e-5, .atol = 0}}));
  CHECK_FALSE(assay::check_close(assay::view(out), assay::view(golden),
                                 {.bounds = {.standards = {"bit_equal"}}}));
}
