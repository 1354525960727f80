#include "assay/datasets/store/case_walk.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "assay/base/parallel.h"
#include "assay/base/pool.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/case_path.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::inline v0_2::h5 {
namespace {

// Limits for hostile files, which may have endless paths, or a few groups whose hard links form
// 2^40 paths.
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxSecondWays = 1000;

std::string below(const std::string& group, const std::string& link) {
  return group.empty() ? link : group + "/" + link;
}

}  // namespace

bool is_part(std::string_view link) {
  return link == "inputs" || link == "outputs" || link == "golden";
}

bool is_group(const Reader& reader, const std::string& object) {
  return reader.kind_of(object) == Reader::ObjectKind::kGroup;
}

bool has_op(const Reader& reader, const std::string& group) {
  return reader.has_attribute(group, "op");
}

bool is_case(const Reader& reader, const std::string& group,
             const std::vector<std::string>& links) {
  return has_op(reader, group) || links.empty() || std::ranges::any_of(links, is_part);
}

void refuse_case_name(const Reader& reader, const std::string& object) {
  reader.refuse(object,
                "is no case name; use parts of letters, digits, '_', '.' and '=', but no part that "
                "is inputs, outputs, golden, '.' or '..'");
}

void SeenGroups::step_into(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  if (!seen_.insert(address).second) throw NeedsHdf5();
}

void CaseWalk::pass(const std::string& group) {
  const std::uint64_t address = reader_.address_of(group);
  if (contains(above_, address)) {
    reader_.refuse(group, "contains itself");
  }
  if (above_.size() > kMaxDepth) {
    reader_.refuse(group, formatted("lies more than {} groups deep", kMaxDepth));
  }
  above_.push_back(address);
}

std::vector<std::string> CaseWalk::enter(const std::string& group) {
  pass(group);
  if (shared_ != nullptr) {
    shared_->step_into(above_.back());
  } else if (!seen_.insert(above_.back()).second && ++second_ways_ > kMaxSecondWays) {
    reader_.refuse(group, formatted("lies in a maze of links: more than {} links lead to groups "
                                    "that other links lead to, too",
                                    kMaxSecondWays));
  }
  return reader_.links_in(group);
}

void CaseWalk::collect(const std::string& name) {
  const std::string at = name.empty() ? "/cases" : case_path(name);
  const std::vector<std::string> links = enter(at);
  if (!name.empty() && is_case(reader_, at, links)) {
    for (const std::string& link : links) {
      if (!is_part(link)) refuse_cases_below(at + "/" + link);
    }
    cases_.push_back(name);
  } else {
    for (const std::string& link : links) collect_at(name, link);
  }
  leave();
}

void CaseWalk::collect_at(const std::string& name, const std::string& link) {
  const std::string inner = below(name, link);
  if (!is_case_name(link)) refuse_case_name(reader_, case_path(inner));
  if (!is_group(reader_, case_path(inner))) {
    reader_.refuse(case_path(inner),
                   "is no group; only groups that hold cases may lie under /cases");
  }
  collect(inner);
}

// Objects in a case that are not its parts are ignored, unless they contain a case.
void CaseWalk::refuse_cases_below(const std::string& at) {
  if (!is_group(reader_, at)) return;
  if (has_op(reader_, at)) reader_.refuse(at, "is a case inside a case; cases do not nest");
  for (const std::string& link : enter(at)) refuse_cases_below(at + "/" + link);
  leave();
}

namespace {

// A part of the walk for one thread: some links of a group, below which there may be cases.
struct Job {
  std::string group;  // the group: "" for /cases, or the first parts of a case name
  std::vector<std::string> links;
};

constexpr std::size_t kMostLinks = 512;  // of a job
constexpr std::size_t kEnoughJobs = 64;

// Descends through the groups until there are enough jobs for all threads, or until only cases are
// left. Throws NeedsHdf5 or FileError in the same situations as a job.
std::vector<Job> find_jobs(const Reader& reader, SeenGroups& seen) {
  std::vector<Job> jobs;
  std::size_t passed = 0;                                 // groups
  std::deque<std::pair<std::string, std::string>> ahead;  // group and link
  const auto step_into = [&](const std::string& name, const std::string& at,
                             const std::vector<std::string>& links) {
    seen.step_into(reader.address_of(at));
    ++passed;
    if (links.size() <= kMostLinks) {
      for (const std::string& link : links) ahead.emplace_back(name, link);
      return;
    }
    for (std::size_t i = 0; i < links.size(); i += kMostLinks) {
      const auto begin = links.begin() + static_cast<std::ptrdiff_t>(i);
      const std::size_t count = std::min(kMostLinks, links.size() - i);
      jobs.push_back({name, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
    }
  };
  step_into("", "/cases", reader.links_in("/cases"));
  for (; !ahead.empty(); ahead.pop_front()) {
    const auto& [group, link] = ahead.front();
    const std::string name = below(group, link), at = case_path(name);
    const bool enough = jobs.size() + ahead.size() >= kEnoughJobs || passed >= kEnoughJobs;
    if (!enough && is_case_name(link) && is_group(reader, at)) {
      const std::vector<std::string> links = reader.links_in(at);
      if (!is_case(reader, at, links)) {
        step_into(name, at, links);
        continue;
      }
    }
    jobs.push_back({group, {link}});
  }
  return jobs;
}

// Throws NeedsHdf5, FileError.
std::vector<std::string> cases_of(const Job& job, const Reader& reader, SeenGroups& seen) {
  CaseWalk walk(reader, &seen);
  walk.pass("/cases");
  for (std::size_t end = 0; end < job.group.size();) {
    end = std::min(job.group.find('/', end + 1), job.group.size());
    walk.pass(case_path(job.group.substr(0, end)));
  }
  for (const std::string& link : job.links) walk.collect_at(job.group, link);
  return walk.cases();
}

// Returns the cases of all jobs. Throws FileError, and NeedsHdf5, for example if two paths lead to
// one group.
std::vector<std::string> cases_of(const std::string& path, const OpenedFile& opened, int threads) {
  SeenGroups seen;
  const std::vector<Job> jobs = find_jobs(Reader(path, *opened.plain()), seen);
  Pool<PlainObjects> pool([&] { return opened.another_plain(); });
  std::vector<std::vector<std::string>> found(jobs.size());
  parallel_for(std::ssize(jobs), threads, [&](std::int64_t job) {
    const auto at = static_cast<std::size_t>(job);
    const auto plain = pool.take();
    found[at] = cases_of(jobs[at], Reader(path, *plain), seen);
  });
  std::vector<std::string> cases;
  for (std::vector<std::string>& each : found) {
    std::move(each.begin(), each.end(), std::back_inserter(cases));
  }
  if (!std::ranges::is_sorted(cases)) std::ranges::sort(cases);
  return cases;
}

}  // namespace

std::optional<std::vector<std::string>> cases_by_threads(const std::string& path,
                                                         const OpenedFile& opened, int threads) {
  if (threads <= 0) threads = default_threads();
  // A thread that refuses an object clears HDF5's errors, so several threads need a thread-safe
  // HDF5.
  if (threads == 1 || opened.plain() == nullptr || !hdf5_is_threadsafe()) return std::nullopt;
  try {
    return cases_of(path, opened, threads);
  } catch (const NeedsHdf5&) {
  } catch (const FileError&) {
  }
  return std::nullopt;
}

}  // namespace assay::h5
