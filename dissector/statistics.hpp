// SPDX-License-Identifier: GPL-2.0-or-later
// The tables made of what the tap "roce" tells, each in a file of its name. To be registered once
// the tap is.
#pragma once

namespace softrnic::dissector {

// All of them.
void register_statistics();

void register_statistics_streams();
void register_statistics_operations();
void register_statistics_loss();
void register_statistics_naks();
void register_statistics_congestion();
void register_statistics_packets();

}  // namespace softrnic::dissector
