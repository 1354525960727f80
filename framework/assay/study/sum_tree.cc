#include "assay/study/sum_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>

#include "assay/base/index.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::study {
namespace {

SumTree leaf(std::int64_t term) { return {SumNode::kTerm, term, {}}; }

// Returns a node with these children. If there is a single child, returns that child.
SumTree node(SumNode kind, std::vector<SumTree> children) {
  if (children.size() == 1) return std::move(children.front());
  // An exact sum of two terms that is rounded once is an addition.
  if (kind == SumNode::kExact && children.size() == 2) kind = SumNode::kAdd;
  return {kind, 0, std::move(children)};
}

// Builds the tree from an n x n table of counts: for terms i and j, the number of units that the
// probe of these two terms lost.
class Builder {
 public:
  Builder(std::int64_t n, std::vector<std::int64_t> lost) : n_(n), lost_(std::move(lost)) {}

  SumTree build(const std::vector<std::int64_t>& terms) const {
    // Follows the first term to the root, and sorts the other terms by the node at which they meet
    // it. The probe of the first term and a term that it meets nearer to the root lost more units.
    // Terms that it meets at the same node have the same count.
    const std::int64_t i = terms.front();
    std::map<std::int64_t, std::vector<std::int64_t>> met;
    for (std::size_t at = 1; at < terms.size(); ++at) met[lost(i, terms[at])].push_back(terms[at]);
    SumTree tree = leaf(i);
    std::int64_t size = 1;
    for (const auto& [count, others] : met) {
      const auto many = static_cast<std::int64_t>(others.size());
      std::vector<SumTree> children;
      children.push_back(std::move(tree));
      SumNode kind = SumNode::kAdd;
      if (count == size - 1 + many - 1) {
        // All units on both sides were lost, so this is an addition or an aligned sum. It is an
        // aligned sum if the others are divided into several parts that meet only at this node.
        for (const auto& part : parts(others, count)) children.push_back(build(part));
        if (children.size() > 2) kind = SumNode::kAligned;
      } else {
        // This is an exact sum. Only the two children that hold large numbers lose units, so the
        // probe lost only the units of `tree` and one other child. Every other child has `each`
        // terms.
        const std::int64_t each = count - (size - 1) + 1;
        for (const auto& part : parts(others, 2 * (each - 1))) children.push_back(build(part));
        kind = SumNode::kExact;
      }
      tree = node(kind, std::move(children));
      size += many;
    }
    return tree;
  }

 private:
  std::int64_t lost(std::int64_t i, std::int64_t j) const { return lost_[at(i * n_ + j)]; }

  // Divides terms into parts: two terms are in one part if their probe lost fewer than `limit`.
  std::vector<std::vector<std::int64_t>> parts(const std::vector<std::int64_t>& terms,
                                               std::int64_t limit) const {
    std::vector<std::vector<std::int64_t>> result;
    for (const std::int64_t t : terms) {
      const auto own = std::ranges::find_if(
          result, [&](const auto& part) { return lost(part.front(), t) < limit; });
      if (own != result.end()) {
        own->push_back(t);
      } else {
        result.push_back({t});
      }
    }
    return result;
  }

  std::int64_t n_;
  std::vector<std::int64_t> lost_;
};

// Returns the tree as text without the numbers of its terms. Trees with the same text have the same
// shape.
std::string shape_of(const SumTree& t) {
  if (t.kind == SumNode::kTerm) return ".";
  std::string text(1, "._[{"[static_cast<int>(t.kind)]);
  for (const SumTree& child : t.children) text += shape_of(child);
  return text + ")";
}

void collect(const SumTree& t, std::vector<std::int64_t>& terms) {
  if (t.kind == SumNode::kTerm) terms.push_back(t.term);
  for (const SumTree& child : t.children) collect(child, terms);
}

std::string range_of(const SumTree& t) {
  std::vector<std::int64_t> terms;
  collect(t, terms);
  std::ranges::sort(terms);
  const std::int64_t step = terms.size() > 1 ? terms[1] - terms[0] : 1;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    if (terms[i] - terms[i - 1] != step) {
      return formatted("{} terms from {} to {}", terms.size(), terms.front(), terms.back());
    }
  }
  if (terms.size() == 1) return formatted("term {}", terms[0]);
  return formatted("terms {} to {}{}", terms.front(), terms.back(),
                   step == 1 ? "" : formatted(" in steps of {}", step));
}

std::string_view word_of(SumNode kind) {
  switch (kind) {
    case SumNode::kTerm:
      return "term";
    case SumNode::kAdd:
      return "add";
    case SumNode::kAligned:
      return "aligned sum";
    case SumNode::kExact:
      return "exact sum";
  }
  return "";
}

std::int64_t last_of(const SumTree& t) {
  return t.kind == SumNode::kTerm ? t.term : last_of(t.children.back());
}

// True if the tree adds adjacent pairs of its terms, which must be in ascending order.
bool is_pairwise(const SumTree& t) {
  if (t.kind != SumNode::kAdd) return t.kind == SumNode::kTerm;
  if (last_of(t.children[0]) > t.children[1].first()) return false;
  const std::int64_t left = t.children[0].terms(), right = t.children[1].terms();
  const auto full =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(left + right - 1)));
  return left == full && is_pairwise(t.children[0]) && is_pairwise(t.children[1]);
}

std::string heading(const SumTree& t) {
  if (t.kind == SumNode::kTerm) return range_of(t);
  const std::int64_t n = t.terms();
  if (n > 2 && is_pairwise(t)) return formatted("tree of adjacent pairs: {}", range_of(t));
  return formatted("{} of {}: {}", word_of(t.kind), t.children.size(), range_of(t));
}

bool all_terms(const SumTree& t) {
  return std::ranges::all_of(t.children,
                             [](const SumTree& child) { return child.kind == SumNode::kTerm; });
}

// Returns the shape of a node without its first child, which is the sum that was accumulated
// before.
std::string link_of(const SumTree& t) {
  std::string text(1, "._[{"[static_cast<int>(t.kind)]);
  for (std::size_t i = 1; i < t.children.size(); ++i) text += shape_of(t.children[i]);
  return text;
}

void draw(const SumTree& t, const std::string& indent, std::string& out);

// Draws the children from `first` on. Consecutive terms take one line.
void draw_children(const SumTree& t, std::size_t first, const std::string& indent,
                   std::string& out) {
  SumTree run{SumNode::kAdd, 0, {}};
  for (std::size_t i = first; i <= t.children.size(); ++i) {
    if (i < t.children.size() && t.children[i].kind == SumNode::kTerm) {
      run.children.push_back(t.children[i]);
      continue;
    }
    if (!run.children.empty()) out += indent + range_of(run) + "\n";
    run.children.clear();
    if (i < t.children.size()) draw(t.children[i], indent, out);
  }
}

void draw(const SumTree& t, const std::string& indent, std::string& out) {
  if (t.kind == SumNode::kTerm || all_terms(t) || is_pairwise(t)) {
    out += indent + heading(t) + "\n";
    return;
  }
  // Finds a chain: nodes of one shape, each of which is the first child of the next.
  const SumTree* start = &t;
  std::int64_t links = 0;
  while (start->kind == t.kind && link_of(*start) == link_of(t)) {
    start = &start->children.front();
    ++links;
  }
  if (links > 1) {
    out += formatted("{}chain of {}, each the {} of what came before and {} more: {}\n", indent,
                     links, word_of(t.kind), t.children.size() - 1, range_of(t));
    if (t.children[1].kind != SumNode::kTerm) {
      out += indent + "  the last:\n";
      draw_children(t, 1, indent + "    ", out);
    }
    out += indent + "  from:\n";
    draw(*start, indent + "    ", out);
    return;
  }
  out += indent + heading(t) + "\n";
  draw_children(t, 0, indent + "  ", out);
}

// Computes how many units the probe of each two terms of `t` loses if the operator adds by this
// tree. Returns the terms of `t`.
std::vector<std::int64_t> predict(const SumTree& t, std::int64_t n,
                                  std::vector<std::int64_t>& lost) {
  if (t.kind == SumNode::kTerm) return {t.term};
  std::vector<std::vector<std::int64_t>> sides;
  std::size_t all = 0;
  for (const SumTree& child : t.children) {
    sides.push_back(predict(child, n, lost));
    all += sides.back().size();
  }
  std::vector<std::int64_t> terms;
  for (std::size_t a = 0; a < sides.size(); ++a) {
    for (std::size_t b = a + 1; b < sides.size(); ++b) {
      const std::size_t count =
          t.kind == SumNode::kAligned ? all - 2 : sides[a].size() + sides[b].size() - 2;
      for (const std::int64_t i : sides[a]) {
        for (const std::int64_t j : sides[b]) {
          lost[at(i * n + j)] = lost[at(j * n + i)] = static_cast<std::int64_t>(count);
        }
      }
    }
    terms.insert(terms.end(), sides[a].begin(), sides[a].end());
  }
  return terms;
}

// Returns the tree that adds adjacent pairs of some sums, level by level. The last one of an odd
// number moves up unchanged.
SumTree pairs(std::vector<SumTree> level) {
  while (level.size() > 1) {
    std::vector<SumTree> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      next.push_back(node(SumNode::kAdd, {level[i], level[i + 1]}));
    }
    if (level.size() % 2 != 0) next.push_back(level.back());
    level = std::move(next);
  }
  return level.front();
}

// Returns the tree that adds some sums one after the other.
SumTree chain(const std::vector<SumTree>& parts) {
  SumTree tree = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) tree = node(SumNode::kAdd, {tree, parts[i]});
  return tree;
}

std::vector<SumTree> leaves(std::int64_t first, std::int64_t last) {
  std::vector<SumTree> list;
  for (std::int64_t i = first; i < last; ++i) list.push_back(leaf(i));
  return list;
}

// Returns the tree of the terms [first, last), added in the chunks of a machine's model.
SumTree by_chunks(const DotModel& model, std::int64_t first, std::int64_t last) {
  // The tree of the accumulator so far, and empty before the first chunk.
  std::vector<SumTree> before;
  for (std::int64_t k = first; k < last; k += model.chunk.value) {
    std::vector<SumTree> chunk = leaves(k, std::min<std::int64_t>(last, k + model.chunk.value));
    if (model.order.value != ChunkOrder::kFused) {
      chunk = {model.order.value == ChunkOrder::kPairwise ? pairs(chunk) : chain(chunk)};
    }
    chunk.insert(chunk.begin(), before.begin(), before.end());
    const bool aligned = model.order.value == ChunkOrder::kFused && model.kept_bits.value > 0;
    const SumNode kind = chunk.size() == 2 ? SumNode::kAdd
                         : aligned         ? SumNode::kAligned
                                           : SumNode::kExact;
    before = {node(kind, chunk)};
  }
  return before.front();
}

}  // namespace

std::int64_t SumTree::terms() const {
  if (kind == SumNode::kTerm) return 1;
  std::int64_t count = 0;
  for (const SumTree& child : children) count += child.terms();
  return count;
}

bool operator==(const SumTree& a, const SumTree& b) {
  return a.kind == b.kind && (a.kind != SumNode::kTerm || a.term == b.term) &&
         a.children == b.children;
}

SumTree reveal_sum_tree(const SumProbe& probe) {
  const std::int64_t n = probe.terms;
  if (n < 1 || n > 512) {
    refuse("a summation tree is probed for 1 to 512 terms, not {}", n);
  }
  const auto size = at(n);
  std::vector<std::int64_t> lost(size * size, 0);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    const std::int64_t rows = n - 1 - i;
    std::vector<double> values(at(rows) * size, probe.unit);
    for (std::int64_t row = 0; row < rows; ++row) {
      values[at(row * n + i)] = probe.large;
      values[at(row * n + i + 1 + row)] = -probe.large;
    }
    const std::vector<double> sums = probe.sums(values);
    if (static_cast<std::int64_t>(sums.size()) != rows) {
      refuse("the probed operator gave {} sums for {} rows", sums.size(), rows);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const double kept = sums[at(row)] / probe.unit;
      if (!(kept >= 0 && kept <= static_cast<double>(n - 2) && kept == std::floor(kept))) {
        throw std::runtime_error(formatted(
            "no summation tree explains the probe of terms {} and {}: it kept {} of {} units", i,
            i + 1 + row, number_text(kept), n - 2));
      }
      const std::int64_t j = i + 1 + row;
      lost[at(i * n + j)] = lost[at(j * n + i)] = n - 2 - static_cast<std::int64_t>(kept);
    }
  }
  std::vector<std::int64_t> terms;
  for (std::int64_t i = 0; i < n; ++i) terms.push_back(i);
  SumTree tree = Builder(n, lost).build(terms);
  std::vector<std::int64_t> predicted(size * size, 0);
  (void)predict(tree, n, predicted);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = i + 1; j < n; ++j) {
      const std::int64_t seen = lost[at(i * n + j)];
      const std::int64_t by_tree = predicted[at(i * n + j)];
      if (by_tree != seen) {
        throw std::runtime_error(formatted(
            "no summation tree explains the probe of terms {} and {}: it lost {} units, not {}", i,
            j, seen, by_tree));
      }
    }
  }
  return tree;
}

SumTree expected_tree(const DotModel& model, std::int64_t n) {
  const std::int64_t interval = model.promotion_interval.value;
  if (interval == 0) return by_chunks(model, 0, n);
  std::vector<SumTree> parts;
  for (std::int64_t k = 0; k < n; k += interval) {
    parts.push_back(by_chunks(model, k, std::min(n, k + interval)));
  }
  return chain(parts);
}

SumTree expected_tree(ReduceOrder order, std::int64_t chunk, std::int64_t n) {
  if (order == ReduceOrder::kSequential) return chain(leaves(0, n));
  if (order == ReduceOrder::kPairwise) return pairs(leaves(0, n));
  std::vector<SumTree> parts;
  for (std::int64_t k = 0; k < n; k += chunk) {
    parts.push_back(pairs(leaves(k, std::min(n, k + chunk))));
  }
  return order == ReduceOrder::kHighDim ? pairs(parts) : chain(parts);
}

SumTree expected_tree(const SumPlan& plan, std::int64_t n) {
  std::vector<SumTree> sums = leaves(0, n);
  const SumSchedule schedule(plan, n);
  for (const auto* stage : {&schedule.first_stage(), &schedule.second_stage()}) {
    for (const Additions& a : *stage) {
      for (std::int64_t i = 0; i < a.count; ++i) {
        SumTree& to = sums[at(a.to + i)];
        std::vector<SumTree> both;
        both.push_back(std::move(to));
        both.push_back(std::move(sums[at(a.from + i)]));
        to = node(SumNode::kAdd, std::move(both));
      }
    }
  }
  return std::move(sums.front());
}

std::string sum_tree_line(const SumTree& t) {
  if (t.kind == SumNode::kTerm) return formatted("{}", t.term);
  std::vector<std::string> parts;
  for (const SumTree& child : t.children) parts.push_back(sum_tree_line(child));
  switch (t.kind) {
    case SumNode::kAligned:
      return "[" + joined(parts, " ") + "]";
    case SumNode::kExact:
      return "{" + joined(parts, " ") + "}";
    default:
      return "(" + joined(parts, " + ") + ")";
  }
}

std::string sum_tree_drawing(const SumTree& tree) {
  std::string out;
  draw(tree, "", out);
  return out;
}

}  // namespace assay::study
