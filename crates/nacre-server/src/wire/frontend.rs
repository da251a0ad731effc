//! Decodes messages of clients.

use bytes::{Buf, Bytes};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Parse};

use super::frames::{Frame, Malformed};

type Result<T> = std::result::Result<T, Malformed>;

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
    pub(crate) fn decode(body: Bytes) -> Result<Self> {
        let mut body = Body(body);
        let code = body.u32()?;
        let (major, minor) = ((code >> 16) as u16, code as u16);
        Ok(match (major, minor) {
            (1234, 5679) => Self::Tls,
            (1234, 5680) => Self::Gss,
            (1234, 5678) => {
                let process_id = body.u32()? as i32;
                let secret = body.rest();
                if !(4..=256).contains(&secret.len()) {
                    return Err(Malformed("invalid length of cancel request".into()));
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
/// One that is shorter or longer than what it says, or text that is not UTF-8.
pub(crate) fn decode(frame: Frame) -> Result<Message> {
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
        b'f' => Message::CopyFail(body.text()?),
        b'p' => {
            body.rest();
            Message::Authentication
        }
        b'F' => {
            body.rest();
            Message::FunctionCall
        }
        kind => return Err(Malformed(format!("invalid frontend message type {kind}"))),
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
            false => Err(Malformed("insufficient data left in message".into())),
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
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| Malformed("invalid string in message".into()))?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        String::from_utf8(text.into())
            .map_err(|_| Malformed("invalid byte sequence for encoding \"UTF8\" in message".into()))
    }

    /// A name; the empty one is `None`.
    fn name(&mut self) -> Result<Option<String>> {
        self.text().map(|name| Some(name).filter(|name| !name.is_empty()))
    }

    fn target(&mut self) -> Result<u8> {
        match self.take(1)?[0] {
            target @ (b'S' | b'P') => Ok(target),
            other => Err(Malformed(format!("invalid message subtype {other}"))),
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
            false => Err(Malformed(format!("invalid {what} format"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &'static [u8]) -> Result<Message> {
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
        assert!(message(b'Q', b"\xff\0").is_err());
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
