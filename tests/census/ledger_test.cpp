#include "census/ledger.h"

#include <unistd.h>

#include "bench.h"
#include "census/compress.h"

namespace namesake::census {
namespace {

namespace fs = std::filesystem;

class Ledgers : public Bench {};

std::string failure_of(const fs::path& file, bool existing = false) {
  auto opened = Ledger::open(file, existing);
  return opened ? "" : opened.error().message;
}

TEST_F(Ledgers, AFileThatIsNoLedgerIsLeftAlone) {
  fs::path text = folder.path() / "notes.txt";
  ASSERT_TRUE(write_file(text, "a list of things, none of them a ledger"));
  EXPECT_NE(failure_of(text).find("is no ledger"), std::string::npos);
  EXPECT_EQ(*read_file(text), "a list of things, none of them a ledger");
}

TEST_F(Ledgers, AnotherProgramsDatabaseIsLeftAlone) {
  fs::path file = folder.path() / "other.sqlite";
  {
    auto other = Database::open(file, false);
    ASSERT_TRUE(other);
    ASSERT_TRUE(other->execute("CREATE TABLE cell(x)"));
  }
  EXPECT_NE(failure_of(file).find("is no ledger"), std::string::npos);
}

TEST_F(Ledgers, ALedgerOfANewerSchemaIsRefused) {
  fs::path file = folder.path() / "newer.sqlite";
  { Ledger book = ledger("newer.sqlite"); }
  {
    auto database = Database::open(file, true);
    ASSERT_TRUE(database->execute("PRAGMA user_version=99"));
  }
  EXPECT_NE(failure_of(file).find("newer namesake"), std::string::npos);
}

TEST_F(Ledgers, AMissingOneIsNotMadeByLooking) {
  fs::path file = folder.path() / "missing.sqlite";
  EXPECT_NE(failure_of(file, true).find("there is no ledger"), std::string::npos);
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(Ledgers, ClosedItIsOneFile) {
  {
    Ledger book = ledger("one.sqlite");
    input(book);
  }
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    std::string name = entry.path().filename().string();
    if (name.starts_with("one.sqlite")) names.push_back(name);
  }
  EXPECT_EQ(names, std::vector<std::string>{"one.sqlite"});
}

TEST_F(Ledgers, ATextComesBackByItsHash) {
  Ledger book = ledger();
  Input entered = input(book);
  auto text = book.text(entered.hash);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, *read_file(sample()));
  EXPECT_FALSE(book.text("0000"));
}

TEST_F(Ledgers, ANameStandsForItsNewestText) {
  Ledger book = ledger();
  input(book);
  auto changed = book.add_input("sample", *read_file(sample("8.3")), {"large_kernel"});
  ASSERT_TRUE(changed);
  auto inputs = book.inputs();
  ASSERT_TRUE(inputs);
  ASSERT_EQ(inputs->size(), 1u);
  EXPECT_EQ(inputs->front().hash, changed->hash);
}

TEST_F(Ledgers, OneClaimsACellAndTheOtherDoesNot) {
  Ledger first = ledger(), second = ledger();
  Input entered = input(first);
  auto cells = first.want({{entered.hash, "sm_90", "13.5.37", "stand-in"}});
  ASSERT_TRUE(cells);
  ASSERT_EQ(cells->size(), 1u);
  ASSERT_TRUE(first.begin_work());
  ASSERT_TRUE(second.begin_work());
  EXPECT_TRUE(*first.claim(cells->front().id));
  EXPECT_FALSE(*second.claim(cells->front().id));
}

TEST_F(Ledgers, AClaimEndsWithItsWorker) {
  Ledger second = ledger();
  Input entered = input(second);
  auto cells = second.want({{entered.hash, "sm_90", "13.5.37", "stand-in"}});
  ASSERT_TRUE(cells);
  {
    Ledger first = ledger();
    ASSERT_TRUE(first.begin_work());
    EXPECT_TRUE(*first.claim(cells->front().id));
  }
  ASSERT_TRUE(second.begin_work());
  EXPECT_TRUE(*second.claim(cells->front().id));
}

TEST(Compression, GivesBackWhatItWasGiven) {
  for (const std::string& text :
       {std::string(), std::string(100'000, 'x'), std::string("\0a\xff", 3)}) {
    auto back = decompressed(compressed(text));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, text);
  }
}

TEST(Compression, DamageIsToldNotFollowed) {
  std::string small = compressed("some bytes that are not random at all, all at all");
  EXPECT_FALSE(decompressed(small.substr(0, small.size() / 2)));
  EXPECT_FALSE(decompressed("no zstd"));
  EXPECT_FALSE(decompressed(""));
}

}  // namespace
}  // namespace namesake::census
