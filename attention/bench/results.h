// The results file: what was measured, where and with what; resumable, and the table made from it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gpu/clocks.h"
#include "measure.h"
#include "story.h"

namespace namesake::bench {

// Major: incompatible; minor: more fields. 1.1: fp8 cells, the story.
inline constexpr const char* kSchema = "namesake.attention-bench/1.1";

struct Origin {
  gpu::Device device;
  std::optional<gpu::CardState> card;
  std::string cudnn;   // version, or why there is none
  std::string binary;  // hash of the bench: other code is another run
  std::string assembler;
};
nlohmann::ordered_json describe(const Origin& origin, const Effort& effort);

nlohmann::ordered_json to_json(const Measured& measured);
nlohmann::ordered_json to_json(const Cell& cell, const std::vector<Sustained>& sustained);
nlohmann::ordered_json to_json(const StoryCell& story);
nlohmann::ordered_json to_json(const std::vector<CodePair>& pairs);

// The peer's earlier figure for a cell on this card, if there is one (peer_figures.json).
std::optional<double> figure_for(const std::string& gpu, const std::string& peer, const Cell& cell);
double figure_tolerance();

// A document with its file. Cells that it holds already, measured by the same binary on the same
// kind of card, are kept; anything else in the file is an error, so that no result is overwritten
// by accident.
class Results {
 public:
  static Result<Results> open(const std::filesystem::path& path,
                              const nlohmann::ordered_json& header);
  Results(Results&&) noexcept;
  ~Results();
  bool has(const std::string& section, const std::string& cell) const;
  Status add(const std::string& section, const nlohmann::ordered_json& entry);  // and saves
  void forget(const std::string& section, const std::string& cell);
  Status finish();  // judges what is there, and saves
  const nlohmann::ordered_json& document() const;

 private:
  Results();
  std::filesystem::path path_;
  std::unique_ptr<nlohmann::ordered_json> document_;
};

// What the document says as a whole, added to it: void or not, cells behind the peer, geometric
// means.
void judge(nlohmann::ordered_json& document);
Result<nlohmann::ordered_json> read_results(const std::filesystem::path& path);
std::string markdown(const nlohmann::ordered_json& document);

}  // namespace namesake::bench
