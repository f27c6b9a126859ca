// A measurement as text, JSON and HTML.
#pragma once

#include <string>
#include <string_view>

#include "report/html.h"
#include "report/measurement.h"
#include "report/text.h"
#include "util/error.h"

namespace namesake::report {

// The readable name, made plain; with the file's where another kernel has the same name (Triton
// gives one symbol to builds for several targets).
std::string shown_name(const Measurement&, const KernelMeasurement&);
// "warm caches, buffers 4096 bytes further"
std::string setting_of(const Timing&);

std::string to_text(const Measurement&, const TextStyle&);
std::string to_html(const Measurement&);

// namesake.measure/1.0; and its parts alone on a line, as the GPU's process reports them.
std::string to_json(const Measurement&);
std::string to_json(const KernelMeasurement&);
std::string to_json(const Gpu&);
Result<Measurement> measurement_from_json(std::string_view json);
Result<KernelMeasurement> kernel_measurement_from_json(std::string_view json);
Result<Gpu> gpu_from_json(std::string_view json);

}  // namespace namesake::report
