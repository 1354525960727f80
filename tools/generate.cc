// assay generate: test cases made from seeds.
#include "assay/op/generate.h"

#include <algorithm>
#include <memory>
#include <set>

#include "assay/base/call_text.h"
#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/parallel.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/datasets/layouts/row_cases.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/bounds.h"
#include "assay/op/operator.h"
#include "assay/tensor/read_shape.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// The options that describe cases, of a command line or of a line of a batch.
struct CaseOptions {
  std::string op, output_dtype, bias, name, why;
  std::vector<std::string> dtypes, shapes, distributions, a, b, inputs, parameters;
  bool transpose_a = false, transpose_b = false;
  std::int64_t count = 1, seed = 0;
};

struct GenerateOptions {
  CaseOptions cases;
  std::string out, from;
  bool golden = true, tolerance = false, compress = false, rows_are_cases = false;
  int threads = 0;
};

std::vector<std::int64_t> sizes_of(const std::string& shape) {
  std::optional<Shape> sizes = read_shape(shape, ',');
  if (!sizes || sizes->empty() || std::ranges::min(*sizes) < 1) {
    refuse("--shape {}: whole numbers of at least 1 are needed, such as 128,1024,256", shape);
  }
  return std::move(*sizes);
}

// Returns the value of a parameter that is given as a word: an integer if the word is one, a
// float64 if it is another number, and otherwise the word itself.
Attribute attribute_of(const std::string& word) {
  if (const auto whole = read_number<std::int64_t>(word)) return *whole;
  if (const auto real = read_number<double>(word)) return *real;
  return word;
}

std::map<std::string, Attribute> attributes_of(const CaseOptions& o) {
  std::map<std::string, Attribute> attributes;
  for (const std::string& parameter : o.parameters) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == parameter.size()) {
      refuse("--parameter {}: NAME=VALUE is needed, such as split_k=256", parameter);
    }
    const std::string name = parameter.substr(0, equals);
    for (const char* own : {"seed", "distribution", "source", "why"}) {
      if (name != own) continue;
      refuse("--parameter {}: `generate` sets '{}'{}", parameter, own,
             own == std::string("source") ? "" : formatted("; give --{}", own));
    }
    std::string value = parameter.substr(equals + 1);
    // A dtype gets its standard name, even if the user gave another one.
    const Format* dtype = name.ends_with("dtype") ? find_format(value) : nullptr;
    attributes[name] = attribute_of(dtype != nullptr ? std::string(dtype->name) : value);
  }
  if (o.transpose_a) attributes["transpose_a"] = std::int64_t{1};
  if (o.transpose_b) attributes["transpose_b"] = std::int64_t{1};
  if (!o.output_dtype.empty()) {
    attributes["output_dtype"] = std::string(format_named(o.output_dtype).name);
  }
  return attributes;
}

// One combination of the given distributions. --distribution applies to all inputs that are not
// named.
struct Inputs {
  DistributionSpec common;
  std::map<std::string, DistributionSpec> named;
};
std::vector<Inputs> inputs_of(const CaseOptions& o) {
  std::vector<Inputs> all;
  for (const std::string& text : o.distributions) all.push_back({parse_distribution(text), {}});
  if (all.empty()) all.push_back({parse_distribution("normal"), {}});
  // Several distributions of one input make several cases.
  std::map<std::string, std::vector<DistributionSpec>> named;
  const auto name = [&](const std::string& input, const std::string& text) {
    named[input].push_back(parse_distribution(text));
  };
  for (const std::string& text : o.a) name("a", text);
  for (const std::string& text : o.b) name("b", text);
  if (!o.bias.empty()) name("bias", o.bias);
  for (const std::string& text : o.inputs) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.find(',') < equals) {
      refuse("--input {}: NAME=DISTRIBUTION is needed, such as weight=normal,mean=1", text);
    }
    name(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [input, specs] : named) {
    std::vector<Inputs> product;
    for (const Inputs& inputs : all) {
      for (const DistributionSpec& spec : specs) {
        product.push_back(inputs);
        product.back().named[input] = spec;
      }
    }
    all = std::move(product);
  }
  return all;
}

// Returns the command that makes only this case. `own_name` is the value of --name and may be
// empty.
std::string source_of(const Recipe& recipe, const Case& c, const std::string& own_name) {
  std::string line = formatted("assay generate {} --dtype {} --shape {}", c.op, recipe.dtype->name,
                               fmt::join(recipe.sizes, ","));
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
      line += " --input " + shell_word(formatted("{}={}", input, named->second.text()));
    }
  }
  if (common) line += " --distribution " + shell_word(recipe.distribution.text());
  line += formatted(" --seed {}", recipe.seed);
  return own_name.empty() ? line : line + " --name " + shell_word(own_name);
}

std::string tensors_text(const Case& c) {
  std::string out;
  for (const auto& [input, tensor] : c.inputs) {
    out += formatted("{}{} {} {}", out.empty() ? "" : ", ", input, tensor.format().name,
                     shape_text(tensor.shape()));
  }
  if (const Golden& golden = c.output().golden) {
    out += formatted(", golden {} {}", golden->format().name, shape_text(golden->shape()));
  }
  return out;
}

// Makes cases and writes them to one file.
class CaseWriter {
 public:
  CaseWriter(const GenerateOptions& options, const Context& context)
      : o_(options), context_(context), out_(options.out, options.compress) {
    if (options.rows_are_cases) out_.write_attributes({{kRowsAreCases, std::int64_t{1}}});
  }

  void make_all(const CaseOptions& o) {
    const std::vector<Inputs> inputs = inputs_of(o);
    const std::map<std::string, Attribute> attributes = attributes_of(o);
    const std::size_t several = o.dtypes.size() * o.shapes.size() * inputs.size();
    if ((!o.name.empty() || !o.why.empty()) &&
        (several > 1 || (o.count > 1 && !o_.rows_are_cases))) {
      refuse("{} is for one case, but these options make {}", o.name.empty() ? "--why" : "--name",
             grouped(static_cast<std::int64_t>(several) * o.count));
    }
    std::vector<const Format*> dtypes;
    for (const std::string& name : o.dtypes) dtypes.push_back(&format_named(name));
    std::vector<std::vector<std::int64_t>> shapes;
    for (const std::string& shape : o.shapes) shapes.push_back(sizes_of(shape));
    for (const Format* dtype : dtypes) {
      for (const auto& sizes : shapes) {
        for (const Inputs& drawn : inputs) {
          if (o_.rows_are_cases) {
            make_rows(o, {dtype, sizes, attributes, drawn.common, drawn.named,
                          static_cast<std::uint64_t>(o.seed), 1});
            continue;
          }
          for (std::int64_t i = 0; i < o.count; ++i) {
            write(made(o, {dtype, sizes, attributes, drawn.common, drawn.named,
                           static_cast<std::uint64_t>(o.seed + i), o_.threads}),
                  1);
          }
        }
      }
    }
  }

  void commit() {
    out_.commit();
    print_summary(context_, formatted("{}, written to {}", counted(cases_, "case"), o_.out));
  }

 private:
  Case made(const CaseOptions& o, const Recipe& recipe) {
    Case c = generate_case(o.op, recipe);
    if (!o.distributions.empty() && recipe.distributions.size() == c.inputs.size()) {
      refuse("--distribution is not used: each input of {} has its own; leave it out", c.op);
    }
    if (!o.name.empty()) {
      if (!is_case_name(o.name)) {
        refuse(
            "--name {}: a name has parts of letters, digits, '_', '.' and '=', joined by '/', such "
            "as softmax/near_overflow",
            o.name);
      }
      c.name = o.name;
    }
    if (!names_.insert(c.name).second) {
      refuse("case {} would be made twice; change --seed, or a name", c.name);
    }
    c.attributes["source"] = source_of(recipe, c, o.name);
    if (!o.why.empty()) c.attributes["why"] = o.why;
    // The case's machine and bounds are looked up, so that unknown names are refused now and not
    // later by a gate.
    if (const auto machine = c.text("machine")) (void)machine_named(*machine);
    (void)choose_bounds(c, output_format(c), {});
    if (o_.golden) c.output().golden = golden_result(c, recipe.threads);
    if (o_.tolerance) add_tolerance(c, o.why);
    return c;
  }

  void write(const Case& c, std::int64_t cases) {
    out_.write(c);
    cases_ += cases;
    if (context_.quiet == 0)
      print(printable_sentence(formatted("{}: {}", c.name, tensors_text(c))) + "\n");
  }

  // Makes `count` cases with consecutive seeds, as the rows of one case. This case has the name
  // that the case of the first seed would have.
  void make_rows(const CaseOptions& o, const Recipe& first_recipe) {
    const Case first = made(o, first_recipe);
    Case all = first;
    for (auto& [input, tensor] : all.inputs) tensor = rows_like(tensor, o.count);
    if (all.output().golden) all.output().golden = rows_like(*first.output().golden, o.count);
    const auto put = [&](const Case& c, std::int64_t row) {
      for (auto& [input, tensor] : all.inputs) put_row(tensor, row, c.inputs.at(input));
      if (all.output().golden) put_row(*all.output().golden, row, *c.output().golden);
    };
    put(first, 0);
    parallel_for(o.count - 1, o_.threads, [&](std::int64_t i) {
      Recipe recipe = first_recipe;
      recipe.seed += static_cast<std::uint64_t>(i + 1);
      Case c = generate_case(o.op, recipe);
      if (o_.golden) c.output().golden = golden_result(c, 1);
      put(c, i + 1);
    });
    all.attributes["source"] = std::get<std::string>(first.attributes.at("source")) +
                               formatted(" --count {} --rows-are-cases", o.count);
    write(all, o.count);
  }

  // Adds a tolerance to a case that has no bound. A bound that the user gave is kept.
  static void add_tolerance(Case& c, const std::string& why) {
    for (const char* bound : {"standard", "rtol", "atol"}) {
      if (c.attributes.count(bound) != 0) return;
    }
    for (const auto& [name, value] : explained_tolerance(c).attributes())
      c.attributes[name] = value;
    if (!why.empty()) c.attributes["why"] = formatted("{}; {}", why, *c.text("why"));
  }

  const GenerateOptions& o_;
  const Context& context_;
  DatasetWriter out_;
  std::set<std::string> names_;
  std::int64_t cases_ = 0;
};

// Adds the options that a line of a batch may have, too.
void add_case_options(CLI::App* command, CaseOptions& o) {
  const auto several = [&](const char* name, std::vector<std::string>& to, const char* what) {
    return command->add_option(name, to, what)->allow_extra_args(false);
  };
  command->add_option("OP", o.op,
                      "Operator: " + joined(names_with(operators(), &Operator::generate)) + ".");
  several("--dtype", o.dtypes, "Dtype of the inputs. Can be repeated, for more cases.");
  several("--shape", o.shapes,
          "Sizes of the operator (docs/generate.md), for a product M,K,N. Can be repeated, for "
          "more cases.");
  several("--distribution", o.distributions,
          "Distribution of all inputs (see `assay list distributions`), by default normal. Can be "
          "repeated, for more cases.");
  several("--input", o.inputs,
          "NAME=DISTRIBUTION: the distribution of only this input. An optional input is made if it "
          "has one. Can be repeated; several of one name make more cases.");
  several("--a", o.a, "Short for --input a=...");
  several("--b", o.b, "Short for --input b=...");
  command->add_option("--bias", o.bias, "Short for --input bias=...");
  command->add_flag("--transpose-a", o.transpose_a, "Store a transposed.");
  command->add_flag("--transpose-b", o.transpose_b, "Store b transposed.");
  command->add_option("--output-dtype", o.output_dtype,
                      "Dtype of the result (default: the operator's own).");
  several("--parameter", o.parameters,
          "NAME=VALUE: a parameter of the operator (see `assay list operators`). Can be repeated.");
  command
      ->add_option("--count", o.count,
                   "Number of cases of each kind. Their seeds follow one another.")
      ->check(in_range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  command->add_option("--seed", o.seed, "Seed of the first case.")
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 62))
      ->capture_default_str();
  command->add_option("--name", o.name, "Name of the case, if only one is made.");
  command->add_option(
      "--why", o.why,
      "Attribute `why` of the case: what is difficult about it, if only one is made.");
}

void check_complete(const CaseOptions& o) {
  std::vector<std::string> missing;
  if (o.op.empty()) missing.emplace_back("OP");
  if (o.dtypes.empty()) missing.emplace_back("--dtype");
  if (o.shapes.empty()) missing.emplace_back("--shape");
  if (missing.empty()) return;
  refuse("{} {} needed", joined(missing, " and "), missing.size() == 1 ? "is" : "are");
}

CaseOptions parse_line(const std::string& line) {
  CaseOptions o;
  CLI::App command;
  command.set_help_flag();
  add_case_options(&command, o);
  refuse_empty_values(command);
  std::vector<std::string> words = split_empty_values(shell_words(line));
  std::ranges::reverse(words);  // CLI11 expects the words in reverse order
  try {
    command.parse(words);
  } catch (const CLI::ExtrasError&) {
    refuse(unexpected(command));
  } catch (const CLI::ParseError& e) {
    refuse(e.what());
  }
  check_complete(o);
  return o;
}

// Makes the cases of a batch. Each line has the arguments of `assay generate` without those that
// apply to the whole file. `#` begins a comment, and a line that ends in a backslash continues in
// the next. A line that is refused is reported, and the others are made. Returns the number of
// refused lines.
std::size_t make_batch(const std::string& path, CaseWriter& writer) {
  const std::string text = read_file(path);
  std::size_t begin = 0, lines = 0, sets = 0;
  ErrorLines errors;
  while (begin < text.size()) {
    std::string line;
    const std::size_t first = lines + 1;
    for (bool more = true; more && begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      line.append(text, begin, end - begin);
      begin = end + 1;
      ++lines;
      more = !line.empty() && line.back() == '\\';
      if (more) line.back() = ' ';
    }
    try {
      if (shell_words(line).empty()) continue;
      writer.make_all(parse_line(line));
      ++sets;
    } catch (const Refusal& e) {
      errors.add(formatted("{}: line {}: {}", path, first, e.what()));
    }
  }
  errors.end();
  if (sets == 0) refuse("{}: no line makes a case", path);
  return errors.count();
}

int run(const GenerateOptions& o, const Context& context) {
  const CaseOptions& cases = o.cases;
  if (o.from.empty()) check_complete(cases);
  CaseWriter writer(o, context);
  std::size_t refused = 0;
  if (o.from.empty()) {
    writer.make_all(cases);
  } else {
    refused = make_batch(o.from, writer);
  }
  writer.commit();
  if (refused == 0) return 0;
  print_error(formatted("error: {}: {} refused; {} has the cases of the other lines", o.from,
                        refused == 1 ? "1 line is" : formatted("{} lines are", refused), o.out));
  return 2;
}

}  // namespace

void add_generate(Context& context) {
  auto options = std::make_shared<GenerateOptions>();
  GenerateOptions& o = *options;
  CLI::App* command =
      subcommand(context, "generate", "Make test cases from seeds, with their golden results.",
                 "assay generate matmul --dtype bfloat16 --shape 128,1024,256 --distribution "
                 "normal,mean=1 --out cases.h5");
  add_case_options(command, o.cases);
  // If an operator is named, the help text describes it.
  const CLI::Option* named = command->get_option("OP");
  const std::string example = command->get_footer();
  command->footer(std::string());
  command->footer([named, example] {
    const Operator* op = named->count() == 0 ? nullptr : find_operator(named->results()[0]);
    return op == nullptr ? example : formatted("{}\n{}", operator_text(*op), example);
  });
  // The options up to here describe one case. They cannot be used with a batch (--from).
  const std::vector<CLI::Option*> of_cases = command->get_options(
      [&](const CLI::Option* option) { return option != command->get_help_ptr(); });
  context.files.input(command->add_option("--from", o.from,
                                          "Text file that lists the cases instead. Each line has "
                                          "an OP and its options. # begins a comment."));
  context.files.output(command->add_option("--out", o.out, "Dataset file to write."))->required();
  command->add_flag("--golden,!--no-golden", o.golden,
                    "Compute the golden results, or leave them out.");
  command->add_flag("--tolerance", o.tolerance,
                    "Give each case without a bound an rtol and atol that are derived from its "
                    "data, and the reason.");
  command->add_flag("--compress", o.compress, "Compress the arrays in the file.");
  command->add_flag(
      "--rows-are-cases", o.rows_are_cases,
      "Write the cases of --count as the rows of one case. Use it for very many small cases.");
  add_threads(context, command, o.threads);
  on_run(context, command, [options, of_cases, &context] {
    for (const CLI::Option* option : of_cases) {
      if (options->from.empty() || option->count() == 0) continue;
      refuse("--from {}: its lines define the cases; leave {} out", options->from,
             option->get_name());
    }
    if (options->rows_are_cases && options->tolerance) {
      refuse(
          "--tolerance gives each case its own bound, but with --rows-are-cases they share one; "
          "leave one of the two out");
    }
    return run(*options, context);
  });
}

}  // namespace assay::tools
