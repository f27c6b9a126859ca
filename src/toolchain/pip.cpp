// Why pip, and not the index by ourselves: the user's mirror, proxy, certificates and cache are set
// up for it, it picks the wheel of this machine and checks its hash. `pip download` works where the
// environment is managed by the distribution, since it installs nothing.
//
// pip has no stable way to list versions; all its releases answer a request for a version that cannot
// exist with "(from versions: …)", which is what is read here.
#include "toolchain/pip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoPip =
    "no Python with pip here, which fetches the compilers: install it (Debian, Ubuntu: apt-get install "
    "python3-pip)";

Result<Completed> python(std::vector<std::string> words, std::chrono::seconds timeout) {
  Command command;
  command.arguments = std::move(words);
  command.timeout = timeout;
  command.output_limit = uint64_t{64} << 20;
  return run(command);
}

bool works(std::vector<std::string> words) {
  words.push_back("--version");
  Result<Completed> completed = python(std::move(words), std::chrono::seconds(60));
  return completed && completed->ok();
}

std::string line_with(std::string_view text, std::string_view word) {
  for (std::string_view line : split(text, '\n')) {
    if (line.find(word) != line.npos) return std::string(trimmed(line));
  }
  return {};
}

// What pip said, as one sentence: no network is the common case, and pip buries it under retries.
std::string reason(const Completed& completed) {
  for (std::string_view sign : {"Failed to establish a new connection", "Name or service not known",
                                "Temporary failure in name resolution", "Connection refused",
                                "Network is unreachable", "ConnectTimeoutError", "ReadTimeoutError",
                                "ProxyError", "Cannot connect to proxy"}) {
    if (completed.err.find(sign) != std::string::npos) {
      return "PyPI cannot be reached; check the network, or point pip at a proxy or a mirror "
             "(https_proxy, PIP_INDEX_URL)";
    }
  }
  std::string said = line_with(completed.err, "ERROR: ");
  if (said.starts_with("ERROR: ")) said.erase(0, 7);
  return said.empty() ? completed.how_it_ended() : said;
}

// The list in "(from versions: 0.0.1a0, 13.0.48, 13.0.88)", pre-releases and placeholders left out.
std::vector<std::string> listed(std::string_view said) {
  constexpr std::string_view kMark = "(from versions: ";
  size_t begin = said.find(kMark);
  if (begin == said.npos) return {};
  begin += kMark.size();
  std::string_view list = said.substr(begin, said.find(')', begin) - begin);
  std::vector<std::string> versions;
  for (std::string_view each : split(list, ',')) {
    std::string_view version = trimmed(each);
    bool released = !version.empty() && version.find_first_not_of("0123456789.") == version.npos;
    if (released && !version.starts_with("0.")) versions.emplace_back(version);
  }
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return compare_versions(a, b) < 0;
  });
  return versions;
}

// Wheels are zip files, which keep no execution rights when Python unpacks them.
void make_programs_executable(const fs::path& folder) {
  std::error_code failure;
  for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    std::error_code ignored;
    if (it->path().parent_path().filename() == "bin" && it->is_regular_file(ignored)) {
      fs::permissions(it->path(), fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, ignored);
    }
  }
}

}  // namespace

Result<Pip> Pip::find(const fs::path& scratch) {
  Pip pip;
  pip.command_ = {"python3", "-m", "pip"};
  if (works(pip.command_)) return pip;
  if (!works({"python3"})) return error(std::string(kNoPip));
  fs::path environment = scratch / "python";
  Result<Completed> made =
      python({"python3", "-m", "venv", environment.string()}, std::chrono::seconds(120));
  pip.command_ = {(environment / "bin" / "python").string(), "-m", "pip"};
  if (!made || !made->ok() || !works(pip.command_)) return error(std::string(kNoPip));
  return pip;
}

Result<std::vector<std::string>> Pip::versions(std::string_view package) const {
  std::vector<std::string> words = command_;
  for (std::string_view word : {"download", "--no-input", "--disable-pip-version-check", "--no-deps",
                                "--only-binary=:all:", "--retries=1", "--timeout=20"}) {
    words.emplace_back(word);
  }
  words.push_back(fmt::format("{}==0", package));
  TRY_ASSIGN(Completed completed, python(words, std::chrono::seconds(120)));
  std::vector<std::string> versions = listed(completed.err);
  if (versions.empty() && completed.err.find("(from versions: none)") == std::string::npos) {
    return error(reason(completed));
  }
  // "none" is what pip says of an unknown package, and of one it could not look up.
  if (versions.empty() && reason(completed).starts_with("PyPI cannot")) return error(reason(completed));
  return versions;
}

Status Pip::fetch(const std::vector<std::string>& requirements, const fs::path& folder) const {
  TRY_ASSIGN(TemporaryFolder wheels, TemporaryFolder::make("wheels", folder.parent_path()));
  std::vector<std::string> words = command_;
  for (std::string_view word : {"download", "--no-input", "--disable-pip-version-check", "--no-deps",
                                "--only-binary=:all:", "--retries=3", "--timeout=30",
                                "--progress-bar=off", "--dest"}) {
    words.emplace_back(word);
  }
  words.push_back(wheels.path().string());
  words.insert(words.end(), requirements.begin(), requirements.end());
  TRY_ASSIGN(Completed completed, python(words, std::chrono::minutes(30)));
  if (!completed.ok()) {
    return error(fmt::format("fetching {}: {}", join(requirements, ", "), reason(completed)));
  }
  for (const fs::directory_entry& wheel : fs::directory_iterator(wheels.path())) {
    TRY_ASSIGN(Completed unpacked,
               python({command_[0], "-m", "zipfile", "-e", wheel.path().string(), folder.string()},
                      std::chrono::minutes(10)));
    if (!unpacked.ok()) {
      return error(fmt::format("unpacking {}: {}; is the disk full?",
                               wheel.path().filename().string(), unpacked.how_it_ended()));
    }
  }
  make_programs_executable(folder);
  return {};
}

}  // namespace namesake::toolchain
