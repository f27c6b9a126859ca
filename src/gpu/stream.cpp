#include "gpu/stream.h"

#include <fmt/format.h>

#include <thread>

namespace namesake::gpu {

Result<Stream> create_stream(const Context& context) {
  const Driver& driver = context.driver();
  CUstream_st* raw = nullptr;
  TRY(check(driver, driver.stream_create(&raw, kStreamNonBlocking), "cuStreamCreate"));
  return Stream(driver, raw);
}

Result<Event> create_event(const Context& context) {
  const Driver& driver = context.driver();
  CUevent_st* raw = nullptr;
  TRY(check(driver, driver.event_create(&raw, 0), "cuEventCreate"));
  return Event(driver, raw);
}

Status wait(const Stream& stream) {
  return check(stream.driver(), stream.driver().stream_synchronize(stream.get()),
               "waiting for the GPU");
}

Status record(const Event& event, const Stream& stream) {
  return check(event.driver(), event.driver().event_record(event.get(), stream.get()),
               "cuEventRecord");
}

Status wait(const Event& event, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  const Driver& driver = event.driver();
  const auto deadline = Clock::now() + limit;
  for (;;) {
    const int code = driver.event_query(event.get());
    if (code != kErrorNotReady) return check(driver, code, "waiting for the GPU");
    if (Clock::now() >= deadline)
      return error(fmt::format("the GPU is still busy after {} ms: a kernel hangs", limit.count()));
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Result<double> milliseconds_between(const Event& start, const Event& end) {
  float milliseconds = 0;
  TRY(check(start.driver(), start.driver().event_elapsed(&milliseconds, start.get(), end.get()),
            "cuEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

Result<Graph> record_graph(const Stream& stream, const std::function<Status()>& work) {
  const Driver& driver = stream.driver();
  TRY(check(driver, driver.capture_begin(stream.get(), kCaptureThreadLocal), "recording a graph"));
  const Status worked = work();
  // The capture is ended whatever happened in it, or the stream would stay in capture mode.
  CUgraph_st* raw = nullptr;
  const int ended = driver.capture_end(stream.get(), &raw);
  Owned<CUgraph_st*, &Driver::graph_destroy> graph;
  if (ended == kSuccess && raw) graph = {driver, raw};
  TRY(worked);
  TRY(check(driver, ended, "recording a graph"));
  size_t nodes = 0;
  TRY(check(driver, driver.graph_nodes(graph.get(), nullptr, &nodes), "cuGraphGetNodes"));
  if (nodes == 0) return error("recording a graph: nothing was launched on the recorded stream");
  CUgraphExec_st* executable = nullptr;
  TRY(check(driver, driver.graph_instantiate(&executable, graph.get(), 0),
            "cuGraphInstantiateWithFlags"));
  return Graph(driver, executable);
}

Status replay(const Graph& graph, const Stream& stream) {
  return check(graph.driver(), graph.driver().graph_launch(graph.get(), stream.get()),
               "cuGraphLaunch");
}

}  // namespace namesake::gpu
