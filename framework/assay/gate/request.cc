#include "assay/gate/request.h"

#include "assay/base/error.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

// Returns the machine, or variant of a machine, with the name of this producer. Returns nullptr if
// no machine has this name.
const Machine* machine_called(const std::string& producer) {
  const std::string family = producer.substr(0, producer.find(','));
  for (const Machine& m : machines()) {
    if (m.name != family) continue;
    try {
      return &machine_named(producer);
    } catch (const Refusal&) {
      return nullptr;  // the producer's name only begins like the name of a machine
    }
  }
  return nullptr;
}

}  // namespace

const Machine* machine_behind(const Case& c, const GateRequest& request, const Origin& origin) {
  if (request.machine != nullptr) return request.machine;
  if (!origin.machine.empty()) return &machine_named(origin.machine);
  const auto& recorded = c.output().recorded;
  const auto found = recorded.find(origin.producer);
  if (found != recorded.end() && !found->second.machine.empty()) {
    return &machine_named(found->second.machine);
  }
  if (const Machine* machine = machine_called(origin.producer)) return machine;
  const auto of_case = c.text("machine");
  return of_case ? &machine_named(*of_case) : nullptr;
}

}  // namespace assay
