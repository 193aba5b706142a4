// SPDX-License-Identifier: BSD-3-Clause
// The command line of a subcommand: its options, its help, and one-line complaints.
//
// A thin skin over Boost.Program_options, which stays in the .cpp. An option's `names` are "long"
// or "long,s". Every complaint is a Failure of kUsageError that names the option.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softrnic::tools {

// Decimal, 0x hexadecimal or 0 octal, as strtoul reads them; no value for anything else.
std::optional<std::uint64_t> parse_number(std::string_view text);
// The same with an optional suffix k, M or G (1024, 1024^2, 1024^3).
std::optional<std::uint64_t> parse_size(std::string_view text);
// Seconds with a fraction, at most a year; no value for anything else.
std::optional<double> parse_seconds(std::string_view text);

class CommandLine {
 public:
  using Take = std::function<void(const std::string& value)>;

  // `usage`: one or more lines "softrnic NAME [OPTIONS] ..."; `purpose` and `examples`: text.
  CommandLine(std::string name, std::string usage, std::string purpose, std::string examples);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Options added from here on stand under this heading.
  void heading(const std::string& title);

  void flag(const std::string& names, bool& out, const std::string& help);
  void text(const std::string& names, const std::string& value_name, std::string& out,
            const std::string& help);
  void option(const std::string& names, const std::string& value_name, const std::string& help,
              Take take);
  // The same, but may be given several times; `take` is called for each.
  void repeated(const std::string& names, const std::string& value_name, const std::string& help,
                Take take);

  template <class Number>
  void number(const std::string& names, const std::string& value_name, Number& out,
              std::uint64_t least, std::uint64_t most, const std::string& help) {
    option(names, value_name, help, [names, &out, least, most](const std::string& value) {
      out = static_cast<Number>(checked(names, value, parse_number(value), least, most));
    });
  }
  template <class Number>
  void size(const std::string& names, const std::string& value_name, Number& out,
            std::uint64_t least, std::uint64_t most, const std::string& help) {
    option(names, value_name, help, [names, &out, least, most](const std::string& value) {
      out = static_cast<Number>(checked(names, value, parse_size(value), least, most));
    });
  }
  void seconds(const std::string& names, double& out, const std::string& help);

  // Words that are not options, at most `most` of them.
  void words(const std::string& value_name, std::size_t most, std::vector<std::string>& out);

  // False when --help was asked for and has been printed.
  bool parse(int argc, char** argv);

  struct Given {
    std::string name;  // "loop"
    std::string heading;
  };
  // The options of the command line in their order; after parse().
  const std::vector<Given>& given() const { return given_; }
  bool was_given(std::string_view name) const;

 private:
  static std::uint64_t checked(const std::string& names, const std::string& value,
                               std::optional<std::uint64_t> number, std::uint64_t least,
                               std::uint64_t most);
  void print_help() const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<Given> given_;
};

}  // namespace softrnic::tools
