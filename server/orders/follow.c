/* follow.c - decides which segment to ask next, and writes its page. */
#include "server/orders/follow.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "server/orders/pages.h"
#include "server/orders/say.h"

#define PAGE_EVENTS 1000
#define IDLE_MS     250  /* between questions about a segment without news, at first ... */
#define IDLE_MOST   1000 /* ... and at most, plus 10 for each segment */
#define FAILED_MOST 5000 /* between tries that fail */
#define STALE_US    INT64_C(3600000000) /* a place is written at least this often (kept_us) */
#define ITEMS_MS    2000                /* between questions for items */

/* A place of the database, or an item without one (sale ""). */
typedef struct stream {
    copied_part at;
    char next[NAME_MAX_LEN + 1]; /* its next sale, of which the database has a place; "" = none */
    bool parted;                 /* the database has places for its segments */
    bool unwritten;              /* the database has refused the last page */
    int64_t written_us;          /* when its place was written last, by Redis's clock */
    bool dry;                    /* there was nothing new */
    bool failed;                 /* the last question was */
    int64_t wait_ms, due_ms;
    int64_t behind;
} stream;

typedef struct follower {
    source *from;
    database *db;
    leader *lead; /* NULL = none */
    const follow_options *options;
    stream *streams;
    int count, room;
    bool loaded;      /* the streams are what the database has */
    bool refused;     /* out of memory */
    bool created;     /* the tables are there */
    int64_t items_ms; /* when to ask for items; 0 = never asked */
    bool items_failed;
    bool stood_by;
    int64_t redis_us; /* Redis's time, as last told */
    trouble source_trouble, database_trouble, leader_trouble, beside;
    follow_figures figures;
} follower;

/* ---- streams --------------------------------------------------------------------------------- */

static stream *add_stream(follower *f, const copied_part *at)
{
    if (f->count == f->room) {
        int room = f->room * 2 + 16;
        stream *streams = realloc(f->streams, (size_t)room * sizeof(*streams));
        f->refused = f->refused || !streams;
        if (!streams)
            return NULL;
        f->streams = streams;
        f->room = room;
    }
    stream *added = &f->streams[f->count++];
    *added = (stream){.at = *at, .wait_ms = IDLE_MS};
    return added;
}

static void add_place(void *arg, const copied_part *at)
{
    follower *f = arg;
    if (!f->options->item || strcmp(f->options->item, at->item) == 0)
        add_stream(f, at);
}

/* An item without a place is asked for its oldest sale. */
static void add_item(void *arg, const char *item)
{
    follower *f = arg;
    copied_part at = {.segment = 0, .position = POSITION_START};
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->streams[i].at.item, item) == 0)
            return;
    snprintf(at.item, sizeof(at.item), "%s", item);
    add_stream(f, &at);
}

static bool is_same(const copied_part *a, const copied_part *b)
{
    return strcmp(a->item, b->item) == 0 && strcmp(a->sale, b->sale) == 0 &&
           a->segment == b->segment && strcmp(a->position, b->position) == 0;
}

static void database_fails(follower *f)
{
    trouble_is(&f->database_trouble, "the database", database_error(f->db));
    f->figures.database_up = false;
    f->loaded = f->created = false;
    database_disconnect(f->db);
}

/* Loads the database's places, and keeps what is known of those that stay. */
static void load(follower *f)
{
    stream *before = f->streams;
    int count = f->count;
    f->streams = NULL;
    f->count = f->room = 0;
    f->created = f->created || records_create(f->db);
    f->loaded = f->created && records_places(f->db, add_place, f);
    for (int i = 0; f->loaded && i < count; i++) {
        for (int k = 0; k < f->count; k++)
            if (is_same(&f->streams[k].at, &before[i].at))
                f->streams[k] = before[i];
        add_item(f, before[i].at.item);
    }
    free(before);
    if (!f->loaded)
        database_fails(f);
}

static void find_items(follower *f)
{
    if (now_ms() < f->items_ms)
        return;
    f->items_ms = now_ms() + ITEMS_MS;
    f->items_failed = false;
    if (f->options->item)
        add_item(f, f->options->item);
    else if (!pages_items(f->from, add_item, f))
        f->items_failed = true;
    if (f->items_failed)
        trouble_is(&f->source_trouble, "the instances", source_error(f->from));
}

/* Whether the last question of each place was answered, and the database has taken each page. */
static void judge(follower *f)
{
    bool failed = f->items_failed, refused = false;
    for (int i = 0; i < f->count; i++) {
        failed = failed || f->streams[i].failed;
        refused = refused || f->streams[i].unwritten;
    }
    if (!failed)
        trouble_over(&f->source_trouble, "the instances");
    if (!refused)
        trouble_over(&f->database_trouble, "the database");
    f->figures.source_up = !failed;
    f->figures.database_up = !refused;
}

/* ---- one question ---------------------------------------------------------------------------- */

static uint64_t fence(const follower *f)
{
    return f->lead ? leader_fence(f->lead) : 0;
}

/* Handles the end of a transaction. True: it was committed. */
static bool took(follower *f, stream *of, write_status status)
{
    of->unwritten = status == WRITE_FAILED;
    if (status == WRITE_OK) {
        f->figures.committed_us = unix_us();
        return true;
    }
    f->loaded = false;
    if (status == WRITE_FAILED) {
        database_fails(f);
    } else if (status == WRITE_NOT_LEADING) {
        trouble_is(&f->beside, "another follower", "has led since, with a later fence");
        leader_resign(f->lead);
    } else {
        trouble_is(&f->beside, "another follower",
                   "has written here: --lock lets one of them lead");
    }
    return false;
}

static bool write_page(follower *f, stream *of, const told_page *got)
{
    int64_t lost;
    if (!took(f, of, records_write(f->db, &of->at, &got->page, fence(f), &lost)))
        return false;
    if (got->page.rewound)
        say("%s, sale %s, segment %d: Redis has lost orders or moves; %lld are marked", of->at.item,
            of->at.sale, of->at.segment, (long long)lost);
    f->figures.lost += lost;
    f->figures.events += got->events;
    if (got->moment_us > 0)
        f->figures.age_us = got->page.time_us - got->moment_us;
    snprintf(of->at.position, sizeof(of->at.position), "%s", got->position);
    of->written_us = got->page.time_us;
    of->dry = false;
    return true;
}

static void take_page(follower *f, stream *of, told_page *got)
{
    copy_page *page = &got->page;
    bool begins = of->at.sale[0] == '\0', wrote = true;
    bool next = page->next_sale && strcmp(page->next_sale, of->next) != 0;
    bool parts = page->segments > 1 && of->at.segment == 0 && !of->parted;
    bool stale = page->time_us - of->written_us > STALE_US;
    if (!next && !page->end)
        page->next_sale = NULL;
    f->redis_us = page->time_us > 0 ? page->time_us : f->redis_us;
    of->behind = got->behind + got->events;
    of->dry = true;
    if (begins)
        wrote = took(f, of, records_begin(f->db, of->at.item, got->sale, page->segments, fence(f)));
    else if (got->events > 0 || page->rewound || page->end || next || parts || stale)
        wrote = write_page(f, of, got);
    if (wrote && (begins || page->end || page->rewound || next || parts))
        f->loaded = false; /* there are other places now */
    if (wrote) {
        of->behind = got->behind;
        of->parted = of->parted || parts;
        if (next)
            snprintf(of->next, sizeof(of->next), "%s", got->next_sale);
    }
    int64_t most = !wrote ? FAILED_MOST : IDLE_MOST + 10 * f->count;
    bool busy = wrote && (begins || !of->dry) && !stale;
    of->wait_ms = busy ? IDLE_MS : twice_up_to(of->wait_ms, most);
    of->dry = of->dry && wrote && !begins;
    of->due_ms = wrote && got->behind > 0 ? 0 : now_ms() + of->wait_ms;
}

/* The sale is no longer kept: its time is over, or Redis has lost it. What was noted of the item's
 * next sales is void. */
static void give_up(follower *f, stream *of)
{
    int64_t lost, now_us = f->redis_us > 0 ? f->redis_us : unix_us();
    f->loaded = false;
    if (!took(f, of, records_give_up(f->db, &of->at, now_us, fence(f), &lost)))
        return;
    f->figures.lost += lost;
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->streams[i].at.item, of->at.item) == 0)
            f->streams[i].next[0] = '\0';
    say("%s, sale %s, segment %d is not kept by Redis any more; its rows stay, %lld marked as lost",
        of->at.item, of->at.sale, of->at.segment, (long long)lost);
}

static void ask(follower *f, stream *of)
{
    told_page got;
    page_status status =
        pages_read(f->from, f->db, &of->at, of->at.sale[0] == '\0' ? 1 : PAGE_EVENTS, &got);
    of->failed = status == PAGE_FAILED || got.why;
    if (status == PAGE_READ) {
        take_page(f, of, &got);
        pages_free(&got);
    } else if ((status == PAGE_GONE || status == PAGE_NOTHING) && of->at.sale[0] != '\0') {
        give_up(f, of);
    } else if (status == PAGE_DATABASE) {
        database_fails(f);
    } else {
        of->dry = !of->failed;
        of->wait_ms = twice_up_to(of->wait_ms, FAILED_MOST);
        of->due_ms = now_ms() + of->wait_ms;
    }
    if (of->failed)
        trouble_is(&f->source_trouble, of->at.item, got.why ? got.why : source_error(f->from));
}

/* ---- all in turn ----------------------------------------------------------------------------- */

static bool leads(follower *f)
{
    bool led = f->figures.leading;
    f->figures.leading = !f->lead || leader_leads(f->lead);
    if (f->lead && f->figures.leading && !led)
        say("leads, with fence %llu", (unsigned long long)leader_fence(f->lead));
    if (f->lead && !f->figures.leading && (led || !f->stood_by))
        say("does not lead, and stands by");
    f->stood_by = f->stood_by || !f->figures.leading;
    if (f->figures.leading) {
        trouble_over(&f->leader_trouble, "the lock");
        return true;
    }
    f->loaded = false; /* the leader writes */
    if (leader_error(f->lead)[0] != '\0')
        trouble_is(&f->leader_trouble, "the lock", leader_error(f->lead));
    return false;
}

/* Asks about each segment that is due. Returns the ms until the next one is. */
static int64_t round_of(follower *f)
{
    int64_t next = now_ms() + IDLE_MOST, behind = 0;
    for (int i = 0; f->loaded && i < f->count && !*f->options->stop; i++) {
        stream *of = &f->streams[i];
        if (of->due_ms <= now_ms())
            ask(f, of);
        behind += of->behind;
        if (of->due_ms < next)
            next = of->due_ms;
    }
    if (!f->loaded)
        return 0;
    f->figures.behind = behind;
    return next - now_ms();
}

static bool is_dry(const follower *f)
{
    bool dry = f->loaded && f->items_ms > 0 && !f->items_failed;
    for (int i = 0; dry && i < f->count; i++)
        dry = f->streams[i].dry;
    return dry;
}

static void nap(int64_t ms)
{
    if (ms > 0)
        poll(NULL, 0, (int)(ms < 500 ? ms : 500)); /* a signal ends it */
}

int follow(source *from, database *db, leader *lead, const follow_options *options)
{
    follower f = {.from = from, .db = db, .lead = lead, .options = options};
    f.figures.source_up = f.figures.database_up = true;
    bool failed = false, done = false;
    while (!*options->stop && !done && !f.refused) {
        int64_t wait = 0;
        if (leads(&f)) {
            if (!f.loaded && now_ms() >= f.database_trouble.due_ms)
                load(&f);
            if (f.loaded)
                find_items(&f);
            if (f.loaded)
                wait = round_of(&f);
            if (f.loaded)
                judge(&f);
            if (!f.loaded && f.database_trouble.is)
                wait = f.database_trouble.due_ms - now_ms();
            failed = f.database_trouble.is || f.source_trouble.is;
            done = options->once && (failed || is_dry(&f));
        }
        if (options->once && !f.figures.leading) {
            say("another follower leads");
            failed = done = true;
        }
        say_figures(&f.figures, options->metrics, false);
        if (!done)
            nap(wait);
    }
    say_figures(&f.figures, options->metrics, true);
    free(f.streams);
    if (f.refused)
        say("out of memory");
    return f.refused || (options->once && failed) ? EX_UNAVAILABLE : 0;
}
