// +mica trace=FILE: a timeline in the trace event format that browsers' trace viewers open (complete events,
// "ph": "X").
#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

namespace mica::rt {
namespace {
struct Span {
  const char *name;
  const char *category;
  double begin;
  double end;
  int track;
};
Span *spans = nullptr;
i64 count = 0;
i64 capacity = 0;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void put_json(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = static_cast<unsigned char>(*text);
    if (c == '"' || c == '\\') fputc('\\', out);
    if (c < 0x20) {
      fprintf(out, "\\u%04x", c);
    } else {
      fputc(c, out);
    }
  }
  fputc('"', out);
}
} // namespace

bool tracing() { return flags.trace != nullptr; }

void trace_span(const char *name, const char *category, double begin, double end, int track) {
  if (!flags.trace) return;
  pthread_mutex_lock(&lock);
  if (count == capacity) {
    capacity = capacity ? capacity * 2 : 1024;
    spans = static_cast<Span *>(reallocate(spans, capacity * static_cast<i64>(sizeof(Span))));
  }
  spans[count++] = {name, category, begin, end, track};
  pthread_mutex_unlock(&lock);
}

void write_trace() {
  if (!flags.trace) return;
  const char *path = flags.trace;
  flags.trace = nullptr;
  FILE *out = fopen(path, "w");
  if (!out) {
    fprintf(stderr, "%s: the trace %s could not be written\n", mica_program.name, path);
    return;
  }
  fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", out);
  fputs("{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": ", out);
  put_json(out, mica_program.name);
  fputs("}},\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": {\"name\": "
        "\"processor\"}},\n"
        "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 1, \"args\": {\"name\": \"card\"}}",
        out);
  for (i64 i = 0; i < count; i++) {
    fputs(",\n{\"name\": ", out);
    put_json(out, spans[i].name);
    fprintf(out, ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f}",
            spans[i].category, spans[i].track, spans[i].begin * 1e6, (spans[i].end - spans[i].begin) * 1e6);
  }
  fprintf(out,
          ",\n{\"name\": \"program\", \"cat\": \"host\", \"ph\": \"X\", \"pid\": 1, \"tid\": 0, \"ts\": 0, "
          "\"dur\": %.3f}\n]}\n",
          seconds() * 1e6);
  if (fclose(out) != 0) fprintf(stderr, "%s: the trace %s could not be written\n", mica_program.name, path);
}

} // namespace mica::rt
