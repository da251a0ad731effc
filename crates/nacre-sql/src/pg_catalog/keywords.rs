//! PostgreSQL's words: which of them a name has to be quoted for, and `pg_get_keywords`.

/// Words: category, whether one may be a label without AS, and the words.
const WORDS: [(char, bool, &str); 8] = [
    ('C', false, "char character precision"),
    (
        'C',
        true,
        "between bigint bit boolean coalesce dec decimal exists extract float greatest \
         grouping inout int integer interval least national nchar none normalize nullif \
         numeric out overlay position real row setof smallint substring time timestamp \
         treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest \
         xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable",
    ),
    (
        'R',
        false,
        "array as create except fetch for from grant group having intersect into limit \
         offset on order returning to union where window with",
    ),
    (
        'R',
        true,
        "all analyse analyze and any asc asymmetric both case cast check collate column \
         constraint current_catalog current_date current_role current_time \
         current_timestamp current_user default deferrable desc distinct do else end \
         false foreign in initially lateral leading localtime localtimestamp not null \
         only or placing primary references select session_user some symmetric table then \
         trailing true unique user using variadic when",
    ),
    ('T', false, "isnull notnull overlaps"),
    (
        'T',
        true,
        "authorization binary collation concurrently cross current_schema freeze full \
         ilike inner is join left like natural outer right similar tablesample verbose",
    ),
    ('U', false, "day filter hour minute month over second varying within without year"),
    (
        'U',
        true,
        "abort absolute access action add admin after aggregate also alter always \
         asensitive assertion assignment at atomic attach attribute backward before begin \
         breadth by cache call called cascade cascaded catalog chain characteristics \
         checkpoint class close cluster columns comment comments commit committed \
         compression configuration conflict connection constraints content continue \
         conversion copy cost csv cube current cursor cycle data database deallocate \
         declare defaults deferred definer delete delimiter delimiters depends depth \
         detach dictionary disable discard document domain double drop each enable \
         encoding encrypted enum escape event exclude excluding exclusive execute explain \
         expression extension external family finalize first following force forward \
         function functions generated global granted groups handler header hold identity \
         if immediate immutable implicit import include including increment index indexes \
         inherit inherits inline input insensitive insert instead invoker isolation key \
         label language large last leakproof level listen load local location lock locked \
         logged mapping match matched materialized maxvalue merge method minvalue mode \
         move name names new next nfc nfd nfkc nfkd no normalized nothing notify nowait \
         nulls object of off oids old operator option options ordinality others \
         overriding owned owner parallel parameter parser partial partition passing \
         password plans policy preceding prepare prepared preserve prior privileges \
         procedural procedure procedures program publication quote range read reassign \
         recheck recursive ref referencing refresh reindex relative release rename \
         repeatable replace replica reset restart restrict return returns revoke role \
         rollback rollup routine routines rows rule savepoint schema schemas scroll \
         search security sequence sequences serializable server session set sets share \
         show simple skip snapshot sql stable standalone start statement statistics stdin \
         stdout storage stored strict strip subscription support sysid system tables \
         tablespace temp template temporary text ties transaction transform trigger \
         truncate trusted type types uescape unbounded uncommitted unencrypted unknown \
         unlisten unlogged until update vacuum valid validate validator value version \
         view views volatile whitespace work wrapper write xml yes zone",
    ),
];

/// Whether a name that is this word is quoted.
pub(super) fn is_reserved(name: &str) -> bool {
    WORDS
        .iter()
        .any(|(category, _, words)| *category != 'U' && words.split(' ').any(|word| word == name))
}

/// Returns all words in order, each with its category and whether it may be a bare label.
pub(super) fn all() -> Vec<(&'static str, char, bool)> {
    let all = WORDS.iter().flat_map(|(category, is_label, words)| {
        words.split(' ').map(move |word| (word, *category, *is_label))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all
}
