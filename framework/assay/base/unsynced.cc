#include "assay/base/unsynced.h"

namespace assay::inline v0_2 {
namespace {

thread_local int alive = 0;

}  // namespace

UnsyncedWrites::UnsyncedWrites() { ++alive; }
UnsyncedWrites::~UnsyncedWrites() { --alive; }
bool UnsyncedWrites::active() { return alive > 0; }

}  // namespace assay
