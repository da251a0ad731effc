//! `CREATE TABLE ... AS` and `SELECT ... INTO`: a table with the columns and the rows of a query.
//!
//! The table is defined in the transaction that fills it, so there are both or nothing.

use std::sync::Arc;

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    CreateTable, DataType, Ident, ObjectName, Query, SetExpr, Statement,
};
use nacre_column::ReplicaPolicy;
use nacre_ingest::Progress;
use nacre_store::{ColumnDef, Store, TableKeys, TableRules, TableSchema};

use crate::ddl::{reject_unsupported, replicas};
use crate::dml;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::planner::Planner;
use crate::relations::require_free;
use crate::transaction::Turn;
use crate::types::{stored_type, type_name};

/// A table that is made of a query.
pub(crate) struct TableAs {
    name: String,
    if_not_exists: bool,
    /// Names for the first columns.
    columns: Vec<String>,
    replicas: Option<ReplicaPolicy>,
    query: Query,
}

impl TableAs {
    /// Reads a statement; `None` if it is another one.
    ///
    /// # Errors
    /// `not supported`.
    pub(crate) fn of(statement: &Statement) -> Result<Option<Self>> {
        match statement {
            Statement::CreateTable(create) => Self::of_create(create),
            Statement::Query(query) => Self::of_query(query),
            _ => Ok(None),
        }
    }

    fn of_create(create: &CreateTable) -> Result<Option<Self>> {
        let Some(query) = &create.query else { return Ok(None) };
        reject_unsupported(create)?;
        let is_name = |column: &datafusion::sql::sqlparser::ast::ColumnDef| {
            matches!(column.data_type, DataType::Unspecified) && column.options.is_empty()
        };
        if !create.constraints.is_empty() || !create.columns.iter().all(is_name) {
            return Err(Error::not_supported("types and constraints in CREATE TABLE AS"));
        }
        Ok(Some(Self {
            name: table_name(&create.name)?,
            if_not_exists: create.if_not_exists,
            columns: create.columns.iter().map(|column| fold(&column.name)).collect(),
            replicas: replicas(&create.table_options)?,
            query: Query::clone(query),
        }))
    }

    fn of_query(query: &Query) -> Result<Option<Self>> {
        let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
        let Some(into) = &select.into else { return Ok(None) };
        if into.temporary {
            return Err(Error::not_supported("SELECT INTO TEMPORARY"));
        }
        let name = table_name(&into.name)?;
        let (mut query, mut select) = (query.clone(), select.clone());
        select.into = None;
        *query.body = SetExpr::Select(select);
        let (columns, replicas) = (Vec::new(), None);
        Ok(Some(Self { name, if_not_exists: false, columns, replicas, query }))
    }

    /// Creates the table and fills it; returns the command tag. What `store` defines belongs to the
    /// transaction.
    ///
    /// # Errors
    /// 42P07, 42701; those of the query; `not supported` for types that no column has.
    pub(crate) async fn run(
        self,
        store: &Store,
        planner: &Planner,
        turn: &mut Turn,
        progress: Arc<Progress>,
    ) -> Result<String> {
        if self.if_not_exists && require_free(store, &self.name).is_err() {
            return Ok("CREATE TABLE AS".into());
        }
        require_free(store, &self.name)?;
        let schema = self.schema(planner, turn).await?;
        let name = ObjectName::from(vec![Ident::with_quote('"', &self.name)]);
        let (rules, keys) = (TableRules::default(), TableKeys::default());
        store.create_table_with(schema, rules, &keys).map_err(from_store)?;
        let ParsedStatement::Statement(mut insert) =
            planner.parse(&format!("INSERT INTO {name} SELECT 1"))?
        else {
            return Err(Error::new(ErrorKind::Internal, "internal error: no INSERT"));
        };
        if let Statement::Insert(insert) = insert.as_mut() {
            insert.source = Some(Box::new(self.query));
        }
        let answer = dml::change_of(store, *insert)?.run(planner, turn, progress).await?;
        Ok(answer.tag.replace("INSERT 0", "SELECT"))
    }

    /// Returns the definition of the table.
    async fn schema(&self, planner: &Planner, turn: &mut Turn) -> Result<TableSchema> {
        let query = Statement::Query(Box::new(self.query.clone()));
        let moment = turn.moment(true)?;
        let query = ParsedStatement::Statement(Box::new(query));
        let outputs = planner.describe(&moment, Vec::new(), query).await?;
        if self.columns.len() > outputs.fields().len() {
            let message = "too many column names were specified";
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let mut columns: Vec<ColumnDef> = Vec::with_capacity(outputs.fields().len());
        for (index, field) in outputs.fields().iter().enumerate() {
            let name = self.columns.get(index).unwrap_or(field.name()).clone();
            if columns.iter().any(|column| column.name == name) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42701"));
            }
            let column_type = stored_type(field.data_type()).ok_or_else(|| {
                let shown = type_name(field.data_type());
                Error::not_supported(format_args!("column \"{name}\" of type {shown}"))
            })?;
            columns.push(ColumnDef { name, column_type, is_nullable: true, replicas: None });
        }
        Ok(TableSchema {
            name: self.name.clone(),
            columns,
            primary_key: None,
            primary_key_name: String::new(),
            replicas: self.replicas.clone(),
        })
    }
}
