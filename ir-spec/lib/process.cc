#include "spectra/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace spectra {
namespace {

volatile std::sig_atomic_t caught = 0;

void on_signal(int number) { caught = number; }

} // namespace

TempFolder::TempFolder(const std::string &prefix) {
  const char *base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/" + prefix + "-XXXXXX";
  if (!mkdtemp(path_.data()))
    throw Refusal("cannot make the temporary folder " + path_ + ": " + std::strerror(errno));
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

pid_t start(const Command &command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  auto stream = [&](int fd, const std::string &path, int given, int flags) {
    if (given >= 0)
      posix_spawn_file_actions_adddup2(&actions, given, fd);
    else if (!path.empty())
      posix_spawn_file_actions_addopen(&actions, fd, path.c_str(), flags, 0666);
  };
  stream(STDIN_FILENO, command.input, command.input_fd, O_RDONLY);
  stream(STDOUT_FILENO, command.output, command.output_fd, O_WRONLY | O_CREAT | O_TRUNC);
  stream(STDERR_FILENO, command.errors, -1, O_WRONLY | O_CREAT | O_TRUNC);
  // What catch_interrupts() changed here must not be inherited as ignored; handlers reset by themselves.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<char *> argv;
  for (const std::string &word : command.words) argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = -1;
  int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return child;
  std::cerr << command.words[0] << ": error: cannot be started: " << std::strerror(error) << '\n';
  return -1;
}

std::vector<Ended> wait_for(const std::vector<pid_t> &programs, bool end_others) {
  std::vector<Ended> results(programs.size());
  std::vector<bool> running(programs.size());
  size_t left = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    running[i] = programs[i] > 0;
    left += running[i];
    if (!running[i]) results[i].code = 127;
  }
  bool ended = false;
  auto end_all = [&] {
    if (ended) return;
    ended = true;
    for (size_t i = 0; i < programs.size(); ++i)
      if (running[i]) kill(programs[i], SIGTERM);
  };
  if (end_others && left < programs.size()) end_all();
  while (left > 0) {
    if (caught) end_all();
    int status = 0;
    pid_t child = waitpid(-1, &status, 0);
    if (child < 0) {
      if (errno == EINTR) continue;
      break;
    }
    for (size_t i = 0; i < programs.size(); ++i) {
      if (!running[i] || programs[i] != child) continue;
      running[i] = false;
      --left;
      if (WIFSIGNALED(status))
        results[i].signal = WTERMSIG(status);
      else
        results[i].code = WEXITSTATUS(status);
      if (!results[i].ok() && end_others) end_all();
    }
  }
  return results;
}

std::vector<Ended> run_commands(const std::vector<Command> &commands, int limit) {
  std::vector<Ended> results(commands.size());
  std::vector<pid_t> running;
  std::vector<size_t> which;
  size_t next = 0;
  bool failed = false;
  while (true) {
    while (!failed && !caught && next < commands.size() &&
           running.size() < static_cast<size_t>(std::max(limit, 1))) {
      running.push_back(start(commands[next]));
      which.push_back(next++);
    }
    if (running.empty()) break;
    // One ends at a time, so that the next can take its place.
    int status = 0;
    size_t at = running.size();
    for (size_t i = 0; i < running.size(); ++i)
      if (running[i] < 0) at = i, status = 127 << 8;
    if (at == running.size()) {
      pid_t child = waitpid(-1, &status, 0);
      if (child < 0) {
        if (errno != EINTR) break;
        for (pid_t pid : running) kill(pid, SIGTERM);
        continue;
      }
      at = static_cast<size_t>(std::find(running.begin(), running.end(), child) - running.begin());
      if (at == running.size()) continue;
    }
    Ended &ended = results[which[at]];
    if (WIFSIGNALED(status))
      ended.signal = WTERMSIG(status);
    else
      ended.code = WEXITSTATUS(status);
    if (!ended.ok()) failed = true;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    which.erase(which.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (size_t i = next; i < commands.size(); ++i) results[i].code = 127; // never started
  return results;
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal; // no SA_RESTART: waiting is interrupted
  sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
}

int interrupted() { return caught; }

std::string find_program(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= folders.size();) {
    size_t end = std::min(folders.find(':', at), folders.size());
    std::string file = folders.substr(at, end - at) + "/" + name;
    if (end > at && access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
    at = end + 1;
  }
  return {};
}

std::string own_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().string();
}

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string shell_line(const std::vector<std::string> &words) {
  std::string line;
  for (const std::string &word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("+-./=_,:@%", c) ||
             static_cast<unsigned char>(c) > 127;
    });
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

} // namespace spectra
