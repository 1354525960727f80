#include "assay/report/report.h"
namespace assay {
std::string gate_html(const GateReport&) { return ""; }
}  // namespace assay
