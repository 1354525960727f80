// Datasets of campaigns, and the text of their results.
#include <fstream>
#include <mutex>

#include "assay/base/text.h"
#include "assay/datasets/store.h"
#include "assay/report/campaign.h"
#include "assay/report/published.h"
#include "assay/tensor/product.h"
#include "campaign.h"

namespace assay::tools {

DatasetCases list_dataset(const std::string& path, const std::string& glob) {
  DatasetCases found;
  const DatasetFile file(path);
  for (const std::string& name : file.case_names(glob)) {
    const Case c = file.read(name, {.inputs = true, .golden = false, .outputs = false});
    if (c.op != "matmul") continue;
    const MatmulShape shape = matmul_shape(c);
    if (shape.batch != 1) {
      throw std::invalid_argument(
          format("{}: case {}: campaigns take products of two matrices, not batches", path, name));
    }
    found.cases.push_back(
        {name, c.op, &c.input("a").format(), &c.output_format(), {shape.m, shape.k, shape.n}});
  }
  std::ifstream in(path, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    for (std::streamsize i = 0; i < in.gcount(); ++i) {
      hash =
          (hash ^ static_cast<unsigned char>(buffer[static_cast<std::size_t>(i)])) * 0x100000001b3;
    }
  }
  found.digest = format("{:016x}", hash);
  return found;
}

Case load_dataset_case(const std::string& path, const std::string& name) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return DatasetFile(path).read(name);
}

std::string results_text(const Plan& plan, const std::vector<CellResult>& results, bool full) {
  const std::string text = campaign_text(plan, results, full);
  if (plan.published.empty()) return text;
  const std::vector<PublishedRate> published = read_published(plan.published);
  return text + published_text(compare_published(plan, results, published));
}

}  // namespace assay::tools
