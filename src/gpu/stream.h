// Streams, events, and graphs recorded from a stream.
#pragma once

#include <chrono>
#include <functional>

#include "gpu/driver.h"
#include "gpu/owned.h"

namespace namesake::gpu {

using Stream = Owned<CUstream_st*, &Driver::stream_destroy>;
using Event = Owned<CUevent_st*, &Driver::event_destroy>;
using Graph = Owned<CUgraphExec_st*, &Driver::graph_executable_destroy>;

Result<Stream> create_stream(const Context& context);  // does not wait for the null stream
Result<Event> create_event(const Context& context);

Status wait(const Stream& stream);
Status record(const Event& event, const Stream& stream);
// Waits for the event, but no longer than the limit: a kernel that hangs must not hang the tool.
// After a time-out the context is of no further use and the process should end.
Status wait(const Event& event, std::chrono::milliseconds limit);
Result<double> milliseconds_between(const Event& start, const Event& end);

// What work() puts on the stream, as a graph; nothing runs until replay. An empty recording is an
// error.
Result<Graph> record_graph(const Stream& stream, const std::function<Status()>& work);
Status replay(const Graph& graph, const Stream& stream);

}  // namespace namesake::gpu
