// Blind tests: random models compute products, and identify must find these models.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "assay/identify/identify.h"
#include "assay/identify/probes.h"
#include "identify/models.h"

namespace assay::identify {

struct BlindResult {
  int models = 0;
  // Models for which each product is undecided, or explained by a model that computes alike, and at
  // least one product is explained for sure.
  int found = 0;
  // Models for which a product is explained for sure by a model that computes otherwise, or is
  // explained by no model.
  int excluded = 0;
  std::string failures;
};

// True if the model of a finding computes as `model` does on more data of the case's kind. The data
// are the same operands, with those of b moved by one place in K.
inline bool computes_alike(const Finding& f, const DotModel& model, const Division& division,
                           Case c) {
  Tensor& b = c.inputs.at("b");
  const std::int64_t n = b.shape()[1];
  Tensor turned(b.format(), b.shape());
  for (std::int64_t i = 0; i < b.size(); ++i) turned.set_bits(i, b.bits_at((i + n) % b.size()));
  b = std::move(turned);
  compute_by(model, division, c);
  for (const auto& [name, value] : f.parameters) c.attributes[name] = value;
  const Tensor ours = emulate(c, machine_named(f.model), 0);
  for (std::int64_t i = 0; i < ours.size(); ++i) {
    const std::uint64_t x = ours.bits_at(i), y = c.output().recorded.at("device").tensor.bits_at(i);
    if (x != y && !(is_nan(ours.format(), x) && is_nan(ours.format(), y))) return false;
  }
  return true;
}

// Tests the models [first, last) of a seed. Each model computes the probes of its format, and K is
// divided at random. Every second model may also use the rare divisions of random_division().
inline BlindResult blind(int first, int last, std::uint64_t seed) {
  BlindResult result;
  for (int i = first; i < last; ++i) {
    Random random(seed, static_cast<std::uint64_t>(i));
    const DotModel model = random_model(random, false);
    std::vector<Case> cases = probes(format_named(model.input), nullptr, seed);
    cases.resize(15);
    std::vector<Division> divisions;
    for (Case& c : cases) {
      divisions.push_back(random_division(random, c.input("a").shape()[1], i % 2 == 1));
      compute_by(model, divisions.back(), c);
    }
    cases.push_back(product_by(model, "product", 16, 64, 16, random));
    divisions.emplace_back();
    std::vector<Recorded> recorded;
    for (const Case& c : cases) recorded.push_back({&c, "device"});
    bool some = false, all = true, excluded = false;
    std::string why;
    const std::vector<Finding> findings = identify(recorded, {.threads = 0, .evidence = false});
    for (std::size_t p = 0; p < findings.size(); ++p) {
      const Finding& f = findings[p];
      const bool alike = f.outcome != Outcome::kNone && !f.model.empty() &&
                         computes_alike(f, model, divisions[p], cases[p]);
      some = some || f.outcome == Outcome::kFound;
      all = all && (alike || f.outcome == Outcome::kUndecided);
      const bool wrong = f.outcome == Outcome::kNone || (f.outcome == Outcome::kFound && !alike);
      excluded = excluded || wrong;
      if (!alike) {
        why += formatted("model {}: {}, {}, {}: {} {}\n", i, text_of_model(model), f.case_name,
                         divisions[p].text, outcome_word(f.outcome), f.model);
        for (const auto& [name, value] : f.parameters) {
          why += formatted("  {}={}\n", name, attribute_text(value));
        }
      }
    }
    if (!some) why += formatted("model {}: {}: undecided\n", i, text_of_model(model));
    for (const std::string& rival : findings[0].rivals) {
      if (!some) why += "  also fits: " + rival + "\n";
    }
    ++result.models;
    result.found += some && all ? 1 : 0;
    result.excluded += excluded ? 1 : 0;
    result.failures += why;
  }
  return result;
}

}  // namespace assay::identify
