//! Judge by dependencies: which committed transaction must come before which other?
//!
//! 1. The versions of a row are in the order of the commits that made them; who wrote what a read
//!    found is told by the values.
//! 2. Edges: *ww* to who wrote the next version; *wr* from who wrote what was read; *rw* to who
//!    next changed a cell that was read; *predicate wr* and *rw* from and to who last and next
//!    changed whether a row satisfies what was asked for, rows that do not exist yet included;
//!    *before* to who began after the other had ended.
//! 3. A history is serializable if there is no cycle. The class of a cycle is that of Adya's
//!    thesis: G0 of ww edges only, G1c with wr edges, G-single with one rw edge, G2-item with more
//!    of them, G2 with predicates.
//! 4. A read that found a value of an aborted transaction (G1a), one that its writer overwrote
//!    itself (G1b), or anything but the state of its snapshot, is told before.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;

use super::record::{
    A, B, Cells, History, ID, Mask, NAMES, Op, Read, Rows, Transaction, has, mask, seen,
};

const ALL: Mask = Mask::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    AbortedRead,
    IntermediateRead,
    WrongSnapshot,
    G0,
    G1c,
    GSingle,
    G2Item,
    G2,
}

#[derive(Clone, Debug)]
pub(crate) struct Anomaly {
    pub(crate) class: Class,
    pub(crate) text: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.class, self.text)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Ww,
    Wr,
    Rw,
    PredicateWr,
    PredicateRw,
    Before,
}

impl Kind {
    fn is_rw(self) -> bool {
        matches!(self, Self::Rw | Self::PredicateRw)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    to: usize,
    kind: Kind,
    row: i64,
}

/// How many edges of each kind a history has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(pub(crate) BTreeMap<Kind, usize>);

impl Counts {
    pub(crate) fn of(&self, kind: Kind) -> usize {
        self.0.get(&kind).copied().unwrap_or(0)
    }
}

/// Checks that the history is serializable; names the first thing that is wrong.
pub(crate) fn check(history: &History) -> Result<Counts, Anomaly> {
    let mut builder = Builder::new(history)?;
    for index in 0..builder.transactions.len() {
        builder.add_reads(index)?;
    }
    builder.add_overwrites();
    builder.add_order();
    builder.graph.check()
}

/// A version of a row, made by a committed transaction.
#[derive(Debug)]
struct Version {
    writer: usize,
    commit: u64,
    /// `None` if the row was deleted.
    cells: Option<Cells>,
    changed: Mask,
}

/// Who wrote a value, and whether others could ever see it.
#[derive(Clone, Copy, Debug)]
struct Written {
    writer: Option<usize>,
    row: i64,
    is_last: bool,
}

struct Builder<'a> {
    transactions: Vec<&'a Transaction>,
    versions: BTreeMap<i64, Vec<Version>>,
    values: HashMap<(usize, i64), Written>,
    graph: Graph<'a>,
}

impl<'a> Builder<'a> {
    fn new(history: &'a History) -> Result<Self, Anomaly> {
        let committed = history.transactions.iter().filter(|t| t.is_committed());
        let mut transactions: Vec<&Transaction> = committed.collect();
        transactions.sort_by_key(|transaction| transaction.position());
        let graph = Graph::new(&transactions);
        let (versions, values) = (BTreeMap::new(), HashMap::new());
        let mut builder = Self { transactions, versions, values, graph };
        let mut rows = Rows::new();
        for index in 0..builder.transactions.len() {
            builder.add_versions(index, &mut rows)?;
            builder.add_values(Some(index), builder.transactions[index]);
        }
        for aborted in history.transactions.iter().filter(|t| !t.is_committed()) {
            builder.add_values(None, aborted);
        }
        Ok(builder)
    }

    /// Applies the writes of a transaction to the rows and notes the versions they made.
    fn add_versions(&mut self, index: usize, rows: &mut Rows) -> Result<(), Anomaly> {
        let transaction = self.transactions[index];
        let mut touched: BTreeMap<i64, (bool, Mask)> = BTreeMap::new();
        for write in transaction.writes() {
            let before = rows.remove(&write.id);
            if write.changed.is_some() && before.is_none() {
                let text = format!("{} changed row {}, which is gone", transaction.name, write.id);
                return Err(Anomaly { class: Class::WrongSnapshot, text });
            }
            let entry = touched.entry(write.id).or_insert((before.is_some(), 0));
            entry.1 |= if write.after.is_some() { write.changed.unwrap_or(ALL) } else { ALL };
            if let Some(after) = write.apply(before.as_ref()) {
                rows.insert(write.id, after);
            }
        }
        for (row, (was_there, changed)) in touched {
            let cells = rows.get(&row).copied();
            if cells.is_some() || was_there {
                let commit = transaction.position().0;
                let version = Version { writer: index, commit, cells, changed };
                self.versions.entry(row).or_default().push(version);
            }
        }
        Ok(())
    }

    fn add_values(&mut self, writer: Option<usize>, transaction: &Transaction) {
        let mut last: HashMap<(i64, usize), i64> = HashMap::new();
        for write in transaction.writes() {
            let Some(after) = write.after else {
                last.retain(|key, _| key.0 != write.id);
                continue;
            };
            let changed = write.changed.unwrap_or(ALL);
            for column in [A, B].into_iter().filter(|&column| has(changed, column)) {
                last.insert((write.id, column), after[column]);
                let written = Written { writer, row: write.id, is_last: false };
                self.values.insert((column, after[column]), written);
            }
        }
        for ((row, column), value) in last {
            self.values.insert((column, value), Written { writer, row, is_last: true });
        }
    }

    fn add_reads(&mut self, index: usize) -> Result<(), Anomaly> {
        let transaction = self.transactions[index];
        // What the transaction sees of its own.
        let mut own: BTreeMap<i64, Option<Cells>> = BTreeMap::new();
        for op in &transaction.ops {
            match op {
                Op::Read(read) => self.add_read(index, read, &own)?,
                Op::Write(write) => {
                    let before = match own.get(&write.id) {
                        Some(own) => *own,
                        None => self.at(write.id, write.snapshot).1,
                    };
                    // An update of what the snapshot does not hold was told when it was applied.
                    let is_known = write.changed.is_none() || before.is_some();
                    own.insert(write.id, is_known.then(|| write.apply(before.as_ref())).flatten());
                }
            }
        }
        Ok(())
    }

    /// Returns the position and state of a row at a moment; the position is `None` before its
    /// first version.
    fn at(&self, row: i64, snapshot: u64) -> (Option<usize>, Option<Cells>) {
        let versions = self.versions.get(&row).map(Vec::as_slice).unwrap_or_default();
        let position =
            versions.partition_point(|version| version.commit <= snapshot).checked_sub(1);
        (position, position.and_then(|position| versions[position].cells))
    }

    fn add_read(
        &mut self,
        reader: usize,
        read: &Read,
        own: &BTreeMap<i64, Option<Cells>>,
    ) -> Result<(), Anomaly> {
        for cells in &read.rows {
            self.check_values(reader, read, cells)?;
        }
        let found: BTreeMap<i64, &Cells> =
            read.rows.iter().map(|cells| (cells[ID], cells)).collect();
        if found.len() != read.rows.len() {
            return Err(self.wrong(reader, read, "the same row twice".to_owned()));
        }
        let rows: BTreeSet<i64> =
            self.versions.keys().chain(own.keys()).chain(found.keys()).copied().collect();
        for row in rows {
            let (position, cells) = match own.get(&row) {
                Some(own) => (None, *own),
                None => self.at(row, read.snapshot),
            };
            let expected =
                cells.filter(|cells| read.filter.matches(cells)).map(|cells| seen(&cells, read));
            if expected.as_ref() != found.get(&row).copied() {
                let what = format!("row {row} is {:?}, not {expected:?}", found.get(&row));
                return Err(self.wrong(reader, read, what));
            }
            if !own.contains_key(&row) {
                self.add_row_edges(reader, read, row, position);
            }
        }
        Ok(())
    }

    /// Checks that all values were to be seen by others at all.
    fn check_values(&self, reader: usize, read: &Read, cells: &Cells) -> Result<(), Anomaly> {
        for column in [A, B].into_iter().filter(|&column| has(read.columns, column)) {
            let value = cells[column];
            let Some(written) = self.values.get(&(column, value)) else {
                let what = format!("nobody wrote {value} into {}", NAMES[column]);
                return Err(self.wrong(reader, read, what));
            };
            let class = match written.writer {
                Some(writer) if writer == reader || written.is_last => continue,
                Some(_) => Class::IntermediateRead,
                None => Class::AbortedRead,
            };
            let name = &self.transactions[reader].name;
            let text = format!("{name} read {value} of {} in row {}", NAMES[column], written.row);
            return Err(Anomaly { class, text });
        }
        Ok(())
    }

    fn wrong(&self, reader: usize, read: &Read, what: String) -> Anomaly {
        let name = &self.transactions[reader].name;
        let text = format!("{name} read {:?} at {}: {what}", read.filter.0, read.snapshot);
        Anomaly { class: Class::WrongSnapshot, text }
    }

    /// Adds the edges of a read through one row, whose version at `position` it saw.
    fn add_row_edges(&mut self, reader: usize, read: &Read, row: i64, position: Option<usize>) {
        let Some(versions) = self.versions.get(&row) else {
            return;
        };
        let matches =
            |version: &Version| version.cells.is_some_and(|cells| read.filter.matches(&cells));
        let did_match = position.is_some_and(|position| matches(&versions[position]));
        let (past, future) = versions.split_at(position.map_or(0, |position| position + 1));
        let graph = &mut self.graph;
        if let Some(next) = future.iter().find(|version| matches(version) != did_match) {
            graph.add(reader, next.writer, Kind::PredicateRw, row);
        }
        // The last version that changed whether the row matches, or the insert.
        let same = past.iter().rev().take_while(|version| matches(version) == did_match).count();
        if let Some(changing) = past.len().checked_sub(same).and_then(|first| past.get(first))
            && (did_match || same < past.len())
        {
            graph.add(changing.writer, reader, Kind::PredicateWr, row);
        }
        if !did_match {
            return;
        }
        for column in [A, B].into_iter().filter(|&column| has(read.columns, column)) {
            let does_write = |version: &&Version| has(version.changed, column);
            if let Some(writer) = past.iter().rev().find(does_write) {
                graph.add(writer.writer, reader, Kind::Wr, row);
            }
            if let Some(next) = future.iter().find(does_write) {
                graph.add(reader, next.writer, Kind::Rw, row);
            }
        }
        let others = read.columns & !mask(&[ID, A, B]);
        if let Some(next) = future.iter().find(|version| version.changed & others != 0) {
            graph.add(reader, next.writer, Kind::Rw, row);
        }
    }

    fn add_overwrites(&mut self) {
        for (row, versions) in &self.versions {
            for pair in versions.windows(2) {
                self.graph.add(pair[0].writer, pair[1].writer, Kind::Ww, *row);
            }
        }
    }

    /// Adds who ended before whom began. A chain of further nodes, one for each end, keeps the
    /// number of edges small.
    fn add_order(&mut self) {
        let count = self.transactions.len();
        let mut ends: Vec<usize> = (0..count).collect();
        ends.sort_by_key(|&index| self.transactions[index].ended);
        self.graph.edges.resize(2 * count, Vec::new());
        for (place, &index) in ends.iter().enumerate() {
            self.graph.add(index, count + place, Kind::Before, 0);
            if place + 1 < count {
                self.graph.add(count + place, count + place + 1, Kind::Before, 0);
            }
        }
        for (index, transaction) in self.transactions.iter().enumerate() {
            let ended = |&other: &usize| self.transactions[other].ended < transaction.began;
            if let Some(last) = ends.partition_point(ended).checked_sub(1) {
                self.graph.add(count + last, index, Kind::Before, 0);
            }
        }
    }
}

struct Graph<'a> {
    names: Vec<&'a str>,
    edges: Vec<Vec<Edge>>,
}

impl<'a> Graph<'a> {
    fn new(transactions: &[&'a Transaction]) -> Self {
        let names = transactions.iter().map(|transaction| transaction.name.as_str()).collect();
        Self { names, edges: vec![Vec::new(); transactions.len()] }
    }

    fn add(&mut self, from: usize, to: usize, kind: Kind, row: i64) {
        let edge = Edge { to, kind, row };
        if from != to && !self.edges[from].contains(&edge) {
            self.edges[from].push(edge);
        }
    }

    fn check(&self) -> Result<Counts, Anomaly> {
        let mut counts = Counts::default();
        for edge in self.edges.iter().flatten() {
            *counts.0.entry(edge.kind).or_insert(0) += 1;
        }
        if !self.has_cycle() {
            return Ok(counts);
        }
        let of_class = |class| self.cycle(class).map(|text| Anomaly { class, text });
        let classes = [Class::G0, Class::G1c, Class::GSingle, Class::G2Item, Class::G2];
        Err(classes.into_iter().find_map(of_class).expect("a cycle has a class"))
    }

    /// Takes away all that nothing leads to, again and again.
    fn has_cycle(&self) -> bool {
        let mut incoming = vec![0; self.edges.len()];
        self.edges.iter().flatten().for_each(|edge| incoming[edge.to] += 1);
        let mut free: Vec<usize> =
            (0..incoming.len()).filter(|&node| incoming[node] == 0).collect();
        let mut taken = 0;
        while let Some(node) = free.pop() {
            taken += 1;
            for edge in &self.edges[node] {
                incoming[edge.to] -= 1;
                if incoming[edge.to] == 0 {
                    free.push(edge.to);
                }
            }
        }
        taken < self.edges.len()
    }

    /// Finds a shortest cycle of a class.
    fn cycle(&self, class: Class) -> Option<String> {
        let is_allowed = |kind: Kind| match class {
            Class::G0 => kind == Kind::Ww,
            Class::G1c | Class::GSingle => !kind.is_rw(),
            Class::G2Item => kind != Kind::PredicateRw,
            _ => true,
        };
        let is_first = |kind: Kind| match class {
            Class::GSingle => kind.is_rw(),
            _ => is_allowed(kind),
        };
        let mut shortest: Option<Vec<(usize, Edge)>> = None;
        for (from, edges) in self.edges.iter().enumerate().take(self.names.len()) {
            for edge in edges.iter().filter(|edge| is_first(edge.kind)) {
                let Some(mut path) = self.path(edge.to, from, &is_allowed) else {
                    continue;
                };
                path.insert(0, (from, *edge));
                if shortest.as_ref().is_none_or(|shortest| path.len() < shortest.len()) {
                    shortest = Some(path);
                }
            }
        }
        shortest.map(|path| self.text(&path))
    }

    fn path(
        &self,
        from: usize,
        to: usize,
        is_allowed: &dyn Fn(Kind) -> bool,
    ) -> Option<Vec<(usize, Edge)>> {
        let mut reached: Vec<Option<(usize, Edge)>> = vec![None; self.edges.len()];
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            if node == to {
                let mut path = Vec::new();
                let mut at = to;
                while let Some((last, edge)) = reached[at].filter(|_| at != from) {
                    path.push((last, edge));
                    at = last;
                }
                path.reverse();
                return Some(path);
            }
            for edge in self.edges[node].iter().filter(|edge| is_allowed(edge.kind)) {
                if edge.to != from && reached[edge.to].is_none() {
                    reached[edge.to] = Some((node, *edge));
                    open.push_back(edge.to);
                }
            }
        }
        None
    }

    fn text(&self, path: &[(usize, Edge)]) -> String {
        let mut text = String::new();
        for (from, edge) in path {
            if let Some(name) = self.names.get(*from) {
                text += name;
                text += &match edge.kind {
                    Kind::Before => " -before-> ".to_owned(),
                    kind => format!(" -{kind:?} row {}-> ", edge.row),
                };
            }
        }
        text + path.first().map_or("", |(from, _)| self.names[*from])
    }
}
