// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "failure.hpp"

namespace softrnic::tools {

namespace po = boost::program_options;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return {};
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(copy.c_str(), &end, 0);
  if (errno != 0 || end != copy.c_str() + copy.size()) return {};
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text.empty()) return {};
  int shift = 0;
  switch (std::tolower(static_cast<unsigned char>(text.back()))) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      return parse_number(text);
  }
  text.remove_suffix(1);
  const auto value = parse_number(text);
  if (!value || *value > std::numeric_limits<std::uint64_t>::max() >> shift) return {};
  return *value << shift;
}

std::optional<double> parse_seconds(std::string_view text) {
  constexpr double kYear = 366.0 * 24 * 3600;
  if (text.empty()) return {};
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(value) || value < 0 || value > kYear) {
    return {};
  }
  return value;
}

namespace {

// "--port" of "port,p".
std::string shown_name(const std::string& names) {
  return "--" + names.substr(0, names.find(','));
}

// Boost wants a reference that outlives it; a group is a description of its own.
using Groups = std::vector<std::unique_ptr<po::options_description>>;

}  // namespace

struct CommandLine::Impl {
  std::string name;
  std::string usage;
  std::string purpose;
  std::string examples;
  Groups groups;
  std::string word_name;
  std::size_t most_words = 0;
  std::vector<std::string>* words = nullptr;
  std::map<std::string, CommandLine::Take> repeated;  // by the long name
  std::vector<std::string> headings;                  // of the groups

  // Those of different names in the order given: a later fault rule sees what an earlier one left.
  void take_repeated(const po::parsed_options& parsed) const {
    for (const po::option& option : parsed.options) {
      const auto found = repeated.find(option.string_key);
      if (found == repeated.end()) continue;
      for (const std::string& value : option.value) found->second(value);
    }
  }

  const std::string& heading_of(const std::string& option) const {
    constexpr bool kWholeName = false;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i]->find_nothrow(option, kWholeName) != nullptr) return headings[i];
    }
    return headings.front();
  }

  po::options_description_easy_init add() { return groups.back()->add_options(); }
};

CommandLine::CommandLine(std::string name, std::string usage, std::string purpose,
                         std::string examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
  impl_->usage = std::move(usage);
  impl_->purpose = std::move(purpose);
  impl_->examples = std::move(examples);
  heading("Options");
}

CommandLine::~CommandLine() = default;

void CommandLine::heading(const std::string& title) {
  constexpr unsigned kLineLength = 98;
  impl_->groups.push_back(
      std::make_unique<po::options_description>(title, kLineLength, kLineLength / 2));
  impl_->headings.push_back(title);
}

void CommandLine::flag(const std::string& names, bool& out, const std::string& help) {
  impl_->add()(names.c_str(), po::bool_switch(&out), help.c_str());
}

void CommandLine::text(const std::string& names, const std::string& value_name, std::string& out,
                       const std::string& help) {
  option(names, value_name, help, [&out](const std::string& value) { out = value; });
}

void CommandLine::option(const std::string& names, const std::string& value_name,
                         const std::string& help, Take take) {
  impl_->add()(names.c_str(),
               po::value<std::string>()->value_name(value_name)->notifier(std::move(take)),
               help.c_str());
}

void CommandLine::repeated(const std::string& names, const std::string& value_name,
                           const std::string& help, Take take) {
  impl_->add()(names.c_str(),
               po::value<std::vector<std::string>>()->value_name(value_name)->composing(),
               help.c_str());
  impl_->repeated[names.substr(0, names.find(','))] = std::move(take);
}

void CommandLine::seconds(const std::string& names, double& out, const std::string& help) {
  option(names, "SECONDS", help, [names, &out](const std::string& value) {
    const auto parsed = parse_seconds(value);
    if (!parsed) {
      fail_usage("{} {}: not a time; give seconds, such as 2.5", shown_name(names), value);
    }
    out = *parsed;
  });
}

void CommandLine::words(const std::string& value_name, std::size_t most,
                        std::vector<std::string>& out) {
  impl_->word_name = value_name;
  impl_->most_words = most;
  impl_->words = &out;
}

std::uint64_t CommandLine::checked(const std::string& names, const std::string& value,
                                   std::optional<std::uint64_t> number, std::uint64_t least,
                                   std::uint64_t most) {
  if (!number) fail_usage("{} {}: not a number", shown_name(names), value);
  if (*number < least || *number > most) {
    fail_usage("{} {}: must be from {} to {}", shown_name(names), value, least, most);
  }
  return *number;
}

bool CommandLine::parse(int argc, char** argv) {
  po::options_description all;
  for (const auto& group : impl_->groups) all.add(*group);
  bool help = false;
  all.add_options()("help,h", po::bool_switch(&help), "print this help");
  std::vector<std::string> words;
  all.add_options()("word", po::value<std::vector<std::string>>(&words), "");
  po::positional_options_description positions;
  positions.add("word", -1);
  try {
    po::variables_map values;
    const po::parsed_options parsed =
        po::command_line_parser(argc, argv).options(all).positional(positions).run();
    po::store(parsed, values);
    if (values["help"].as<bool>()) {
      print_help();
      return false;
    }
    for (const po::option& option : parsed.options) {
      if (option.position_key != -1) continue;  // a word
      given_.push_back({option.string_key, impl_->heading_of(option.string_key)});
    }
    po::notify(values);
    impl_->take_repeated(parsed);
  } catch (const po::error& error) {
    fail_usage("{}; see softrnic {} --help", error.what(), impl_->name);
  }
  if (words.size() > impl_->most_words) {
    fail_usage("'{}' is one word too many; see softrnic {} --help", words[impl_->most_words],
               impl_->name);
  }
  if (impl_->words != nullptr) *impl_->words = std::move(words);
  return true;
}

bool CommandLine::was_given(std::string_view name) const {
  return std::ranges::find(given_, name, &Given::name) != given_.end();
}

void CommandLine::print_help() const {
  std::ostringstream text;
  text << impl_->usage << "\n\n" << impl_->purpose << '\n';
  for (const auto& group : impl_->groups) {
    if (!group->options().empty()) text << '\n' << *group;
  }
  text << "\nExamples:\n" << impl_->examples;
  fmt::print("{}", text.str());
}

}  // namespace softrnic::tools
