#include "report/html.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cctype>
#include <cstdlib>

#include "golden.h"
#include "random_report.h"
#include "util/file.h"

namespace namesake::report {
namespace {

size_t occurrences(const std::string& text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

// "" for a page whose every element is closed in order, every attribute quoted, every & an entity;
// otherwise what is wrong and where. Stricter than HTML, so that hostile text that slips through
// has no place to hide.
std::string malformed(const std::string& html) {
  std::vector<std::string> open;
  auto at_text = [&](size_t i) { return ": " + html.substr(i, 60); };
  size_t i = html.find("<html");
  while (i < html.size()) {
    if (html[i] == '&') {
      size_t end = html.find(';', i);
      if (end == std::string::npos || end - i > 8) return "a bare &" + at_text(i);
      i = end + 1;
      continue;
    }
    if (html[i] == '>') return "a bare >" + at_text(i);
    if (html[i] != '<') {
      ++i;
      continue;
    }
    if (html[i + 1] == '/') {
      size_t end = html.find('>', i);
      std::string name = html.substr(i + 2, end - i - 2);
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()) + at_text(i);
      open.pop_back();
      i = end + 1;
      continue;
    }
    size_t start = i++;
    std::string name;
    while (i < html.size() && (std::isalnum(static_cast<unsigned char>(html[i]))))
      name += html[i++];
    if (name.empty()) return "a bare <" + at_text(start);
    bool closed = false;
    for (;;) {
      while (i < html.size() && (html[i] == ' ' || html[i] == '\n')) ++i;
      if (i < html.size() && html[i] == '/') closed = true, ++i;
      if (i >= html.size()) return "an open tag" + at_text(start);
      if (html[i] == '>') break;
      size_t equals = html.find('=', i);
      for (; i < equals; ++i) {
        if (!std::isalpha(static_cast<unsigned char>(html[i])) && html[i] != '-' &&
            !std::isdigit(static_cast<unsigned char>(html[i]))) {
          return "an attribute without value" + at_text(start);
        }
      }
      if (html[++i] != '"') return "an attribute without quotes" + at_text(start);
      size_t end = html.find('"', i + 1);
      if (html.substr(i, end - i).find('<') != std::string::npos)
        return "markup in an attribute" + at_text(start);
      i = end + 1;
    }
    ++i;
    if (closed) continue;
    if (name == "style" || name == "script") {
      i = html.find("</" + name + ">", i) + name.size() + 3;
      continue;
    }
    open.push_back(name);
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

TEST(Html, the_checker_itself_finds_what_is_wrong) {
  EXPECT_EQ(malformed("<html><p class=\"a\">x &amp; y</p><br/></html>"), "");
  EXPECT_NE(malformed("<html><p></html>"), "");
  EXPECT_NE(malformed("<html>a & b</html>"), "");
  EXPECT_NE(malformed("<html><p class=a></p></html>"), "");
  EXPECT_NE(malformed("<html><p onclick></p></html>"), "");
  EXPECT_NE(malformed("<html><a></p></a></html>"), "");
}

RC_GTEST_PROP(Html, whatever_the_names_the_page_is_well_formed_and_holds_no_element_of_theirs, ()) {
  std::string html = to_html(random::difference());
  RC_ASSERT(malformed(html) == "");
  RC_ASSERT(occurrences(html, "<script>") == 1u);
  RC_ASSERT(occurrences(html, "<img") == 0u);
  for (unsigned char c : html) RC_ASSERT(c == '\n' || c >= 0x20);
}

TEST(Html, the_sample_page_is_well_formed_and_fetches_nothing) {
  std::string html = to_html(sample_difference());
  EXPECT_EQ(malformed(html), "");
  for (const char* fetch : {"http:", "https:", "src=", "url(", "@import", "<link"})
    EXPECT_EQ(occurrences(html, fetch), 0u) << fetch;
}

TEST(Html, a_failed_control_stands_above_the_matrix) {
  std::string html = to_html(sample_difference());
  ASSERT_NE(html.find("A control failed:"), std::string::npos);
  EXPECT_LT(html.find("A control failed:"), html.find("Which functions change"));
}

Difference many(int functions, int rows) {
  Difference d;
  d.architectures = {"sm_90"};
  for (int i = 0; i < functions; ++i) {
    FunctionDifference f;
    f.symbol = "_Z6kernelILi" + std::to_string(i) + "EEvPKfS1_Pfiii";
    f.name = "kernel<" + std::to_string(i) + ">(float const*, float const*, float*, int, int, int)";
    f.architecture = "sm_90";
    f.verdict = Verdict::different;
    f.a.registers = 40;
    f.b.registers = 40 + i % 100;
    f.a.mix = {100 + i, {{"address", 10}, {"fp", 90}}, {{"LEA", 10}, {"FFMA", 90 + i}}};
    f.b.mix = {100, {{"address", 20}, {"fp", 80}}, {{"LEA", 20}, {"FFMA", 80}}};
    f.sass.resize(static_cast<size_t>(rows));
    for (SassRow& row : f.sass) {
      row.change = '~';
      row.a = "[B------:R-:W-:-:S04] FFMA R1, R2, R3, R4";
      row.b = "[B------:R-:W-:-:S04] FFMA R1, R2, R3, R5";
    }
    d.functions.push_back(std::move(f));
  }
  return d;
}

void expect_bounded(int functions, int rows) {
  HtmlStyle style;
  std::string html = to_html(many(functions, rows), style);
  EXPECT_LT(html.size(), style.byte_budget + style.byte_budget / 10);
  EXPECT_EQ(malformed(html), "");
  EXPECT_NE(html.find("to keep this page small"), std::string::npos);
  // The last function changes most, so it is among those shown.
  EXPECT_NE(html.find("kernel&lt;" + std::to_string(functions - 1) + "&gt;"), std::string::npos);
}

TEST(Html, a_page_of_2000_functions_stays_within_its_budget) {
  expect_bounded(2000, 150);
}
TEST(Html, a_page_of_20000_functions_stays_within_its_budget) {
  expect_bounded(20000, 2);
}

TEST(Html, one_huge_function_is_cut_and_the_page_says_so) {
  HtmlStyle style;
  style.byte_budget = 1 << 20;
  std::string html = to_html(many(1, 60000), style);
  EXPECT_LT(html.size(), style.byte_budget + style.byte_budget / 10);
  EXPECT_NE(html.find("further lines left out"), std::string::npos);
  EXPECT_EQ(malformed(html), "");
}

// The script in a real browser: what each key and click leaves in the page is written into its
// title.
TEST(Html, the_script_sorts_filters_folds_and_opens) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "needs chromium to run the page's script: apt-get install chromium";
  }
  std::string html = to_html(sample_difference());
  std::string probe = R"(<script>
    const visible = s => [...document.querySelectorAll(s)].filter(e => !e.classList.contains('hidden')).length;
    const key = k => document.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true}));
    const seen = [];
    const filter = document.getElementById('filter');
    filter.value = 'stencil float'; filter.dispatchEvent(new Event('input'));
    seen.push('rows ' + visible('.matrix tbody tr') + ' cards ' + visible('.fn'));
    filter.value = ''; filter.dispatchEvent(new Event('input'));
    document.querySelector('.chip.same').click();
    seen.push('same hidden ' + (visible('.matrix tbody tr') < document.querySelectorAll('.matrix tbody tr').length));
    document.querySelector('.chip.same').click();
    document.querySelector('.matrix thead th').click();
    const names = [...document.querySelectorAll('.matrix tbody th')].map(e => e.textContent);
    seen.push('sorted ' + (names.join() === [...names].sort((x, y) => x.localeCompare(y)).join()));
    const fold = document.querySelector('.sass .f button');
    fold.click();
    seen.push('open folds ' + document.querySelectorAll('.fold.open').length);
    key('j'); key('j');
    seen.push('here ' + document.querySelector('.fn.here').id);
    key('o');
    seen.push('opened ' + document.querySelector('.fn.here').open);
    const cell = document.querySelector('.sass .s');
    cell.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
    seen.push('hover ' + cell.title.includes('stall'));
    document.title = seen.join('; ');
  </script></body>)";
  size_t end = html.rfind("</body>");
  html.replace(end, 7, probe);
  auto folder = TemporaryFolder::make("page");
  ASSERT_TRUE(folder);
  std::string path = (folder->path() / "page.html").string();
  ASSERT_TRUE(write_file(path, html));
  std::string profile = (folder->path() / "profile").string(),
              dom = (folder->path() / "dom").string();
  std::string command =
      "timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir='" + profile +
      "' --dump-dom 'file://" + path + "' >'" + dom + "' 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  auto text = read_file(dom);
  ASSERT_TRUE(text);
  size_t title = text->find("<title>");
  EXPECT_EQ(text->substr(title, text->find("</title>") - title),
            "<title>rows 1 cards 3; same hidden true; sorted true; open folds 1; here f1; opened "
            "false; hover true");
}

}  // namespace
}  // namespace namesake::report
