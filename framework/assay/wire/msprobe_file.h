// dump.json of MindStudio's msprobe: the calls of one step, with the input and output tensors of
// each.
#pragma once

#include <string>
#include <vector>

namespace assay::inline v0_2::wire {

struct MsprobeTensor {
  std::string place;      // "input_0", "output_1", or "input_NAME" of a keyword argument
  std::string dtype;      // "torch.float32"
  std::string data_name;  // the file in dump_tensor_data, or "" if only statistics were dumped
};
struct MsprobeCall {
  std::string name;  // "Functional.linear.0.forward"
  std::vector<MsprobeTensor> inputs, outputs;
};

// Returns the calls in the order of the file. `source` names the text in messages. Throws Refusal
// that names the place in the text.
std::vector<MsprobeCall> parse_msprobe(const std::string& text, const std::string& source);

}  // namespace assay::wire
