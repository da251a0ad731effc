//! The number of a type.

use std::fmt;

/// Identifies a type, as `pg_type.oid` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeOid(pub u32);

macro_rules! type_oids {
    ($($name:ident = $oid:literal;)*) => {
        impl TypeOid {
            $(#[doc = concat!("`pg_type.oid` ", $oid, ".")] pub const $name: Self = Self($oid);)*
        }
    };
}

type_oids! {
    BOOL = 16;
    BYTEA = 17;
    CHAR = 18;
    NAME = 19;
    INT8 = 20;
    INT2 = 21;
    INT2VECTOR = 22;
    INT4 = 23;
    REGPROC = 24;
    TEXT = 25;
    OID = 26;
    TID = 27;
    XID = 28;
    CID = 29;
    OIDVECTOR = 30;
    JSON = 114;
    XML = 142;
    PG_NODE_TREE = 194;
    INET = 869;
    ACLITEM = 1033;
    ANYARRAY = 2277;
    PG_NDISTINCT = 3361;
    PG_DEPENDENCIES = 3402;
    PG_MCV_LIST = 5017;
    XID8 = 5069;
    FLOAT4 = 700;
    FLOAT8 = 701;
    UNKNOWN = 705;
    MONEY = 790;
    BPCHAR = 1042;
    VARCHAR = 1043;
    DATE = 1082;
    TIME = 1083;
    TIMESTAMP = 1114;
    TIMESTAMPTZ = 1184;
    INTERVAL = 1186;
    TIMETZ = 1266;
    BIT = 1560;
    VARBIT = 1562;
    NUMERIC = 1700;
    REFCURSOR = 1790;
    REGPROCEDURE = 2202;
    REGOPER = 2203;
    REGOPERATOR = 2204;
    REGCLASS = 2205;
    REGTYPE = 2206;
    RECORD = 2249;
    CSTRING = 2275;
    VOID = 2278;
    UUID = 2950;
    PG_LSN = 3220;
    REGCONFIG = 3734;
    REGDICTIONARY = 3769;
    JSONB = 3802;
    REGNAMESPACE = 4089;
    REGROLE = 4096;
    REGCOLLATION = 4191;
}

impl fmt::Display for TypeOid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
