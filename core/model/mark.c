#include "core/model/mark.h"

#include <stdio.h>

static const char *const tiers[] = { "clone", "scrubbed", "synthetic", "plan", "test", "restored" };

/* Texts too long for their place are refused: a cut digest would still compare. */
static bool read_text(
	const struct json *from, const char *key, char *to, size_t size, struct err *e)
{
	const char *text = json_text(json_get(from, key), "");

	if (strlen(text) >= size)
		return err_set(e, ERR_INPUT, "the mark's '%s' is too long", key);
	memcpy(to, text, strlen(text) + 1);
	return true;
}

static bool is_tier(const char *tier)
{
	for (size_t i = 0; i < LENGTH(tiers); i++)
		if (strcmp(tier, tiers[i]) == 0)
			return true;
	return false;
}

bool mark_read(struct mark *m, const struct json *document, struct err *e)
{
	int64_t oid = json_int(json_get(document, "database_oid"), 0);

	*m = (struct mark){ 0 };
	if (strcmp(json_text(json_get(document, "format"), ""), "reprod.mark") != 0)
		return err_set(e, ERR_INPUT, "not a mark of reprod");
	if (json_int(json_get(document, "version"), 0) != MARK_VERSION)
		return err_set(e, ERR_INPUT, "a mark of another version of reprod");
	if (!read_text(document, "nonce", m->nonce, sizeof(m->nonce), e) ||
		!read_text(document, "system_identifier", m->system_identifier,
			sizeof(m->system_identifier), e) ||
		!read_text(document, "data_directory", m->data_directory, sizeof(m->data_directory),
			e) ||
		!read_text(document, "tier", m->tier, sizeof(m->tier), e) ||
		!read_text(document, "source_id", m->source_id, sizeof(m->source_id), e) ||
		!read_text(document, "key_id", m->key_id, sizeof(m->key_id), e) ||
		!read_text(
			document, "policy_digest", m->policy_digest, sizeof(m->policy_digest), e) ||
		!read_text(document, "frozen_id", m->frozen_id, sizeof(m->frozen_id), e))
		return false;
	if (strlen(m->nonce) != 32 || oid <= 0 || oid > UINT32_MAX || !m->system_identifier[0])
		return err_set(
			e, ERR_INPUT, "the mark lacks its nonce, system identifier or database");
	if (!is_tier(m->tier))
		return err_set(e, ERR_INPUT, "the mark names an unknown tier");
	m->database_oid = (uint32_t)oid;
	m->is_neutralised = json_is_true(json_get(document, "is_neutralised"), false);
	return true;
}

struct json *mark_json(const struct mark *m)
{
	struct json *j = json_object();

	json_set_text(j, "format", "reprod.mark");
	json_set_int(j, "version", MARK_VERSION);
	json_set_text(j, "nonce", m->nonce);
	json_set_text(j, "system_identifier", m->system_identifier);
	json_set_text(j, "data_directory", m->data_directory);
	json_set_int(j, "database_oid", m->database_oid);
	json_set_text(j, "tier", m->tier);
	json_set_bool(j, "is_neutralised", m->is_neutralised);
	json_set_text(j, "source_id", m->source_id);
	json_set_text(j, "key_id", m->key_id);
	json_set_text(j, "policy_digest", m->policy_digest);
	json_set_text(j, "frozen_id", m->frozen_id);
	return j;
}
