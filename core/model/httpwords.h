/*
 * httpwords.h - the closed lists of words that the HTTP scrubber keeps.
 *
 * Texts of words with blanks between, for wordset.h. None is a person's name.
 */
#ifndef REPROD_HTTPWORDS_H
#define REPROD_HTTPWORDS_H

#include <stddef.h>

extern const char *const httpwords_api[]; /* segments of paths */
extern const size_t httpwords_api_count;
extern const char *const httpwords_types[]; /* of files, behind the dot */
extern const size_t httpwords_types_count;
extern const char *const httpwords_header[]; /* in values of headers: media types, codings, ... */
extern const size_t httpwords_header_count;
extern const char *const httpwords_agent[]; /* products and systems of User-Agent */
extern const size_t httpwords_agent_count;
extern const char *const httpwords_methods[];
extern const size_t httpwords_methods_count;

#endif
