#include "test_file.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mica::tests {
namespace {

const char *kNoNewline = "\\ no newline at the end";
const char *kMark = " # error: ";

std::string trim(const std::string &text) {
  size_t from = text.find_first_not_of(" \t");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

/// `\n`, `\t`, `\\` in a one-line value.
std::string unescape(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    char c = text[++i];
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return result;
}

bool to_int(const std::string &text, int &value) {
  const char *end = text.data() + text.size();
  std::from_chars_result result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool header_line(TestFile &test, const std::string &key, const std::string &value, std::string *wrong) {
  if (key == "test") {
    test.command = value;
  } else if (key == "about") { // for the reader
  } else if (key == "exit") {
    test.exit_given = true;
    if (!to_int(value, test.exit_code)) *wrong = "`# exit:` needs a number";
  } else if (key == "args") {
    test.args = value;
  } else if (key == "stdin") {
    test.standard_input = unescape(value);
  } else if (key == "file") {
    test.file = value;
  } else if (key == "tiers") {
    test.tiers = split_words(value);
  } else if (key == "awaits") {
    test.awaits = value;
  } else if (key == "match") {
    test.match = value;
  } else if (key == "seconds") {
    if (!to_int(value, test.seconds)) *wrong = "`# seconds:` needs a number";
  } else if (key == "count") {
    size_t blank = value.find_last_of(' ');
    Count count;
    if (blank == std::string::npos || !to_int(value.substr(blank + 1), count.number))
      *wrong = "`# count:` needs an operation and a number";
    else
      count.what = trim(value.substr(0, blank)), test.counts.push_back(count);
  } else {
    *wrong = "unknown key `" + key + "`";
  }
  return wrong->empty();
}

/// Takes the marks off the input's lines and remembers them.
void take_marks(TestFile &test) {
  int number = 0;
  for (std::string line : split_lines(test.source)) {
    ++number;
    std::vector<std::string> texts;
    for (size_t at = line.rfind(kMark); at != std::string::npos; at = line.rfind(kMark)) {
      texts.insert(texts.begin(), trim(line.substr(at + std::char_traits<char>::length(kMark))));
      line = line.substr(0, at);
    }
    if (!texts.empty()) line.erase(line.find_last_not_of(' ') + 1);
    for (const std::string &text : texts) test.errors.push_back({number, text});
    test.input += line + "\n";
  }
  if (test.errors.empty()) test.input = test.source; // byte for byte, also without a last newline
}

} // namespace

std::string read_file(const std::string &path, bool *ok) {
  std::ifstream in(path, std::ios::binary);
  if (ok) *ok = in.good();
  return {std::istreambuf_iterator<char>(in), {}};
}

bool write_file(const std::string &path, const std::string &bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  return !out.fail();
}

std::vector<std::string> split_words(const std::string &text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> split_lines(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool TestFile::builds_program() const {
  std::vector<std::string> words = split_words(command);
  if (words.empty() || words[0] != "micac") return false;
  for (const std::string &word : words)
    if (word.starts_with("--emit") || word == "--help" || word == "--version" || word == "-o" || word == "|")
      return false;
  return true;
}

bool read_test(const std::string &root, const std::string &path, TestFile &test, std::string *wrong) {
  wrong->clear();
  test.path = path;
  size_t slash = path.find_last_of('/');
  test.name = path.substr(slash + 1, path.size() - slash - 1 - std::char_traits<char>::length(".test"));
  size_t folder = path.find_last_of('/', slash - 1);
  test.suite = path.substr(folder + 1, slash - folder - 1);

  bool ok = false;
  const std::string text = read_file(root + "/" + path, &ok);
  if (!ok) {
    *wrong = "cannot be read";
    return false;
  }
  enum class Part { header, input, file, out, err } part = Part::header;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    bool ended = end != std::string::npos;
    if (!ended) end = text.size();
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (part == Part::header) {
      if (line.starts_with("# ")) {
        size_t colon = line.find(':');
        if (colon == std::string::npos) {
          *wrong = "a header line is `# key: value`";
          return false;
        }
        test.header.push_back(line);
        if (!header_line(test, trim(line.substr(2, colon - 2)), trim(line.substr(colon + 1)), wrong))
          return false;
        continue;
      }
      part = Part::input;
    }
    if (line.starts_with("--- file ")) {
      part = Part::file;
      test.files.emplace_back(line.substr(std::char_traits<char>::length("--- file ")), "");
    } else if (line == "--- stdout") {
      part = Part::out;
      test.out.emplace();
    } else if (line == "--- stderr") {
      part = Part::err;
      test.err.emplace();
    } else if (part != Part::input && part != Part::file && line == kNoNewline) {
      std::string &block = part == Part::out ? *test.out : *test.err;
      if (!block.empty()) block.pop_back();
    } else {
      std::string &block = part == Part::out    ? *test.out
                           : part == Part::err  ? *test.err
                           : part == Part::file ? test.files.back().second
                                                : test.source;
      block += line;
      if (ended) block += '\n';
    }
  }
  if (test.command.empty()) *wrong = "`# test:` is missing";
  if (!test.file.empty() && !test.source.empty()) *wrong = "an input beside `# file:`";
  if (!wrong->empty()) return false;
  take_marks(test);
  if (!test.file.empty()) {
    test.input = read_file(root + "/" + test.file, &ok);
    if (!ok) *wrong = "`# file:` " + test.file + " cannot be read";
  }
  if (!test.errors.empty() && !test.exit_given) test.exit_code = 1;
  return wrong->empty();
}

std::string render_test(const TestFile &test, const std::optional<std::string> &out,
                        const std::optional<std::string> &err) {
  std::string text;
  for (const std::string &line : test.header) text += line + "\n";
  text += test.source;
  if (!text.empty() && text.back() != '\n') text += '\n';
  for (const auto &[name, bytes] : test.files) text += "--- file " + name + "\n" + bytes;
  auto block = [&](const char *name, const std::optional<std::string> &bytes) {
    if (!bytes) return;
    text += std::string("--- ") + name + "\n" + *bytes;
    if (!bytes->empty() && bytes->back() != '\n') text += std::string("\n") + kNoNewline + "\n";
  };
  block("stdout", out);
  block("stderr", err);
  return text;
}

} // namespace mica::tests
