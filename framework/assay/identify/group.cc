#include "assay/identify/group.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "assay/identify/candidate_text.h"
#include "assay/identify/space_parameters.h"

namespace assay::inline v0_2::identify {
namespace {

// Returns the model without the parameters that belong to a case: the division of K and the
// output's rounding.
Candidate undivided(Candidate c) {
  c.split = {};
  c.inner_interval = 0;
  c.output_rounding = Rounding::kNearestEven;
  return plain(c);
}

// True if output x tells more about the model than y, so that it is tried first. Wide results of
// ordinary terms tell most, with 32 to 1 024 terms: longer than a chunk, but short enough that K is
// seldom divided.
bool tells_more(const Sums& x, const Sums& y) {
  const auto rank = [](const Sums& s) {
    const bool ordinary = !s.has_specials && s.smallest_exponent > -100;
    const double size = static_cast<double>(s.k) * static_cast<double>(s.count);
    return std::tuple(!ordinary, s.output->bits <= 16, s.k < 32 || s.k > 1024, !s.start.empty(),
                      size > 1e8, s.k, s.case_name);
  };
  return rank(x) < rank(y);
}

// Returns each model of the fits once, without the parameters that belong to a case.
std::vector<Candidate> models_of(const std::vector<Candidate>& fits) {
  std::vector<Candidate> models;
  for (const Candidate& fit : fits) models.push_back(undivided(fit));
  return each_once(models);
}

// Returns the models of the fits for use on other outputs. A chunk that holds all terms of this
// output also stands for longer chunks, which longer sums can distinguish.
std::vector<Candidate> models_beyond(const Sums& s, const std::vector<Candidate>& fits) {
  const std::vector<Candidate> here = models_of(fits);
  std::vector<Candidate> models = here;
  const std::int64_t stretch = longest_stretch(s);
  for (const Candidate& model : here) {
    if (model.model.chunk.value < stretch) continue;
    for (const int chunk : {4, 8, 16, 32, 64}) {
      if (chunk <= stretch) continue;
      models.push_back(model);
      models.back().model.chunk.value = chunk;
    }
  }
  return each_once(models);
}

// Searches near the models that fit earlier outputs. It tries the known models, and models that
// differ from them in one or two parameters. Each of these must also explain `before`, an output of
// the same unit.
SearchResult search_near(const Sums& s, const Sums& before, const std::vector<Candidate>& known,
                         int threads) {
  constexpr std::size_t kMost[] = {64, 3};
  SearchResult result;
  for (const std::size_t most : kMost) {
    std::vector<Candidate> near;
    for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
      near.push_back(known[i]);
      for (const Candidate& next : neighbours(s, known[i], false)) {
        near.push_back(next);
        if (most == kMost[0]) continue;
        for (const Candidate& after : neighbours(s, next, false)) near.push_back(after);
      }
    }
    const std::int64_t tried = result.tried + static_cast<std::int64_t>(near.size());
    result =
        search_among(s, models_of(explaining(before, models_of(near), threads)), true, threads);
    result.tried += tried;
    if (!result.fits.empty()) break;
  }
  return result;
}

// A group of outputs of which the search assumes that one unit computed them.
struct GroupUnit {
  std::vector<Candidate> known;  // models, with K undivided, that explain all outputs of the unit
  std::size_t anchor = 0;        // the last output that joined the unit
  int in_vain = 0;               // number of searches near `known` since then that found nothing
};

// The state of an output during the search of its group.
struct GroupMember {
  Explanation found;
  std::int64_t tried = 0;           // number of models that were tried on the output
  std::optional<std::size_t> unit;  // number of the unit whose models explain the output
  std::size_t fitted = 0;  // number of models that explained the output when it joined the unit
  // The search result among rows of the table, if several models fit.
  std::optional<SearchResult> by_rows;
  // For each unit, the number of its models that were tried and did not explain the output.
  std::vector<std::size_t> asked;
  bool is_done = false;
  bool is_open = false;  // true if the open models explain this output
};

class GroupSearch {
 public:
  GroupSearch(const std::vector<Sums>& outputs, int threads)
      : outputs_(outputs), threads_(threads), members_(outputs.size()) {}

  std::vector<Explanation> explained() {
    // The quick tries come first for all outputs, because one result can save the long search for
    // the others. A late result may also explain earlier outputs.
    each_open([&](std::size_t i) { return try_known(i) || try_open(i) || try_rows(i); });
    for (const Effort effort : {Effort::kUndivided, Effort::kAll}) {
      each_open([&](std::size_t i) {
        return try_known(i) || try_near(i) || try_open(i) || search(i, effort);
      });
    }
    each_open([&](std::size_t i) { return try_known(i) || try_near(i); });
    if (units_.empty()) explain_together();
    std::vector<Explanation> all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      narrow(i);
      GroupMember& m = members_[i];
      m.found.result.tried = m.tried;
      all.push_back(std::move(m.found));
    }
    return all;
  }

 private:
  template <typename Try>
  void each_open(const Try& explain) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].is_done) explain(i);
    }
  }

  // Tries the models of the units that are known from other outputs.
  bool try_known(std::size_t i) {
    GroupMember& m = members_[i];
    m.asked.resize(units_.size(), 0);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      std::vector<Candidate>& known = units_[u].known;
      if (m.asked[u] == known.size()) continue;
      m.asked[u] = known.size();
      std::vector<Candidate> left = known;
      if (left.size() > SearchResult::kMostFits) {
        left = models_of(explaining(outputs_[i], left, threads_));
      }
      if (left.empty()) continue;
      SearchResult result = search_among(outputs_[i], left, true, threads_);
      m.tried += result.tried;
      if (result.fits.empty()) continue;
      known = std::move(left);
      join(i, u, std::move(result));
      return true;
    }
    return false;
  }

  // Tries rows of the table of machines. If one explains the output beyond doubt, the output
  // belongs to a new unit.
  bool try_rows(std::size_t i) {
    GroupMember& m = members_[i];
    SearchResult result = identify::search(outputs_[i], Effort::kRows, threads_);
    m.tried += result.tried;
    if (result.fits.empty()) return false;
    if (result.has_more || !doubts_about(outputs_[i], result, threads_).rivals.empty()) {
      keep_open(i, result);
      m.by_rows = std::move(result);
      return false;
    }
    units_.push_back({models_beyond(outputs_[i], result.fits), i, 0});
    join(i, units_.size() - 1, std::move(result));
    return true;
  }

  // Tries models near those that are known of the first unit.
  bool try_near(std::size_t i) {
    // Either every output of a unit is explained by models near those of the others, or no output
    // is. So a few failures are enough to stop.
    constexpr int kMostInVain = 3;
    if (units_.empty() || units_.front().in_vain >= kMostInVain) return false;
    GroupUnit& unit = units_.front();
    SearchResult result = search_near(outputs_[i], outputs_[unit.anchor], unit.known, threads_);
    members_[i].tried += result.tried;
    if (result.fits.empty()) {
      ++unit.in_vain;
      return false;
    }
    join(i, 0, std::move(result));
    return true;
  }

  bool search(std::size_t i, Effort effort) {
    GroupMember& m = members_[i];
    SearchResult result;
    if (m.by_rows) {
      result = std::move(*m.by_rows);
      m.by_rows.reset();
    } else {
      result = identify::search(outputs_[i], effort, threads_);
      m.tried += result.tried;
    }
    m.found.result = std::move(result);
    if (m.found.result.fits.empty()) return false;
    m.is_done = true;
    keep_open(i, m.found.result);
    // If more models explain an output than are listed, the output decides too little to begin a
    // unit.
    if (m.found.result.has_more || !units_.empty()) return true;
    units_.push_back({models_beyond(outputs_[i], m.found.result.fits), i, 0});
    join(i, 0, std::move(m.found.result));
    return true;
  }

  void keep_open(std::size_t i, const SearchResult& result) {
    if (!result.has_more || !open_.empty()) return;
    open_ = result.fits;
    open_k_ = outputs_[i].k;
    members_[i].is_open = true;
  }

  // Tries the open models. They explain earlier outputs that more models explain than are listed.
  // If some of them also explain this output, a search would find even more open models.
  bool try_open(std::size_t i) {
    GroupMember& m = members_[i];
    if (open_.empty() || open_k_ != outputs_[i].k || m.by_rows) return false;
    SearchResult result = search_exactly(outputs_[i], open_, threads_);
    m.tried += result.tried;
    if (result.fits.empty()) return false;
    open_ = result.fits;
    result.has_more = true;
    m.found.result = std::move(result);
    m.found.by_others = true;
    m.is_done = m.is_open = true;
    return true;
  }

  void join(std::size_t i, std::size_t u, SearchResult result) {
    GroupMember& m = members_[i];
    GroupUnit& unit = units_[u];
    if (!result.has_more) {
      unit.known = models_beyond(outputs_[i], result.fits);
      m.fitted = result.fits.size();
      m.unit = u;
    } else {
      // More models fit than the search listed. As the list is incomplete, the unit keeps those of
      // its own models that fit.
      std::vector<Candidate> left = models_of(explaining(outputs_[i], unit.known, threads_));
      if (!left.empty()) unit.known = std::move(left);
    }
    unit.anchor = i;
    unit.in_vain = 0;
    m.found.result = std::move(result);
    m.is_done = true;
  }

  // If many models explain each of several outputs, finds the models that explain all of them.
  void explain_together() {
    // If several open models already explain all outputs, even more models of the much larger grid
    // would, so a search decides nothing.
    constexpr std::size_t kSeveral = 4;
    const bool is_vain = std::ranges::all_of(
        members_, [](const GroupMember& m) { return m.is_open || !m.found.result.has_more; });
    if (is_vain && open_.size() >= kSeveral) return;
    std::vector<const Sums*> outputs;
    std::vector<Candidate> models;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const SearchResult& result = members_[i].found.result;
      if (!result.has_more) continue;
      outputs.push_back(&outputs_[i]);
      const std::vector<Candidate> more = models_beyond(outputs_[i], result.fits);
      models.insert(models.end(), more.begin(), more.end());
    }
    if (outputs.size() < 2) return;
    const std::vector<Candidate> grid = whole_grid(*outputs.front());
    models.insert(models.end(), grid.begin(), grid.end());
    const auto known =
        explaining_all(outputs, each_once(models), SearchResult::kMostFits, threads_);
    if (known && !known->empty()) units_.push_back({models_of(*known), 0, 0});
  }

  // Searches the explanation of an output again, among the models that the other outputs of its
  // unit left.
  void narrow(std::size_t i) {
    GroupMember& m = members_[i];
    const bool is_member = m.unit.has_value();
    if (!is_member && !m.found.result.has_more) return;
    const std::size_t first = is_member ? *m.unit : 0, end = is_member ? first + 1 : units_.size();
    for (std::size_t u = first; u < end; ++u) {
      SearchResult narrowed = search_among(outputs_[i], units_[u].known, false, threads_);
      m.tried += narrowed.tried;
      if (narrowed.fits.empty()) continue;
      m.found.by_others = outputs_.size() > 1 && (!is_member || narrowed.fits.size() < m.fitted);
      m.found.result = std::move(narrowed);
      return;
    }
  }

  const std::vector<Sums>& outputs_;
  int threads_;
  std::vector<GroupMember> members_;
  std::vector<GroupUnit> units_;
  // The open models: they explain all outputs that try_open() explained, whose K is open_k_.
  std::vector<Candidate> open_;
  std::int64_t open_k_ = 0;
};

}  // namespace

std::vector<Explanation> explain_group(std::vector<Sums>& outputs, int threads) {
  std::ranges::sort(outputs, tells_more);
  return GroupSearch(outputs, threads).explained();
}

Doubts doubts_about(const Sums& s, const SearchResult& result, int threads) {
  const std::vector<Candidate>& fits = result.fits;
  Doubts doubts;
  if (fits.empty()) return doubts;
  const bool has_rows_unit = text_of(s, fits.front()).has_rows_unit;
  const std::vector<Rival> rivals = rivals_of(s, result, threads);
  for (const Candidate& fit : fits) {
    const bool is_rival =
        std::ranges::any_of(rivals, [&](const Rival& rival) { return same(rival.candidate, fit); });
    if (!is_rival) doubts.alike.push_back(fit);
  }
  for (const Rival& rival : rivals) {
    if (has_rows_unit && rival.differs_seldom && !text_of(s, rival.candidate).has_rows_unit) {
      ++doubts.seldom;
    } else {
      doubts.rivals.push_back(rival.candidate);
    }
  }
  return doubts;
}

}  // namespace assay::identify
