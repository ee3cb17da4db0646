#include "process.h"
#include "test_file.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mica::tests {
namespace {

constexpr rlim_t kLongestOutput = rlim_t(256) << 20;

/// The child's side: never returns.
[[noreturn]] void become(const std::vector<std::string> &words, const std::string &in, const std::string &out,
                         const std::string &err, const std::string &folder) {
  setpgid(0, 0);
  rlimit none = {0, 0}, size = {kLongestOutput, kLongestOutput};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_FSIZE, &size);
  if (chdir(folder.c_str()) != 0) _exit(127);
  int fd0 = open(in.c_str(), O_RDONLY);
  int fd1 = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int fd2 = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd0 < 0 || fd1 < 0 || fd2 < 0 || dup2(fd0, 0) < 0 || dup2(fd1, 1) < 0 || dup2(fd2, 2) < 0) _exit(127);
  for (int fd = 3; fd < 32; ++fd) close(fd);
  std::vector<char *> argv;
  for (const std::string &word : words) argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  dprintf(2, "%s: cannot be run: %s\n", argv[0], std::strerror(errno));
  _exit(127);
}

std::filesystem::path own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

} // namespace

const std::string &programs() {
  static const std::string folder = own_path().parent_path().string();
  return folder;
}

const std::string &root() {
  static const std::string folder = own_path().parent_path().parent_path().parent_path().string();
  return folder;
}

Scratch::Scratch() {
  const char *base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/mica-test-XXXXXX";
  if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder: " + path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Outcome run_program(const std::vector<std::string> &words, const std::string &input,
                    const std::string &folder, int seconds) {
  Scratch streams;
  const std::string in = streams.path() + "/in", out = streams.path() + "/out", err = streams.path() + "/err";
  Outcome outcome;
  if (words.empty() || !write_file(in, input)) {
    outcome.exit_code = 127;
    outcome.err = "the test runner cannot write its temporary files\n";
    return outcome;
  }
  std::vector<std::string> command = words;
  if (command[0].find('/') == std::string::npos && access((programs() + "/" + command[0]).c_str(), X_OK) == 0)
    command[0] = programs() + "/" + command[0];
  pid_t child = fork();
  if (child == 0) become(command, in, out, err, folder);
  setpgid(child, child);
  int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd waiting = {handle, POLLIN, 0};
  bool late = handle >= 0 && poll(&waiting, 1, seconds * 1000) == 0;
  if (late) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-child, SIGKILL); // what it may have left behind
  if (handle >= 0) close(handle);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  if (WIFSIGNALED(status)) {
    outcome.exit_code = 128 + WTERMSIG(status);
    outcome.signal = late ? "ran longer than " + std::to_string(seconds) + " s"
                          : std::string("killed by signal: ") + strsignal(WTERMSIG(status));
  } else {
    outcome.exit_code = WEXITSTATUS(status);
  }
  return outcome;
}

Outcome run_pipeline(const std::string &command, const std::string &input, const std::string &folder,
                     int seconds) {
  Outcome all;
  all.out = input;
  std::vector<std::string> words;
  std::vector<std::vector<std::string>> stages;
  for (const std::string &word : split_words(command + " |")) {
    if (word != "|") {
      words.push_back(word);
      continue;
    }
    stages.push_back(words);
    words.clear();
  }
  for (const std::vector<std::string> &stage : stages) {
    Outcome one = run_program(stage, all.out, folder, seconds);
    all.out = one.out;
    all.err += one.err;
    all.exit_code = one.exit_code;
    all.signal = one.signal;
    if (one.exit_code != 0) break;
  }
  return all;
}

} // namespace mica::tests
