// SPDX-License-Identifier: BSD-3-Clause
// What the analysis of a captured frame costs: Analyzer::on_packet with generated captures of
// small WRITEs (an iteration is one frame).
//
//   frames_only    what making the frames costs, to be taken off the others
//   keeps          every record is kept, as the Wireshark plugin needs it
//   forgets        only what may still be referred to
//   bytes_a_stream the analyzer's memory over its streams, what it remembers for all left out
#include <benchmark/benchmark.h>

#include "analysis/analyzer.hpp"
#include "generated_capture.hpp"

namespace {

using namespace softrnic;
using analysis::Analyzer;
using analysis::AnalyzerOptions;
using test::GeneratedCapture;
using test::GeneratedCaptureOptions;

GeneratedCaptureOptions options_of(const benchmark::State& state) {
  GeneratedCaptureOptions options;
  options.connections = static_cast<std::uint32_t>(state.range(0));
  options.loss = static_cast<std::uint32_t>(state.range(1));
  options.small_writes_only = true;
  options.step = std::chrono::nanoseconds(100);
  return options;
}

void frames_only(benchmark::State& state) {
  GeneratedCapture capture(options_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(capture.next());
}

void analyse(benchmark::State& state, bool forgets) {
  GeneratedCapture capture(options_of(state));
  AnalyzerOptions options;
  options.forgets = forgets;
  Analyzer analyzer(options);
  // Every connection has sent something before the clock runs.
  for (std::int64_t i = 0; i < 8 * state.range(0); ++i) analyzer.on_packet(capture.next());
  for (auto _ : state) benchmark::DoNotOptimize(analyzer.on_packet(capture.next()));
  state.counters["MB"] = static_cast<double>(analyzer.memory()) / 1e6;
  state.counters["bytes_a_stream"] =
      static_cast<double>(analyzer.memory()) / static_cast<double>(analyzer.stream_count());
}

void keeps(benchmark::State& state) {
  analyse(state, false);
}
void forgets(benchmark::State& state) {
  analyse(state, true);
}

void cases(benchmark::internal::Benchmark* b) {
  b->ArgNames({"streams", "loss"});
  for (const std::int64_t streams : {1, 1'000, 100'000}) {
    for (const std::int64_t loss : {0, 10}) b->Args({streams, loss});
  }
}
BENCHMARK(frames_only)->Apply(cases);
BENCHMARK(forgets)->Apply(cases);
BENCHMARK(keeps)->Apply(cases)->Iterations(2'000'000);

}  // namespace
