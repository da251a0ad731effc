//! The tables and views of `pg_catalog` in PostgreSQL 15: their names, and their columns in order.

/// Number, name and columns of each, in the order of the names. A column is `name type`; `_`
/// before a type stands for an array of it.
pub(super) const TABLES: [(u32, &str, &str); 139] = [
    (
        2_600,
        "pg_aggregate",
        "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, \
         aggfinalfn regproc, aggcombinefn regproc, aggserialfn regproc, \
         aggdeserialfn regproc, aggmtransfn regproc, aggminvtransfn regproc, \
         aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, \
         aggfinalmodify char, aggmfinalmodify char, aggsortop oid, aggtranstype oid, \
         aggtransspace int4, aggmtranstype oid, aggmtransspace int4, agginitval text, \
         aggminitval text",
    ),
    (2_601, "pg_am", "oid oid, amname name, amhandler regproc, amtype char"),
    (
        2_602,
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, \
         amoppurpose char, amopopr oid, amopmethod oid, amopsortfamily oid",
    ),
    (
        2_603,
        "pg_amproc",
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, \
         amprocnum int2, amproc regproc",
    ),
    (2_604, "pg_attrdef", "oid oid, adrelid oid, adnum int2, adbin pg_node_tree"),
    (
        1_249,
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, \
         attnum int2, attndims int4, attcacheoff int4, atttypmod int4, attbyval bool, \
         attalign char, attstorage char, attcompression char, attnotnull bool, \
         atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, \
         attisdropped bool, attislocal bool, attinhcount int4, attcollation oid, \
         attacl _aclitem, attoptions _text, attfdwoptions _text, attmissingval anyarray",
    ),
    (1_261, "pg_auth_members", "roleid oid, member oid, grantor oid, admin_option bool"),
    (
        1_260,
        "pg_authid",
        "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, \
         rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolbypassrls bool, \
         rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz",
    ),
    (
        12_000,
        "pg_available_extension_versions",
        "name name, version text, installed bool, superuser bool, trusted bool, \
         relocatable bool, schema name, requires _name, comment text",
    ),
    (
        12_001,
        "pg_available_extensions",
        "name name, default_version text, installed_version text, comment text",
    ),
    (
        12_002,
        "pg_backend_memory_contexts",
        "name text, ident text, parent text, level int4, total_bytes int8, \
         total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8",
    ),
    (
        2_605,
        "pg_cast",
        "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, \
         castmethod char",
    ),
    (
        1_259,
        "pg_class",
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, \
         relowner oid, relam oid, relfilenode oid, reltablespace oid, relpages int4, \
         reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, \
         relisshared bool, relpersistence char, relkind char, relnatts int2, \
         relchecks int2, relhasrules bool, relhastriggers bool, relhassubclass bool, \
         relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, \
         relreplident char, relispartition bool, relrewrite oid, relfrozenxid xid, \
         relminmxid xid, relacl _aclitem, reloptions _text, relpartbound pg_node_tree",
    ),
    (
        3_456,
        "pg_collation",
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, \
         collisdeterministic bool, collencoding int4, collcollate text, collctype text, \
         colliculocale text, collversion text",
    ),
    (12_003, "pg_config", "name text, setting text"),
    (
        2_606,
        "pg_constraint",
        "oid oid, conname name, connamespace oid, contype char, condeferrable bool, \
         condeferred bool, convalidated bool, conrelid oid, contypid oid, conindid oid, \
         conparentid oid, confrelid oid, confupdtype char, confdeltype char, \
         confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, \
         conkey _int2, confkey _int2, conpfeqop _oid, conppeqop _oid, conffeqop _oid, \
         confdelsetcols _int2, conexclop _oid, conbin pg_node_tree",
    ),
    (
        2_607,
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, \
         contoencoding int4, conproc regproc, condefault bool",
    ),
    (
        12_004,
        "pg_cursors",
        "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, \
         creation_time timestamptz",
    ),
    (
        1_262,
        "pg_database",
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, \
         datistemplate bool, datallowconn bool, datconnlimit int4, datfrozenxid xid, \
         datminmxid xid, dattablespace oid, datcollate text, datctype text, \
         daticulocale text, datcollversion text, datacl _aclitem",
    ),
    (2_964, "pg_db_role_setting", "setdatabase oid, setrole oid, setconfig _text"),
    (
        826,
        "pg_default_acl",
        "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, \
         defaclacl _aclitem",
    ),
    (
        2_608,
        "pg_depend",
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, \
         refobjsubid int4, deptype char",
    ),
    (2_609, "pg_description", "objoid oid, classoid oid, objsubid int4, description text"),
    (3_501, "pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name"),
    (
        3_466,
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, \
         evttags _text",
    ),
    (
        3_079,
        "pg_extension",
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, \
         extversion text, extconfig _oid, extcondition _text",
    ),
    (
        12_005,
        "pg_file_settings",
        "sourcefile text, sourceline int4, seqno int4, name text, setting text, \
         applied bool, error text",
    ),
    (
        2_328,
        "pg_foreign_data_wrapper",
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, \
         fdwacl _aclitem, fdwoptions _text",
    ),
    (
        1_417,
        "pg_foreign_server",
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, \
         srvacl _aclitem, srvoptions _text",
    ),
    (3_118, "pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions _text"),
    (12_006, "pg_group", "groname name, grosysid oid, grolist _oid"),
    (
        12_007,
        "pg_hba_file_rules",
        "line_number int4, type text, database _text, user_name _text, address text, \
         netmask text, auth_method text, options _text, error text",
    ),
    (
        12_008,
        "pg_ident_file_mappings",
        "line_number int4, map_name text, sys_name text, pg_username text, error text",
    ),
    (
        2_610,
        "pg_index",
        "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, \
         indnullsnotdistinct bool, indisprimary bool, indisexclusion bool, \
         indimmediate bool, indisclustered bool, indisvalid bool, indcheckxmin bool, \
         indisready bool, indislive bool, indisreplident bool, indkey int2vector, \
         indcollation oidvector, indclass oidvector, indoption int2vector, \
         indexprs pg_node_tree, indpred pg_node_tree",
    ),
    (
        12_009,
        "pg_indexes",
        "schemaname name, tablename name, indexname name, tablespace name, indexdef text",
    ),
    (2_611, "pg_inherits", "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool"),
    (
        3_394,
        "pg_init_privs",
        "objoid oid, classoid oid, objsubid int4, privtype char, initprivs _aclitem",
    ),
    (
        2_612,
        "pg_language",
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, \
         lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl _aclitem",
    ),
    (2_613, "pg_largeobject", "loid oid, pageno int4, data bytea"),
    (2_995, "pg_largeobject_metadata", "oid oid, lomowner oid, lomacl _aclitem"),
    (
        12_010,
        "pg_locks",
        "locktype text, database oid, relation oid, page int4, tuple int2, \
         virtualxid text, transactionid xid, classid oid, objid oid, objsubid int2, \
         virtualtransaction text, pid int4, mode text, granted bool, fastpath bool, \
         waitstart timestamptz",
    ),
    (
        12_011,
        "pg_matviews",
        "schemaname name, matviewname name, matviewowner name, tablespace name, \
         hasindexes bool, ispopulated bool, definition text",
    ),
    (2_615, "pg_namespace", "oid oid, nspname name, nspowner oid, nspacl _aclitem"),
    (
        2_616,
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, \
         opcfamily oid, opcintype oid, opcdefault bool, opckeytype oid",
    ),
    (
        2_617,
        "pg_operator",
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, \
         oprcanmerge bool, oprcanhash bool, oprleft oid, oprright oid, oprresult oid, \
         oprcom oid, oprnegate oid, oprcode regproc, oprrest regproc, oprjoin regproc",
    ),
    (2_753, "pg_opfamily", "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid"),
    (6_243, "pg_parameter_acl", "oid oid, parname text, paracl _aclitem"),
    (
        3_350,
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, \
         partattrs int2vector, partclass oidvector, partcollation oidvector, \
         partexprs pg_node_tree",
    ),
    (
        12_012,
        "pg_policies",
        "schemaname name, tablename name, policyname name, permissive text, roles _name, \
         cmd text, qual text, with_check text",
    ),
    (
        3_256,
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, \
         polroles _oid, polqual pg_node_tree, polwithcheck pg_node_tree",
    ),
    (
        12_013,
        "pg_prepared_statements",
        "name text, statement text, prepare_time timestamptz, parameter_types _regtype, \
         from_sql bool, generic_plans int8, custom_plans int8",
    ),
    (
        12_014,
        "pg_prepared_xacts",
        "transaction xid, gid text, prepared timestamptz, owner name, database name",
    ),
    (
        1_255,
        "pg_proc",
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, \
         procost float4, prorows float4, provariadic oid, prosupport regproc, \
         prokind char, prosecdef bool, proleakproof bool, proisstrict bool, \
         proretset bool, provolatile char, proparallel char, pronargs int2, \
         pronargdefaults int2, prorettype oid, proargtypes oidvector, proallargtypes _oid, \
         proargmodes _char, proargnames _text, proargdefaults pg_node_tree, \
         protrftypes _oid, prosrc text, probin text, prosqlbody pg_node_tree, \
         proconfig _text, proacl _aclitem",
    ),
    (
        6_104,
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, \
         pubupdate bool, pubdelete bool, pubtruncate bool, pubviaroot bool",
    ),
    (6_237, "pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    (
        6_106,
        "pg_publication_rel",
        "oid oid, prpubid oid, prrelid oid, prqual pg_node_tree, prattrs int2vector",
    ),
    (
        12_015,
        "pg_publication_tables",
        "pubname name, schemaname name, tablename name, attnames _name, rowfilter text",
    ),
    (
        3_541,
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, \
         rngcanonical regproc, rngsubdiff regproc",
    ),
    (6_000, "pg_replication_origin", "roident oid, roname text"),
    (
        12_016,
        "pg_replication_origin_status",
        "local_id oid, external_id text, remote_lsn pg_lsn, local_lsn pg_lsn",
    ),
    (
        12_017,
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, \
         temporary bool, active bool, active_pid int4, xmin xid, catalog_xmin xid, \
         restart_lsn pg_lsn, confirmed_flush_lsn pg_lsn, wal_status text, \
         safe_wal_size int8, two_phase bool",
    ),
    (
        2_618,
        "pg_rewrite",
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, \
         is_instead bool, ev_qual pg_node_tree, ev_action pg_node_tree",
    ),
    (
        12_018,
        "pg_roles",
        "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, \
         rolcreatedb bool, rolcanlogin bool, rolreplication bool, rolconnlimit int4, \
         rolpassword text, rolvaliduntil timestamptz, rolbypassrls bool, rolconfig _text, \
         oid oid",
    ),
    (12_019, "pg_rules", "schemaname name, tablename name, rulename name, definition text"),
    (3_596, "pg_seclabel", "objoid oid, classoid oid, objsubid int4, provider text, label text"),
    (
        12_020,
        "pg_seclabels",
        "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, \
         objname text, provider text, label text",
    ),
    (
        2_224,
        "pg_sequence",
        "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, \
         seqmin int8, seqcache int8, seqcycle bool",
    ),
    (
        12_021,
        "pg_sequences",
        "schemaname name, sequencename name, sequenceowner name, data_type regtype, \
         start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, \
         cache_size int8, last_value int8",
    ),
    (
        12_022,
        "pg_settings",
        "name text, setting text, unit text, category text, short_desc text, \
         extra_desc text, context text, vartype text, source text, min_val text, \
         max_val text, enumvals _text, boot_val text, reset_val text, sourcefile text, \
         sourceline int4, pending_restart bool",
    ),
    (
        12_023,
        "pg_shadow",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, \
         usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text",
    ),
    (
        1_214,
        "pg_shdepend",
        "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, \
         deptype char",
    ),
    (2_396, "pg_shdescription", "objoid oid, classoid oid, description text"),
    (12_024, "pg_shmem_allocations", "name text, off int8, size int8, allocated_size int8"),
    (3_592, "pg_shseclabel", "objoid oid, classoid oid, provider text, label text"),
    (
        12_025,
        "pg_stat_activity",
        "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, \
         application_name text, client_addr inet, client_hostname text, client_port int4, \
         backend_start timestamptz, xact_start timestamptz, query_start timestamptz, \
         state_change timestamptz, wait_event_type text, wait_event text, state text, \
         backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text",
    ),
    (
        12_026,
        "pg_stat_all_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        12_027,
        "pg_stat_all_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, \
         n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, \
         last_autovacuum timestamptz, last_analyze timestamptz, \
         last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, \
         analyze_count int8, autoanalyze_count int8",
    ),
    (
        12_028,
        "pg_stat_archiver",
        "archived_count int8, last_archived_wal text, last_archived_time timestamptz, \
         failed_count int8, last_failed_wal text, last_failed_time timestamptz, \
         stats_reset timestamptz",
    ),
    (
        12_029,
        "pg_stat_bgwriter",
        "checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, \
         checkpoint_sync_time float8, buffers_checkpoint int8, buffers_clean int8, \
         maxwritten_clean int8, buffers_backend int8, buffers_backend_fsync int8, \
         buffers_alloc int8, stats_reset timestamptz",
    ),
    (
        12_030,
        "pg_stat_database",
        "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, \
         blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, \
         tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8, \
         temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, \
         checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, \
         session_time float8, active_time float8, idle_in_transaction_time float8, \
         sessions int8, sessions_abandoned int8, sessions_fatal int8, \
         sessions_killed int8, stats_reset timestamptz",
    ),
    (
        12_031,
        "pg_stat_database_conflicts",
        "datid oid, datname name, confl_tablespace int8, confl_lock int8, \
         confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8",
    ),
    (12_032, "pg_stat_gssapi", "pid int4, gss_authenticated bool, principal text, encrypted bool"),
    (
        12_033,
        "pg_stat_progress_analyze",
        "pid int4, datid oid, datname name, relid oid, phase text, sample_blks_total int8, \
         sample_blks_scanned int8, ext_stats_total int8, ext_stats_computed int8, \
         child_tables_total int8, child_tables_done int8, current_child_table_relid oid",
    ),
    (
        12_034,
        "pg_stat_progress_basebackup",
        "pid int4, phase text, backup_total int8, backup_streamed int8, \
         tablespaces_total int8, tablespaces_streamed int8",
    ),
    (
        12_035,
        "pg_stat_progress_cluster",
        "pid int4, datid oid, datname name, relid oid, command text, phase text, \
         cluster_index_relid oid, heap_tuples_scanned int8, heap_tuples_written int8, \
         heap_blks_total int8, heap_blks_scanned int8, index_rebuild_count int8",
    ),
    (
        12_036,
        "pg_stat_progress_copy",
        "pid int4, datid oid, datname name, relid oid, command text, type text, \
         bytes_processed int8, bytes_total int8, tuples_processed int8, \
         tuples_excluded int8",
    ),
    (
        12_037,
        "pg_stat_progress_create_index",
        "pid int4, datid oid, datname name, relid oid, index_relid oid, command text, \
         phase text, lockers_total int8, lockers_done int8, current_locker_pid int8, \
         blocks_total int8, blocks_done int8, tuples_total int8, tuples_done int8, \
         partitions_total int8, partitions_done int8",
    ),
    (
        12_038,
        "pg_stat_progress_vacuum",
        "pid int4, datid oid, datname name, relid oid, phase text, heap_blks_total int8, \
         heap_blks_scanned int8, heap_blks_vacuumed int8, index_vacuum_count int8, \
         max_dead_tuples int8, num_dead_tuples int8",
    ),
    (
        12_039,
        "pg_stat_recovery_prefetch",
        "stats_reset timestamptz, prefetch int8, hit int8, skip_init int8, skip_new int8, \
         skip_fpw int8, skip_rep int8, wal_distance int4, block_distance int4, \
         io_depth int4",
    ),
    (
        12_040,
        "pg_stat_replication",
        "pid int4, usesysid oid, usename name, application_name text, client_addr inet, \
         client_hostname text, client_port int4, backend_start timestamptz, \
         backend_xmin xid, state text, sent_lsn pg_lsn, write_lsn pg_lsn, \
         flush_lsn pg_lsn, replay_lsn pg_lsn, write_lag interval, flush_lag interval, \
         replay_lag interval, sync_priority int4, sync_state text, reply_time timestamptz",
    ),
    (
        12_041,
        "pg_stat_replication_slots",
        "slot_name text, spill_txns int8, spill_count int8, spill_bytes int8, \
         stream_txns int8, stream_count int8, stream_bytes int8, total_txns int8, \
         total_bytes int8, stats_reset timestamptz",
    ),
    (
        12_042,
        "pg_stat_slru",
        "name text, blks_zeroed int8, blks_hit int8, blks_read int8, blks_written int8, \
         blks_exists int8, flushes int8, truncates int8, stats_reset timestamptz",
    ),
    (
        12_043,
        "pg_stat_ssl",
        "pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, \
         client_serial numeric, issuer_dn text",
    ),
    (
        12_044,
        "pg_stat_subscription",
        "subid oid, subname name, pid int4, relid oid, received_lsn pg_lsn, \
         last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, \
         latest_end_lsn pg_lsn, latest_end_time timestamptz",
    ),
    (
        12_045,
        "pg_stat_subscription_stats",
        "subid oid, subname name, apply_error_count int8, sync_error_count int8, \
         stats_reset timestamptz",
    ),
    (
        12_046,
        "pg_stat_sys_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        12_047,
        "pg_stat_sys_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, \
         n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, \
         last_autovacuum timestamptz, last_analyze timestamptz, \
         last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, \
         analyze_count int8, autoanalyze_count int8",
    ),
    (
        12_048,
        "pg_stat_user_functions",
        "funcid oid, schemaname name, funcname name, calls int8, total_time float8, \
         self_time float8",
    ),
    (
        12_049,
        "pg_stat_user_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
    ),
    (
        12_050,
        "pg_stat_user_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, \
         n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, \
         last_autovacuum timestamptz, last_analyze timestamptz, \
         last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, \
         analyze_count int8, autoanalyze_count int8",
    ),
    (
        12_051,
        "pg_stat_wal",
        "wal_records int8, wal_fpi int8, wal_bytes numeric, wal_buffers_full int8, \
         wal_write int8, wal_sync int8, wal_write_time float8, wal_sync_time float8, \
         stats_reset timestamptz",
    ),
    (
        12_052,
        "pg_stat_wal_receiver",
        "pid int4, status text, receive_start_lsn pg_lsn, receive_start_tli int4, \
         written_lsn pg_lsn, flushed_lsn pg_lsn, received_tli int4, \
         last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, \
         latest_end_lsn pg_lsn, latest_end_time timestamptz, slot_name text, \
         sender_host text, sender_port int4, conninfo text",
    ),
    (
        12_053,
        "pg_stat_xact_all_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        12_054,
        "pg_stat_xact_sys_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        12_055,
        "pg_stat_xact_user_functions",
        "funcid oid, schemaname name, funcname name, calls int8, total_time float8, \
         self_time float8",
    ),
    (
        12_056,
        "pg_stat_xact_user_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, \
         idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, \
         n_tup_del int8, n_tup_hot_upd int8",
    ),
    (
        12_057,
        "pg_statio_all_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_blks_read int8, idx_blks_hit int8",
    ),
    (
        12_058,
        "pg_statio_all_sequences",
        "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    ),
    (
        12_059,
        "pg_statio_all_tables",
        "relid oid, schemaname name, relname name, heap_blks_read int8, \
         heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, \
         toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
    ),
    (
        12_060,
        "pg_statio_sys_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_blks_read int8, idx_blks_hit int8",
    ),
    (
        12_061,
        "pg_statio_sys_sequences",
        "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    ),
    (
        12_062,
        "pg_statio_sys_tables",
        "relid oid, schemaname name, relname name, heap_blks_read int8, \
         heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, \
         toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
    ),
    (
        12_063,
        "pg_statio_user_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, \
         idx_blks_read int8, idx_blks_hit int8",
    ),
    (
        12_064,
        "pg_statio_user_sequences",
        "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    ),
    (
        12_065,
        "pg_statio_user_tables",
        "relid oid, schemaname name, relname name, heap_blks_read int8, \
         heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, \
         toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
    ),
    (
        2_619,
        "pg_statistic",
        "starelid oid, staattnum int2, stainherit bool, stanullfrac float4, stawidth int4, \
         stadistinct float4, stakind1 int2, stakind2 int2, stakind3 int2, stakind4 int2, \
         stakind5 int2, staop1 oid, staop2 oid, staop3 oid, staop4 oid, staop5 oid, \
         stacoll1 oid, stacoll2 oid, stacoll3 oid, stacoll4 oid, stacoll5 oid, \
         stanumbers1 _float4, stanumbers2 _float4, stanumbers3 _float4, \
         stanumbers4 _float4, stanumbers5 _float4, stavalues1 anyarray, \
         stavalues2 anyarray, stavalues3 anyarray, stavalues4 anyarray, stavalues5 anyarray",
    ),
    (
        3_381,
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, \
         stxstattarget int4, stxkeys int2vector, stxkind _char, stxexprs pg_node_tree",
    ),
    (
        3_429,
        "pg_statistic_ext_data",
        "stxoid oid, stxdinherit bool, stxdndistinct pg_ndistinct, \
         stxddependencies pg_dependencies, stxdmcv pg_mcv_list, stxdexpr _pg_statistic",
    ),
    (
        12_066,
        "pg_stats",
        "schemaname name, tablename name, attname name, inherited bool, null_frac float4, \
         avg_width int4, n_distinct float4, most_common_vals anyarray, \
         most_common_freqs _float4, histogram_bounds anyarray, correlation float4, \
         most_common_elems anyarray, most_common_elem_freqs _float4, \
         elem_count_histogram _float4",
    ),
    (
        12_067,
        "pg_stats_ext",
        "schemaname name, tablename name, statistics_schemaname name, \
         statistics_name name, statistics_owner name, attnames _name, exprs _text, \
         kinds _char, inherited bool, n_distinct pg_ndistinct, \
         dependencies pg_dependencies, most_common_vals _text, \
         most_common_val_nulls _bool, most_common_freqs _float8, \
         most_common_base_freqs _float8",
    ),
    (
        12_068,
        "pg_stats_ext_exprs",
        "schemaname name, tablename name, statistics_schemaname name, \
         statistics_name name, statistics_owner name, expr text, inherited bool, \
         null_frac float4, avg_width int4, n_distinct float4, most_common_vals anyarray, \
         most_common_freqs _float4, histogram_bounds anyarray, correlation float4, \
         most_common_elems anyarray, most_common_elem_freqs _float4, \
         elem_count_histogram _float4",
    ),
    (
        6_100,
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn pg_lsn, subname name, subowner oid, \
         subenabled bool, subbinary bool, substream bool, subtwophasestate char, \
         subdisableonerr bool, subconninfo text, subslotname name, subsynccommit text, \
         subpublications _text",
    ),
    (6_102, "pg_subscription_rel", "srsubid oid, srrelid oid, srsubstate char, srsublsn pg_lsn"),
    (
        12_069,
        "pg_tables",
        "schemaname name, tablename name, tableowner name, tablespace name, \
         hasindexes bool, hasrules bool, hastriggers bool, rowsecurity bool",
    ),
    (
        1_213,
        "pg_tablespace",
        "oid oid, spcname name, spcowner oid, spcacl _aclitem, spcoptions _text",
    ),
    (12_070, "pg_timezone_abbrevs", "abbrev text, utc_offset interval, is_dst bool"),
    (12_071, "pg_timezone_names", "name text, abbrev text, utc_offset interval, is_dst bool"),
    (
        3_576,
        "pg_transform",
        "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc",
    ),
    (
        2_620,
        "pg_trigger",
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, \
         tgenabled char, tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, \
         tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, \
         tgattr int2vector, tgargs bytea, tgqual pg_node_tree, tgoldtable name, \
         tgnewtable name",
    ),
    (3_602, "pg_ts_config", "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    (3_603, "pg_ts_config_map", "mapcfg oid, maptokentype int4, mapseqno int4, mapdict oid"),
    (
        3_600,
        "pg_ts_dict",
        "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, \
         dictinitoption text",
    ),
    (
        3_601,
        "pg_ts_parser",
        "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, \
         prsend regproc, prsheadline regproc, prslextype regproc",
    ),
    (
        3_764,
        "pg_ts_template",
        "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc",
    ),
    (
        1_247,
        "pg_type",
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, \
         typbyval bool, typtype char, typcategory char, typispreferred bool, \
         typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, \
         typelem oid, typarray oid, typinput regproc, typoutput regproc, \
         typreceive regproc, typsend regproc, typmodin regproc, typmodout regproc, \
         typanalyze regproc, typalign char, typstorage char, typnotnull bool, \
         typbasetype oid, typtypmod int4, typndims int4, typcollation oid, \
         typdefaultbin pg_node_tree, typdefault text, typacl _aclitem",
    ),
    (
        12_072,
        "pg_user",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, \
         usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text",
    ),
    (1_418, "pg_user_mapping", "oid oid, umuser oid, umserver oid, umoptions _text"),
    (
        12_073,
        "pg_user_mappings",
        "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text",
    ),
    (12_074, "pg_views", "schemaname name, viewname name, viewowner name, definition text"),
];
