/* Calls functions of Windows DLLs for a Python on the other side of a pipe (under_wine.py): numbers and buffers in, the result and the
 * buffers as the function left them out. It knows no function, so that what is called, and how, is collect.py's alone.
 *
 * Request:  u32 length of the rest; name of the DLL, NUL; name of the function, NUL; u32 count; each argument: u8 kind, then u64 (kind 0)
 *           or u32 size and bytes (kind 1). A count of 0xFFFFFFFF only asks whether the function is there.
 * Response: u8 whether the DLL has the function; u64 result; each buffer as it is now.
 */
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t (WINAPI *function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint32_t u4(const unsigned char *at) { uint32_t value; memcpy(&value, at, 4); return value; }

int main(void)
{
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    for (;;) {
        uint32_t length;
        if (fread(&length, 4, 1, stdin) != 1)
            return 0;
        unsigned char *request = malloc(length);
        if (request == NULL || fread(request, 1, length, stdin) != length)
            return 1;
        const char *dll = (char *)request, *name = dll + strlen(dll) + 1;
        unsigned char *at = (unsigned char *)name + strlen(name) + 1;
        uint32_t count = u4(at), sizes[8] = {0};
        int asks = count == 0xFFFFFFFF;
        if (asks)
            count = 0;
        uint64_t given[8] = {0};
        at += 4;
        for (uint32_t n = 0; n < count && n < 8; n++) {
            if (*at++ == 0) {
                memcpy(&given[n], at, 8);
                at += 8;
            } else {
                sizes[n] = u4(at);
                given[n] = (uint64_t)(uintptr_t)(at + 4);
                at += 4 + sizes[n];
            }
        }
        HMODULE module = LoadLibraryA(dll);
        union { FARPROC found; function call; } pointer;
        pointer.found = module != NULL ? GetProcAddress(module, name) : NULL;
        unsigned char there = pointer.found != NULL;
        uint64_t result = 0;
        if (there && !asks && count <= 8)
            result = pointer.call(given[0], given[1], given[2], given[3], given[4], given[5], given[6], given[7]);
        fwrite(&there, 1, 1, stdout);
        fwrite(&result, 8, 1, stdout);
        for (uint32_t n = 0; n < count && n < 8; n++)
            if (sizes[n] != 0)
                fwrite((void *)(uintptr_t)given[n], 1, sizes[n], stdout);
        fflush(stdout);
        free(request);
    }
}
