// assay generate: test cases made from seeds.
#include "assay/op/generate.h"

#include <charconv>
#include <memory>
#include <set>

#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct GenerateOptions {
  std::string op, out, output_dtype, bias;
  std::vector<std::string> dtypes, shapes, distributions, a, b, parameters;
  bool transpose_a = false, transpose_b = false, golden = true, tolerance = false, compress = false;
  std::int64_t count = 1, seed = 0;
  int threads = 0;
};

std::vector<std::int64_t> sizes_of(const std::string& shape) {
  std::vector<std::int64_t> sizes;
  for (const std::string& word : split(shape, ',')) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size < 1) {
      throw std::invalid_argument(
          format("--shape {}: whole numbers of at least 1 are needed, as in 128,1024,256", shape));
    }
    sizes.push_back(size);
  }
  return sizes;
}

// An integer where it is one, else a number, else a word.
Attribute attribute_of(const std::string& word) {
  const char* const end = word.data() + word.size();
  std::int64_t whole = 0;
  double real = 0;
  if (const auto r = std::from_chars(word.data(), end, whole); r.ec == std::errc() && r.ptr == end)
    return whole;
  if (const auto r = std::from_chars(word.data(), end, real); r.ec == std::errc() && r.ptr == end)
    return real;
  return word;
}

std::map<std::string, Attribute> attributes_of(const GenerateOptions& o) {
  std::map<std::string, Attribute> attributes;
  for (const std::string& parameter : o.parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == parameter.size()) {
      throw std::invalid_argument(
          format("--parameter {}: NAME=VALUE is needed, as in split_k=256", parameter));
    }
    attributes[parameter.substr(0, equals)] = attribute_of(parameter.substr(equals + 1));
  }
  if (o.transpose_a) attributes["transpose_a"] = std::int64_t{1};
  if (o.transpose_b) attributes["transpose_b"] = std::int64_t{1};
  if (!o.output_dtype.empty()) {
    attributes["output_dtype"] = std::string(format_named(o.output_dtype).name);
  }
  return attributes;
}

// Every combination of what is given: --distribution serves all inputs that are not named.
struct Inputs {
  DistributionSpec common;
  std::map<std::string, DistributionSpec> named;
};
std::vector<Inputs> inputs_of(const GenerateOptions& o) {
  if (!o.a.empty() && !o.b.empty() && !o.distributions.empty()) {
    throw std::invalid_argument("--distribution serves no input where --a and --b are given");
  }
  const auto specs = [](const std::vector<std::string>& texts) {
    std::vector<DistributionSpec> parsed;
    for (const std::string& text : texts) parsed.push_back(parse_distribution(text));
    return parsed;
  };
  std::vector<Inputs> all;
  for (const DistributionSpec& spec : specs(o.distributions)) all.push_back({spec, {}});
  if (all.empty()) all.push_back({parse_distribution("normal"), {}});
  const auto name = [&](const std::string& input, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    std::vector<Inputs> named;
    for (const Inputs& inputs : all) {
      for (const DistributionSpec& spec : specs(texts)) {
        named.push_back(inputs);
        named.back().named[input] = spec;
      }
    }
    all = std::move(named);
  };
  name("a", o.a);
  name("b", o.b);
  if (!o.bias.empty()) name("bias", {o.bias});
  return all;
}

// The command that makes this case alone.
std::string source_of(const Recipe& recipe, const Case& c) {
  std::string sizes;
  for (const std::int64_t size : recipe.sizes) {
    sizes += format("{}{}", sizes.empty() ? "" : ",", size);
  }
  std::string line =
      format("assay generate {} --dtype {} --shape {}", c.op, recipe.dtype->name, sizes);
  for (const auto& [name, value] : recipe.attributes) {
    line += name == "output_dtype"
                ? " --output-dtype " + attribute_text(value)
                : " --parameter " + shell_word(name + "=" + attribute_text(value));
  }
  bool common = false;
  for (const auto& [input, tensor] : c.inputs) {
    const auto named = recipe.distributions.find(input);
    common = common || named == recipe.distributions.end();
    if (named != recipe.distributions.end()) {
      line += format(" --{} {}", input, shell_word(named->second.text()));
    }
  }
  if (common) line += " --distribution " + shell_word(recipe.distribution.text());
  return line + format(" --seed {}", recipe.seed);
}

std::string tensors_text(const Case& c) {
  std::string out;
  for (const auto& [input, tensor] : c.inputs) {
    out += format("{}{} {} {}", out.empty() ? "" : ", ", input, tensor.format().name,
                  shape_text(tensor.shape()));
  }
  if (c.golden) {
    out += format(", golden {} {}", c.golden->format().name, shape_text(c.golden->shape()));
  }
  return out;
}

// The operators that cases can be made of.
std::string makers() {
  std::vector<std::string> names;
  for (const Operator& row : operators()) {
    if (row.generate != nullptr) names.emplace_back(row.name);
  }
  return joined(names);
}

int run(const GenerateOptions& o, const Context& context) {
  std::vector<const Format*> dtypes;
  for (const std::string& name : o.dtypes) dtypes.push_back(&format_named(name));
  std::vector<std::vector<std::int64_t>> shapes;
  for (const std::string& shape : o.shapes) shapes.push_back(sizes_of(shape));
  const std::vector<Inputs> inputs = inputs_of(o);
  const std::map<std::string, Attribute> attributes = attributes_of(o);

  DatasetWriter out(o.out, o.compress);
  std::set<std::string> names;
  const auto make = [&](const Recipe& recipe) {
    Case c = generate_case(o.op, recipe);
    if (!names.insert(c.name).second) {
      throw std::invalid_argument(format("case {} would be made twice", c.name));
    }
    c.attributes["source"] = source_of(recipe, c);
    if (o.golden) c.golden = golden_result(c, o.threads);
    if (o.tolerance) {
      for (auto& [name, value] : derived_tolerance(c).attributes()) c.attributes[name] = value;
    }
    out.write(c);
    if (!context.quiet) print(format("{}: {}\n", c.name, tensors_text(c)));
  };
  for (const Format* dtype : dtypes) {
    for (const auto& sizes : shapes) {
      for (const Inputs& drawn : inputs) {
        for (std::int64_t i = 0; i < o.count; ++i) {
          make({dtype, sizes, attributes, drawn.common, drawn.named,
                static_cast<std::uint64_t>(o.seed + i), o.threads});
        }
      }
    }
  }
  out.commit();
  if (!context.quiet) {
    print(format("{} {}, written to {}\n", grouped(static_cast<std::int64_t>(names.size())),
                 names.size() == 1 ? "case" : "cases", o.out));
  }
  return 0;
}

}  // namespace

void add_generate(Context& context) {
  auto options = std::make_shared<GenerateOptions>();
  GenerateOptions& o = *options;
  CLI::App* command = subcommand(
      context, "generate", "make test cases from seeds, with their golden results",
      "assay generate matmul --dtype bfloat16 --shape 128,1024,256 --distribution normal,mean=1 "
      "--out cases.h5");
  const auto several = [&](const char* name, std::vector<std::string>& to, const char* what) {
    return command->add_option(name, to, what)->allow_extra_args(false);
  };
  command->add_option("OP", o.op, "operator: " + makers())->required();
  several("--dtype", o.dtypes, "of the inputs; several make several cases")->required();
  several("--shape", o.shapes, "M,K,N, batch dimensions before them; several make several cases")
      ->required();
  command->add_option("--out", o.out, "file to write")->required();
  several("--distribution", o.distributions,
          "of all inputs (`assay list distributions`), normal where nothing is said; several make "
          "several cases");
  several("--a", o.a, "distribution of a alone; several make several cases");
  several("--b", o.b, "distribution of b alone; several make several cases");
  command->add_option("--bias", o.bias, "adds a bias of this distribution, in the output's dtype");
  command->add_flag("--transpose-a", o.transpose_a, "a is stored transposed");
  command->add_flag("--transpose-b", o.transpose_b, "b is stored transposed");
  command->add_option("--output-dtype", o.output_dtype,
                      "of the result, where not the operator's own");
  several("--parameter", o.parameters, "NAME=VALUE, another parameter of the operator");
  command->add_option("--count", o.count, "so many cases of each kind, seeds one after the other")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command->add_option("--seed", o.seed, "of the first")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 62))
      ->capture_default_str();
  command->add_flag("--golden,!--no-golden", o.golden, "compute the golden results, or not");
  command->add_flag("--tolerance", o.tolerance,
                    "give each case an rtol and atol derived from its own data, and why");
  command->add_flag("--compress", o.compress, "deflate what is written");
  command->add_option("--threads", o.threads, "0: all; the result is the same");
  command->callback([options, &context] { context.exit_code = run(*options, context); });
}

}  // namespace assay::tools
