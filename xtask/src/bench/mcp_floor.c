// The least that a server of MCP can do: it answers each line, without a check, a decision or a record. The benchmark
// compares real servers with it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *line, *text, *reply;

static char *escape(char *out, const char *from, ssize_t length) {
    for (ssize_t at = 0; at < length; at++) {
        char byte = from[at];
        if (byte == '\n') { *out++ = '\\'; *out++ = 'n'; continue; }
        if (byte == '"' || byte == '\\') *out++ = '\\';
        *out++ = byte;
    }
    return out;
}

int main(void) {
    size_t room = 1 << 20;
    size_t held = 0;
    line = malloc(room); text = malloc(room); reply = malloc(4 * room);
    for (;;) {
        char *end;
        while (!(end = memchr(line, '\n', held))) {
            ssize_t got = read(0, line + held, room - 1 - held);
            if (got <= 0) return 0;
            held += got;
        }
        *end = 0;
        char *id = strstr(line, "\"id\":");
        if (id) {
            char *out = reply + sprintf(reply, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", atol(id + 5));
            char *path = strstr(line, "\"path\":\"");
            if (strstr(line, "\"initialize\"")) {
                out += sprintf(out, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
                                    "\"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}}");
            } else if (path) {
                path += 8;
                *strchr(path, '"') = 0;
                int file = open(path, O_RDONLY);
                ssize_t length = file < 0 ? 0 : read(file, text, room);
                if (file >= 0) close(file);
                out += sprintf(out, "{\"content\":[{\"type\":\"text\",\"text\":\"");
                out = escape(out, text, length);
                out += sprintf(out, "\"}],\"isError\":false}");
            } else {
                out += sprintf(out, "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],\"isError\":false}");
            }
            out += sprintf(out, "}\n");
            for (char *from = reply; from < out;) {
                ssize_t put = write(1, from, out - from);
                if (put <= 0) return 1;
                from += put;
            }
        }
        held -= end + 1 - line;
        memmove(line, end + 1, held);
    }
}
