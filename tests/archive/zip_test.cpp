#include "archive/zip.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "util/file.h"
#include "util/subprocess.h"
#include "zip_writer.h"

namespace namesake::archive {
namespace {

std::string content_of(const std::string& file, std::string_view name) {
  auto members = read_zip(file, "x.zip");
  EXPECT_TRUE(members) << (members ? "" : members.error().message);
  if (!members) return "";
  for (const ZipMember& member : *members) {
    if (member.name != name) continue;
    std::string storage;
    auto content = unpack(member, name, storage);
    EXPECT_TRUE(content) << (content ? "" : content.error().message);
    return content ? std::string(*content) : "";
  }
  ADD_FAILURE() << "no " << name;
  return "";
}

std::string failure(const std::string& file) {
  auto members = read_zip(file, "x.zip");
  if (!members) return members.error().message;
  for (const ZipMember& member : *members) {
    std::string storage;
    auto content = unpack(member, member.name, storage);
    if (!content) return content.error().message;
  }
  return "";
}

TEST(Zip, stored_and_deflated_members_come_back_as_they_were) {
  std::string text(100'000, 'x');
  std::string file =
      zip_of({{"a.txt", "hello", false}, {"b/c.so", text}, {"empty", ""}, {"none", "", false}});
  EXPECT_EQ(content_of(file, "a.txt"), "hello");
  EXPECT_EQ(content_of(file, "b/c.so"), text);
  EXPECT_EQ(content_of(file, "empty"), "");
  EXPECT_EQ(content_of(file, "none"), "");
}

TEST(Zip, folders_are_left_out) {
  auto members = read_zip(zip_of({{"b/", "", false}, {"b/c", "x"}}), "x.zip");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 1u);
  EXPECT_EQ(members->front().name, "b/c");
}

TEST(Zip, what_python_writes_is_read_zip64_included) {
  auto folder = TemporaryFolder::make("namesake-zip");
  ASSERT_TRUE(folder);
  std::string path = (folder->path() / "p.zip").string();
  Command command;
  command.arguments = {"python3", "-c",
                       "import zipfile,sys\n"
                       "with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:\n"
                       "  with z.open('wide', 'w', force_zip64=True) as f: f.write(b'w' * 70000)\n"
                       "  z.writestr('narrow', b'n' * 10)\n"
                       "  z.comment = b'PK\\5\\6 in the comment'\n",
                       path};
  auto done = run(command);
  ASSERT_TRUE(done && done->ok()) << (done ? done->err : "no python3");
  auto file = read_file(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(content_of(*file, "wide"), std::string(70000, 'w'));
  EXPECT_EQ(content_of(*file, "narrow"), std::string(10, 'n'));
}

TEST(Zip, a_file_cut_anywhere_is_an_error_in_one_sentence) {
  std::string file = zip_of({{"a", std::string(3000, 'a')}, {"b", "bbb", false}});
  for (size_t size = 0; size < file.size(); ++size) {
    std::string message = failure(file.substr(0, size));
    EXPECT_NE(message, "") << size;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Zip, a_damaged_member_is_told_by_its_checksum) {
  std::string file = zip_of({{"a", "some content", false}});
  file[file.find("content")] = 'C';
  EXPECT_EQ(failure(file), "a: damaged: its checksum is not the archive's");
}

TEST(Zip, a_claim_beyond_what_deflate_can_pack_is_refused_before_memory_is_taken) {
  EXPECT_NE(failure(zip_of({{"bomb", "x", true, 0xfffffff0u}})).find("more than deflate can pack"),
            std::string::npos);
}

TEST(Zip, a_member_never_becomes_larger_than_it_claims) {
  EXPECT_NE(failure(zip_of({{"a", std::string(5000, 'x'), true, 100}}))
                .find("does not unpack to the 100 bytes"),
            std::string::npos);
  EXPECT_NE(failure(zip_of({{"a", std::string(100, 'x'), true, 5000}}))
                .find("does not unpack to the 5000 bytes"),
            std::string::npos);
}

// The directory names the same packed bytes over and over.
TEST(Zip, members_that_share_bytes_are_refused) {
  std::string file = zip_of({{"a", std::string(1 << 20, 'x')}, {"b", "b"}});
  size_t directory = file.find("PK\1\2"), end = file.find("PK\5\6");
  std::string first = file.substr(directory, 47);
  std::string rows;
  constexpr uint16_t kRows = 1000;
  for (int i = 0; i < kRows; ++i) rows += first;
  std::string hostile = file.substr(0, directory) + rows + file.substr(end);
  size_t record = hostile.rfind("PK\5\6");
  auto put_at = [&](size_t at, auto value) {
    std::memcpy(hostile.data() + at, &value, sizeof value);
  };
  put_at(record + 8, kRows);
  put_at(record + 10, kRows);
  put_at(record + 12, static_cast<uint32_t>(rows.size()));
  EXPECT_NE(failure(hostile).find("its members overlap"), std::string::npos);
}

RC_GTEST_PROP(Zip, any_contents_survive, ()) {
  auto contents = *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  std::vector<ZipSource> sources;
  for (const std::string& content : contents) {
    sources.push_back({"m" + std::to_string(sources.size()), content, *rc::gen::arbitrary<bool>()});
  }
  std::string file = zip_of(sources);
  for (const ZipSource& source : sources)
    RC_ASSERT(content_of(file, source.name) == source.content);
}

RC_GTEST_PROP(Zip, damage_gives_an_error_or_views_inside_the_file, ()) {
  static const std::string kFile = zip_of({{"a", std::string(3000, 'a')}, {"b", "bbb", false}});
  std::string file = kFile;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i)
    file[*rc::gen::inRange<size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  auto members = read_zip(file, "damaged");
  if (!members) return;
  for (const ZipMember& member : *members) {
    if (member.data.empty()) continue;
    RC_ASSERT(member.data.data() >= file.data());
    RC_ASSERT(member.data.data() + member.data.size() <= file.data() + file.size());
  }
}

}  // namespace
}  // namespace namesake::archive
