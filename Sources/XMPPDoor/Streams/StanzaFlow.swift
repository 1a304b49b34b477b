import Dialogs
import NIOCore
import ServerMetrics
import XMPP

// What is counted of stanzas and logins.

extension StanzaFlow {
  /// Creates the kind of a stanza that came in.
  init(_ kind: StanzaKind) {
    switch kind {
    case .message: self = .messageIn
    case .presence: self = .presenceIn
    case .iq: self = .iqIn
    }
  }

  /// Creates the kind of an element that was written from `start` on; nil if it is no stanza. Elements of other names
  /// begin with other letters: `a`, `r`, `stream:features`, `success`.
  init?(written buffer: ByteBuffer, from start: Int) {
    guard buffer.writerIndex > start + 1, let second = buffer.getInteger(at: start + 1, as: UInt8.self) else {
      return nil
    }
    switch second {
    case UInt8(ascii: "m"): self = .messageOut
    // `proceed` of STARTTLS begins like `presence`.
    case UInt8(ascii: "p") where buffer.getInteger(at: start + 3, as: UInt8.self) == UInt8(ascii: "e"):
      self = .presenceOut
    case UInt8(ascii: "i"): self = .iqOut
    default: return nil
    }
  }
}

extension LiveQueue.Item {
  /// The kind of a stanza that is written to another server; nil for one that was written as bytes.
  var flow: StanzaFlow? {
    switch self {
    case .presence: .presenceOut
    case .stanza(let stanza): stanza.flow
    case .bytes(let bytes): StanzaFlow(written: ByteBuffer(bytes: bytes.prefix(4)), from: 0)
    }
  }
}

extension OutboxRow.Item {
  var flow: StanzaFlow {
    switch self {
    case .entry: .messageOut
    case .stanza(let stanza): stanza.flow
    }
  }
}

extension RelayedStanza {
  fileprivate var flow: StanzaFlow {
    switch name {
    case .message: .messageOut
    case .presence: .presenceOut
    case .iq: .iqOut
    }
  }
}

extension LoginMechanism {
  init(_ mechanism: SCRAMMechanism) {
    switch mechanism {
    case .sha1: self = .scramSHA1
    case .sha256: self = .scramSHA256
    case .sha512: self = .scramSHA512
    }
  }
}
