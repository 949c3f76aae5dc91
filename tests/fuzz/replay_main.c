/*
 * replay_main.c - runs every file of tests/fuzz/corpus/<parser>/ through the fuzz
 * target this is linked with, and prints TAP. The parser's name is the program's,
 * without "fuzz_". Each input lies in a heap block of its exact size, so that a
 * read past its end is seen.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint8_t *read_exactly(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "rb");
	long size;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0) {
		fclose(f);
		return NULL;
	}
	uint8_t *bytes = malloc(size ? (size_t)size : 1);
	if (bytes && fread(bytes, 1, (size_t)size, f) != (size_t)size) {
		free(bytes);
		bytes = NULL;
	}
	fclose(f);
	*ret_size = (size_t)size;
	return bytes;
}

/* A law that is broken aborts, and prove sees the missing plan. */
static void replay(const char *folder, const char *name, unsigned number)
{
	char path[4096];
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	printf("# %s\n", path);
	fflush(stdout);
	uint8_t *bytes = read_exactly(path, &size);
	if (bytes)
		LLVMFuzzerTestOneInput(bytes, size);
	printf("%sok %u - %s\n", bytes ? "" : "not ", number, name);
	free(bytes);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	char folder[1024];
	struct dirent **entries;
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : "";

	name += strncmp(name, "fuzz_", 5) == 0 ? 5 : 0;
	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", name);
	int count = scandir(folder, &entries, is_visible, alphasort);
	if (count <= 0) {
		printf("not ok 1 - %s holds inputs\n1..1\n", folder);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		replay(folder, entries[i]->d_name, (unsigned)i + 1);
		free(entries[i]);
	}
	free(entries);
	printf("1..%d\n", count);
	return 0;
}
