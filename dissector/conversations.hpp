// SPDX-License-Identifier: GPL-2.0-or-later
// The conversation and endpoint tables: `-z conv,roce`, `-z endpoints,roce` and the tabs "RoCE" of
// Statistics > Conversations and > Endpoints. A conversation is a stream, an endpoint a queue pair.
#pragma once

namespace softrnic::dissector {

void register_conversations(int protocol);

}  // namespace softrnic::dissector
