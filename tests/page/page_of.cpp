// SPDX-License-Identifier: BSD-3-Clause
// The page of an explanation that was not made from a capture: JSON on standard input, HTML out.
#include <iostream>
#include <nlohmann/json.hpp>

#include "explain/page.hpp"

int main() {
  const auto explanation = nlohmann::ordered_json::parse(std::cin, nullptr, false);
  if (explanation.is_discarded()) {
    std::cerr << "page_of: no JSON on standard input\n";
    return 2;
  }
  std::cout << softrnic::explain::page(explanation);
  return std::cout.good() ? 0 : 2;
}
