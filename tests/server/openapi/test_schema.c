/* test_schema.c - each keyword accepts what it should and nothing else, and a strange one is said.
 */
#include "tests/server/openapi/schema.h"

#include <stdio.h>

#include "tests/support/fixture.h"

#define PAIR "{'allOf':[{'$ref':'#/defs/a'}],'properties':{'b':{}},'unevaluatedProperties':false}"
#define ONE                                                                                        \
    "{'oneOf':[{'type':'object','required':['a']},{'type':'integer'},"                             \
    "{'type':'number','minimum':5}]}"

/* In single quotes for double ones. */
static const char document_text[] = "{'defs':{'a':{'properties':{'a':{'type':'integer'}}}}}";

static const struct {
    const char *schema, *value;
    bool ok;
} cases[] = {
    {"{'type':'integer'}", "3", true},
    {"{'type':'integer'}", "3.5", false},
    {"{'type':'integer'}", "'3'", false},
    {"{'type':'number'}", "3.5", true},
    {"{'type':'object'}", "[]", false},
    {"{'type':'boolean'}", "0", false},
    {"{'type':['string','null']}", "null", true},
    {"{'type':['string','null']}", "1", false},
    {"{'const':'a'}", "'a'", true},
    {"{'const':'a'}", "'A'", false},
    {"{'enum':['a',1]}", "1", true},
    {"{'enum':['a',1]}", "2", false},
    {"{'pattern':'^a+$'}", "'aa'", true},
    {"{'pattern':'^a+$'}", "'ab'", false},
    {"{'pattern':'^a+$'}", "7", true},
    {"{'minimum':0}", "0", true},
    {"{'minimum':0}", "-1", false},
    {"{'maximum':9}", "9", true},
    {"{'maximum':9}", "10", false},
    {"{'minItems':1,'maxItems':2}", "[1]", true},
    {"{'minItems':1,'maxItems':2}", "[]", false},
    {"{'minItems':1,'maxItems':2}", "[1,2,3]", false},
    {"{'items':{'type':'integer'}}", "[1,2]", true},
    {"{'items':{'type':'integer'}}", "[1,'2']", false},
    {"{'required':['a']}", "{'a':null}", true},
    {"{'required':['a']}", "{'A':1}", false},
    {"{'properties':{'a':{'type':'null'}}}", "{'a':null,'b':1}", true},
    {"{'properties':{'a':{'type':'null'}}}", "{'a':1}", false},
    {"{'properties':{'a':{}},'additionalProperties':false}", "{'a':1}", true},
    {"{'properties':{'a':{}},'additionalProperties':false}", "{'a':1,'b':1}", false},
    {"{'additionalProperties':{'type':'integer'}}", "{'a':1,'b':2}", true},
    {"{'additionalProperties':{'type':'integer'}}", "{'a':1,'b':'2'}", false},
    {"{'$ref':'#/defs/a'}", "{'a':1}", true},
    {"{'$ref':'#/defs/a'}", "{'a':'1'}", false},
    {"{'$ref':'#/defs/b'}", "{}", false},
    {PAIR, "{'a':1,'b':2}", true},
    {PAIR, "{'a':1,'b':2,'c':3}", false},
    {PAIR, "{'a':'1'}", false},
    {ONE, "{'a':1}", true},
    {ONE, "{'b':1}", false},
    {ONE, "4", true},
    {ONE, "5.5", true},
    {ONE, "6", false},
    {"{'description':'x','default':1}", "1", true},
    {"{'minLength':1}", "'a'", false}, /* not known here, so not to be relied on */
    {"{'properties':{'a':{'minLength':1}}}", "{}", false},
};

static cJSON *parse(const char *text)
{
    char json[512];
    snprintf(json, sizeof(json), "%s", text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    cJSON *value = cJSON_ParseWithOpts(json, NULL, true);
    if (!value)
        fail_msg("not JSON: %s", text);
    return value;
}

static void each_keyword_is_kept(void **state)
{
    (void)state;
    cJSON *document = parse(document_text);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[1024] = "";
        cJSON *schema = parse(cases[i].schema), *value = parse(cases[i].value);
        bool ok = schema_accepts(document, schema, value, err, sizeof(err));
        if (ok != cases[i].ok)
            fail_msg("%s: %s is %s", cases[i].schema, cases[i].value, ok ? "accepted" : err);
        if (!ok && err[0] == '\0')
            fail_msg("%s: %s is refused without a word", cases[i].schema, cases[i].value);
        cJSON_Delete(schema);
        cJSON_Delete(value);
    }
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_keyword_is_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
