//! Values as text for messages, as PostgreSQL prints them.

use nacre_column::{ColumnBuffer, ColumnType, Values};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Returns the value of `row` as text, `null` for a null.
pub(crate) fn value_text(column: &ColumnBuffer, row: usize) -> String {
    if column.is_null(row) {
        return "null".into();
    }
    match column.values() {
        Values::Int64(values) => int_text(i128::from(values[row]), column.column_type()),
        Values::Int128(values) => int_text(values[row], column.column_type()),
        Values::Float32(values) => values[row].to_string(),
        Values::Float64(values) => values[row].to_string(),
        Values::Bytes(values) if column.column_type().is_text() => {
            String::from_utf8_lossy(values.get(row)).into_owned()
        }
        Values::Bytes(values) => {
            let hex = values.get(row).iter().map(|byte| format!("{byte:02x}"));
            std::iter::once("\\x".to_owned()).chain(hex).collect()
        }
    }
}

fn int_text(value: i128, column_type: ColumnType) -> String {
    match column_type {
        ColumnType::Boolean => if value == 0 { "f" } else { "t" }.into(),
        ColumnType::Decimal { scale, .. } if scale > 0 => {
            let scale = usize::from(scale);
            let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
            let (whole, fraction) = digits.split_at(digits.len() - scale);
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{whole}.{fraction}")
        }
        ColumnType::Date => date_text(value as i64),
        ColumnType::Timestamp => {
            let (day, micros) =
                ((value as i64).div_euclid(MICROS_PER_DAY), (value as i64).rem_euclid(MICROS_PER_DAY));
            let seconds = micros / 1_000_000;
            let time = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
            let mut text =
                format!("{} {:02}:{:02}:{:02}", date_text(day), time.0, time.1, time.2);
            if micros % 1_000_000 != 0 {
                let fraction = format!(".{:06}", micros % 1_000_000);
                text.push_str(fraction.trim_end_matches('0'));
            }
            text
        }
        _ => value.to_string(),
    }
}

/// Writes a day number as a date of the proleptic Gregorian calendar.
fn date_text(days: i64) -> String {
    // Days since 0000-03-01, in eras of 400 years (146,097 days) that begin in March, so that
    // the leap day is the last day of a year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(column_type: ColumnType, value: i64) -> String {
        let mut column = ColumnBuffer::new(column_type);
        column.push_int(value);
        value_text(&column, 0)
    }

    #[test]
    fn values_print_as_in_postgresql() {
        let decimal = ColumnType::Decimal { precision: 15, scale: 2 };
        assert_eq!(text_of(decimal, -5), "-0.05");
        assert_eq!(text_of(decimal, 123_456), "1234.56");
        assert_eq!(text_of(ColumnType::Date, 0), "1970-01-01");
        assert_eq!(text_of(ColumnType::Date, -1), "1969-12-31");
        assert_eq!(text_of(ColumnType::Date, 11_016), "2000-02-29");
        assert_eq!(text_of(ColumnType::Timestamp, 1_500_000), "1970-01-01 00:00:01.5");
        assert_eq!(text_of(ColumnType::Timestamp, -1_000_000), "1969-12-31 23:59:59");
        assert_eq!(text_of(ColumnType::Boolean, 1), "t");
    }
}
