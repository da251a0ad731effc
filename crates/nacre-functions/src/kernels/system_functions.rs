//! Functions that the database or the session answers: those over catalogs, settings, privileges.
//!
//! They are computed by the [`SystemCatalog`](nacre_types::SystemCatalog) of the settings. A name
//! stands for all functions of it in the catalog.

use nacre_types::{SqlValue, SystemCall, ValueError};

use super::{KernelContext, ScalarKernel};

/// A function that is answered elsewhere: its name in `pg_proc`, and its kernel.
pub(super) type SystemKernel = (&'static str, ScalarKernel);

macro_rules! system_kernels {
    ($($kind:ident { $($name:literal)* })*) => {
        &[$($((
            $name,
            ScalarKernel::$kind(|values, context| ask($name, values, context)),
        ),)*)*]
    };
}

pub(super) const KERNELS: &[SystemKernel] = system_kernels! {
    total {
        "col_description"
        "current_database"
        "current_schema"
        "current_schemas"
        "current_user"
        "format_type"
        "getdatabaseencoding"
        "inet_client_addr"
        "inet_client_port"
        "inet_server_addr"
        "inet_server_port"
        "obj_description"
        "pg_backend_pid"
        "pg_char_to_encoding"
        "pg_client_encoding"
        "pg_collation_is_visible"
        "pg_conf_load_time"
        "pg_conversion_is_visible"
        "pg_encoding_to_char"
        "pg_function_is_visible"
        "pg_get_constraintdef"
        "pg_get_expr"
        "pg_get_function_arguments"
        "pg_get_function_identity_arguments"
        "pg_get_function_result"
        "pg_get_functiondef"
        "pg_get_indexdef"
        "pg_get_partkeydef"
        "pg_get_ruledef"
        "pg_get_statisticsobjdef_columns"
        "pg_get_triggerdef"
        "pg_get_userbyid"
        "pg_is_other_temp_schema"
        "pg_my_temp_schema"
        "pg_opclass_is_visible"
        "pg_operator_is_visible"
        "pg_opfamily_is_visible"
        "pg_postmaster_start_time"
        "pg_relation_is_publishable"
        "pg_stat_get_blocks_fetched"
        "pg_stat_get_blocks_hit"
        "pg_stat_get_numscans"
        "pg_stat_get_tuples_fetched"
        "pg_stat_get_tuples_returned"
        "pg_statistics_obj_is_visible"
        "pg_table_is_visible"
        "pg_tablespace_location"
        "pg_ts_config_is_visible"
        "pg_type_is_visible"
        "session_user"
        "shobj_description"
    }
    partial {
        "acldefault"
        "currval"
        "lastval"
        "nextval"
        "pg_advisory_unlock"
        "pg_advisory_unlock_all"
        "pg_advisory_unlock_shared"
        "pg_try_advisory_lock"
        "pg_try_advisory_lock_shared"
        "pg_try_advisory_xact_lock"
        "pg_try_advisory_xact_lock_shared"
        "setval"
        "current_setting"
        "has_any_column_privilege"
        "has_column_privilege"
        "has_database_privilege"
        "has_function_privilege"
        "has_language_privilege"
        "has_schema_privilege"
        "has_sequence_privilege"
        "has_server_privilege"
        "has_table_privilege"
        "has_tablespace_privilege"
        "has_type_privilege"
        "pg_cancel_backend"
        "pg_database_size"
        "pg_get_serial_sequence"
        "pg_get_viewdef"
        "pg_has_role"
        "pg_indexes_size"
        "pg_is_in_recovery"
        "pg_is_wal_replay_paused"
        "pg_relation_size"
        "pg_sequence_last_value"
        "pg_table_size"
        "pg_total_relation_size"
        "set_config"
        "to_regclass"
        "to_regnamespace"
        "to_regproc"
        "to_regrole"
        "to_regtype"
    }
};

/// Whether a function is answered by the catalogs of a database.
pub fn is_system_function(name: &str) -> bool {
    KERNELS.iter().any(|(own, _)| *own == name)
}

fn ask(
    function: &'static str,
    arguments: &[SqlValue],
    context: &KernelContext<'_>,
) -> Result<SqlValue, ValueError> {
    let Some(catalog) = &context.settings.catalog else {
        let message = format!("{function}() needs the catalogs of a database");
        return Err(ValueError::not_supported(message));
    };
    let KernelContext { argument_types, result_type, .. } = *context;
    catalog.call(SystemCall { function, arguments, argument_types, result_type })
}
