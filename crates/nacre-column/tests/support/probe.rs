//! Asks blocks of any bytes everything that can be asked: for the tests of this crate and, by path,
//! for the fuzz targets.

use nacre_column::{
    Block, BlockError, ByteValues, ColumnType, CompareOp, Constant, Flavour, Physical, PointReader,
    Restriction, Strings, kernel, may_match,
};

/// Makes the checksum of a block right again.
pub(crate) fn seal(bytes: &mut [u8]) {
    if bytes.len() >= 16 {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Asks everything that can be asked of a block. Errors are fine.
pub(crate) fn use_everything(bytes: &[u8], column_type: ColumnType) {
    let Ok(block) = Block::open(bytes, column_type) else {
        return;
    };
    let is_verified = block.verify().is_ok();
    let rows = block.rows();
    let flavour = Flavour::active();
    for range in [0..rows, rows / 3..rows, rows / 2..rows / 2 + rows / 4] {
        let _ = block.decode_bool(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_i16(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_i32(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_i64(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_i128(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_f32(flavour, range.clone(), &mut Vec::new());
        let _ = block.decode_f64(flavour, range.clone(), &mut Vec::new());
        let mut codes = Vec::new();
        let result = block.decode_codes(flavour, range.clone(), &mut codes);
        if let (Ok(()), Ok(Strings::Dictionary(entries))) = (result, block.strings()) {
            assert!(codes.iter().all(|code| (*code as usize) < entries.len()));
        }
        let mut strings = ByteValues::default();
        if block.decode_bytes(flavour, range.clone(), &mut strings).is_ok() {
            assert_eq!(strings.len(), range.len());
            let is_text = column_type.is_text() && is_verified;
            assert!(!is_text || std::str::from_utf8(&strings.data).is_ok());
        }
        for restriction in restrictions(column_type) {
            let mut selection = Vec::new();
            let _ = may_match(block.sma(), &restriction);
            let _ = kernel::select(&block, flavour, &restriction, range.clone(), &mut selection);
            assert!(selection.iter().all(|position| usize::from(*position) < range.len()));
            let mut values = Vec::new();
            let _ = kernel::project(&block, flavour, range.clone(), &selection, &mut values);
            let _ = kernel::aggregate_selected(&block, flavour, range.clone(), &selection);
        }
        let _ = kernel::sum(&block, flavour, range.clone());
        let _ = kernel::aggregate(&block, flavour, range.clone());
    }
    for row in (0..rows).step_by(1 + rows / 50).chain([rows, usize::MAX]) {
        let _ = (block.is_null(row), block.get_int(row), block.get_float(row));
        let bytes = block.get_bytes(row);
        let is_sequential = matches!(bytes, Err(BlockError::SequentialOnly { .. }));
        let is_fine = bytes.is_ok() || is_sequential || block.strings().is_err();
        assert!(!is_verified || row >= rows || is_fine);
        let point = PointReader::new(&block)
            .map(|reader| reader.value(block.bytes(), row, &mut Vec::new()));
        let is_same = |block: bool| point.as_ref().is_none_or(|point| point.is_ok() == block);
        let has_int = block.get_int(row).is_ok() || block.get_float(row).is_ok();
        assert!(is_same(has_int || block.get_bytes(row).is_ok()));
    }
    if let Ok(Strings::Plain(strings) | Strings::Dictionary(strings)) = block.strings() {
        assert!(strings.offsets_range().end <= bytes.len());
        assert!(strings.data_range().end <= bytes.len());
        let all_there = (0..strings.len()).all(|index| strings.get(index).is_ok());
        assert!(all_there || !is_verified);
    }
    assert!(block.validity().is_none_or(|bits| bits.len() >= rows.div_ceil(8)));
}

fn restrictions(column_type: ColumnType) -> Vec<Restriction> {
    let value = match column_type.physical() {
        Physical::Int64 | Physical::Int128 => Constant::Int(1),
        Physical::Float32 | Physical::Float64 => Constant::Float(0.5),
        Physical::Bytes => Constant::Bytes(b"value".to_vec()),
    };
    let compare = |op, value| Restriction::Compare { op, value };
    vec![
        compare(CompareOp::Lt, value.clone()),
        compare(CompareOp::Ne, value.clone()),
        Restriction::Between { low: value.clone(), high: value.clone() },
        Restriction::InSet(vec![value.clone(), value, Constant::Int(i128::MAX)]),
        compare(CompareOp::Gt, Constant::Int(i128::MAX)),
        compare(CompareOp::Le, Constant::Int(i128::MIN)),
        Restriction::IsNull,
        Restriction::IsNotNull,
    ]
}
