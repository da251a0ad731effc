//! What people read: a table a data set, then the order by size next to the paper's.

use nacre_column::{Flavour, Format};

use super::{Figures, Size, median, ns_per_value};
use crate::bench::Setup;
use crate::dataset::DataSet;
use crate::error::Result;
use crate::report::{Measurement, Report};

/// Bytes of a value as the baseline stores it.
const VALUE_BYTES: f64 = 4.0;

/// Prints a data set's figures and writes them down.
pub(super) fn print(
    setup: &Setup,
    report: &mut Report,
    set: DataSet,
    size: Size,
    figures: &[Figures],
) -> Result<()> {
    report_all(report, set, size, figures)?;
    let console = setup.console;
    let flavours = Flavour::available();
    let names: String = flavours.iter().map(|flavour| format!(" {:>6}", flavour.name())).collect();
    let width = names.len();
    console.line(format_args!("\n{}: {}", set.name(), set.description()))?;
    console.line(format_args!(
        "   {:<14} {:>6}  {:<width$}  {:<width$}  {}",
        "", "bits a", " encode, ns/value", " decode, ns/value", "GiB/s of the active flavour"
    ))?;
    console.line(format_args!(
        "   {:<14} {:>6}  {names}  {names}  {:>6} {:>6}",
        "format", "value", "encode", "decode"
    ))?;
    for format in Format::ALL {
        let rows: Vec<&Figures> =
            figures.iter().filter(|one| one.ours.is_some_and(|ours| ours.0 == format)).collect();
        let Some(active) = rows.iter().find(|one| is_active(one)) else {
            continue;
        };
        let times = |time: &dyn Fn(&Figures) -> f64| -> String {
            rows.iter().map(|one| format!(" {:>6.2}", time(one))).collect()
        };
        console.line(format_args!(
            "   {:<14} {:>6.2}  {}  {}  {:>6.2} {:>6.2}",
            format.name(),
            active.bits_per_value(size),
            times(&|one| encode_ns(one, size)),
            times(&|one| decode_ns(one, size)),
            gib_per_s(encode_ns(active, size)),
            gib_per_s(decode_ns(active, size)),
        ))?;
    }
    print_rivals(setup, size, figures)?;
    print_ranking(setup, report, set, size, figures)
}

/// Prints the rivals, each next to the format that has its scheme, in the active flavour.
fn print_rivals(setup: &Setup, size: Size, figures: &[Figures]) -> Result<()> {
    let rivals: Vec<_> = pairs(figures).collect();
    if rivals.is_empty() {
        return Ok(());
    }
    let console = setup.console;
    console.line(format_args!(
        "   {:<20} {:<14} {:>13}  {:>27}  {:>20}",
        "rival", "ours", "bits", "encode: rival checked ours", "decode: rival ours"
    ))?;
    for (rival, ours) in rivals {
        let ratio = decode_ns(rival, size) / decode_ns(ours, size);
        console.line(format_args!(
            "   {:<20} {:<14} {:>6.2} {:>6.2}  {:>13.2} {:>7.2} {:>5.2}  {:>14.2} {:>5.2} \
             {ratio:>5.2}x",
            rival.name,
            ours.name,
            rival.bits_per_value(size),
            ours.bits_per_value(size),
            encode_ns(rival, size),
            ns_per_value(median(&rival.encode_checked), size),
            encode_ns(ours, size),
            decode_ns(rival, size),
            decode_ns(ours, size),
        ))?;
    }
    Ok(())
}

/// Prints our formats by size, and whether the smallest is at or under the paper's best.
fn print_ranking(
    setup: &Setup,
    report: &mut Report,
    set: DataSet,
    size: Size,
    figures: &[Figures],
) -> Result<()> {
    let mut ours: Vec<(Format, f64)> = figures
        .iter()
        .filter(|one| is_active(one))
        .filter_map(|one| Some((one.ours?.0, one.bits_per_value(size))))
        .collect();
    ours.sort_by(|a, b| a.1.total_cmp(&b.1));
    let list: Vec<String> =
        ours.iter().map(|(format, bits)| format!("{format} {bits:.2}")).collect();
    setup.console.line(format_args!("   by size: {}", list.join(", ")))?;
    let (title, papers_best) = papers_best(set);
    let theirs = ours.iter().find(|(format, _)| *format == papers_best);
    if let (Some((best, bits)), Some((_, reference))) = (ours.first(), theirs) {
        let id = format!("rank/{best}/any/{}", parameters(set, size));
        let measurement =
            Measurement::new(id, *bits, "bits/value").against(papers_best.name(), *reference);
        report.add(&measurement)?;
        let verdict = if bits <= reference { "at or under" } else { "ABOVE" };
        setup.console.line(format_args!(
            "   the paper's best is {title}, {reference:.2} here; ours is {best}, {bits:.2}: \
             {verdict}"
        ))?;
    }
    Ok(())
}

/// The format that the paper finds smallest: its name there, and ours of that scheme.
///
/// # Source
/// [Zarubin22 3.3.1] on Figure 3.12, which prints no numbers.
fn papers_best(set: DataSet) -> (&'static str, Format) {
    match set {
        DataSet::D2 => ("FOR + SIMD-BP128", Format::ForBp),
        DataSet::D3 => ("LZ4 for best compression", Format::Lz4High),
        DataSet::D4 => ("SIMD-FastPFOR", Format::SimdFastPfor),
        _ => ("SIMD-BP128", Format::SimdBp128),
    }
}

fn report_all(report: &mut Report, set: DataSet, size: Size, figures: &[Figures]) -> Result<()> {
    let parameters = parameters(set, size);
    for one in figures {
        let flavour = one.ours.map_or("rival", |(_, flavour)| flavour.name());
        let plain = figures.iter().find(|other| is_plain_of(other, one));
        let mut add = |operation: &str, value: f64, unit: &'static str, base: Option<f64>| {
            let id = format!("{operation}/{}/{flavour}/{parameters}", one.name);
            let measurement = Measurement::new(id, value, unit);
            report.add(&match base {
                Some(base) => measurement.against("plain", base),
                None => measurement,
            })
        };
        let base = |figure: &dyn Fn(&Figures) -> f64| plain.map(figure);
        let checked = |one: &Figures| ns_per_value(median(&one.encode_checked), size);
        add("size", one.bits_per_value(size), "bits/value", base(&|one| one.bits_per_value(size)))?;
        let (encode, decode) = (encode_ns(one, size), decode_ns(one, size));
        add("encode", encode, "ns/value", base(&|one| encode_ns(one, size)))?;
        add("encode-checked", checked(one), "ns/value", base(&checked))?;
        add("decode", decode, "ns/value", base(&|one| decode_ns(one, size)))?;
        let rate = |ns: &dyn Fn(&Figures) -> f64| plain.map(|one| gib_per_s(ns(one)));
        add("encode-rate", gib_per_s(encode), "GiB/s", rate(&|one| encode_ns(one, size)))?;
        add("decode-rate", gib_per_s(decode), "GiB/s", rate(&|one| decode_ns(one, size)))?;
    }
    for (rival, ours) in pairs(figures) {
        let flavour = ours.ours.map_or("rival", |(_, flavour)| flavour.name());
        let id = |operation: &str| {
            format!("{operation}/{}/{flavour}/rival={},{parameters}", ours.name, rival.name)
        };
        let decode = Measurement::new(id("decode-pair"), decode_ns(ours, size), "ns/value");
        report.add(&decode.against(&rival.name, decode_ns(rival, size)))?;
        let checked = ns_per_value(median(&rival.encode_checked), size);
        let encode = Measurement::new(id("encode-pair"), encode_ns(ours, size), "ns/value");
        report.add(&encode.against(&rival.name, checked))?;
    }
    Ok(())
}

/// Returns each rival with each format of ours that has its scheme, in the active flavour.
fn pairs(figures: &[Figures]) -> impl Iterator<Item = (&Figures, &Figures)> {
    figures.iter().flat_map(|rival| {
        let is_partner = |one: &&Figures| {
            is_active(one) && one.ours.is_some_and(|ours| rival.schemes.contains(&ours.0))
        };
        figures.iter().filter(is_partner).map(move |ours| (rival, ours))
    })
}

/// Tells whether `plain` is the baseline of `one`: plain in the same flavour.
fn is_plain_of(plain: &Figures, one: &Figures) -> bool {
    let flavour = one.ours.map_or_else(Flavour::active, |(_, flavour)| flavour);
    plain.ours == Some((Format::Plain, flavour))
}

fn is_active(one: &Figures) -> bool {
    one.ours.is_some_and(|(_, flavour)| flavour == Flavour::active())
}

fn parameters(set: DataSet, size: Size) -> String {
    format!("data={},values={}", set.name(), size.values())
}

fn encode_ns(one: &Figures, size: Size) -> f64 {
    ns_per_value(median(&one.encode), size)
}

fn decode_ns(one: &Figures, size: Size) -> f64 {
    ns_per_value(median(&one.decode), size)
}

fn gib_per_s(ns_per_value: f64) -> f64 {
    VALUE_BYTES / ns_per_value.max(1e-9) * 1e9 / (1_u64 << 30) as f64
}
