//! Writes messages in the wire format of Protocol Buffers; see [`crate::proto`].

/// A message that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageBuilder(Vec<u8>);

impl MessageBuilder {
    /// A field with an unsigned integer.
    pub fn integer(mut self, number: u32, value: u64) -> MessageBuilder {
        self.tag(number, 0);
        push_varint(&mut self.0, value.into());
        self
    }

    /// A field with a signed integer in zigzag encoding.
    pub fn signed(self, number: u32, value: i64) -> MessageBuilder {
        self.integer(number, unzigzag(value))
    }

    pub fn double(mut self, number: u32, value: f64) -> MessageBuilder {
        self.tag(number, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bytes(mut self, number: u32, bytes: &[u8]) -> MessageBuilder {
        self.tag(number, 2);
        push_varint(&mut self.0, bytes.len() as u128);
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn message(self, number: u32, message: MessageBuilder) -> MessageBuilder {
        self.bytes(number, &message.0)
    }

    /// A repeated field of integers, packed.
    pub fn packed(self, number: u32, values: &[u64]) -> MessageBuilder {
        let mut bytes = Vec::new();
        values.iter().for_each(|it| push_varint(&mut bytes, (*it).into()));
        if bytes.is_empty() { self } else { self.bytes(number, &bytes) }
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, number: u32, wire_type: u32) {
        push_varint(&mut self.0, (number << 3 | wire_type).into());
    }
}

/// Appends an unsigned integer of any length: 7 bits per byte, the lowest first.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The zigzag encoding of a value; see [`crate::proto::zigzag`].
pub(crate) fn unzigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}
