#include "core/model/wordset.h"

#include <stdlib.h>

static unsigned char fold(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* FNV-1a over the folded bytes: words are short, and an attacker adds none. */
static size_t hash_of(struct slice word)
{
	uint32_t h = UINT32_C(0x811c9dc5);

	for (size_t i = 0; i < word.n; i++)
		h = (h ^ fold(word.p[i])) * UINT32_C(0x01000193);
	return h ^ h >> 15;
}

static bool same(struct slice a, struct slice b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (fold(a.p[i]) != fold(b.p[i]))
			return false;
	return true;
}

static struct slice *slot_of(const struct wordset *w, struct slice word)
{
	size_t i = hash_of(word) & (w->size - 1);

	while (w->slots[i].n && !same(w->slots[i], word))
		i = (i + 1) & (w->size - 1);
	return &w->slots[i];
}

static struct slice next_word(const char **at)
{
	const char *p = *at + strspn(*at, " ");

	*at = p + strcspn(p, " ");
	return (struct slice){ p, (size_t)(*at - p) };
}

bool wordset_init(struct wordset *w, const char *const *texts, size_t n)
{
	struct slice word;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (const char *at = texts[i]; next_word(&at).n;)
			count++;
	*w = (struct wordset){ .size = 16 };
	while (w->size < 2 * count)
		w->size *= 2;
	w->slots = calloc(w->size, sizeof(*w->slots));
	for (size_t i = 0; w->slots && i < n; i++)
		for (const char *at = texts[i]; (word = next_word(&at)).n;) {
			struct slice *slot = slot_of(w, word);

			w->count += slot->n == 0;
			*slot = word;
		}
	return w->slots != NULL;
}

bool wordset_has(const struct wordset *w, struct slice word)
{
	return word.n && w->size && slot_of(w, word)->n != 0;
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool wordset_has_parts(const struct wordset *w, struct slice words)
{
	size_t from = 0;

	for (size_t i = 1; i <= words.n; i++) {
		bool is_mark = i < words.n && (words.p[i] == '_' || words.p[i] == '-');
		bool is_hump = i < words.n && is_capital(words.p[i]) && !is_capital(words.p[i - 1]);

		if (i < words.n && !is_mark && !is_hump)
			continue;
		if (!wordset_has(w, (struct slice){ words.p + from, i - from }))
			return false;
		from = is_mark ? i + 1 : i;
	}
	return words.n > 0;
}

void wordset_free(struct wordset *w)
{
	free(w->slots);
	*w = (struct wordset){ 0 };
}
