#include "assay/tensor/distribution.h"
#include <cmath>
#include <algorithm>
#include "assay/base/random.h"
#include "assay/format/convert.h"
namespace assay {
DistributionSpec parse_distribution(std::string_view t) { return {std::string(t)}; }
Tensor draw(const DistributionSpec& s, const Format& f, const Shape& shape, std::uint64_t seed, std::uint64_t stream, int) {
  Tensor t(f, shape); Random r(seed, stream);
  std::vector<double> v(static_cast<std::size_t>(t.size()));
  const double mean = s.words.find("mean=1e-6") != std::string::npos ? 1e-6 : s.words.find("mean=1") != std::string::npos ? 1 : 0;
  const double scale = s.words.find("scale=0.01") != std::string::npos ? 0.01 : 1;
  for (double& x : v) {
    if (s.words.starts_with("uniform")) x = 2 * r.uniform() - 1;
    else x = mean + r.normal();
    if (s.words.starts_with("clamped")) x = std::clamp(x, -1.0, 1.0);
    x *= scale;
  }
  encode_array(f, v.data(), v.size(), t.bytes());
  return t;
}
}
