// SPDX-License-Identifier: BSD-3-Clause
#include "subcommands.hpp"

int main(int argc, char** argv) {
  return softrnic::tools::run_subcommand(argc, argv);
}
