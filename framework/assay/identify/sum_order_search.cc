#include "assay/identify/sum_order_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/op/along_axis.h"
#include "assay/op/order.h"

namespace assay::inline v0_2::identify {
namespace {

// These functors round a float64 sum to the format of partial sums, to nearest even. For two
// numbers of at most 24 bits, the float64 sum rounded again equals the exact sum rounded once
// (machine/vector.cc).
struct ToFloat64 {
  double operator()(double v) const { return v; }
};
struct ToFloat32 {
  double operator()(double v) const { return static_cast<double>(static_cast<float>(v)); }
};
class ToNarrow {
 public:
  explicit ToNarrow(const Format& f)
      : drop_(53 - f.precision),
        mask_((std::uint64_t{1} << drop_) - 1),
        least_(min_normal(f)),
        most_(max_finite(f)),
        magic_(0x1p52 * min_subnormal(f)) {}
  double operator()(double v) const {
    const double size = std::abs(v);
    if (!(size <= std::numeric_limits<double>::max())) return v;
    double rounded = 0;
    if (size < least_) {
      rounded = (size + magic_) - magic_;
    } else {
      auto bits = std::bit_cast<std::uint64_t>(size);
      bits += (mask_ >> 1) + (bits >> drop_ & 1);
      rounded = std::bit_cast<double>(bits & ~mask_);
      if (rounded > most_) rounded = std::numeric_limits<double>::infinity();
    }
    return std::copysign(rounded, v);
  }

 private:
  int drop_;
  std::uint64_t mask_;
  double least_, most_, magic_;
};

template <typename Round>
void add_all(const std::vector<Additions>& all, const Round& round, double* x) {
  for (const Additions& a : all) {
    double* to = x + a.to;
    const double* from = x + a.from;
    for (std::int64_t i = 0; i < a.count; ++i) to[i] = round(to[i] + from[i]);
  }
}

void add_all(const std::vector<Additions>& all, const Format& sums, double* x) {
  if (sums.is_float64())
    add_all(all, ToFloat64(), x);
  else if (sums.precision == 24)
    add_all(all, ToFloat32(), x);
  else
    add_all(all, ToNarrow(sums), x);
}

// A row of numbers and its recorded sum.
struct Row {
  const double* x;
  std::int64_t terms;
  double sum;
};

class Search {
 public:
  Search(const std::vector<RecordedSums>& recordings, int threads)
      : output_(*recordings.front().output), threads_(threads) {
    const Format& input = *recordings.front().input;
    for (const RecordedSums& r : recordings) take(r, input);
    if (rows_.empty()) refuse("every recorded sum has NaN or infinity; record finite sums");
    // Tries rows with few terms first, because they take the least time.
    std::ranges::stable_sort(rows_, {}, &Row::terms);
    for (const Row& row : rows_) lengths_.insert(row.terms);
    for (const char* name : {"float16", "bfloat16", "float32", "float64"}) {
      const Format& f = format_named(name);
      if (f.precision >= input.precision && f.exponent_bits >= input.exponent_bits) {
        formats_.push_back(&f);
      }
    }
  }

  SumOrderFinding run() {
    SumOrderFinding found{.sums = static_cast<std::int64_t>(rows_.size())};
    const SumOrderSpace space(*lengths_.rbegin());
    std::vector<SumOrderModel> models;
    for (const SumStage& stage : space.whole) {
      for (const Format* format : formats_) models.push_back({{stage}, format, format});
    }
    found.tried = try_whole(models, found.fits);
    if (found.fits.size() < kMostFits) {
      try_blocks(space, found.fits, found.tried);
      keep_one_of_each(found.fits);
    }
    found.has_more = found.fits.size() >= kMostFits;
    std::set<std::string> formats;
    for (const SumOrderModel& model : found.fits) formats.insert(std::string(model.sums->name));
    found.formats.assign(formats.begin(), formats.end());
    if (found.fits.empty()) {
      find_nearest(models, found);
      return found;
    }
    found.nearest = found.fits.front();
    found.by_chance = static_cast<double>(found.tried) * chance_of_a_wrong_tree(space);
    found.agree = found.sums;
    const bool one = found.fits.size() == 1 && found.by_chance <= kMostByChance;
    found.outcome = one ? SumOrderOutcome::kFound : SumOrderOutcome::kUndecided;
    if (one) weigh(found);
    return found;
  }

 private:
  void take(const RecordedSums& r, const Format& input) {
    for (const Format* f : {r.input, r.output}) {
      const std::string_view name = f->name;
      if (name != "float16" && name != "bfloat16" && name != "float32" && name != "float64") {
        refuse(
            "orders of summation can be searched only in float16, bfloat16, float32 and float64, "
            "not in {}",
            name);
      }
    }
    if (r.input != &input || r.output != &output_) {
      refuse(
          "the recordings differ in the dtype of x or of the sums; give recordings of one kernel "
          "with the same dtypes");
    }
    if (r.terms < 2 || r.terms > kMostSumTerms) {
      refuse("orders of summation can be searched only for sums of 2 to {} numbers, not of {}",
             kMostSumTerms, r.terms);
    }
    if (r.x.size() / static_cast<std::size_t>(r.terms) != r.sums.size() ||
        r.x.size() % static_cast<std::size_t>(r.terms) != 0) {
      refuse("{} numbers do not make {} rows of {} numbers", r.x.size(), r.sums.size(), r.terms);
    }
    for (std::size_t i = 0; i < r.sums.size(); ++i) {
      const double* x = r.x.data() + i * static_cast<std::size_t>(r.terms);
      const bool finite = std::isfinite(r.sums[i]) &&
                          std::all_of(x, x + r.terms, [](double v) { return std::isfinite(v); });
      if (finite) rows_.push_back({x, r.terms, r.sums[i]});
    }
  }

  bool is_sum(const Row& row, double result) const { return round_to(output_, result) == row.sum; }
  bool gives(const SumOrderModel& model, const SumSchedule& schedule, const Row& row) const {
    std::vector<double> x(row.x, row.x + row.terms);
    add_all(schedule.first_stage(), *model.sums, x.data());
    add_all(schedule.second_stage(), *model.second, x.data());
    return is_sum(row, x[0]);
  }
  // True if the model gives the recorded sums of all rows from index `from` on.
  bool fits(const SumOrderModel& model, std::size_t from) const {
    std::optional<SumSchedule> schedule;
    for (std::size_t i = from; i < rows_.size(); ++i) {
      if (!schedule || schedule->terms() != rows_[i].terms) {
        schedule.emplace(model.plan, rows_[i].terms);
      }
      if (!gives(model, *schedule, rows_[i])) return false;
    }
    return true;
  }
  std::int64_t agreement(const SumOrderModel& model, std::size_t rows) const {
    std::optional<SumSchedule> schedule;
    std::int64_t agree = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      if (!schedule || schedule->terms() != rows_[i].terms) {
        schedule.emplace(model.plan, rows_[i].terms);
      }
      agree += gives(model, *schedule, rows_[i]) ? 1 : 0;
    }
    return agree;
  }

  // Calls body(i) for all i < n, on several threads. Returns all i for which body(i) returned true.
  template <typename Body>
  std::vector<std::size_t> chosen(std::size_t n, const Body& body) const {
    constexpr std::size_t kPart = 64;
    std::vector<char> yes(n, 0);
    parallel_for(static_cast<std::int64_t>((n + kPart - 1) / kPart), threads_,
                 [&](std::int64_t part) {
                   const std::size_t first = static_cast<std::size_t>(part) * kPart;
                   for (std::size_t i = first; i < std::min(n, first + kPart); ++i) {
                     yes[i] = body(i) ? 1 : 0;
                   }
                 });
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < n; ++i) {
      if (yes[i] != 0) all.push_back(i);
    }
    return all;
  }

  // Adds the models that fit to `fitting`, until too many do. Returns the number of models that
  // were tried.
  std::int64_t try_whole(const std::vector<SumOrderModel>& models,
                         std::vector<SumOrderModel>& fitting) const {
    constexpr std::size_t kBatch = 4096;
    std::size_t first = 0;
    for (; first < models.size() && fitting.size() < kMostFits; first += kBatch) {
      const std::size_t count = std::min(kBatch, models.size() - first);
      for (const std::size_t i :
           chosen(count, [&](std::size_t at) { return fits(models[first + at], 0); })) {
        fitting.push_back(models[first + i]);
      }
      keep_one_of_each(fitting);
    }
    return static_cast<std::int64_t>(std::min(first, models.size()));
  }

  // Tries models with two stages. First tries the second stages on the blocks' sums of the first
  // row, which are computed once for each first stage.
  void try_blocks(const SumOrderSpace& space, std::vector<SumOrderModel>& fitting,
                  std::int64_t& tried) const {
    const Row& row = rows_.front();
    for (const std::int64_t block : space.blocks) {
      if (block >= row.terms) continue;
      const std::int64_t count = (row.terms + block - 1) / block;
      const std::vector<SumStage> firsts = distinct(space.in_block, {block, row.terms % block});
      const std::vector<SumStage> seconds = distinct(space.second, {count});
      std::vector<SumSchedule> schedules;
      for (const SumStage& stage : seconds) schedules.emplace_back(SumPlan{stage}, count);
      for (const Format* sums : formats_) {
        std::vector<const Format*> second_formats = {sums};
        if (sums->precision < 24) second_formats.push_back(&format_named("float32"));
        tried += static_cast<std::int64_t>(firsts.size() * seconds.size() * second_formats.size());
        std::vector<std::vector<SumOrderModel>> kept(firsts.size());
        (void)chosen(firsts.size(), [&](std::size_t i) {
          SumPlan plan{firsts[i], block, {}};
          std::vector<double> x(row.x, row.x + row.terms), block_sums, scratch;
          add_all(SumSchedule(plan, row.terms).first_stage(), *sums, x.data());
          for (std::int64_t at = 0; at < row.terms; at += block) {
            block_sums.push_back(x[static_cast<std::size_t>(at)]);
          }
          for (std::size_t j = 0; j < seconds.size(); ++j) {
            for (const Format* format : second_formats) {
              scratch = block_sums;
              add_all(schedules[j].first_stage(), *format, scratch.data());
              if (!is_sum(row, scratch[0])) continue;
              plan.second = seconds[j];
              const SumOrderModel model{plan, sums, format};
              if (fits(model, 1)) kept[i].push_back(model);
            }
          }
          return false;
        });
        for (const auto& models : kept) {
          fitting.insert(fitting.end(), models.begin(), models.end());
        }
      }
    }
  }

  // Returns the stages, of which only one is kept if they have the same trees over these numbers of
  // terms.
  static std::vector<SumStage> distinct(const std::vector<SumStage>& stages,
                                        const std::vector<std::int64_t>& lengths) {
    const Format& any = format_named("float32");
    std::vector<SumStage> all;
    std::unordered_set<std::uint64_t> seen;
    for (const SumStage& stage : stages) {
      std::uint64_t key = 0;
      for (const std::int64_t n : lengths) {
        key = key * 31 + sum_order_tree({{stage}, &any, &any}, n);
      }
      if (seen.insert(key).second) all.push_back(stage);
    }
    return all;
  }

  std::uint64_t tree_of(const SumOrderModel& model) const {
    std::uint64_t key = 0;
    for (const std::int64_t n : lengths_) key = key * 31 + sum_order_tree(model, n);
    return key;
  }
  // Keeps only one model of each tree, the one with the fewest parameters.
  void keep_one_of_each(std::vector<SumOrderModel>& models) const {
    std::unordered_map<std::uint64_t, std::size_t> place;
    std::vector<SumOrderModel> all;
    for (const SumOrderModel& model : models) {
      const auto [at, is_new] = place.emplace(tree_of(model), all.size());
      if (is_new) {
        all.push_back(model);
      } else if (SumOrderModel& kept = all[at->second];
                 sum_order_parameters(model).size() < sum_order_parameters(kept).size()) {
        kept = model;
      }
    }
    models = std::move(all);
  }

  // Returns the probability that a tree gives every sum although the kernel used another one. For
  // each row, it takes the share of a sample of trees that give the row's sum, and multiplies these
  // shares. The format with the largest product counts.
  double chance_of_a_wrong_tree(const SumOrderSpace& space) const {
    constexpr std::size_t kSample = 200, kRows = 64;
    const std::size_t step = std::max<std::size_t>(1, space.whole.size() / kSample);
    const std::size_t rows = std::min(rows_.size(), kRows);
    double most = 0;
    for (const Format* format : formats_) {
      std::vector<SumOrderModel> sample;
      for (std::size_t i = 0; i < space.whole.size(); i += step) {
        sample.push_back({{space.whole[i]}, format, format});
      }
      keep_one_of_each(sample);
      // Begins as if one more tree agreed and one more did not.
      std::vector<double> agree(rows, 1);
      for (const SumOrderModel& model : sample) {
        for (std::size_t i = 0; i < rows; ++i) {
          agree[i] += gives(model, SumSchedule(model.plan, rows_[i].terms), rows_[i]) ? 1 : 0;
        }
      }
      double chance = 1;
      for (const double a : agree) chance *= a / static_cast<double>(sample.size() + 2);
      most = std::max(most, chance);
    }
    return most;
  }

  void find_nearest(const std::vector<SumOrderModel>& models, SumOrderFinding& found) const {
    constexpr std::size_t kRows = 8, kBest = 400;
    const std::size_t rows = std::min(rows_.size(), kRows);
    std::vector<std::int64_t> agree(models.size());
    (void)chosen(models.size(), [&](std::size_t i) {
      agree[i] = agreement(models[i], rows);
      return false;
    });
    std::vector<std::size_t> order(models.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return agree[i]; });
    order.resize(std::min(order.size(), kBest));
    std::vector<SumOrderModel> best;
    for (const std::size_t i : order) best.push_back(models[i]);
    keep_one_of_each(best);
    found.agree = -1;
    for (const SumOrderModel& model : best) {
      const std::int64_t all = agreement(model, rows_.size());
      if (all <= found.agree) continue;
      found.agree = all;
      found.nearest = model;
    }
  }

  // Adds the evidence for each parameter of the model that was found.
  void weigh(SumOrderFinding& found) const {
    const auto add = [&](const std::string& parameter, const std::string& value,
                         const std::vector<std::pair<std::string, SumOrderModel>>& others) {
      SumOrderEvidence evidence{parameter, value, "", 0};
      for (const auto& [text, model] : others) {
        if (tree_of(model) == tree_of(found.nearest)) continue;
        const std::int64_t differ = found.sums - agreement(model, rows_.size());
        if (!evidence.rival.empty() && differ >= evidence.differ) continue;
        evidence.rival = text;
        evidence.differ = differ;
      }
      found.evidence.push_back(evidence);
    };
    const SumOrderModel& best = found.nearest;
    const auto number = [&](const std::string& name, auto&& field, std::int64_t least,
                            std::int64_t most) {
      SumOrderModel other = best;
      const std::int64_t value = field(other);
      std::vector<std::pair<std::string, SumOrderModel>> others;
      for (std::int64_t v = least; v <= most; v = std::max<std::int64_t>(1, 2 * v)) {
        other = best;
        field(other) = v;
        const auto divides = [](const SumStage& s) { return s.warp == 0 || s.lanes % s.warp == 0; };
        if (v == value || !divides(other.plan.first) || !divides(other.plan.second)) continue;
        others.emplace_back(formatted("{}", v), other);
      }
      add(name, formatted("{}", value), others);
    };
    const auto order = [&](const std::string& name, auto&& field) {
      static constexpr std::pair<const char*, MeetOrder> kMeets[] = {
          {"descending", MeetOrder::kDescending},
          {"ascending", MeetOrder::kAscending},
          {"sequential", MeetOrder::kSequential}};
      SumOrderModel other = best;
      const MeetOrder value = field(other);
      std::string text;
      std::vector<std::pair<std::string, SumOrderModel>> others;
      for (const auto& [word, meet] : kMeets) {
        field(other) = meet;
        if (meet == value)
          text = word;
        else
          others.emplace_back(word, other);
      }
      add(name, text, others);
    };
    std::vector<std::pair<std::string, SumOrderModel>> formats;
    for (const Format* f : formats_) {
      if (f == best.sums) continue;
      SumOrderModel other = best;
      other.sums = f;
      if (other.plan.block == 0 || other.second->precision < f->precision) other.second = f;
      formats.emplace_back(f->name, other);
    }
    add("sum_dtype", std::string(best.sums->name), formats);
    if (best.plan.block > 0) {
      number(
          "block_size", [](SumOrderModel& m) -> std::int64_t& { return m.plan.block; }, 1,
          *lengths_.rbegin());
    }
    for (const bool second : {false, true}) {
      const SumStage& at = second ? best.plan.second : best.plan.first;
      const bool lanes = at.family == SumFamily::kLanes || at.family == SumFamily::kHalves;
      if (!lanes || (second && best.plan.block == 0)) continue;
      const std::string prefix = second ? "second_" : "";
      const auto stage = [second](SumOrderModel& m) -> SumStage& {
        return second ? m.plan.second : m.plan.first;
      };
      const auto field = [&](auto SumStage::*member) {
        return [&stage, member ](SumOrderModel & m) -> auto& { return stage(m).*member; };
      };
      number(prefix + "lanes", field(&SumStage::lanes), 1, 1024);
      number(prefix + "vector", field(&SumStage::vector), 1, 16);
      number(prefix + "accumulators", field(&SumStage::accumulators), 1, 16);
      order(prefix + "accumulator_order", field(&SumStage::accumulator_order));
      order(prefix + "lane_order", field(&SumStage::lane_order));
      number(prefix + "warp", field(&SumStage::warp), 0, at.lanes);
      if (at.round > 0) number("round", field(&SumStage::round), 0, 512);
      if (at.family == SumFamily::kHalves) number("block_size", field(&SumStage::leaf), 1, 4096);
    }
  }

  const Format& output_;
  int threads_;
  std::vector<Row> rows_;
  std::set<std::int64_t> lengths_;
  std::vector<const Format*> formats_;  // formats of partial sums to try
};

}  // namespace

RecordedSums recorded_sums(const Case& c, const std::string& producer) {
  const bool is_mean = c.op == "reduce_mean";
  if (c.op != "reduce_sum" && !is_mean) {
    refuse_case(
        c.name,
        "orders of summation can be searched only for reduce_sum and reduce_mean, not for {}",
        c.op);
  }
  const Tensor& x = c.input("x");
  const Tensor* const found = c.output().recorded_by(producer);
  if (found == nullptr) {
    refuse_case(c.name, "it has no output that was recorded by {}", producer);
  }
  const auto axis = c.integer("axis");
  const AxisExtent e = axis ? extent_along(c, *axis) : AxisExtent{1, x.size(), 1};
  const Tensor& sums = *found;
  if (sums.size() != e.outer * e.inner) {
    refuse_case(c.name, "{} recorded {} sums, but x of the shape {} has {} sums along its axis",
                producer, sums.size(), shape_text(x.shape()), e.outer * e.inner);
  }
  RecordedSums r{&x.format(), &sums.format(), e.n, {}, sums.view().values()};
  if (is_mean) {
    // A mean keeps all bits of the sum only if the divisor is a power of two.
    if (!std::has_single_bit(static_cast<std::uint64_t>(e.n))) {
      refuse_case(c.name,
                  "a mean of {} numbers hides the last bits of their sum; record means of 2, 4, 8 "
                  "or another power of two of numbers",
                  grouped(e.n));
    }
    for (double& sum : r.sums) sum *= static_cast<double>(e.n);
  }
  const std::vector<double> values = x.view().values();
  r.x.reserve(values.size());
  for (std::int64_t row = 0; row < e.outer; ++row) {
    for (std::int64_t j = 0; j < e.inner; ++j) {
      for (std::int64_t i = 0; i < e.n; ++i) {
        r.x.push_back(values[static_cast<std::size_t>((row * e.n + i) * e.inner + j)]);
      }
    }
  }
  return r;
}

SumOrderFinding find_sum_order(const std::vector<RecordedSums>& recordings, int threads) {
  if (recordings.empty()) refuse("there are no recorded sums");
  const FloatEnvironment environment;
  return Search(recordings, threads).run();
}

}  // namespace assay::identify
