// dump.json of MindStudio's msprobe: the calls of one step, with the tensors that each took and
// gave.
#pragma once

#include <string>
#include <vector>

namespace assay::wire {

struct MsprobeTensor {
  std::string place;      // "input_0", "output_1", of a call by keywords "input_NAME"
  std::string dtype;      // "torch.float32"
  std::string data_name;  // the file in dump_tensor_data; "" where statistics alone were dumped
};
struct MsprobeCall {
  std::string name;  // "Functional.linear.0.forward"
  std::vector<MsprobeTensor> inputs, outputs;
};

// In the order of the calls. `source` names the text in messages. Throws std::invalid_argument that
// names the place in it.
std::vector<MsprobeCall> parse_msprobe(const std::string& text, const std::string& source);

}  // namespace assay::wire
