// Datasets of campaigns, and the text of their results.
#include <exception>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "assay/base/file.h"
#include "assay/base/hash.h"
#include "assay/base/text.h"
#include "assay/campaign/result_store.h"
#include "assay/cases/product.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/gate/case_outputs.h"
#include "assay/op/operator.h"
#include "assay/report/campaign_report.h"
#include "assay/wire/published_file.h"
#include "campaign.h"

namespace assay::inline v0_2::tools {

namespace {

// Returns the first input of the case's operator. If the operator is not in the table of operators,
// it may be any input.
const Tensor& first_tensor(const Case& c) {
  const Operator* op = find_operator(c.op);
  return op != nullptr ? c.input(op->inputs.front().name) : c.inputs.begin()->second;
}

}  // namespace

wire::DatasetCases list_dataset(const std::string& path, const std::string& glob) {
  wire::DatasetCases found;
  const OpenedCases opened = open_cases(path, {.layout = "dataset"});
  const CaseSource& file = *opened.cases;
  for (const std::string& name : file.case_names(glob)) {
    const Case c =
        judged_case(file.read(name, {.inputs = true, .golden = false, .recorded = false}));
    // Cases without inputs are left out, because no result can be computed for them.
    if (c.inputs.empty()) continue;
    const Tensor& first = first_tensor(c);
    Shape shape = first.shape();
    if (is_product(c)) {
      const MatmulShape product = matmul_shape(c);
      if (product.batch == 1) shape = {product.m, product.k, product.n};
    }
    found.cases.push_back({name, c.op, &first.format(), &output_format(c), shape});
  }
  std::ifstream in(path, std::ios::binary);
  std::uint64_t hash = kFnvStart;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    hash = fnv1a({buffer.data(), static_cast<std::size_t>(in.gcount())}, hash);
  }
  found.digest = formatted("{:016x}", hash);
  return found;
}

Case load_dataset_case(const std::string& path, const std::string& name) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return judged_case(open_cases(path, {.layout = "dataset"}).cases->read(name));
}

std::vector<std::string> files_of_plan(const std::string& path) {
  std::vector<std::string> files = {path};
  try {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    for (std::string& file : wire::files_named(read_file(path), folder)) {
      files.push_back(std::move(file));
    }
  } catch (const std::runtime_error&) {
    // A file that cannot be read is refused later, when the command uses it.
  }
  return files;
}

std::vector<std::string> files_of_shard(const std::string& dir) {
  std::vector<std::string> files;
  try {
    const campaign::StoredPlan stored = campaign::stored_plan(dir);
    files = wire::files_named(stored.text, stored.folder);
  } catch (const std::runtime_error&) {
  }
  return files;
}

std::vector<campaign::PublishedRate> published_rates(const CampaignFlags& o,
                                                     const campaign::Plan& plan,
                                                     const std::string& source) {
  const bool asked = !o.published.empty();
  if (!asked && plan.published.empty()) return {};
  try {
    auto rates = wire::read_published(asked ? o.published : plan.published);
    for (campaign::PublishedRate& rate : rates) {
      if (rate.dtype.empty()) rate.dtype = o.published_dtype;
    }
    return rates;
  } catch (const std::exception& e) {
    if (asked) refuse("--published: {}", e.what());
    refuse("{}: 'published': {}", source, e.what());
  }
}

std::string results_text(const campaign::Plan& plan,
                         const std::vector<campaign::CellResult>& results,
                         const std::vector<campaign::PublishedRate>& published, bool full) {
  return report::campaign_text(plan, results, full) +
         report::published_text(campaign::compare_published(plan, results, published),
                                campaign::variants_left_out(plan, published));
}

}  // namespace assay::tools
