// SPDX-License-Identifier: BSD-3-Clause
#include "replay/frame_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace softrnic::replay {

wire::Expected<FrameSource, std::string> FrameSource::open(const std::string& path,
                                                           FrameSourceOptions options) {
  auto filter = FrameFilter::make(options.ranges, options.filter);
  if (!filter) return wire::Unexpected{filter.error()};
  auto file = capture::CaptureFile::open(path);
  if (!file) return wire::Unexpected{file.error()};
  if (file->link_type() != capture::LinkType::ethernet && !options.addresses) {
    return wire::Unexpected{fmt::format(
        "the frames of {} were captured without their Ethernet header: give them one with "
        "--to-mac MAC",
        path)};
  }
  FrameSource source(path, std::move(options), std::move(*file), std::move(*filter));
  source.preload();
  return source;
}

FrameSource::FrameSource(std::string path, FrameSourceOptions options, capture::CaptureFile file,
                         FrameFilter filter)
    : path_(std::move(path)),
      options_(std::move(options)),
      file_(std::move(file)),
      filter_(std::move(filter)) {}

void FrameSource::preload() {
  if (file_->size() == 0 || file_->size() > options_.preload) return;
  while (read_next()) {
    kept_.push_back({frame_.number, frame_.at, bytes_.size(), frame_.bytes.size()});
    bytes_.insert(bytes_.end(), frame_.bytes.begin(), frame_.bytes.end());
  }
  file_.reset();
  preloaded_ = true;
}

const SourceFrame* FrameSource::next() {
  if (!preloaded_) return read_next() ? &frame_ : nullptr;
  if (position_ == kept_.size()) return nullptr;
  const Kept& kept = kept_[position_++];
  frame_.number = kept.number;
  frame_.at = kept.at;
  frame_.bytes = wire::ByteView(bytes_).subspan(kept.begin, kept.size);
  return &frame_;
}

std::optional<std::string> FrameSource::rewind() {
  position_ = 0;
  if (preloaded_) return {};
  if (file_->size() == 0) {
    return fmt::format("{} is a pipe, which comes once: save it to a file for --loop", path_);
  }
  auto file = capture::CaptureFile::open(path_);
  if (!file) return file.error();
  file_ = std::move(*file);
  counts_ = {};
  return {};
}

double FrameSource::progress() const {
  if (preloaded_) {
    return kept_.empty() ? 1 : static_cast<double>(position_) / static_cast<double>(kept_.size());
  }
  if (file_->size() == 0) return -1;
  return static_cast<double>(file_->position()) / static_cast<double>(file_->size());
}

bool FrameSource::read_next() {
  for (;;) {
    const capture::Record* record = file_->next();
    if (record == nullptr) {
      damage_ = file_->damage();
      return false;
    }
    if (filter_.ends_before(record->number)) return false;
    ++counts_.read;
    if (take(*record)) return true;
  }
}

// Whether the record's frame is one to be sent; then it is in frame_.
bool FrameSource::take(const capture::Record& record) {
  frame_.number = record.number;
  frame_.at = record.at;
  frame_.bytes = record.bytes;
  if (file_->link_type() != capture::LinkType::ethernet && !give_ethernet_header(record)) {
    ++counts_.no_network;
    return false;
  }
  if (!filter_.passes(record.number, frame_.bytes)) {
    ++counts_.not_asked_for;
    return false;
  }
  if (!record.cut()) return true;
  ++counts_.cut;
  if (!options_.pad) return false;
  const std::size_t missing = record.wire_size - record.bytes.size();
  if (frame_.bytes.data() != built_.data()) {
    built_.assign(frame_.bytes.begin(), frame_.bytes.end());
  }
  built_.resize(frame_.bytes.size() + missing);
  frame_.bytes = built_;
  return true;
}

bool FrameSource::give_ethernet_header(const capture::Record& record) {
  const auto network = capture::find_network(file_->link_type(), record.bytes);
  if (!network || network->ethertype == 0) return false;
  const wire::ByteView rest = record.bytes.subspan(network->offset);
  const wire::EthernetHeader header{.destination = options_.addresses->destination,
                                    .source = options_.addresses->source,
                                    .vlan = {},
                                    .ethertype = network->ethertype};
  built_.resize(header.size() + rest.size());
  header.serialize(built_);
  std::copy(rest.begin(), rest.end(), built_.begin() + static_cast<std::ptrdiff_t>(header.size()));
  frame_.bytes = built_;
  return true;
}

}  // namespace softrnic::replay
