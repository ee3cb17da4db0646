#include "mutate.h"

#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace mica::fuzz {
namespace {

/// A small generator with the same numbers everywhere.
struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint32_t next(size_t bound) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return static_cast<uint32_t>((state * 0x2545F4914F6CDD1Du >> 33) % (bound ? bound : 1));
  }
};

struct Span {
  size_t begin, end;
};

/// Words, names with their sign, numbers, and single other characters.
std::vector<Span> tokens_of(const std::string &text) {
  std::vector<Span> tokens;
  auto inside = [&](size_t i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    return std::isalnum(c) || c == '_' || c == '\'' || c > 127 || std::strchr("@%$!.", c);
  };
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i++;
    if (text[begin] == ' ' || text[begin] == '\n' || text[begin] == '\0') continue;
    if (inside(begin))
      while (i < text.size() && text[i] && inside(i)) ++i;
    tokens.push_back({begin, i});
  }
  return tokens;
}

/// Lines with their end, up to the source's own lines: a change there changes nothing but messages.
std::vector<Span> lines_of(const std::string &text) {
  std::vector<Span> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const size_t next = end == std::string::npos ? text.size() : end + 1;
    lines.push_back({begin, next});
    begin = next;
  }
  return lines;
}

std::string part(const std::string &text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

std::string with(const std::string &text, Span span, const std::string &instead) {
  return text.substr(0, span.begin) + instead + text.substr(span.end);
}

} // namespace

std::string mutated(const std::string &text, uint32_t number) {
  static const char *const kCharacters = "0123456789-+.,:;=%@$!{}()[]<>\"'|\\ \nabefxz_\x01\x80\xff\t";
  static const char *const kNumbers[] = {"0",
                                         "-1",
                                         "1",
                                         "2",
                                         "3",
                                         "7",
                                         "63",
                                         "64",
                                         "4294967296",
                                         "2147483648",
                                         "-2147483648",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "18446744073709551615",
                                         "99999999999999999999",
                                         "1e308",
                                         "nan",
                                         "inf",
                                         "1e999",
                                         "0.5"};
  Random random(number);
  // What is worth changing ends where the source's lines begin.
  const size_t source = text.find("\nlines 0 {");
  const std::string body = text.substr(0, source == std::string::npos ? text.size() : source + 1);
  const std::string rest = text.substr(body.size());
  const std::vector<Span> tokens = tokens_of(body), lines = lines_of(body);
  if (tokens.empty()) return text;
  const Span token = tokens[random.next(tokens.size())], line = lines[random.next(lines.size())];
  switch (number % 16) {
  case 0: return text.substr(0, random.next(text.size()));
  case 1: return with(body, line, "") + rest;
  case 2: return with(body, line, part(body, line) + part(body, line)) + rest;
  case 3: { // two lines that stand near each other exchanged
    const size_t first = random.next(lines.size());
    const size_t second = std::min(lines.size() - 1, first + 1 + random.next(4));
    if (first == second) return body + rest;
    return body.substr(0, lines[first].begin) + part(body, lines[second]) +
           body.substr(lines[first].end, lines[second].begin - lines[first].end) + part(body, lines[first]) +
           body.substr(lines[second].end) + rest;
  }
  case 4: { // a number at the edge of some type
    std::vector<Span> numbers;
    for (Span t : tokens)
      if (std::isdigit(static_cast<unsigned char>(body[t.begin]))) numbers.push_back(t);
    if (numbers.empty()) return body + rest;
    return with(body, numbers[random.next(numbers.size())], kNumbers[random.next(std::size(kNumbers))]) +
           rest;
  }
  case 5: { // a character
    const size_t at = random.next(body.size());
    return with(body, {at, at + 1}, std::string(1, kCharacters[random.next(std::strlen(kCharacters))])) +
           rest;
  }
  case 6: {
    const size_t at = random.next(body.size());
    return with(body, {at, at + 1}, random.next(2) ? std::string(2, body[at]) : "") + rest;
  }
  case 7: return with(body, token, "") + rest;
  case 8:
  case 9:
  case 10: { // an operand that is a value of a little before, of whatever type
    std::vector<size_t> values;
    for (size_t i = 0; i < tokens.size(); ++i)
      if (body[tokens[i].begin] == '%') values.push_back(i);
    if (values.size() < 2) return body + rest;
    const size_t at = 1 + random.next(values.size() - 1);
    const size_t from = at - 1 - random.next(std::min<size_t>(at, 40));
    return with(body, tokens[values[at]], part(body, tokens[values[from]])) + rest;
  }
  case 11:
  case 12: { // another operation, or another node of a tree
    std::vector<Span> names;
    for (size_t i = 1; i < tokens.size(); ++i)
      if (std::isalpha(static_cast<unsigned char>(body[tokens[i].begin])) &&
          (body[tokens[i - 1].begin] == '=' || body.find_last_of('\n', tokens[i].begin) + 1 ==
                                                   body.find_last_not_of(' ', tokens[i].begin - 1) + 1))
        names.push_back(tokens[i]);
    if (names.empty()) return body + rest;
    return with(body, names[random.next(names.size())], part(body, names[random.next(names.size())])) + rest;
  }
  default: { // another word of the same kind, so that it still reads
    std::vector<Span> alike;
    for (Span t : tokens)
      if (std::isalnum(static_cast<unsigned char>(body[token.begin]))
              ? std::isalnum(static_cast<unsigned char>(body[t.begin]))
              : body[t.begin] == body[token.begin] || random.next(40) == 0)
        alike.push_back(t);
    return with(body, token, part(body, alike[random.next(alike.size())])) + rest;
  }
  }
}

std::string tried(uint32_t from, uint32_t to, const Trial &trial, unsigned seconds_each) {
  struct Shared {
    uint32_t at;
    char broken[4000];
  };
  Shared *shared = static_cast<Shared *>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::string result;
  int told = 0;
  for (shared->at = from; shared->at < to && told < 20;) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGALRM, SIG_DFL);
      const rlimit memory = {size_t{8} << 30, size_t{8} << 30};
      setrlimit(RLIMIT_AS, &memory);
      for (; shared->at < to; ++shared->at) {
        alarm(seconds_each);
        const std::string broken = trial(shared->at);
        if (broken.empty()) continue;
        std::snprintf(shared->broken, sizeof shared->broken, "%s", broken.c_str());
        _exit(1);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    ++told;
    result += "change " + std::to_string(shared->at) + ": ";
    if (WIFSIGNALED(status))
      result +=
          WTERMSIG(status) == SIGALRM ? "no end" : "ended by signal " + std::to_string(WTERMSIG(status));
    else if (*shared->broken)
      result += shared->broken;
    else
      result += "exit code " + std::to_string(WEXITSTATUS(status));
    result += "\n";
    *shared->broken = 0;
    ++shared->at;
  }
  munmap(shared, sizeof(Shared));
  return result;
}

} // namespace mica::fuzz
