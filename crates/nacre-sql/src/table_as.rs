//! `CREATE TABLE ... AS` and `SELECT ... INTO`: a table with the columns and the rows of a query.
//!
//! The table is defined in the transaction that fills it, so there are both or nothing. The parser
//! of the front end knows neither names of columns without types nor WITH [NO] DATA, so the
//! statement is read here from the same tokens.

use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, SetExpr, Statement};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_column::{ColumnType, ReplicaPolicy};
use nacre_ingest::Progress;
use nacre_store::{ColumnDef, Store, TableKeys, TableRules, TableSchema};

use crate::ddl::reject_unsupported;
use crate::dml;
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::own_syntax;
use crate::pg_types::{ColumnOrigin, PgType};
use crate::plain_forms::plain;
use crate::planner::Planner;
use crate::relations::require_free;
use crate::replicas::policy;
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
    /// Whether the table gets the rows, too.
    is_filled: bool,
}

/// Returns what `sql` makes if it is `CREATE TABLE ... AS` as PostgreSQL writes it.
///
/// # Errors
/// `Syntax` with the place; those of the options.
pub(crate) fn parse_table_as(sql: &str) -> Result<Option<TableAs>> {
    let Some(mut parser) = own_syntax::begin(sql, &["create", "table"])? else {
        return Ok(None);
    };
    table_as(&mut parser).map_err(|error| from_parser(&error))?.transpose()
}

/// The outer error is one of syntax, the inner one of meaning.
fn table_as(parser: &mut Parser<'_>) -> std::result::Result<Option<Result<TableAs>>, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let Ok(name) = parser.parse_object_name(false) else { return Ok(None) };
    let columns = match parser.peek_token().token {
        Token::LParen => columns(parser)?,
        _ => Some(Vec::new()),
    };
    let mut options = Vec::new();
    if parser.parse_keyword(Keyword::WITH) {
        if !parser.consume_token(&Token::LParen) {
            return Ok(None);
        }
        if parser.peek_token().token == Token::RParen {
            return parser.expected("the name of an option", parser.peek_token());
        }
        options = parser.parse_comma_separated(Parser::parse_sql_option)?;
        parser.expect_token(&Token::RParen)?;
    }
    let Some(columns) = columns.filter(|_| parser.parse_keyword(Keyword::AS)) else {
        return Ok(None);
    };
    let mut query = *parser.parse_query()?;
    plain(&mut query);
    let mut is_filled = true;
    if parser.parse_keyword(Keyword::WITH) {
        is_filled = !parser.parse_keyword(Keyword::NO);
        parser.expect_keyword(Keyword::DATA)?;
    }
    own_syntax::end(parser)?;
    let made = table_name(&name).and_then(|name| {
        let replicas = policy(&options)?;
        Ok(TableAs { name, if_not_exists, columns, replicas, query, is_filled })
    });
    Ok(Some(made))
}

/// Takes `(a, b)`; `None` for parentheses with something else between them, which are taken, too.
fn columns(parser: &mut Parser<'_>) -> std::result::Result<Option<Vec<String>>, ParserError> {
    let names = parser.maybe_parse(|parser| {
        parser.expect_token(&Token::LParen)?;
        let names = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
        Ok(names.iter().map(fold).collect())
    })?;
    if names.is_some() {
        return Ok(names);
    }
    let mut depth = 0_usize;
    loop {
        match parser.next_token().token {
            Token::LParen => depth += 1,
            Token::RParen if depth <= 1 => return Ok(None),
            Token::RParen => depth -= 1,
            Token::EOF => return Ok(None),
            _ => {}
        }
    }
}

impl TableAs {
    /// Reads `SELECT ... INTO`; `None` if it is another statement.
    ///
    /// # Errors
    /// `not supported`, also for other forms of CREATE TABLE AS.
    pub(crate) fn of(statement: &Statement) -> Result<Option<Self>> {
        match statement {
            Statement::CreateTable(create) if create.query.is_some() => {
                reject_unsupported(create)?;
                Err(Error::not_supported("types and constraints in CREATE TABLE AS"))
            }
            Statement::Query(query) => Self::of_query(query),
            _ => Ok(None),
        }
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
        let (if_not_exists, is_filled) = (false, true);
        Ok(Some(Self { name, if_not_exists, columns, replicas, query, is_filled }))
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
            planner.notices().exists("42P07", format_args!("relation \"{}\"", self.name));
            return Ok("CREATE TABLE AS".into());
        }
        require_free(store, &self.name)?;
        let schema = self.schema(planner, turn).await?;
        let name = ObjectName::from(vec![Ident::with_quote('"', &self.name)]);
        let (rules, keys) = (TableRules::default(), TableKeys::default());
        store.create_table_with(schema, rules, &keys).map_err(from_store)?;
        if !self.is_filled {
            dml::apply(planner, turn, Vec::new(), progress).await?;
            return Ok("CREATE TABLE AS".into());
        }
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
            let column_type = column_type(field).ok_or_else(|| {
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

/// Returns the type of the column that an output becomes; `None` if there is none.
fn column_type(output: &Field) -> Option<ColumnType> {
    let chars = u32::try_from(ColumnOrigin::of_field(output).modifier - 4).ok();
    match (PgType::of_field(output).0.name, chars) {
        ("varchar", max_chars) => Some(ColumnType::Varchar { max_chars }),
        ("bpchar", Some(chars)) => Some(ColumnType::Char { chars }),
        _ => stored_type(output.data_type()),
    }
}
