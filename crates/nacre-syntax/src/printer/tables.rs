//! CREATE TABLE and its parts.

use super::SqlPrinter;
use crate::tree::{
    ColumnConstraintKind, ColumnDefinition, CommitAction, ConstraintAttribute, CreateTable,
    CreateTableAs, ExclusionConstraint, ForeignKeyTarget, KeyAction, KeyStorage, MatchKind,
    OptionValue, StorageOption, TableConstraint, TableConstraintKind, TableElement, TableSource,
    TableStorage,
};

impl SqlPrinter {
    pub(super) fn create_table(&mut self, table: &CreateTable) {
        self.put("CREATE");
        self.persistence(table.persistence);
        self.put("TABLE");
        self.put_if(table.if_not_exists, "IF NOT EXISTS");
        self.object(&table.name);
        self.parens(&table.elements, Self::table_element);
        if !table.inherits.is_empty() {
            self.put("INHERITS");
            self.parens(&table.inherits, Self::object);
        }
        if let Some(partition) = &table.partition_by {
            self.put("PARTITION BY");
            self.name(&partition.strategy);
            self.parens(&partition.keys, Self::index_element);
        }
        self.storage(&table.storage);
    }

    fn storage(&mut self, storage: &TableStorage) {
        if let Some(method) = &storage.access_method {
            self.put("USING");
            self.name(method);
        }
        self.with_options(&storage.options);
        match storage.on_commit {
            None => {}
            Some(CommitAction::Drop) => self.put("ON COMMIT DROP"),
            Some(CommitAction::DeleteRows) => self.put("ON COMMIT DELETE ROWS"),
            Some(CommitAction::PreserveRows) => self.put("ON COMMIT PRESERVE ROWS"),
        }
        if let Some(tablespace) = &storage.tablespace {
            self.put("TABLESPACE");
            self.name(tablespace);
        }
    }

    pub(super) fn with_options(&mut self, options: &[StorageOption]) {
        if !options.is_empty() {
            self.put("WITH");
            self.parens(options, Self::storage_option);
        }
    }

    pub(super) fn storage_option(&mut self, option: &StorageOption) {
        self.object(&option.name);
        if let Some(value) = &option.value {
            self.put("=");
            self.option_value(value);
        }
    }

    pub(super) fn option_value(&mut self, value: &OptionValue) {
        match value {
            OptionValue::Word(type_name) => self.type_name(type_name),
            // Reserved words stand here as they are, other names as names.
            OptionValue::Keyword(name) => self.option_word(&name.text),
            OptionValue::Number(digits) => self.put(digits),
            OptionValue::Text(text) => self.string(text),
            OptionValue::Operator(operator) => self.operator(operator),
            OptionValue::List(values) => self.parens(values, Self::option_value),
            OptionValue::Star => self.put("*"),
        }
    }

    pub(super) fn create_table_as(&mut self, table: &CreateTableAs) {
        self.put("CREATE");
        self.persistence(table.persistence);
        self.put(if table.is_materialized_view { "MATERIALIZED VIEW" } else { "TABLE" });
        self.put_if(table.if_not_exists, "IF NOT EXISTS");
        self.object(&table.name);
        self.optional_parens(&table.columns, Self::name);
        self.storage(&table.storage);
        self.put("AS");
        match &table.source {
            TableSource::Query(query) => self.query(query),
            TableSource::Execute(name, parameters) => {
                self.put("EXECUTE");
                self.name(name);
                self.optional_parens(parameters, Self::expression);
            }
        }
        self.put_if(!table.has_data, "WITH NO DATA");
    }

    fn table_element(&mut self, element: &TableElement) {
        match element {
            TableElement::Column(column) => self.column(column),
            TableElement::Constraint(constraint) => self.table_constraint(constraint),
            TableElement::Like(table, options) => {
                self.put("LIKE");
                self.object(table);
                for option in options {
                    self.put(if option.is_included { "INCLUDING" } else { "EXCLUDING" });
                    self.put(&option.what.text);
                }
            }
        }
    }

    pub(super) fn column(&mut self, column: &ColumnDefinition) {
        self.name(&column.name);
        self.type_name(&column.type_name);
        if let Some(compression) = &column.compression {
            self.put("COMPRESSION");
            self.storage_word(&compression.text);
        }
        if let Some(collation) = &column.collation {
            self.put("COLLATE");
            self.object(collation);
        }
        for constraint in &column.constraints {
            if let Some(name) = &constraint.name {
                self.put("CONSTRAINT");
                self.name(name);
            }
            self.column_constraint(&constraint.kind);
        }
    }

    /// Prints a name for which DEFAULT may stand.
    pub(super) fn storage_word(&mut self, word: &str) {
        if word == "default" { self.put("DEFAULT") } else { self.word(word) }
    }

    fn column_constraint(&mut self, kind: &ColumnConstraintKind) {
        match kind {
            ColumnConstraintKind::NotNull => self.put("NOT NULL"),
            ColumnConstraintKind::Null => self.put("NULL"),
            ColumnConstraintKind::Unique(storage) => {
                self.put("UNIQUE");
                self.put_if(storage.nulls_equal, "NULLS NOT DISTINCT");
                self.key_storage(storage);
            }
            ColumnConstraintKind::PrimaryKey(storage) => {
                self.put("PRIMARY KEY");
                self.key_storage(storage);
            }
            ColumnConstraintKind::Check(condition, no_inherit) => {
                self.put("CHECK");
                self.parens(std::slice::from_ref(condition), Self::expression);
                self.put_if(*no_inherit, "NO INHERIT");
            }
            ColumnConstraintKind::Default(value) => {
                self.put("DEFAULT");
                self.operand(value);
            }
            ColumnConstraintKind::Identity { is_always, options } => {
                self.put("GENERATED");
                self.put(if *is_always { "ALWAYS" } else { "BY DEFAULT" });
                self.put("AS IDENTITY");
                self.paren_sequence_options(options);
            }
            ColumnConstraintKind::Generated(value) => {
                self.put("GENERATED ALWAYS AS");
                self.parens(std::slice::from_ref(value), Self::expression);
                self.put("STORED");
            }
            ColumnConstraintKind::References(target) => self.references(target),
            ColumnConstraintKind::Attribute(attribute) => self.attribute(*attribute),
        }
    }

    pub(super) fn attribute(&mut self, attribute: ConstraintAttribute) {
        self.put(match attribute {
            ConstraintAttribute::Deferrable => "DEFERRABLE",
            ConstraintAttribute::NotDeferrable => "NOT DEFERRABLE",
            ConstraintAttribute::InitiallyDeferred => "INITIALLY DEFERRED",
            ConstraintAttribute::InitiallyImmediate => "INITIALLY IMMEDIATE",
            ConstraintAttribute::NotValid => "NOT VALID",
            ConstraintAttribute::NoInherit => "NO INHERIT",
        });
    }

    fn key_storage(&mut self, storage: &KeyStorage) {
        if !storage.included.is_empty() {
            self.put("INCLUDE");
            self.parens(&storage.included, Self::name);
        }
        self.with_options(&storage.options);
        if let Some(tablespace) = &storage.tablespace {
            self.put("USING INDEX TABLESPACE");
            self.name(tablespace);
        }
    }

    pub(super) fn table_constraint(&mut self, constraint: &TableConstraint) {
        if let Some(name) = &constraint.name {
            self.put("CONSTRAINT");
            self.name(name);
        }
        match &constraint.kind {
            TableConstraintKind::Check(condition) => {
                self.put("CHECK");
                self.parens(std::slice::from_ref(condition), Self::expression);
            }
            TableConstraintKind::Unique(columns, storage) => {
                self.put("UNIQUE");
                self.put_if(storage.nulls_equal, "NULLS NOT DISTINCT");
                self.parens(columns, Self::name);
                self.key_storage(storage);
            }
            TableConstraintKind::PrimaryKey(columns, storage) => {
                self.put("PRIMARY KEY");
                self.parens(columns, Self::name);
                self.key_storage(storage);
            }
            TableConstraintKind::UniqueIndex(index) => {
                self.put("UNIQUE USING INDEX");
                self.name(index);
            }
            TableConstraintKind::PrimaryKeyIndex(index) => {
                self.put("PRIMARY KEY USING INDEX");
                self.name(index);
            }
            TableConstraintKind::ForeignKey(columns, target) => {
                self.put("FOREIGN KEY");
                self.parens(columns, Self::name);
                self.references(target);
            }
            TableConstraintKind::Exclude(exclusion) => self.exclusion(exclusion),
        }
        constraint.attributes.iter().for_each(|attribute| self.attribute(*attribute));
    }

    fn exclusion(&mut self, exclusion: &ExclusionConstraint) {
        self.put("EXCLUDE");
        if let Some(method) = &exclusion.access_method {
            self.put("USING");
            self.name(method);
        }
        self.parens(&exclusion.elements, |printer, (element, operator)| {
            printer.index_element(element);
            printer.put("WITH");
            printer.operator(operator);
        });
        self.key_storage(&exclusion.storage);
        if let Some(condition) = &exclusion.condition {
            self.put("WHERE");
            self.parens(std::slice::from_ref(condition), Self::expression);
        }
    }

    fn references(&mut self, target: &ForeignKeyTarget) {
        self.put("REFERENCES");
        self.object(&target.table);
        self.optional_parens(&target.columns, Self::name);
        self.put_if(target.matching == MatchKind::Full, "MATCH FULL");
        for (word, action) in [("ON DELETE", &target.on_delete), ("ON UPDATE", &target.on_update)] {
            if let Some(action) = action {
                self.put(word);
                self.key_action(action);
            }
        }
    }

    fn key_action(&mut self, action: &KeyAction) {
        match action {
            KeyAction::NoAction => self.put("NO ACTION"),
            KeyAction::Restrict => self.put("RESTRICT"),
            KeyAction::Cascade => self.put("CASCADE"),
            KeyAction::SetNull(columns) => {
                self.put("SET NULL");
                self.optional_parens(columns, Self::name);
            }
            KeyAction::SetDefault(columns) => {
                self.put("SET DEFAULT");
                self.optional_parens(columns, Self::name);
            }
        }
    }
}
