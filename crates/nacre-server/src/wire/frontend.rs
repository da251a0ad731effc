//! Decodes messages of clients.

use bytes::{Buf, Bytes};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Parse};

use super::frames::{Frame, Malformed};
use super::utf8::{self, InvalidUtf8};

type Result<T, E = Bad> = std::result::Result<T, E>;

/// Why a message cannot be decoded.
#[derive(Debug, PartialEq, Eq)]
enum Bad {
    Malformed(Malformed),
    /// It is whole, but a text in it is none.
    Text(InvalidUtf8),
}

fn malformed(message: impl Into<String>) -> Bad {
    Bad::Malformed(Malformed(message.into()))
}

/// What a client says on a connection that has begun.
#[derive(Debug)]
pub(crate) enum Message {
    Query(String),
    Parse(Parse),
    Bind(Bind),
    Describe(Describe),
    Execute(Execute),
    Close(Close),
    Flush,
    Sync,
    Terminate,
    CopyData(Bytes),
    CopyDone,
    CopyFail(String),
    /// An answer to a request for authentication.
    Authentication,
    /// A call of the old function protocol.
    FunctionCall,
    /// A message with a text that is none.
    NotUtf8 {
        /// Whether it is a query of the simple protocol.
        is_query: bool,
        error: InvalidUtf8,
    },
}

/// What a connection begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A question whether TLS is spoken.
    Tls,
    /// A question whether GSSAPI encryption is spoken.
    Gss,
    /// A request to cancel what another connection runs.
    Cancel { process_id: i32, secret: Bytes },
    /// A new session, with its parameters in the order in which they came.
    Startup { minor: u16, parameters: Vec<(String, String)> },
    /// Another major version of the protocol.
    Version { major: u16, minor: u16 },
}

impl Opening {
    /// Decodes the message behind its length.
    ///
    /// # Errors
    /// A message that is no such one.
    pub(crate) fn decode(body: Bytes) -> Result<Self, Malformed> {
        Self::read(Body(body)).map_err(|bad| match bad {
            Bad::Malformed(malformed) => malformed,
            Bad::Text(error) => Malformed(error.to_string()),
        })
    }

    fn read(mut body: Body) -> Result<Self> {
        let code = body.u32()?;
        let (major, minor) = ((code >> 16) as u16, code as u16);
        Ok(match (major, minor) {
            (1234, 5679) => Self::Tls,
            (1234, 5680) => Self::Gss,
            (1234, 5678) => {
                let process_id = body.u32()? as i32;
                let secret = body.rest();
                if !(4..=256).contains(&secret.len()) {
                    return Err(malformed("invalid length of cancel request"));
                }
                Self::Cancel { process_id, secret }
            }
            (3, minor) => {
                let mut parameters = Vec::new();
                loop {
                    let name = body.text()?;
                    if name.is_empty() {
                        break;
                    }
                    parameters.push((name, body.text()?));
                }
                body.end("startup packet")?;
                Self::Startup { minor, parameters }
            }
            (major, minor) => Self::Version { major, minor },
        })
    }
}

/// Decodes a message.
///
/// # Errors
/// One that is shorter or longer than what it says.
pub(crate) fn decode(frame: Frame) -> Result<Message, Malformed> {
    let is_query = frame.kind == b'Q';
    match read(frame) {
        Ok(message) => Ok(message),
        Err(Bad::Text(error)) => Ok(Message::NotUtf8 { is_query, error }),
        Err(Bad::Malformed(malformed)) => Err(malformed),
    }
}

fn read(frame: Frame) -> Result<Message> {
    let mut body = Body(frame.body);
    let message = match frame.kind {
        b'Q' => Message::Query(body.text()?),
        b'P' => Message::Parse(parse(&mut body)?),
        b'B' => Message::Bind(bind(&mut body)?),
        b'D' => {
            let target = body.target()?;
            Message::Describe(Describe::new(target, body.name()?))
        }
        b'C' => {
            let target = body.target()?;
            Message::Close(Close::new(target, body.name()?))
        }
        b'E' => {
            let portal = body.name()?;
            Message::Execute(Execute::new(portal, body.u32()? as i32))
        }
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'X' => Message::Terminate,
        b'd' => Message::CopyData(body.rest()),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(String::from_utf8_lossy(&body.bytes()?).into_owned()),
        b'p' => {
            body.rest();
            Message::Authentication
        }
        b'F' => {
            body.rest();
            Message::FunctionCall
        }
        kind => return Err(malformed(format!("invalid frontend message type {kind}"))),
    };
    body.end("message")?;
    Ok(message)
}

fn parse(body: &mut Body) -> Result<Parse> {
    let (name, query) = (body.name()?, body.text()?);
    let types = body.list(Body::u32)?;
    Ok(Parse::new(name, query, types))
}

fn bind(body: &mut Body) -> Result<Bind> {
    let (portal, statement) = (body.name()?, body.name()?);
    let formats = body.list(|body| body.u16().map(|format| format as i16))?;
    let parameters = body.list(Body::value)?;
    let result_formats = body.list(|body| body.u16().map(|format| format as i16))?;
    Ok(Bind::new(portal, statement, formats, parameters, result_formats))
}

/// The bytes of one message that were not decoded yet.
struct Body(Bytes);

impl Body {
    fn take(&mut self, bytes: usize) -> Result<Bytes> {
        match self.0.len() >= bytes {
            true => Ok(self.0.split_to(bytes)),
            false => Err(malformed("insufficient data left in message")),
        }
    }

    fn rest(&mut self) -> Bytes {
        self.0.split_off(0)
    }

    fn u16(&mut self) -> Result<u16> {
        self.take(2).map(|mut bytes| bytes.get_u16())
    }

    fn u32(&mut self) -> Result<u32> {
        self.take(4).map(|mut bytes| bytes.get_u32())
    }

    /// A text that ends in a zero.
    fn text(&mut self) -> Result<String> {
        utf8::text(&self.bytes()?).map(str::to_owned).map_err(Bad::Text)
    }

    /// The bytes before a zero.
    fn bytes(&mut self) -> Result<Bytes> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| malformed("invalid string in message"))?;
        let bytes = self.0.split_to(end);
        self.0.advance(1);
        Ok(bytes)
    }

    /// A name; the empty one is `None`.
    fn name(&mut self) -> Result<Option<String>> {
        self.text().map(|name| Some(name).filter(|name| !name.is_empty()))
    }

    fn target(&mut self) -> Result<u8> {
        match self.take(1)?[0] {
            target @ (b'S' | b'P') => Ok(target),
            other => Err(malformed(format!("invalid message subtype {other}"))),
        }
    }

    /// A value of a parameter; `None` is null.
    fn value(&mut self) -> Result<Option<Bytes>> {
        match self.u32()? {
            u32::MAX => Ok(None),
            length => self.take(length as usize).map(Some),
        }
    }

    /// A list behind its length. Memory grows with what is there.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.u16()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn end(&self, what: &str) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(malformed(format!("invalid {what} format"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &'static [u8]) -> Result<Message, Malformed> {
        decode(Frame { kind, body: Bytes::from_static(body) })
    }

    #[test]
    fn bind_has_formats_values_and_result_formats() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\0";
        let Ok(Message::Bind(bind)) = message(b'B', body) else { panic!() };
        assert_eq!(bind.portal_name.as_deref(), Some("p"));
        assert_eq!(bind.parameters, [Some(Bytes::from_static(b"x")), None]);
        assert_eq!(
            (bind.parameter_format_codes, bind.result_column_format_codes),
            (vec![1], vec![0])
        );
    }

    #[test]
    fn every_cut_of_a_message_is_refused() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\0";
        for end in 0..body.len() {
            assert!(message(b'B', &body[..end]).is_err(), "{end}");
        }
        assert!(message(b'B', b"\0\0\0\0\0\0\0\0!").is_err());
        assert!(message(b'Q', b"select").is_err());
        assert!(matches!(message(b'Q', b"\xff\0"), Ok(Message::NotUtf8 { is_query: true, .. })));
        assert!(message(b'D', b"X\0").is_err());
        assert!(message(b'P', b"\0\0\xff\xff").is_err());
    }

    #[test]
    fn connection_begins_in_one_of_five_ways() {
        let opening = |body: &'static [u8]| Opening::decode(Bytes::from_static(body));
        assert_eq!(opening(b"\x04\xd2\x16\x2f"), Ok(Opening::Tls));
        assert_eq!(opening(b"\x04\xd2\x16\x30"), Ok(Opening::Gss));
        let parameters = vec![("user".to_owned(), "a".to_owned())];
        let startup = Opening::Startup { minor: 0, parameters };
        assert_eq!(opening(b"\0\x03\0\0user\0a\0\0"), Ok(startup));
        assert_eq!(opening(b"\0\x02\0\0"), Ok(Opening::Version { major: 2, minor: 0 }));
        let secret = Bytes::from_static(b"abcd");
        let cancel = Opening::Cancel { process_id: 7, secret };
        assert_eq!(opening(b"\x04\xd2\x16\x2e\0\0\0\x07abcd"), Ok(cancel));
        assert!(opening(b"\x04\xd2\x16\x2e\0\0\0\x07").is_err());
        assert!(opening(b"\0\x03\0\0user\0a").is_err());
    }
}
