// Statistics of campaigns: rates of detection and false alarms, with their intervals.
#pragma once

#include "assay/campaign/rate_statistics.h"
