// SPDX-License-Identifier: BSD-3-Clause
// softrnic edit: a capture rewritten, its lengths, checksums and ICRC right again.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture_file.hpp"
#include "capture/capture_writer.hpp"
#include "capture_progress.hpp"
#include "command_line.hpp"
#include "edit/edit_script.hpp"
#include "edit/edit_words.hpp"
#include "edit/editor.hpp"
#include "edit_files.hpp"
#include "edit_report.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "subcommands.hpp"

namespace softrnic::tools {
namespace {

constexpr int kCannot = 2;

struct Options {
  std::string path;
  std::string out;
  bool json = false;
  bool dry_run = false;
  edit::EditPlan plan;
};

void take_word(const edit::EditWord& word, edit::EditPlan& plan, const std::string& value) {
  if (const auto complaint = word.take(plan, 0, value)) {
    fail_usage("--{}: {}", word.name, *complaint);
  }
}

void take_script(const std::string& path, edit::EditPlan& plan) {
  const std::string text = read_small_file("--script", path);
  if (const auto complaint = edit::read_edit_script(text, fabric::script_form_of(path), plan)) {
    fail_usage("--script {}: {}", path, *complaint);
  }
}

using Flags = std::unique_ptr<bool[]>;  // of the words that take no value

void add_words(CommandLine& line, edit::EditPlan& plan, const Flags& flags) {
  std::string_view heading;
  for (std::size_t i = 0; i < edit::edit_words().size(); ++i) {
    const edit::EditWord& word = edit::edit_words()[i];
    if (word.heading != heading) line.heading(std::string(heading = word.heading));
    if (word.value_name.empty()) {
      line.flag(std::string(word.name), flags[i], std::string(word.help));
      continue;
    }
    line.repeated(std::string(word.name), std::string(word.value_name), std::string(word.help),
                  [&word, &plan](const std::string& value) { take_word(word, plan, value); });
  }
}

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "edit", "Usage: softrnic edit FILE OUT [OPTIONS]",
      "Rewrites a capture (pcap or pcapng; -: standard input, standard output). Lengths, "
      "checksums\n"
      "and ICRCs are made right again; what was wrong before stays wrong in the same way.\n"
      "Exit status: 0 when OUT was written, 2 when it could not be.",
      "  softrnic edit customer.pcapng lab.pcapng --ip 10.0.0.0/16=192.168.0.0/16 --qpn 0x11=0x99\n"
      "  softrnic edit v2.pcap v1.pcap --roce v1\n"
      "  softrnic edit failure.pcapng public.pcapng --anonymise file:secret.key\n");
  std::vector<std::string> words;
  const auto flags = std::make_unique<bool[]>(edit::edit_words().size());
  add_words(line, options.plan, flags);
  line.repeated("script", "FILE", "options and stages from a file in TOML or JSON",
                [&](const std::string& path) { take_script(path, options.plan); });
  line.heading("Output");
  line.flag("dry-run", options.dry_run, "write nothing, say what would be changed");
  line.flag("json", options.json, "print one JSON object instead of text");
  line.words("FILE OUT", 2, words);
  if (!line.parse(argc, argv)) return false;
  for (std::size_t i = 0; i < edit::edit_words().size(); ++i) {
    if (flags[i]) take_word(edit::edit_words()[i], options.plan, "");
  }
  if (words.empty()) fail_usage("the capture to edit is missing; see softrnic edit --help");
  if (words.size() < 2 && !options.dry_run) {
    fail_usage("the file to write is missing: softrnic edit {} OUT", words[0]);
  }
  options.path = words[0];
  if (words.size() == 2) options.out = words[1];
  if (const std::string what = contradiction(options.plan); !what.empty()) fail_usage("{}", what);
  if (options.plan.anonymise) options.plan.anonymise = read_key(*options.plan.anonymise);
  return true;
}

class Output {
 public:
  Output(const Options& options, capture::LinkType link_type) : path_(options.out) {
    if (options.dry_run) return;
    auto writer = capture::CaptureWriter::create(path_, capture::format_of(path_), link_type);
    if (!writer) throw Failure(kCannot, writer.error());
    writer_.emplace(std::move(*writer));
  }

  void write(wire::Instant at, wire::ByteView bytes, std::uint32_t wire_size,
             std::string_view comment) {
    if (writer_ && !writer_->write(at, bytes, wire_size, comment)) commit();
  }
  void commit() {
    if (!writer_) return;
    const auto done = writer_->commit();
    writer_.reset();
    if (!done) throw Failure(kCannot, done.error());
  }

 private:
  std::string path_;
  std::optional<capture::CaptureWriter> writer_;
};

void edit_all(capture::CaptureFile& file, edit::Editor& editor) {
  CaptureProgress progress(file);
  const capture::LinkType link_type = file.link_type();
  while (!interrupted()) {
    const capture::Record* record = file.next();
    if (record == nullptr) break;
    if (file.link_type() != link_type) {
      throw Failure(kCannot,
                    fmt::format("frame {} is of another link type than those before: edit the "
                                "interfaces of this pcapng file apart (tshark -Y "
                                "frame.interface_id==0 -w ONE)",
                                record->number));
    }
    if (const auto done = editor.on_record(*record); !done) throw Failure(kCannot, done.error());
    progress.on_record(*record);
  }
  // The end of an endless pipe; a file was to be edited whole.
  const bool is_pipe = file.size() == 0;
  if (interrupted() && !is_pipe) {
    throw Failure(kCannot, fmt::format("interrupted after frame {}: nothing was written",
                                       editor.counts().frames));
  }
  if (!file.damage().empty()) {
    throw Failure(kCannot, fmt::format("{}: nothing was written", file.damage()));
  }
  if (const auto done = editor.finish(); !done) throw Failure(kCannot, done.error());
}

}  // namespace

int run_edit(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  catch_interruptions();
  auto file = capture::CaptureFile::open(options.path);
  if (!file && interrupted()) throw Failure(kCannot, "interrupted before the first frame");
  if (!file) throw Failure(kCannot, file.error());
  if (const auto why = edit::Editor::refuse(options.plan, file->link_type()); !why.empty()) {
    throw Failure(kCannot, fmt::format("{}: {}", options.path, why));
  }
  Output output(options, edit::Editor::link_type_out(file->link_type()));
  edit::Editor editor(
      options.plan, file->link_type(),
      [&output](wire::Instant at, wire::ByteView bytes, std::uint32_t wire_size,
                std::string_view comment) { output.write(at, bytes, wire_size, comment); });
  edit_all(*file, editor);
  output.commit();
  const std::string to = options.dry_run ? "" : options.out;
  const std::string report = options.json ? edit_json(editor.counts(), options.path, to)
                                          : edit_text(editor.counts(), options.path, to);
  // Standard output is the capture's where it was asked for.
  std::FILE* where = to == "-" ? stderr : stdout;
  if (std::fwrite(report.data(), 1, report.size(), where) != report.size()) {
    fail_output();
  }
  return kSuccess;
}

}  // namespace softrnic::tools
