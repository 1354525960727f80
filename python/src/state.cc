#include "state.h"

#include <tuple>
#include <type_traits>
#include <variant>

#include "assay/base/text.h"
#include "assay/judge/metric_table.h"

namespace assay::inline v0_2::python {
namespace {

// Each function returns references to all members of a struct. Metrics have a table of their own. A
// member that is missing here is lost when a verdict is pickled (tests/python/verdict_test.py
// compares all that a verdict shows).
auto members_of(Tally& t) {
  return std::tie(t.nan, t.positive_inf, t.negative_inf, t.zero, t.subnormal);
}
auto members_of(Histogram& h) { return std::tie(h.per_octave, h.below, h.above, h.bins); }
auto members_of(Mismatch::Part& p) {
  return std::tie(p.actual_bits, p.expected_bits, p.actual, p.expected);
}
auto members_of(Mismatch& m) {
  return std::tie(m.linear, m.index, m.actual_bits, m.expected_bits, m.actual, m.expected, m.error,
                  m.bound, m.expected_is_beyond, m.ulps, m.imaginary);
}
auto members_of(DrawTest& t) {
  return std::tie(t.name, t.statistic, t.p_value, t.limit, t.passed, t.words);
}
auto members_of(Limit& l) {
  return std::tie(l.statistic, l.limit, l.parameter, l.second, l.group, l.sense);
}
auto members_of(LimitReading& r) { return std::tie(r.limit, r.value, r.met); }
auto members_of(MismatchMap& m) {
  return std::tie(m.rows, m.columns, m.block_rows, m.block_columns, m.down, m.across, m.counts);
}
auto members_of(Bound& b) {
  return std::tie(b.nan_equal, b.nan_accepts, b.infinity, b.allow_empty, b.max_mismatches,
                  b.max_mismatch_fraction, b.max_blind, b.max_blind_why, b.rule, b.rtol, b.atol,
                  b.ulps, b.or_ulps, b.round_expected, b.standard, b.origin, b.floor, b.small_value,
                  b.small_atol, b.limits, b.machine, b.distribution, b.as_published);
}
auto members_of(Verdict& v) {
  return std::tie(v.outcome, v.sites, v.mismatches, v.forgiven, v.special_mismatches, v.worst_ratio,
                  v.nonzero, v.blind, v.worst, v.metrics, v.readings, v.tests, v.because,
                  v.same_data, v.where, v.explained, v.mismatch_map, v.notes, v.bound, v.format,
                  v.shape);
}

template <typename T>
T made() {
  if constexpr (std::is_same_v<T, MismatchMap>) {
    return MismatchMap(Shape{});
  } else {
    return T{};
  }
}

// Calls use() with each member of the metrics: those of the table of metrics, and the two that are
// not in it.
template <typename Use>
void for_members(Metrics& m, const Use& use) {
  for (const Metric& metric : metric_table()) {
    std::visit(
        [&](auto field) {
          if constexpr (!std::is_same_v<decltype(field), std::monostate>) use(m.*field);
        },
        metric.field);
  }
  use(m.is_complex);
  use(m.max_abs_ulps);
}

// state() returns the state of a value, and restore() sets a value from its state.
template <typename T>
py::object state(const T& value);
template <typename T>
void restore(const py::handle& from, T& to);

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;

template <typename T>
py::object state(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return py::int_(static_cast<int>(value));
  } else if constexpr (std::is_same_v<T, const Format*>) {
    return value == nullptr ? py::object(py::none()) : py::str(std::string(value->name));
  } else if constexpr (kIsOptional<T>) {
    return value ? state(*value) : py::object(py::none());
  } else if constexpr (kIsVector<T>) {
    py::list list;
    for (const auto& one : value) list.append(state(one));
    return list;
  } else if constexpr (std::is_same_v<T, Metrics>) {
    py::list list;
    for_members(const_cast<T&>(value), [&](auto& member) { list.append(state(member)); });
    return py::tuple(list);
  } else if constexpr (requires(T & t) { members_of(t); }) {
    return std::apply(
        [](const auto&... members) -> py::object { return py::make_tuple(state(members)...); },
        members_of(const_cast<T&>(value)));
  } else {
    return py::cast(value);
  }
}

[[noreturn]] void refuse_state() {
  refuse("a Verdict of another version of assay cannot be unpickled");
}

// Returns the state as a tuple of this size.
py::tuple tuple_of_state(const py::handle& state, std::size_t size) {
  if (!py::isinstance<py::tuple>(state) || py::len(state) != size) refuse_state();
  return py::reinterpret_borrow<py::tuple>(state);
}

template <typename T>
void restore(const py::handle& from, T& to) {
  if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(from.cast<int>());
  } else if constexpr (std::is_same_v<T, const Format*>) {
    to = from.is_none() ? nullptr : &format_named(from.cast<std::string>());
  } else if constexpr (kIsOptional<T>) {
    to.reset();
    if (from.is_none()) return;
    to.emplace(made<typename T::value_type>());
    restore(from, *to);
  } else if constexpr (kIsVector<T>) {
    to.clear();
    for (const py::handle& one : from) {
      to.push_back(made<typename T::value_type>());
      restore(one, to.back());
    }
  } else if constexpr (std::is_same_v<T, Metrics>) {
    std::size_t count = 0, i = 0;
    for_members(to, [&](auto&) { ++count; });
    const py::tuple tuple = tuple_of_state(from, count);
    for_members(to, [&](auto& member) { restore(tuple[i++], member); });
  } else if constexpr (requires { members_of(to); }) {
    const auto members = members_of(to);
    const py::tuple tuple = tuple_of_state(from, std::tuple_size_v<decltype(members)>);
    std::size_t i = 0;
    std::apply([&](auto&... member) { (restore(tuple[i++], member), ...); }, members);
  } else {
    to = from.cast<T>();
  }
}

}  // namespace

py::tuple state_of(const Verdict& verdict) { return state(verdict); }

Verdict verdict_of_state(const py::tuple& from) {
  Verdict verdict;
  try {
    restore(from, verdict);
  } catch (const py::cast_error&) {
    refuse_state();
  }
  return verdict;
}

}  // namespace assay::python
