//! What EXPLAIN tells of a plan, as a tree of properties, and the forms that it is written in.
//!
//! One tree is written as JSON, YAML or XML; the forms are those of PostgreSQL, byte by byte.

use std::fmt::Write;

/// A form in which a tree is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Json,
    Yaml,
    Xml,
}

/// A value with a name, or an element of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanProperty {
    Text(String),
    /// A number as it is written.
    Number(String),
    Group(PropertyGroup),
    /// Groups; XML gives each one the name.
    List(&'static str, Vec<PropertyGroup>),
}

/// Properties by their names, in the order in which they are shown.
pub(crate) type PropertyGroup = Vec<(&'static str, PlanProperty)>;

impl PlanProperty {
    pub(crate) fn text(of: &str) -> Self {
        Self::Text(of.to_owned())
    }

    pub(crate) fn number(of: impl ToString) -> Self {
        Self::Number(of.to_string())
    }
}

impl DocumentFormat {
    /// Returns the format with that name of the option FORMAT.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            "xml" => Some(Self::Xml),
            _ => None,
        }
    }

    /// Returns the name of the type of the answer.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "text",
            Self::Xml => "xml",
        }
    }

    /// Writes what EXPLAIN tells of one query.
    pub(crate) fn document(self, query: &PropertyGroup) -> String {
        let mut out = String::new();
        match self {
            Self::Json => {
                out.push_str("[\n  ");
                write_json_group(query, 1, &mut out);
                out.push_str("\n]");
            }
            Self::Yaml => {
                out.push_str("- ");
                write_yaml_group(query, 1, &mut out);
            }
            Self::Xml => {
                out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n");
                write_xml_group("Query", query, 1, &mut out);
                out.push_str("</explain>");
            }
        }
        out
    }
}

/// Begins a line.
fn begin_line(depth: usize, out: &mut String) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
}

fn write_json_group(group: &PropertyGroup, depth: usize, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in group.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        begin_line(depth + 1, out);
        let _ = write!(out, "\"{name}\": ");
        match value {
            PlanProperty::Text(text) => write_quoted(text, out),
            PlanProperty::Number(number) => out.push_str(number),
            PlanProperty::Group(group) => write_json_group(group, depth + 1, out),
            PlanProperty::List(_, groups) => {
                out.push('[');
                for (index, group) in groups.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    begin_line(depth + 2, out);
                    write_json_group(group, depth + 2, out);
                }
                begin_line(depth + 1, out);
                out.push(']');
            }
        }
    }
    begin_line(depth, out);
    out.push('}');
}

/// Writes a group whose first property follows on the line.
fn write_yaml_group(group: &PropertyGroup, depth: usize, out: &mut String) {
    for (index, (name, value)) in group.iter().enumerate() {
        if index > 0 {
            begin_line(depth, out);
        }
        let _ = write!(out, "{name}: ");
        match value {
            PlanProperty::Text(text) => write_quoted(text, out),
            PlanProperty::Number(number) => out.push_str(number),
            PlanProperty::Group(group) => {
                begin_line(depth + 1, out);
                write_yaml_group(group, depth + 1, out);
            }
            PlanProperty::List(_, groups) => {
                for group in groups {
                    begin_line(depth + 1, out);
                    out.push_str("- ");
                    write_yaml_group(group, depth + 2, out);
                }
            }
        }
    }
}

fn write_xml_group(name: &str, group: &PropertyGroup, depth: usize, out: &mut String) {
    let margin = "  ".repeat(depth);
    let tag = name.replace(' ', "-");
    let _ = writeln!(out, "{margin}<{tag}>");
    for (name, value) in group {
        let tag = name.replace(' ', "-");
        match value {
            PlanProperty::Text(text) | PlanProperty::Number(text) => {
                let _ = write!(out, "{margin}  <{tag}>");
                write_escaped(text, out);
                let _ = writeln!(out, "</{tag}>");
            }
            PlanProperty::Group(group) => write_xml_group(name, group, depth + 1, out),
            PlanProperty::List(element, groups) => {
                let _ = writeln!(out, "{margin}  <{tag}>");
                for group in groups {
                    write_xml_group(element, group, depth + 2, out);
                }
                let _ = writeln!(out, "{margin}  </{tag}>");
            }
        }
    }
    let _ = writeln!(out, "{margin}</{tag}>");
}

/// Writes a text in quotes, as JSON and YAML have it.
fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for one in text.chars() {
        match one {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            one if one < ' ' => {
                let _ = write!(out, "\\u{:04x}", one as u32);
            }
            one => out.push(one),
        }
    }
    out.push('"');
}

/// Writes a text as XML has it.
fn write_escaped(text: &str, out: &mut String) {
    for one in text.chars() {
        match one {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#x0d;"),
            one => out.push(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> PropertyGroup {
        let scan = vec![("Node Type", PlanProperty::text("Seq Scan"))];
        let plan = vec![
            ("Node Type", PlanProperty::text("Hash Join")),
            ("Detail", PlanProperty::text("a < \"b\" & c")),
            ("Plans", PlanProperty::List("Plan", vec![scan.clone(), scan])),
        ];
        let times = vec![("Parse Time", PlanProperty::number("0.010"))];
        vec![
            ("Plan", PlanProperty::Group(plan)),
            ("Planning", PlanProperty::Group(times)),
            ("Triggers", PlanProperty::List("Trigger", Vec::new())),
        ]
    }

    #[test]
    fn documents_are_laid_out_as_those_of_postgresql() {
        let json = r#"[
  {
    "Plan": {
      "Node Type": "Hash Join",
      "Detail": "a < \"b\" & c",
      "Plans": [
        {
          "Node Type": "Seq Scan"
        },
        {
          "Node Type": "Seq Scan"
        }
      ]
    },
    "Planning": {
      "Parse Time": 0.010
    },
    "Triggers": [
    ]
  }
]"#;
        assert_eq!(DocumentFormat::Json.document(&query()), json);
        let yaml = [
            "- Plan: ",
            "    Node Type: \"Hash Join\"",
            "    Detail: \"a < \\\"b\\\" & c\"",
            "    Plans: ",
            "      - Node Type: \"Seq Scan\"",
            "      - Node Type: \"Seq Scan\"",
            "  Planning: ",
            "    Parse Time: 0.010",
            "  Triggers: ",
        ];
        let yaml = yaml.join("\n");
        assert_eq!(DocumentFormat::Yaml.document(&query()), yaml);
        let xml = r#"<explain xmlns="http://www.postgresql.org/2009/explain">
  <Query>
    <Plan>
      <Node-Type>Hash Join</Node-Type>
      <Detail>a &lt; "b" &amp; c</Detail>
      <Plans>
        <Plan>
          <Node-Type>Seq Scan</Node-Type>
        </Plan>
        <Plan>
          <Node-Type>Seq Scan</Node-Type>
        </Plan>
      </Plans>
    </Plan>
    <Planning>
      <Parse-Time>0.010</Parse-Time>
    </Planning>
    <Triggers>
    </Triggers>
  </Query>
</explain>"#;
        assert_eq!(DocumentFormat::Xml.document(&query()), xml);
    }

    #[test]
    fn texts_are_escaped() {
        let mut quoted = String::new();
        write_quoted("a\"b\\c\n\u{1}", &mut quoted);
        assert_eq!(quoted, "\"a\\\"b\\\\c\\n\\u0001\"");
        let mut escaped = String::new();
        write_escaped("a\r\n<b>'", &mut escaped);
        assert_eq!(escaped, "a&#x0d;\n&lt;b&gt;'");
    }
}
