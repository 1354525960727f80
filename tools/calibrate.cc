// assay calibrate: measures the constant e_max of V-ABFT for an emulated machine, a dtype and a
// shape.
#include "assay/abft/calibrate.h"

#include <algorithm>
#include <memory>

#include "assay/base/text.h"
#include "assay/tensor/read_shape.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

struct CalibrateOptions {
  std::string machine, dtype, shape = "128,1024,256", inputs = "normal";
  std::int64_t trials = 100;
  std::uint64_t seed = 0;
  int threads = 0;
};

int run(const CalibrateOptions& o, const Context& context) {
  abft::CalibrationPlan plan;
  plan.machine = &machine_named(o.machine);
  plan.dtype = &format_named(o.dtype);
  const std::optional<Shape> sizes = read_shape(o.shape, ',');
  const auto is_size = [](std::int64_t n) { return n >= 1 && n <= 1 << 20; };
  if (!sizes || sizes->size() != 3 || !std::ranges::all_of(*sizes, is_size)) {
    refuse("--shape {}: three whole numbers M,K,N from 1 to 1048576 are needed", o.shape);
  }
  plan.m = (*sizes)[0];
  plan.k = (*sizes)[1];
  plan.n = (*sizes)[2];
  bool known = false;
  for (const auto inputs : {abft::CalibrationInputs::kNormal, abft::CalibrationInputs::kFolded,
                            abft::CalibrationInputs::kShifted}) {
    if (o.inputs != abft::inputs_word(inputs)) continue;
    plan.inputs = inputs;
    known = true;
  }
  if (!known) {
    refuse("--inputs {}: normal, folded or shifted is needed", o.inputs);
  }
  plan.trials = o.trials;
  plan.seed = o.seed;
  plan.threads = o.threads;
  const abft::Calibration c = abft::calibrate(plan);
  if (c.rows == 0) {
    print_error(
        formatted("error: none of {} rows has a finite checksum; try a smaller shape", c.skipped));
    return 3;
  }
  const double u = unit_roundoff(*plan.dtype);
  std::string text = formatted("{} {}, {} x {} x {}, inputs {}: {} rows of {} products, seed {}\n",
                               plan.machine->name, plan.dtype->name, plan.m, plan.k, plan.n,
                               o.inputs, grouped(c.rows), grouped(plan.trials), plan.seed);
  text += formatted("  largest |(A B) 1 - A (B 1)| / |A (B 1)|  {}  ({} u)\n",
                    short_number(c.e_max, 6), short_number(c.e_max / u, 4));
  text +=
      formatted("  mean {}, deviation {}\n", short_number(c.mean, 4), short_number(c.deviation, 4));
  if (plan.dtype->precision >= 24) {
    text += formatted("  expected largest of 100 000 products: {}  ({} u)\n",
                      short_number(c.predicted, 6), short_number(c.predicted / u, 4));
  }
  if (c.skipped > 0) {
    text += formatted("  {} skipped, because the checksum is 0, NaN or infinite\n",
                      counted(c.skipped, "row"));
  }
  const std::string use = formatted(
      "Use it: assay gate FILE --abft v_abft,e_max={}\n",
      short_number(plan.dtype->precision >= 24 ? std::max(c.predicted, c.e_max) : c.e_max, 7));
  print_result(context, text + use, use);
  return 0;
}

}  // namespace

void add_calibrate(Context& context) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      subcommand(context, "calibrate", "Measure e_max of V-ABFT on an emulated machine.",
                 "assay calibrate --machine ascend910b --dtype bfloat16 --shape 128,1024,256");
  command
      ->add_option(
          "--machine", options->machine,
          "The machine (see `assay list machines`), also with parameters: ascend910b,chunk=8.")
      ->required();
  command
      ->add_option("--dtype", options->dtype,
                   "Dtype of the operands, the product and the checksums.")
      ->required();
  command->add_option("--shape", options->shape, "Sizes of the product: M,K,N.")
      ->capture_default_str();
  command
      ->add_option("--inputs", options->inputs,
                   "Distribution of the operands. normal: N(1,1). folded: |N(0,1)+1|. shifted: "
                   "|N(0,1)|+0.5.")
      ->capture_default_str();
  command->add_option("--trials", options->trials, "Number of products, each with M rows.")
      ->check(in_range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the random numbers.")
      ->capture_default_str();
  add_threads(context, command, options->threads);
  on_run(context, command, [options, &context] { return run(*options, context); });
}

}  // namespace assay::tools
