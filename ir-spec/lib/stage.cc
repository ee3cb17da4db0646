#include "spectra/stage.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <iostream>
#include <pthread.h>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

namespace spectra {
namespace {

/// Reads everything from `fd`; false on a read error.
bool read_all(int fd, std::string &text) {
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.append(buffer, static_cast<size_t>(n));
  }
}

bool write_all(int fd, const std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// Runs `body` on a stack of its own, so that deep nesting (bounded by the readers) never meets the usual 8
/// MiB.
int on_large_stack(const std::function<int()> &body) {
  struct Call {
    const std::function<int()> &body;
    int code = kExitFault;
    std::exception_ptr fault;
  } call{body, kExitFault, nullptr};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 29); // address space; pages come as they are touched
  auto enter = [](void *argument) -> void * {
    Call &c = *static_cast<Call *>(argument);
    try {
      c.code = c.body();
    } catch (...) {
      c.fault = std::current_exception();
    }
    return nullptr;
  };
  int failed = pthread_create(&thread, &attributes, enter, &call);
  pthread_attr_destroy(&attributes);
  if (failed) return body();
  pthread_join(thread, nullptr);
  if (call.fault) std::rethrow_exception(call.fault);
  return call.code;
}

bool complain(const char *program, const std::string &path, const char *verb) {
  std::cerr << program
            << ": error: cannot " + std::string(verb) + " " + path + ": " + std::strerror(errno) + "\n";
  return false;
}

/// Whether writing stopped because the reader did: `mica-check a.mica | head`, or a later stage that failed.
bool reader_left = false;

} // namespace

int end_of_parse(const CLI::App &app, const CLI::ParseError &error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) { // --help, --version
    std::ostringstream text;
    app.exit(error, text, text);
    if (write_whole("-", text.str(), app.get_name().c_str())) return kExitOk;
    return kExitInput;
  }
  std::string message = error.what();
  if (!message.empty()) message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  std::cerr << app.get_name() + ": error: " + message + "\n  hint: " + app.get_name() +
                   " --help lists what it takes\n";
  return kExitUsage;
}

bool read_whole(const std::string &path, std::string &bytes, const char *program) {
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool ok = fd >= 0 && read_all(fd, bytes);
  if (!ok) complain(program, path == "-" ? "<stdin>" : path, "read");
  if (fd > STDIN_FILENO) close(fd);
  return ok;
}

int tell_cut_off(const std::string &path, bool alone) {
  struct stat status;
  const bool pipe = path == "-" && fstat(STDIN_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
  if (alone || !pipe)
    std::cerr << (path == "-" ? "<stdin>" : path) +
                     ": error: the text is cut off: its last line is not `end`\n";
  return kExitCutOff;
}

bool write_whole(const std::string &path, const std::string &bytes, const char *program) {
  if (path == "-") {
    if (write_all(STDOUT_FILENO, bytes)) return true;
    reader_left = errno == EPIPE;
    return !reader_left && complain(program, "standard output", "write");
  }
  struct stat status;
  if (stat(path.c_str(), &status) == 0 &&
      !S_ISREG(status.st_mode)) { // a device or a pipe can't be renamed onto
    int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return complain(program, path, "write");
    bool ok = write_all(fd, bytes) || complain(program, path, "write");
    return close(fd) == 0 && ok;
  }
  std::string beside = path + ".tmp" + std::to_string(getpid());
  int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return complain(program, path, "write");
  bool ok = write_all(fd, bytes);
  if (close(fd) != 0) ok = false;
  if (ok && rename(beside.c_str(), path.c_str()) == 0) return true;
  complain(program, path, "write");
  unlink(beside.c_str());
  return false;
}

int run_stage(int argc, char **argv, const StageInfo &info,
              const std::function<void(CLI::App &)> &add_options,
              const std::function<int(const StageInput &, std::string &output)> &body) {
  std::signal(SIGPIPE, SIG_IGN); // a reader that left is reported by write()
  CLI::App app{info.summary, info.name};
  std::string input_path = "-";
  std::string output_path = "-";
  app.add_option("input", input_path, "the text to read; - is standard input")->type_name(info.input_name);
  app.add_option("-o,--output", output_path, "where to write; - is standard output")->type_name("FILE");
  app.set_version_flag("--version", std::string(info.name) + " " + kVersion);
  if (add_options) add_options(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return end_of_parse(app, error);
  }
  try {
    StageInput input;
    input.name = input_path == "-" ? "<stdin>" : input_path;
    if (!read_whole(input_path, input.text, info.name)) return kExitInput;
    std::string output;
    int code = on_large_stack([&] { return body(input, output); });
    if (code == kExitCutOff) return tell_cut_off(input_path, info.alone);
    if (code != kExitOk) return code;
    if (write_whole(output_path, output, info.name)) return kExitOk;
    return reader_left ? kExitCutOff : kExitInput;
  } catch (const std::exception &fault) {
    std::cerr << info.name << ": fault: " << fault.what() << '\n';
    return kExitFault;
  }
}

} // namespace spectra
