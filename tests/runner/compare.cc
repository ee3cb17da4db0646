#include "compare.h"
#include "spectra/text.h"
#include "spectra/tree.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace mica::tests {
namespace {

bool is_spectra(const std::string &bytes) { return bytes.starts_with("spectra 1 "); }

struct Edit {
  char sign; ///< ' ', '-', '+'
  const std::string *line;
};

/// Longest common subsequence after the common beginning and end are taken off; very long texts are shown as
/// replaced.
std::vector<Edit> edits(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail + head < a.size() && tail + head < b.size() && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const size_t n = a.size() - head - tail, m = b.size() - head - tail;
  std::vector<Edit> result;
  for (size_t i = 0; i < head; ++i) result.push_back({' ', &a[i]});
  if (n * m > 4'000'000) {
    for (size_t i = 0; i < n; ++i) result.push_back({'-', &a[head + i]});
    for (size_t j = 0; j < m; ++j) result.push_back({'+', &b[head + j]});
  } else {
    std::vector<std::vector<int>> longest(n + 1, std::vector<int>(m + 1));
    for (size_t i = n; i-- > 0;)
      for (size_t j = m; j-- > 0;)
        longest[i][j] = a[head + i] == b[head + j] ? longest[i + 1][j + 1] + 1
                                                   : std::max(longest[i + 1][j], longest[i][j + 1]);
    for (size_t i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && a[head + i] == b[head + j])
        result.push_back({' ', &a[head + i]}), ++i, ++j;
      else if (i < n && (j == m || longest[i + 1][j] >= longest[i][j + 1]))
        result.push_back({'-', &a[head + i++]});
      else
        result.push_back({'+', &b[head + j++]});
    }
  }
  for (size_t i = 0; i < tail; ++i) result.push_back({' ', &a[a.size() - tail + i]});
  return result;
}

/// Errors on stderr against the marks: `name:line:column: error: text`.
std::string compare_errors(const TestFile &test, const std::string &stderr_text) {
  std::string wrong;
  std::vector<ExpectedError> expected = test.errors;
  static const std::regex form("^[^:]*:([0-9]+):[0-9]+: error: (.*)$");
  for (const std::string &line : split_lines(stderr_text)) {
    std::smatch match;
    if (!std::regex_match(line, match, form)) continue;
    const int number = std::stoi(match[1]);
    const std::string text = match[2];
    bool taken = false;
    for (ExpectedError &error : expected)
      if (!taken && !error.found && error.line == number && text.find(error.text) != std::string::npos)
        taken = error.found = true;
    if (!taken) wrong += "an error that no line expects: " + line + "\n";
  }
  for (const ExpectedError &error : expected)
    if (!error.found)
      wrong += "line " + std::to_string(error.line) + ": the error did not come: " + error.text + "\n";
  return wrong;
}

} // namespace

std::string normalize(const std::string &bytes) {
  return is_spectra(bytes) ? spectra::strip_text(bytes) : bytes;
}

std::string unified_diff(const std::string &expected, const std::string &actual, const std::string &what) {
  if (expected == actual) return {};
  std::vector<std::string> a = split_lines(expected), b = split_lines(actual);
  if (!expected.empty() && expected.back() != '\n') a.back() += " \\ no newline at the end";
  if (!actual.empty() && actual.back() != '\n') b.back() += " \\ no newline at the end";
  const std::vector<Edit> all = edits(a, b);
  std::vector<bool> shown(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].sign != ' ')
      for (size_t j = i < 3 ? 0 : i - 3; j < std::min(all.size(), i + 4); ++j) shown[j] = true;
  std::string text = "--- expected " + what + "\n+++ actual " + what + "\n";
  size_t line_a = 1, line_b = 1, lines = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (shown[i]) {
      if (i == 0 || !shown[i - 1])
        text += "@@ -" + std::to_string(line_a) + " +" + std::to_string(line_b) + " @@\n";
      text += all[i].sign + *all[i].line + "\n";
      if (++lines == 200) return text + "... the rest is left out\n";
    }
    if (all[i].sign != '+') ++line_a;
    if (all[i].sign != '-') ++line_b;
  }
  return text;
}

int count_lines(const std::string &text, const std::string &what) {
  int number = 0;
  for (const std::string &line : split_lines(text)) {
    size_t at = line.find_first_not_of(' ');
    if (at == std::string::npos) continue;
    if (line[at] == '%') {
      size_t equals = line.find(" = ", at);
      if (equals != std::string::npos) at = equals + 3;
    }
    if (line.compare(at, what.size(), what) != 0) continue;
    const char after = at + what.size() < line.size() ? line[at + what.size()] : ' ';
    if (!isalnum(static_cast<unsigned char>(after)) && after != '_' && after != '.') ++number;
  }
  return number;
}

std::string check_laws(const std::string &text) {
  std::ostringstream said;
  std::string printed;
  if (text.starts_with("spectra 1 parsed\n")) {
    spectra::Tree tree;
    if (spectra::read_tree(text, "output", tree, said) != spectra::TreeResult::ok)
      return "the output does not read:\n" + said.str();
    printed = spectra::print_tree(tree);
  } else {
    spectra::Module module;
    if (spectra::read_module(text, "output", module, said) != spectra::ReadResult::ok)
      return "the output does not read:\n" + said.str();
    if (!spectra::verify_module(module, "output", said)) return "the output does not verify:\n" + said.str();
    printed = spectra::print_module(module);
  }
  if (printed != text)
    return "printing what was read gives other bytes:\n" + unified_diff(text, printed, "text");
  return {};
}

std::string compare(const TestFile &test, const Outcome &outcome) {
  std::string wrong;
  if (!outcome.signal.empty()) wrong += outcome.signal + "\n";
  if (outcome.exit_code != test.exit_code)
    wrong += "exit code " + std::to_string(outcome.exit_code) + ", expected " +
             std::to_string(test.exit_code) + "\n";
  const std::string out = normalize(outcome.out), err = normalize(outcome.err);
  const bool by_other_means = !test.counts.empty() || !test.errors.empty() || !test.match.empty();
  if (!test.out && test.exit_code == 0 && !by_other_means)
    wrong += "no expectation: the file has no `--- stdout` block; `make update` writes one\n";
  if (!test.err && test.exit_code != 0 && test.errors.empty())
    wrong += "no expectation: the exit code is not 0 and the file has no `--- stderr` block; `make update` "
             "writes one\n";
  if (test.out || !by_other_means) wrong += unified_diff(test.out.value_or(""), out, "stdout");
  if (test.err || test.errors.empty()) wrong += unified_diff(test.err.value_or(""), err, "stderr");
  if (!test.errors.empty()) wrong += compare_errors(test, outcome.err);
  for (const Count &count : test.counts) {
    int number = count_lines(out, count.what);
    if (number != count.number)
      wrong += "`" + count.what + "` on " + std::to_string(number) + " lines, expected " +
               std::to_string(count.number) + "\n";
  }
  if (!test.match.empty() && !std::regex_match(out, std::regex(test.match)))
    wrong += "standard output does not match " + test.match + ":\n" + out;
  if (is_spectra(outcome.out) && outcome.exit_code == 0) wrong += check_laws(outcome.out);
  return wrong;
}

} // namespace mica::tests
