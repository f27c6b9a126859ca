#include "measure/subjects.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/references.h"
#include "util/text.h"

namespace namesake::measure {
namespace {
namespace fs = std::filesystem;

bool is_file(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored);
}

// A kernel's launch file lies beside it, or one folder up where the PTX has a folder of its own.
Result<fs::path> launch_file_of(const fs::path& kernel) {
  const fs::path name = kernel.stem().string() + ".toml";
  const fs::path beside = kernel.parent_path() / name, above = kernel.parent_path() / ".." / name;
  if (is_file(beside)) return beside;
  if (is_file(above)) return above.lexically_normal();
  return error(fmt::format(
      "{} has no launch file: there is no {}; name one with --launch, or write a first one with "
      "namesake measure --new {}",
      kernel.string(), beside.string(), kernel.string()));
}

struct Wanted {
  fs::path launch_file;
  fs::path kernel;  // instead of the one that the launch file names; empty: that one
};

Result<std::vector<Wanted>> wanted_of(const MeasureRequest& request) {
  std::vector<Wanted> wanted;
  for (const fs::path& file : request.files) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) {
      std::vector<fs::path> found;
      for (const fs::directory_entry& entry : fs::directory_iterator(file, ignored))
        // The bundled set's index lies among its launch files.
        if (entry.path().extension() == ".toml" && entry.path().filename() != "kernels.toml")
          found.push_back(entry.path());
      if (found.empty()) return error(fmt::format("there is no launch file in {}", file.string()));
      std::sort(found.begin(), found.end());
      for (const fs::path& launch : found) wanted.push_back({launch, {}});
    } else if (file.extension() == ".toml") {
      wanted.push_back({file, {}});
    } else if (!request.launch_file.empty()) {
      wanted.push_back({request.launch_file, file});
    } else {
      TRY_ASSIGN(const fs::path launch, launch_file_of(file));
      wanted.push_back({launch, file});
    }
  }
  return wanted;
}

bool runs_on(const LaunchFile& launch, const std::string& architecture) {
  return launch.architectures.empty() ||
         std::any_of(launch.architectures.begin(), launch.architectures.end(),
                     [&](const std::string& one) {
                       return one == architecture || one == architecture + "a";
                     });
}

// Where PTX made of the source lies ready, no front end is needed.
fs::path ready_ptx(const fs::path& source) {
  return source.parent_path() / "ptx" / (source.stem().string() + ".ptx");
}

// Arguments as the reference would see them, to say before any work that it does not fit.
Status check_reference_of(const Subject& subject) {
  if (subject.launch.reference.empty()) return {};
  std::vector<ReferenceArgument> arguments;
  for (const PlannedArgument& argument : subject.plan.arguments) {
    ReferenceArgument seen;
    if (const auto* pointer = std::get_if<BufferPointer>(&argument))
      seen.buffer = &subject.plan.buffers[pointer->buffer];
    if (const auto* map = std::get_if<BufferMap>(&argument))
      seen.buffer = &subject.plan.buffers[map->buffer];
    arguments.push_back(seen);
  }
  if (Status fits = check_reference(subject.launch.reference, arguments); !fits)
    return error(subject.launch.origin, fits.error());
  return {};
}

}  // namespace

Result<assembly::Unit> load_unit(const LaunchFile& launch, const MeasureRequest& request,
                                 const std::string& architecture) {
  assembly::InputRequest input;
  fs::path kernel = launch.kernel;
  const bool source = kernel.extension() == ".cu";
  if (source && !request.compile && is_file(ready_ptx(kernel))) kernel = ready_ptx(kernel);
  input.files = {kernel};
  input.architectures = {architecture};
  input.front_end = request.front_end;
  input.front_end_options = request.front_end_options;
  if (kernel.extension() == ".cu" && !launch.architectures.empty()) {
    // CUDA source for sm_90a must be compiled for it.
    for (const std::string& one : launch.architectures)
      if (one == architecture + "a") input.architectures = {one};
  }
  TRY_ASSIGN(assembly::Inputs inputs, assembly::load(input));
  assembly::Unit unit = std::move(inputs.units.front());
  const ptx::Function* entry = unit.module.find(launch.entry);
  if (!entry || !entry->entry) {
    std::string names = join(unit.kernels, ", ");
    return error(fmt::format("{}: {} has no kernel {}; it has {}", launch.origin, kernel.string(),
                             launch.entry, names.substr(0, 500)));
  }
  unit.kernels = {launch.entry};
  return unit;
}

Result<Subjects> find_subjects(const MeasureRequest& request, const std::string& architecture) {
  Subjects subjects;
  TRY_ASSIGN(const std::vector<Wanted> wanted, wanted_of(request));
  size_t matched = 0;
  for (const Wanted& one : wanted) {
    Subject subject;
    TRY_ASSIGN(subject.launch, read_launch_file(one.launch_file));
    if (!one.kernel.empty()) subject.launch.kernel = one.kernel;
    const LaunchFile& launch = subject.launch;
    const std::string& glob = request.kernel_glob;
    if (!glob.empty() && !glob_match(glob, launch.entry) &&
        !glob_match(glob, demangled_name(launch.entry)))
      continue;
    ++matched;
    if (!launch.not_run.empty()) {
      subjects.notes.push_back(fmt::format("{} left out: {}", launch.entry, launch.not_run));
      continue;
    }
    if (!runs_on(launch, architecture)) {
      subjects.notes.push_back(fmt::format("{} left out: it runs on {}, and this GPU is {}",
                                           launch.entry, join(launch.architectures, ", "),
                                           architecture));
      continue;
    }
    TRY_ASSIGN(subject.plan, make_plan(launch, request.sizes));
    TRY(check_reference_of(subject));
    subject.file = launch.kernel.filename().string();
    if (request.cubin_a.empty()) {
      auto unit = load_unit(launch, request, architecture);
      if (!unit && wanted.size() == 1) return tl::unexpected(unit.error());
      if (!unit) {
        subjects.notes.push_back(
            fmt::format("{} left out: {}", launch.entry, unit.error().message));
        continue;
      }
      subject.unit = std::move(*unit);
      subject.file = subject.unit.file;
    }
    subjects.all.push_back(std::move(subject));
  }
  if (matched == 0 && !request.kernel_glob.empty())
    return error(fmt::format("no kernel matches \"{}\"", request.kernel_glob));
  if (subjects.all.empty())
    return error(subjects.notes.empty() ? "there is nothing to measure"
                                        : "there is nothing to measure: " + subjects.notes.front());
  return subjects;
}

}  // namespace namesake::measure
