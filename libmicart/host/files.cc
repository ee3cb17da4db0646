// Files: read whole or mapped; written beside their final name and renamed when whole, so that neither a
// failure nor an interrupt leaves half a file or harms the one before.
#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mica::rt {

Output::Output(const char *source_file, int source_line, mica_string where)
    : file(source_file), line(source_line) {
  path.put_string(where);
  // A link keeps pointing where it does: the file behind it is replaced.
  char real[PATH_MAX];
  if (realpath(path.zero_ended(), real)) {
    path.length = 0;
    path.put(real);
  }
  struct stat status = {};
  bool exists = stat(path.zero_ended(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("could not be written", EISDIR);
  if (exists && !S_ISREG(status.st_mode)) { // a terminal, pipe or device has no beside
    handle = open(path.zero_ended(), O_WRONLY | O_CLOEXEC);
    if (handle < 0) fail("could not be opened", errno);
    return;
  }
  temporary.put(path.data, path.length);
  temporary.putf(".%d.part", static_cast<int>(getpid()));
  handle = open(temporary.zero_ended(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (handle < 0) fail("could not be made", errno);
  remember_unfinished(temporary.zero_ended());
  if (exists && fchmod(handle, status.st_mode & 07777) != 0) fail("could not be made", errno);
}

Output::~Output() {
  if (handle >= 0) close(handle);
  if (temporary.length) {
    unlink(temporary.zero_ended());
    remember_unfinished(nullptr);
  }
}

void Output::fail(const char *what, int error) {
  if (handle >= 0) close(handle);
  if (temporary.length && error != 0) unlink(temporary.zero_ended());
  mica_fail(file, static_cast<int32_t>(line), "%s %s: %s", path.zero_ended(), what, strerror(error));
}

void Output::write(const void *data, i64 bytes) {
  const char *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = ::write(handle, from, static_cast<size_t>(bytes > (i64(1) << 30) ? i64(1) << 30 : bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("could not be written", errno);
    from += count;
    bytes -= count;
  }
}

void Output::finish(bool durable) {
  if (temporary.length && durable && fdatasync(handle) != 0 && errno != EINVAL)
    fail("could not be written", errno);
  int result = close(handle);
  handle = -1;
  if (result != 0) fail("could not be written", errno);
  if (temporary.length) {
    if (rename(temporary.zero_ended(), path.zero_ended()) != 0) fail("could not be put in place", errno);
    remember_unfinished(nullptr);
    temporary.length = 0;
  }
}

Mapping map_file(const char *file, int line, const char *path) {
  int handle = open(path, O_RDONLY | O_CLOEXEC);
  if (handle < 0) mica_fail(file, line, "%s could not be opened: %s", path, strerror(errno));
  struct stat status = {};
  if (fstat(handle, &status) != 0) mica_fail(file, line, "%s could not be read: %s", path, strerror(errno));
  if (S_ISDIR(status.st_mode)) mica_fail(file, line, "%s could not be read: %s", path, strerror(EISDIR));
  Mapping mapping;
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    mapping.length = status.st_size;
    mapping.base =
        mmap(nullptr, static_cast<size_t>(mapping.length), PROT_READ | PROT_WRITE, MAP_PRIVATE, handle, 0);
    if (mapping.base == MAP_FAILED)
      mica_fail(file, line, "%s could not be mapped: %s", path, strerror(errno));
    close(handle);
    return mapping;
  }
  // No size is known (a pipe, or a file of /proc): read to the end into memory of the same kind.
  Text all;
  for (;;) {
    all.reserve(65536);
    ssize_t count = read(handle, all.data + all.length, 65536);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) mica_fail(file, line, "%s could not be read: %s", path, strerror(errno));
    if (count == 0) break;
    all.length += count;
  }
  close(handle);
  if (all.length == 0) return mapping;
  mapping.length = all.length;
  mapping.base = mmap(nullptr, static_cast<size_t>(all.length), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping.base == MAP_FAILED) mica_fail_memory(file, line, all.length);
  memcpy(mapping.base, all.data, static_cast<size_t>(all.length));
  return mapping;
}

void unmap(Mapping m) {
  if (m.base) munmap(m.base, static_cast<size_t>(m.length));
}

} // namespace mica::rt

using namespace mica::rt;

int32_t mica_file_exists(mica_string path) {
  Text name;
  name.put_string(path);
  return access(name.zero_ended(), F_OK) == 0;
}

mica_string mica_read_file(const char *file, int32_t line, mica_string path) {
  Text name;
  name.put_string(path);
  Mapping mapping = map_file(file, line, name.zero_ended());
  mica_string text = mica_string_from_utf8(static_cast<const char *>(mapping.base), mapping.length);
  unmap(mapping);
  return text;
}

void mica_write_file(const char *file, int32_t line, mica_string path, mica_string text) {
  Text bytes;
  bytes.put_string(text);
  Output output(file, line, path);
  output.write(bytes.data, bytes.length);
  output.finish(false);
}

mica_array mica_load_bytes(const char *file, int32_t line, mica_string path) {
  Text name;
  name.put_string(path);
  Mapping mapping = map_file(file, line, name.zero_ended());
  if (mapping.base) register_mapping(mapping.base, mapping.length, mapping.base);
  return {mapping.base, mapping.length};
}

// Token files are uint16 values, little-endian; llm.c puts 256 words of int32 before them: 20240520, version
// 1, the count.
mica_array mica_load_tokens(const char *file, int32_t line, mica_string path) {
  Text text;
  text.put_string(path);
  const char *name = text.zero_ended();
  Mapping mapping = map_file(file, line, name);
  if (!mapping.base) return {nullptr, 0};
  int64_t skip = 0, count = mapping.length / 2;
  int32_t header[3] = {};
  if (mapping.length >= 12) memcpy(header, mapping.base, 12);
  if (header[0] == 20240520) {
    skip = 1024;
    if (mapping.length < skip)
      mica_fail(file, line, "%s is cut short: its header has 1024 bytes, the file %lld", name,
                static_cast<long long>(mapping.length));
    if (header[1] != 1)
      mica_fail(file, line, "%s holds tokens of version %d; only version 1 (uint16) can be read", name,
                header[1]);
    count = header[2];
    if (count < 0 || skip + count * 2 > mapping.length) {
      mica_fail(file, line, "%s is cut short: its header says %lld tokens, the file holds %lld", name,
                static_cast<long long>(count), static_cast<long long>((mapping.length - skip) / 2));
    }
  } else if (mapping.length % 2 != 0) {
    mica_fail(file, line, "%s holds no tokens of two bytes: its length is %lld", name,
              static_cast<long long>(mapping.length));
  }
  char *user = static_cast<char *>(mapping.base) + skip;
  register_mapping(mapping.base, mapping.length, user);
  return {user, count};
}
