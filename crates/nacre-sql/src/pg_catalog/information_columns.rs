//! What the views of `information_schema` are called in PostgreSQL 15, and their columns in order.

/// Number, name and columns of each, in the order of the names. A column is `name type`; `_`
/// before a type stands for an array of it.
pub(super) const TABLES: [(u32, &str, &str); 64] = [
    (
        12_075,
        "administrable_role_authorizations",
        "grantee name, role_name name, is_grantable varchar",
    ),
    (12_076, "applicable_roles", "grantee name, role_name name, is_grantable varchar"),
    (
        12_077,
        "attributes",
        "udt_catalog name, udt_schema name, udt_name name, attribute_name name, \
         ordinal_position int4, attribute_default varchar, is_nullable varchar, \
         data_type varchar, character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, \
         scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name, is_derived_reference_attribute varchar",
    ),
    (
        12_078,
        "character_sets",
        "character_set_catalog name, character_set_schema name, character_set_name name, \
         character_repertoire name, form_of_use name, default_collate_catalog name, \
         default_collate_schema name, default_collate_name name",
    ),
    (
        12_079,
        "check_constraint_routine_usage",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         specific_catalog name, specific_schema name, specific_name name",
    ),
    (
        12_080,
        "check_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         check_clause varchar",
    ),
    (
        12_081,
        "collation_character_set_applicability",
        "collation_catalog name, collation_schema name, collation_name name, \
         character_set_catalog name, character_set_schema name, character_set_name name",
    ),
    (
        12_082,
        "collations",
        "collation_catalog name, collation_schema name, collation_name name, \
         pad_attribute varchar",
    ),
    (
        12_083,
        "column_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, \
         dependent_column name",
    ),
    (
        12_084,
        "column_domain_usage",
        "domain_catalog name, domain_schema name, domain_name name, table_catalog name, \
         table_schema name, table_name name, column_name name",
    ),
    (
        12_085,
        "column_options",
        "table_catalog name, table_schema name, table_name name, column_name name, \
         option_name name, option_value varchar",
    ),
    (
        12_086,
        "column_privileges",
        "grantor name, grantee name, table_catalog name, table_schema name, \
         table_name name, column_name name, privilege_type varchar, is_grantable varchar",
    ),
    (
        12_087,
        "column_udt_usage",
        "udt_catalog name, udt_schema name, udt_name name, table_catalog name, \
         table_schema name, table_name name, column_name name",
    ),
    (
        12_088,
        "columns",
        "table_catalog name, table_schema name, table_name name, column_name name, \
         ordinal_position int4, column_default varchar, is_nullable varchar, \
         data_type varchar, character_maximum_length int4, character_octet_length int4, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         domain_catalog name, domain_schema name, domain_name name, udt_catalog name, \
         udt_schema name, udt_name name, scope_catalog name, scope_schema name, \
         scope_name name, maximum_cardinality int4, dtd_identifier name, \
         is_self_referencing varchar, is_identity varchar, identity_generation varchar, \
         identity_start varchar, identity_increment varchar, identity_maximum varchar, \
         identity_minimum varchar, identity_cycle varchar, is_generated varchar, \
         generation_expression varchar, is_updatable varchar",
    ),
    (
        12_089,
        "constraint_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, \
         constraint_catalog name, constraint_schema name, constraint_name name",
    ),
    (
        12_090,
        "constraint_table_usage",
        "table_catalog name, table_schema name, table_name name, constraint_catalog name, \
         constraint_schema name, constraint_name name",
    ),
    (
        12_091,
        "data_type_privileges",
        "object_catalog name, object_schema name, object_name name, object_type varchar, \
         dtd_identifier name",
    ),
    (
        12_092,
        "domain_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         domain_catalog name, domain_schema name, domain_name name, is_deferrable varchar, \
         initially_deferred varchar",
    ),
    (
        12_093,
        "domain_udt_usage",
        "udt_catalog name, udt_schema name, udt_name name, domain_catalog name, \
         domain_schema name, domain_name name",
    ),
    (
        12_094,
        "domains",
        "domain_catalog name, domain_schema name, domain_name name, data_type varchar, \
         character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         domain_default varchar, udt_catalog name, udt_schema name, udt_name name, \
         scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name",
    ),
    (
        12_095,
        "element_types",
        "object_catalog name, object_schema name, object_name name, object_type varchar, \
         collection_type_identifier name, data_type varchar, \
         character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         domain_default varchar, udt_catalog name, udt_schema name, udt_name name, \
         scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name",
    ),
    (12_096, "enabled_roles", "role_name name"),
    (
        12_097,
        "foreign_data_wrapper_options",
        "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, \
         option_name name, option_value varchar",
    ),
    (
        12_098,
        "foreign_data_wrappers",
        "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, \
         authorization_identifier name, library_name varchar, \
         foreign_data_wrapper_language varchar",
    ),
    (
        12_099,
        "foreign_server_options",
        "foreign_server_catalog name, foreign_server_name name, option_name name, \
         option_value varchar",
    ),
    (
        12_100,
        "foreign_servers",
        "foreign_server_catalog name, foreign_server_name name, \
         foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, \
         foreign_server_type varchar, foreign_server_version varchar, \
         authorization_identifier name",
    ),
    (
        12_101,
        "foreign_table_options",
        "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, \
         option_name name, option_value varchar",
    ),
    (
        12_102,
        "foreign_tables",
        "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, \
         foreign_server_catalog name, foreign_server_name name",
    ),
    (12_103, "information_schema_catalog_name", "catalog_name name"),
    (
        12_104,
        "key_column_usage",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         table_catalog name, table_schema name, table_name name, column_name name, \
         ordinal_position int4, position_in_unique_constraint int4",
    ),
    (
        12_105,
        "parameters",
        "specific_catalog name, specific_schema name, specific_name name, \
         ordinal_position int4, parameter_mode varchar, is_result varchar, \
         as_locator varchar, parameter_name name, data_type varchar, \
         character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         udt_catalog name, udt_schema name, udt_name name, scope_catalog name, \
         scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name, parameter_default varchar",
    ),
    (
        12_106,
        "referential_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         unique_constraint_catalog name, unique_constraint_schema name, \
         unique_constraint_name name, match_option varchar, update_rule varchar, \
         delete_rule varchar",
    ),
    (
        12_107,
        "role_column_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, \
         table_name name, column_name name, privilege_type varchar, is_grantable varchar",
    ),
    (
        12_108,
        "role_routine_grants",
        "grantor name, grantee name, specific_catalog name, specific_schema name, \
         specific_name name, routine_catalog name, routine_schema name, routine_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        12_109,
        "role_table_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, \
         table_name name, privilege_type varchar, is_grantable varchar, \
         with_hierarchy varchar",
    ),
    (
        12_110,
        "role_udt_grants",
        "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        12_111,
        "role_usage_grants",
        "grantor name, grantee name, object_catalog name, object_schema name, \
         object_name name, object_type varchar, privilege_type varchar, \
         is_grantable varchar",
    ),
    (
        12_112,
        "routine_column_usage",
        "specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name, table_catalog name, \
         table_schema name, table_name name, column_name name",
    ),
    (
        12_113,
        "routine_privileges",
        "grantor name, grantee name, specific_catalog name, specific_schema name, \
         specific_name name, routine_catalog name, routine_schema name, routine_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        12_114,
        "routine_routine_usage",
        "specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name",
    ),
    (
        12_115,
        "routine_sequence_usage",
        "specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name, \
         sequence_catalog name, sequence_schema name, sequence_name name",
    ),
    (
        12_116,
        "routine_table_usage",
        "specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name, table_catalog name, \
         table_schema name, table_name name",
    ),
    (
        12_117,
        "routines",
        "specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name, \
         routine_type varchar, module_catalog name, module_schema name, module_name name, \
         udt_catalog name, udt_schema name, udt_name name, data_type varchar, \
         character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         type_udt_catalog name, type_udt_schema name, type_udt_name name, \
         scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name, routine_body varchar, routine_definition varchar, \
         external_name varchar, external_language varchar, parameter_style varchar, \
         is_deterministic varchar, sql_data_access varchar, is_null_call varchar, \
         sql_path varchar, schema_level_routine varchar, max_dynamic_result_sets int4, \
         is_user_defined_cast varchar, is_implicitly_invocable varchar, \
         security_type varchar, to_sql_specific_catalog name, to_sql_specific_schema name, \
         to_sql_specific_name name, as_locator varchar, created timestamptz, \
         last_altered timestamptz, new_savepoint_level varchar, is_udt_dependent varchar, \
         result_cast_from_data_type varchar, result_cast_as_locator varchar, \
         result_cast_char_max_length int4, result_cast_char_octet_length int4, \
         result_cast_char_set_catalog name, result_cast_char_set_schema name, \
         result_cast_char_set_name name, result_cast_collation_catalog name, \
         result_cast_collation_schema name, result_cast_collation_name name, \
         result_cast_numeric_precision int4, result_cast_numeric_precision_radix int4, \
         result_cast_numeric_scale int4, result_cast_datetime_precision int4, \
         result_cast_interval_type varchar, result_cast_interval_precision int4, \
         result_cast_type_udt_catalog name, result_cast_type_udt_schema name, \
         result_cast_type_udt_name name, result_cast_scope_catalog name, \
         result_cast_scope_schema name, result_cast_scope_name name, \
         result_cast_maximum_cardinality int4, result_cast_dtd_identifier name",
    ),
    (
        12_118,
        "schemata",
        "catalog_name name, schema_name name, schema_owner name, \
         default_character_set_catalog name, default_character_set_schema name, \
         default_character_set_name name, sql_path varchar",
    ),
    (
        12_119,
        "sequences",
        "sequence_catalog name, sequence_schema name, sequence_name name, \
         data_type varchar, numeric_precision int4, numeric_precision_radix int4, \
         numeric_scale int4, start_value varchar, minimum_value varchar, \
         maximum_value varchar, increment varchar, cycle_option varchar",
    ),
    (
        12_120,
        "sql_features",
        "feature_id varchar, feature_name varchar, sub_feature_id varchar, \
         sub_feature_name varchar, is_supported varchar, is_verified_by varchar, \
         comments varchar",
    ),
    (
        12_121,
        "sql_implementation_info",
        "implementation_info_id varchar, implementation_info_name varchar, \
         integer_value int4, character_value varchar, comments varchar",
    ),
    (
        12_122,
        "sql_parts",
        "feature_id varchar, feature_name varchar, is_supported varchar, \
         is_verified_by varchar, comments varchar",
    ),
    (
        12_123,
        "sql_sizing",
        "sizing_id int4, sizing_name varchar, supported_value int4, comments varchar",
    ),
    (
        12_124,
        "table_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, \
         table_catalog name, table_schema name, table_name name, constraint_type varchar, \
         is_deferrable varchar, initially_deferred varchar, enforced varchar, \
         nulls_distinct varchar",
    ),
    (
        12_125,
        "table_privileges",
        "grantor name, grantee name, table_catalog name, table_schema name, \
         table_name name, privilege_type varchar, is_grantable varchar, \
         with_hierarchy varchar",
    ),
    (
        12_126,
        "tables",
        "table_catalog name, table_schema name, table_name name, table_type varchar, \
         self_referencing_column_name name, reference_generation varchar, \
         user_defined_type_catalog name, user_defined_type_schema name, \
         user_defined_type_name name, is_insertable_into varchar, is_typed varchar, \
         commit_action varchar",
    ),
    (
        12_127,
        "transforms",
        "udt_catalog name, udt_schema name, udt_name name, specific_catalog name, \
         specific_schema name, specific_name name, group_name name, transform_type varchar",
    ),
    (
        12_128,
        "triggered_update_columns",
        "trigger_catalog name, trigger_schema name, trigger_name name, \
         event_object_catalog name, event_object_schema name, event_object_table name, \
         event_object_column name",
    ),
    (
        12_129,
        "triggers",
        "trigger_catalog name, trigger_schema name, trigger_name name, \
         event_manipulation varchar, event_object_catalog name, event_object_schema name, \
         event_object_table name, action_order int4, action_condition varchar, \
         action_statement varchar, action_orientation varchar, action_timing varchar, \
         action_reference_old_table name, action_reference_new_table name, \
         action_reference_old_row name, action_reference_new_row name, created timestamptz",
    ),
    (
        12_130,
        "udt_privileges",
        "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        12_131,
        "usage_privileges",
        "grantor name, grantee name, object_catalog name, object_schema name, \
         object_name name, object_type varchar, privilege_type varchar, \
         is_grantable varchar",
    ),
    (
        12_132,
        "user_defined_types",
        "user_defined_type_catalog name, user_defined_type_schema name, \
         user_defined_type_name name, user_defined_type_category varchar, \
         is_instantiable varchar, is_final varchar, ordering_form varchar, \
         ordering_category varchar, ordering_routine_catalog name, \
         ordering_routine_schema name, ordering_routine_name name, reference_type varchar, \
         data_type varchar, character_maximum_length int4, character_octet_length int4, \
         character_set_catalog name, character_set_schema name, character_set_name name, \
         collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, \
         source_dtd_identifier name, ref_dtd_identifier name",
    ),
    (
        12_133,
        "user_mapping_options",
        "authorization_identifier name, foreign_server_catalog name, \
         foreign_server_name name, option_name name, option_value varchar",
    ),
    (
        12_134,
        "user_mappings",
        "authorization_identifier name, foreign_server_catalog name, \
         foreign_server_name name",
    ),
    (
        12_135,
        "view_column_usage",
        "view_catalog name, view_schema name, view_name name, table_catalog name, \
         table_schema name, table_name name, column_name name",
    ),
    (
        12_136,
        "view_routine_usage",
        "table_catalog name, table_schema name, table_name name, specific_catalog name, \
         specific_schema name, specific_name name",
    ),
    (
        12_137,
        "view_table_usage",
        "view_catalog name, view_schema name, view_name name, table_catalog name, \
         table_schema name, table_name name",
    ),
    (
        12_138,
        "views",
        "table_catalog name, table_schema name, table_name name, view_definition varchar, \
         check_option varchar, is_updatable varchar, is_insertable_into varchar, \
         is_trigger_updatable varchar, is_trigger_deletable varchar, \
         is_trigger_insertable_into varchar",
    ),
];
