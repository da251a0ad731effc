//! Operators and aggregates of PostgreSQL that the executor has with the same meaning, by OID.
//!
//! Not here, since the executor does not do the same: arithmetic on floats (it reports overflow in
//! other words and no underflow, and adds in any order).

use nacre_column::CompareOp;
use nacre_types::catalog::TypeOid;

use crate::expression::ArithmeticOp;
use crate::value::IntLimit;

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperatorMeaning {
    /// Of two values of one form, of `real` and `double precision`, or of a date and a timestamp.
    Compare(CompareOp),
    /// Of whole numbers; the limit is that of the operator's result.
    IntegerArithmetic(ArithmeticOp),
    /// Of numerics; the scale of a quotient depends on its operands.
    NumericArithmetic(ArithmeticOp),
    /// Of a whole number or numeric.
    Negate,
    /// `+` before its only operand.
    Identity,
    /// Days between two dates, which are always an `integer`.
    DateDifference,
}

/// What an aggregate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AggregateMeaning {
    CountRows,
    Count,
    /// Of whole numbers to `bigint`.
    IntegerSum,
    /// Of `bigint` or numerics to numeric.
    NumericSum,
    /// Of whole numbers or numerics to numeric.
    Average,
    /// Of whole numbers or numerics to numeric: variance, or its square root, of a sample or of
    /// all values there are.
    Deviation {
        is_sample: bool,
        is_root: bool,
    },
    Min,
    Max,
}

/// What a window function that is no aggregate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowMeaning {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// `lag` and `lead`.
    Shift {
        is_lead: bool,
    },
    FirstValue,
    LastValue,
    NthValue,
}

/// Returns what the operator with that OID does.
pub(super) fn operator_meaning(oid: u32) -> Option<OperatorMeaning> {
    use ArithmeticOp::{Add, Divide, Multiply, Remainder, Subtract};
    if let Some(op) = comparison(oid) {
        return Some(OperatorMeaning::Compare(op));
    }
    Some(match oid {
        684 | 818 | 688 | 822 | 550 | 552 | 692 | 553 | 551 => {
            OperatorMeaning::IntegerArithmetic(Add)
        }
        685 | 819 | 689 | 823 | 554 | 556 | 693 | 557 | 555 => {
            OperatorMeaning::IntegerArithmetic(Subtract)
        }
        686 | 820 | 690 | 824 | 526 | 544 | 694 | 545 | 514 => {
            OperatorMeaning::IntegerArithmetic(Multiply)
        }
        687 | 821 | 691 | 825 | 527 | 546 | 695 | 547 | 528 => {
            OperatorMeaning::IntegerArithmetic(Divide)
        }
        439 | 529 | 530 => OperatorMeaning::IntegerArithmetic(Remainder),
        1758 => OperatorMeaning::NumericArithmetic(Add),
        1759 => OperatorMeaning::NumericArithmetic(Subtract),
        1760 => OperatorMeaning::NumericArithmetic(Multiply),
        1761 => OperatorMeaning::NumericArithmetic(Divide),
        1762 => OperatorMeaning::NumericArithmetic(Remainder),
        484 | 559 | 558 | 1751 => OperatorMeaning::Negate,
        1916 | 1917 | 1918 | 1921 => OperatorMeaning::Identity,
        1099 => OperatorMeaning::DateDifference,
        _ => return None,
    })
}

/// Comparisons, in groups: of whole numbers, numerics, floats, dates and timestamps, texts, truth
/// values; of intervals, times, `uuid`, `oid`, byte strings, arrays, bits.
fn comparison(oid: u32) -> Option<CompareOp> {
    Some(match oid {
        94 | 96 | 410 | 15 | 416 | 532 | 533 | 1862 | 1868 => CompareOp::Eq,
        519 | 518 | 411 | 36 | 417 | 538 | 539 | 1863 | 1869 => CompareOp::Ne,
        95 | 97 | 412 | 37 | 418 | 534 | 535 | 1864 | 1870 => CompareOp::Lt,
        522 | 523 | 414 | 80 | 420 | 540 | 541 | 1866 | 1872 => CompareOp::Le,
        520 | 521 | 413 | 76 | 419 | 536 | 537 | 1865 | 1871 => CompareOp::Gt,
        524 | 525 | 415 | 82 | 430 | 542 | 543 | 1867 | 1873 => CompareOp::Ge,
        1752 => CompareOp::Eq,
        1753 => CompareOp::Ne,
        1754 => CompareOp::Lt,
        1755 => CompareOp::Le,
        1756 => CompareOp::Gt,
        1757 => CompareOp::Ge,
        620 | 670 | 1120 | 1130 => CompareOp::Eq,
        621 | 671 | 1121 | 1131 => CompareOp::Ne,
        622 | 672 | 1122 | 1132 => CompareOp::Lt,
        624 | 673 | 1124 | 1134 => CompareOp::Le,
        623 | 674 | 1123 | 1133 => CompareOp::Gt,
        625 | 675 | 1125 | 1135 => CompareOp::Ge,
        1093 | 2060 | 1320 | 2347 | 2373 => CompareOp::Eq,
        1094 | 2061 | 1321 | 2350 | 2376 => CompareOp::Ne,
        1095 | 2062 | 1322 | 2345 | 2371 => CompareOp::Lt,
        1096 | 2063 | 1323 | 2346 | 2372 => CompareOp::Le,
        1097 | 2064 | 1324 | 2349 | 2375 => CompareOp::Gt,
        1098 | 2065 | 1325 | 2348 | 2374 => CompareOp::Ge,
        98 | 1054 => CompareOp::Eq,
        531 | 1057 => CompareOp::Ne,
        664 | 1058 => CompareOp::Lt,
        665 | 1059 => CompareOp::Le,
        666 | 1060 => CompareOp::Gt,
        667 | 1061 => CompareOp::Ge,
        91 => CompareOp::Eq,
        85 => CompareOp::Ne,
        58 => CompareOp::Lt,
        1694 => CompareOp::Le,
        59 => CompareOp::Gt,
        1695 => CompareOp::Ge,
        1330 | 1108 | 1550 | 2972 | 607 | 1955 | 1070 | 1784 | 1804 => CompareOp::Eq,
        1331 | 1109 | 1551 | 2973 | 608 | 1956 | 1071 | 1785 | 1805 => CompareOp::Ne,
        1332 | 1110 | 1552 | 2974 | 609 | 1957 | 1072 | 1786 | 1806 => CompareOp::Lt,
        1333 | 1111 | 1553 | 2976 | 611 | 1958 | 1074 | 1788 | 1808 => CompareOp::Le,
        1334 | 1112 | 1554 | 2975 | 610 | 1959 | 1073 | 1787 | 1807 => CompareOp::Gt,
        1335 | 1113 | 1555 | 2977 | 612 | 1960 | 1075 | 1789 | 1809 => CompareOp::Ge,
        _ => return None,
    })
}

/// Returns what the aggregate with that OID does.
pub(super) fn aggregate_meaning(oid: u32) -> Option<AggregateMeaning> {
    let deviation = |is_sample, is_root| AggregateMeaning::Deviation { is_sample, is_root };
    Some(match oid {
        2148..=2150 | 2153 | 2641..=2643 | 2646 => deviation(true, false),
        2154..=2156 | 2159 | 2712..=2714 | 2717 => deviation(true, true),
        2718..=2720 | 2723 => deviation(false, false),
        2724..=2726 | 2729 => deviation(false, true),
        // Of truth values, false being the least.
        2517 | 2519 => AggregateMeaning::Min,
        2518 => AggregateMeaning::Max,
        2803 => AggregateMeaning::CountRows,
        2147 => AggregateMeaning::Count,
        2108 | 2109 => AggregateMeaning::IntegerSum,
        2107 | 2114 => AggregateMeaning::NumericSum,
        2100..=2103 => AggregateMeaning::Average,
        2050 | 2115..=2120 | 2122..=2124 | 2126..=2130 | 2244 => AggregateMeaning::Max,
        2051 | 2131..=2136 | 2138..=2140 | 2142..=2146 | 2245 => AggregateMeaning::Min,
        _ => return None,
    })
}

/// Returns what the window function with that OID does.
pub(super) fn window_meaning(oid: u32) -> Option<WindowMeaning> {
    Some(match oid {
        3100 => WindowMeaning::RowNumber,
        3101 => WindowMeaning::Rank,
        3102 => WindowMeaning::DenseRank,
        3103 => WindowMeaning::PercentRank,
        3104 => WindowMeaning::CumeDist,
        3105 => WindowMeaning::Ntile,
        3106..=3108 => WindowMeaning::Shift { is_lead: false },
        3109..=3111 => WindowMeaning::Shift { is_lead: true },
        3112 => WindowMeaning::FirstValue,
        3113 => WindowMeaning::LastValue,
        3114 => WindowMeaning::NthValue,
        _ => return None,
    })
}

/// Returns the limit of a type of whole numbers.
pub(super) fn integer_limit(oid: TypeOid) -> Option<IntLimit> {
    match oid {
        TypeOid::INT2 => Some(IntLimit::SMALLINT),
        TypeOid::INT4 => Some(IntLimit::INTEGER),
        TypeOid::INT8 => Some(IntLimit::BIGINT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nacre_functions::catalog::{FunctionKind, all_functions, all_operators};

    use super::*;

    const INTEGERS: [TypeOid; 3] = [TypeOid::INT2, TypeOid::INT4, TypeOid::INT8];

    /// Types that are compared with themselves alone; the last is `anyarray`.
    const ONE_TYPE: [TypeOid; 14] = [
        TypeOid::NUMERIC,
        TypeOid::TIMESTAMPTZ,
        TypeOid::TEXT,
        TypeOid::BPCHAR,
        TypeOid::BOOL,
        TypeOid::INTERVAL,
        TypeOid::TIME,
        TypeOid::TIMETZ,
        TypeOid::UUID,
        TypeOid::OID,
        TypeOid::BYTEA,
        TypeOid::BIT,
        TypeOid::VARBIT,
        TypeOid(2277),
    ];

    #[test]
    fn oids_are_those_of_the_catalog() {
        let (mut comparisons, mut others) = (0, 0);
        for entry in all_operators() {
            let Some(meaning) = operator_meaning(entry.oid) else { continue };
            let left = entry.left;
            let are = |types: &[TypeOid]| {
                left.is_none_or(|left| types.contains(&left)) && types.contains(&entry.right)
            };
            let arithmetic = |op| match op {
                ArithmeticOp::Add => "+",
                ArithmeticOp::Subtract => "-",
                ArithmeticOp::Multiply => "*",
                ArithmeticOp::Divide => "/",
                ArithmeticOp::Remainder => "%",
            };
            let (name, is_right) = match meaning {
                OperatorMeaning::Compare(op) => {
                    comparisons += 1;
                    let name = match op {
                        CompareOp::Eq => "=",
                        CompareOp::Ne => "<>",
                        CompareOp::Lt => "<",
                        CompareOp::Le => "<=",
                        CompareOp::Gt => ">",
                        CompareOp::Ge => ">=",
                    };
                    let is_one = ONE_TYPE.contains(&entry.right) && left == Some(entry.right);
                    let is_right = is_one
                        || are(&INTEGERS)
                        || are(&[TypeOid::FLOAT4, TypeOid::FLOAT8])
                        || are(&[TypeOid::DATE, TypeOid::TIMESTAMP]);
                    (name, left.is_some() && is_right && entry.result == TypeOid::BOOL)
                }
                OperatorMeaning::IntegerArithmetic(op) => {
                    let is_integer = integer_limit(entry.result).is_some();
                    (arithmetic(op), left.is_some() && are(&INTEGERS) && is_integer)
                }
                OperatorMeaning::NumericArithmetic(op) => {
                    (arithmetic(op), left.is_some() && are(&[TypeOid::NUMERIC]))
                }
                OperatorMeaning::Negate | OperatorMeaning::Identity => {
                    let name = if meaning == OperatorMeaning::Negate { "-" } else { "+" };
                    let is_right = are(&INTEGERS) || are(&[TypeOid::NUMERIC]);
                    (name, left.is_none() && is_right && entry.result == entry.right)
                }
                OperatorMeaning::DateDifference => {
                    ("-", left.is_some() && are(&[TypeOid::DATE]) && entry.result == TypeOid::INT4)
                }
            };
            others += 1;
            assert!(is_right && entry.name == name, "{entry:?} is no {meaning:?}");
        }
        // Six each of 9 + 1 + 4 + 5 + 2 + 1 + 9 pairs of types.
        assert_eq!(comparisons, 6 * 31);
        assert_eq!(others, 6 * 31 + 4 * 9 + 3 + 5 + 8 + 1);
    }

    #[test]
    fn window_functions_are_those_of_the_catalog() {
        let mut count = 0;
        for entry in all_functions() {
            let Some(meaning) = window_meaning(entry.oid) else { continue };
            count += 1;
            let name = match meaning {
                WindowMeaning::RowNumber => "row_number",
                WindowMeaning::Rank => "rank",
                WindowMeaning::DenseRank => "dense_rank",
                WindowMeaning::PercentRank => "percent_rank",
                WindowMeaning::CumeDist => "cume_dist",
                WindowMeaning::Ntile => "ntile",
                WindowMeaning::Shift { is_lead: false } => "lag",
                WindowMeaning::Shift { is_lead: true } => "lead",
                WindowMeaning::FirstValue => "first_value",
                WindowMeaning::LastValue => "last_value",
                WindowMeaning::NthValue => "nth_value",
            };
            assert_eq!((entry.name, entry.kind), (name, FunctionKind::Window));
        }
        let all = all_functions().iter().filter(|entry| entry.kind == FunctionKind::Window);
        assert_eq!(count, all.count());
    }

    #[test]
    fn aggregates_are_those_of_the_catalog() {
        let mut count = 0;
        for entry in all_functions() {
            let Some(meaning) = aggregate_meaning(entry.oid) else { continue };
            count += 1;
            let argument = entry.arguments.first().copied();
            let names: &[&str] = match meaning {
                AggregateMeaning::CountRows | AggregateMeaning::Count => &["count"],
                AggregateMeaning::IntegerSum | AggregateMeaning::NumericSum => &["sum"],
                AggregateMeaning::Average => &["avg"],
                AggregateMeaning::Min => &["min", "bool_and", "every"],
                AggregateMeaning::Max => &["max", "bool_or"],
                AggregateMeaning::Deviation { is_sample: true, is_root: false } => {
                    &["variance", "var_samp"]
                }
                AggregateMeaning::Deviation { is_sample: true, is_root: true } => {
                    &["stddev", "stddev_samp"]
                }
                AggregateMeaning::Deviation { is_root: false, .. } => &["var_pop"],
                AggregateMeaning::Deviation { .. } => &["stddev_pop"],
            };
            let result = match meaning {
                AggregateMeaning::CountRows
                | AggregateMeaning::Count
                | AggregateMeaning::IntegerSum => Some(TypeOid::INT8),
                AggregateMeaning::NumericSum
                | AggregateMeaning::Average
                | AggregateMeaning::Deviation { .. } => Some(TypeOid::NUMERIC),
                AggregateMeaning::Min | AggregateMeaning::Max => argument,
            };
            assert!(names.contains(&entry.name), "{entry:?} is no {meaning:?}");
            assert_eq!(Some(entry.result), result, "{entry:?}");
            assert!(matches!(entry.kind, FunctionKind::Aggregate(_)));
            assert_eq!(argument.is_none(), meaning == AggregateMeaning::CountRows);
        }
        assert_eq!(count, 2 + 2 + 2 + 4 + 2 * 16 + 3 + 6 * 4);
    }
}
