#include "assay/gate/reference_implementation.h"

#include <functional>
#include <map>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {

ReferenceImplementation find_reference_implementation(const Case& c, const GateRequest& request,
                                                      const Origin& origin) {
  const std::string& judged = origin.producer;
  const std::string& asked = request.reference_implementation;
  if (!asked.empty() && asked == judged) {
    return {
        nullptr,
        formatted(
            "reference implementation '{}': an output cannot be its own reference implementation",
            asked)};
  }
  std::map<std::string, std::function<std::shared_ptr<const Tensor>()>> found;
  const auto may_serve = [&](const std::string& producer) {
    return asked.empty() ? producer != judged : producer == asked;
  };
  for (const auto& [producer, recorded] : c.output().recorded) {
    if (recorded.tensor.empty() || !may_serve(producer)) continue;
    // The tensor belongs to the case, which outlives the check. So the pointer does not own it.
    found[producer] = [&tensor = recorded.tensor] {
      return std::shared_ptr<const Tensor>(std::shared_ptr<const Tensor>(), &tensor);
    };
  }
  for (const RecordedOutput& recorded :
       origin.recorded ? origin.recorded() : std::vector<RecordedOutput>()) {
    if (!may_serve(recorded.producer)) continue;
    found.emplace(recorded.producer,
                  [read = recorded.read] { return std::make_shared<const Tensor>(read()); });
  }
  if (found.size() == 1) return {found.begin()->second(), ""};
  if (!asked.empty()) {
    return {nullptr,
            formatted("there is no recorded output of the reference implementation '{}'", asked)};
  }
  if (found.empty()) {
    return {
        nullptr,
        formatted("the standard compares with a reference implementation's output, but the case "
                  "has no {}; add the output of another producer to the case",
                  judged.empty()
                      ? "recorded output"
                      : formatted("recorded output but that of '{}', which is judged", judged))};
  }
  return {
      nullptr,
      formatted("the standard compares with a reference implementation's output; choose one: {}",
                joined(keys_of(found)))};
}

}  // namespace assay
