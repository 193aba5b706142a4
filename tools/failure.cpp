// SPDX-License-Identifier: BSD-3-Clause
#include "failure.hpp"

#include <cerrno>
#include <cstring>

namespace softrnic::tools {

void fail_output() {
  const int why = errno;
  const char* mend = why == EPIPE    ? ": who read it has ended"
                     : why == ENOSPC ? ": make room on the disk"
                                     : "";
  throw Failure(kNotWritten, fmt::format("standard output could not be written: {}{}",
                                         std::strerror(why == 0 ? EIO : why), mend));
}

}  // namespace softrnic::tools
