//! Indexes, views, sequences, schemas, roles, DROP, TRUNCATE and COMMENT.

use super::SqlPrinter;
use crate::tree::{
    CheckOption, CommentStatement, CreateIndex, CreateSchema, CreateSequence, CreateView,
    DropBehavior, DropStatement, IndexElement, ObjectKind, OwnedStatement, RoleAction, RoleOption,
    RoleStatement, SequenceOption, TruncateStatement,
};

impl SqlPrinter {
    pub(super) fn create_index(&mut self, index: &CreateIndex) {
        self.put("CREATE");
        self.put_if(index.is_unique, "UNIQUE");
        self.put("INDEX");
        self.put_if(index.is_concurrent, "CONCURRENTLY");
        self.put_if(index.if_not_exists, "IF NOT EXISTS");
        index.name.iter().for_each(|name| self.name(name));
        self.put("ON");
        self.relation(&index.table);
        if let Some(method) = &index.access_method {
            self.put("USING");
            self.name(method);
        }
        self.parens(&index.elements, Self::index_element);
        if !index.included.is_empty() {
            self.put("INCLUDE");
            self.parens(&index.included, Self::index_element);
        }
        self.put_if(index.nulls_equal, "NULLS NOT DISTINCT");
        self.with_options(&index.options);
        if let Some(tablespace) = &index.tablespace {
            self.put("TABLESPACE");
            self.name(tablespace);
        }
        self.clause("WHERE", index.condition.as_ref());
    }

    pub(super) fn index_element(&mut self, element: &IndexElement) {
        let is_column = matches!(&element.value.kind,
            crate::tree::ExpressionKind::Column(path) if path.steps.is_empty());
        if is_column {
            self.expression(&element.value);
        } else {
            self.parens(std::slice::from_ref(&element.value), Self::expression);
        }
        if let Some(collation) = &element.collation {
            self.put("COLLATE");
            self.object(collation);
        }
        if let Some((class, options)) = &element.operator_class {
            self.object(class);
            self.optional_parens(options, Self::storage_option);
        }
        match element.is_descending {
            Some(true) => self.put("DESC"),
            Some(false) => self.put("ASC"),
            None => {}
        }
        self.nulls_order(element.nulls_first);
    }

    pub(super) fn create_view(&mut self, view: &CreateView) {
        self.put("CREATE");
        self.put_if(view.or_replace, "OR REPLACE");
        self.persistence(view.persistence);
        self.put_if(view.is_recursive, "RECURSIVE");
        self.put("VIEW");
        self.object(&view.name);
        self.optional_parens(&view.columns, Self::name);
        self.with_options(&view.options);
        self.put("AS");
        self.query(&view.query);
        match view.check {
            None => {}
            Some(CheckOption::Local) => self.put("WITH LOCAL CHECK OPTION"),
            Some(CheckOption::Cascaded) => self.put("WITH CASCADED CHECK OPTION"),
        }
    }

    pub(super) fn create_sequence(&mut self, sequence: &CreateSequence) {
        self.put("CREATE");
        self.persistence(sequence.persistence);
        self.put("SEQUENCE");
        self.put_if(sequence.if_not_exists, "IF NOT EXISTS");
        self.object(&sequence.name);
        self.sequence_options(&sequence.options);
    }

    pub(super) fn sequence_options(&mut self, options: &[SequenceOption]) {
        options.iter().for_each(|option| self.sequence_option(option));
    }

    pub(super) fn paren_sequence_options(&mut self, options: &[SequenceOption]) {
        if !options.is_empty() {
            self.put("(");
            self.sequence_options(options);
            self.glue(")");
        }
    }

    pub(super) fn sequence_option(&mut self, option: &SequenceOption) {
        let (word, number) = match option {
            SequenceOption::As(type_name) => {
                self.put("AS");
                return self.type_name(type_name);
            }
            SequenceOption::OwnedBy(name) => {
                self.put("OWNED BY");
                let is_none =
                    name.parts.len() == 1 && name.parts.iter().all(|one| one.text == "none");
                return if is_none { self.put("NONE") } else { self.object(name) };
            }
            SequenceOption::SequenceName(name) => {
                self.put("SEQUENCE NAME");
                return self.object(name);
            }
            SequenceOption::Cycle(true) => ("CYCLE", None),
            SequenceOption::Cycle(false) => ("NO CYCLE", None),
            SequenceOption::MaxValue(None) => ("NO MAXVALUE", None),
            SequenceOption::MinValue(None) => ("NO MINVALUE", None),
            SequenceOption::MaxValue(number) => ("MAXVALUE", number.as_ref()),
            SequenceOption::MinValue(number) => ("MINVALUE", number.as_ref()),
            SequenceOption::Cache(number) => ("CACHE", Some(number)),
            SequenceOption::Increment(number) => ("INCREMENT BY", Some(number)),
            SequenceOption::Start(number) => ("START WITH", Some(number)),
            SequenceOption::Restart(number) => ("RESTART", number.as_ref()),
        };
        self.put(word);
        number.iter().for_each(|number| self.put(number));
    }

    pub(super) fn create_schema(&mut self, schema: &CreateSchema) {
        self.put("CREATE SCHEMA");
        self.put_if(schema.if_not_exists, "IF NOT EXISTS");
        schema.name.iter().for_each(|name| self.name(name));
        if let Some(owner) = &schema.owner {
            self.put("AUTHORIZATION");
            self.role(owner);
        }
        schema.elements.iter().for_each(|element| self.statement(element));
    }

    pub(super) fn behavior(&mut self, behavior: DropBehavior) {
        match behavior {
            DropBehavior::Unspecified => {}
            DropBehavior::Cascade => self.put("CASCADE"),
            DropBehavior::Restrict => self.put("RESTRICT"),
        }
    }

    pub(super) fn drop_statement(&mut self, drop: &DropStatement) {
        self.put("DROP");
        self.put(kind_words(drop.kind));
        self.put_if(drop.is_concurrent, "CONCURRENTLY");
        self.put_if(drop.if_exists, "IF EXISTS");
        self.list(&drop.names, Self::object);
        self.behavior(drop.behavior);
    }

    pub(super) fn truncate(&mut self, truncate: &TruncateStatement) {
        self.put("TRUNCATE");
        self.list(&truncate.tables, Self::relation);
        match truncate.restarts_identity {
            None => {}
            Some(true) => self.put("RESTART IDENTITY"),
            Some(false) => self.put("CONTINUE IDENTITY"),
        }
        self.behavior(truncate.behavior);
    }

    pub(super) fn comment(&mut self, comment: &CommentStatement) {
        self.put("COMMENT ON");
        self.put(kind_words(comment.kind));
        self.object(&comment.name);
        if let Some(table) = &comment.table {
            self.put("ON");
            self.object(table);
        }
        self.put("IS");
        self.optional_string(comment.text.as_deref());
    }

    pub(super) fn role_statement(&mut self, role: &RoleStatement) {
        self.put(match role.action {
            RoleAction::CreateRole => "CREATE ROLE",
            RoleAction::CreateUser => "CREATE USER",
            RoleAction::CreateGroup => "CREATE GROUP",
            RoleAction::Alter => "ALTER ROLE",
        });
        self.role(&role.name);
        role.options.iter().for_each(|option| self.role_option(option));
    }

    fn role_option(&mut self, option: &RoleOption) {
        match option {
            RoleOption::Attribute(name) => self.put(&name.text),
            RoleOption::Password(password) => {
                self.put("PASSWORD");
                self.optional_string(password.as_deref());
            }
            RoleOption::ConnectionLimit(limit) => self.put(&format!("CONNECTION LIMIT {limit}")),
            RoleOption::ValidUntil(time) => {
                self.put("VALID UNTIL");
                self.string(time);
            }
            RoleOption::SystemId(id) => self.put(&format!("SYSID {id}")),
            RoleOption::InRole(roles) => {
                self.put("IN ROLE");
                self.roles(roles);
            }
            RoleOption::Role(roles) => {
                self.put("USER");
                self.roles(roles);
            }
            RoleOption::Admin(roles) => {
                self.put("ADMIN");
                self.roles(roles);
            }
        }
    }

    pub(super) fn owned(&mut self, owned: &OwnedStatement) {
        self.put(if owned.new_owner.is_some() { "REASSIGN OWNED BY" } else { "DROP OWNED BY" });
        self.roles(&owned.roles);
        if let Some(owner) = &owned.new_owner {
            self.put("TO");
            self.role(owner);
        }
        self.behavior(owned.behavior);
    }
}

pub(super) fn kind_words(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "TABLE",
        ObjectKind::ForeignTable => "FOREIGN TABLE",
        ObjectKind::View => "VIEW",
        ObjectKind::MaterializedView => "MATERIALIZED VIEW",
        ObjectKind::Index => "INDEX",
        ObjectKind::Sequence => "SEQUENCE",
        ObjectKind::Schema => "SCHEMA",
        ObjectKind::Database => "DATABASE",
        ObjectKind::Role => "ROLE",
        ObjectKind::Type => "TYPE",
        ObjectKind::Domain => "DOMAIN",
        ObjectKind::Collation => "COLLATION",
        ObjectKind::Column => "COLUMN",
        ObjectKind::Constraint => "CONSTRAINT",
        ObjectKind::Tablespace => "TABLESPACE",
        ObjectKind::Extension => "EXTENSION",
        ObjectKind::Language => "LANGUAGE",
    }
}
