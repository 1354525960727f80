#include "assay/campaign/result_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "assay/base/file.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::campaign {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBlocks = "blocks";

std::string block_path(const std::string& dir, std::int64_t index) {
  return (fs::path(dir) / kBlocks / formatted("{:06}.txt", index)).string();
}

BlockTally read_block(const std::string& path, const BlockAddress& block,
                      std::string_view fingerprint) {
  const std::string text = read_file(path);
  try {
    return parse_block(text, block, fingerprint);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(formatted("{}: {}", path, e.what()));
  }
}

[[noreturn]] void other_plan(const std::string& dir) {
  throw std::runtime_error(
      formatted("{}: holds results of another plan (its campaign.txt has another fingerprint); "
                "give another folder",
                dir));
}

}  // namespace

CampaignStore::CampaignStore(std::string dir, const Plan& plan, const std::string& plan_text,
                             const std::string& plan_folder, bool resume)
    : dir_(std::move(dir)), fingerprint_(plan.fingerprint) {
  const fs::path root(dir_), blocks = root / kBlocks;
  std::error_code error;
  fs::create_directories(blocks, error);
  if (error) {
    throw std::runtime_error(formatted("{}: cannot be made: {}", blocks.string(), error.message()));
  }
  const std::string lock = (root / "lock").string();
  lock_ = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (lock_ < 0) {
    throw std::runtime_error(formatted("{}: cannot be written: {}", lock, std::strerror(errno)));
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw std::runtime_error(
        formatted("{}: another process works in this folder; wait for it, or give each shard a "
                  "folder of its own",
                  dir_));
  }
  try {
    const std::string note = (root / "campaign.txt").string();
    // Removes temporary files that a killed process left.
    const auto is_temporary = [](const fs::directory_entry& entry) {
      return entry.path().filename().string().find(".tmp.") != std::string::npos;
    };
    for (const fs::path& folder : {root, blocks}) {
      for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (is_temporary(entry)) fs::remove(entry.path(), error);
      }
    }
    const bool any = !fs::is_empty(blocks);
    // A folder without results can be reused. Its last plan was refused or stopped at once.
    if (any && fs::exists(note) && stored_plan(dir_).fingerprint != fingerprint_) other_plan(dir_);
    if (any && !resume) {
      throw std::runtime_error(formatted(
          "{}: already holds results; resume the campaign, or give another folder", dir_));
    }
    write_file((root / "plan.json").string(), plan_text);
    write_file(note, formatted("fingerprint {}\nfolder {}\n\n{}", fingerprint_, plan_folder,
                               plan.canonical));
  } catch (...) {
    // The destructor does not run after an exception of the constructor, so the lock is released
    // here.
    ::close(lock_);
    throw;
  }
}

CampaignStore::~CampaignStore() {
  if (lock_ >= 0) ::close(lock_);
}

std::string CampaignStore::path(const BlockAddress& block) const {
  return block_path(dir_, block.index);
}
bool CampaignStore::has(const BlockAddress& block) const { return fs::exists(path(block)); }
void CampaignStore::save(const BlockAddress& block, const BlockTally& tally) const {
  write_file(path(block), block_text(block, fingerprint_, tally));
}

BlockTally CampaignStore::load(const BlockAddress& block) const {
  try {
    return read_block(path(block), block, fingerprint_);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(formatted("{}; remove it and resume the campaign", e.what()));
  }
}

StoredPlan stored_plan(const std::string& dir) {
  const std::string note = read_file((fs::path(dir) / "campaign.txt").string());
  StoredPlan stored;
  const auto field = [&](const char* name) {
    const std::string key = formatted("{} ", name);
    const std::size_t begin = note.find(key);
    if (begin == std::string::npos) {
      throw std::runtime_error(formatted("{}/campaign.txt: has no line '{}'", dir, name));
    }
    const std::size_t from = begin + key.size();
    return note.substr(from, note.find('\n', from) - from);
  };
  stored.fingerprint = field("fingerprint");
  stored.folder = field("folder");
  stored.text = read_file((fs::path(dir) / "plan.json").string());
  return stored;
}

std::vector<std::string> merged_blocks(const std::vector<std::string>& dirs,
                                       const Campaign& campaign) {
  std::vector<std::string> paths(campaign.blocks().size());
  std::vector<std::size_t> owner(paths.size());
  for (std::size_t d = 0; d < dirs.size(); ++d) {
    if (stored_plan(dirs[d]).fingerprint != campaign.plan().fingerprint) other_plan(dirs[d]);
    for (std::size_t b = 0; b < paths.size(); ++b) {
      const std::string path = block_path(dirs[d], static_cast<std::int64_t>(b));
      if (!fs::exists(path)) continue;
      if (!paths[b].empty()) {
        throw std::runtime_error(formatted(
            "{} and {} both hold block {}; if they are the same shard, give only one of them",
            dirs[owner[b]], dirs[d], b));
      }
      paths[b] = path;
      owner[b] = d;
    }
  }
  std::vector<std::string> missing;
  for (std::size_t b = 0; b < paths.size(); ++b) {
    if (paths[b].empty()) missing.push_back(std::to_string(b));
  }
  if (!missing.empty()) {
    const std::size_t count = missing.size();
    if (missing.size() > 5) missing.resize(5);
    throw std::runtime_error(
        formatted("{} of {} blocks are in no folder ({}{}), because a shard is missing or not "
                  "done; resume the campaign",
                  count, paths.size(), joined(missing), count > 5 ? ", ..." : ""));
  }
  return paths;
}

BlockTally load_block(const std::string& path, const BlockAddress& block, const Plan& plan) {
  return read_block(path, block, plan.fingerprint);
}

}  // namespace assay::campaign
