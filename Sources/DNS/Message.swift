import Basics

// A message of the DNS (RFC 1035 4): a header of 12 bytes, one question, and sections of records. Names may end in a
// pointer to an earlier name. Messages come from the network: a reader refuses whatever is not exactly as written
// there, and follows pointers only backwards, so that every name ends.

/// A question: the records of one type that a name has, in the Internet's class.
struct Question: Hashable, Sendable {
  let name: DomainName
  let type: RecordType
}

/// A record of a type that is understood.
struct Record: Hashable, Sendable {
  let owner: DomainName
  let seconds: UInt32
  let data: RecordData
}

/// The bytes are no message.
struct MalformedMessage: Error, Hashable {}

/// A received message. Records of other types and classes are left out.
struct Message: Hashable, Sendable {
  /// The codes that are told apart (RFC 1035 4.1.1).
  enum Code {
    static let success: UInt16 = 0
    static let formatError: UInt16 = 1
    static let serverFailure: UInt16 = 2
    static let nameError: UInt16 = 3
    static let notImplemented: UInt16 = 4
  }

  var id: UInt16
  var isResponse: Bool
  /// Whether it did not fit; then the records are not read.
  var isTruncated: Bool
  /// AD: all of it was validated (RFC 4035 3.2.3).
  var isAuthentic: Bool
  /// With the upper bits of EDNS (RFC 6891 6.1.3).
  var code: UInt16
  var question: Question?
  var answers: [Record] = []
  var authority: [Record] = []

  // MARK: Writing

  /// Returns the bytes of a query that asks for recursion.
  ///
  /// - Parameters:
  ///   - hasEDNS: whether it says that longer answers are taken (RFC 6891 6.1.2).
  ///   - asksForAuthenticity: whether the answer should tell if it was validated: DO and AD (RFC 4035 3.2.1, RFC 6840
  ///     5.7), of which some resolvers look at the first and others at the second.
  static func query(_ question: Question, id: UInt16, hasEDNS: Bool, asksForAuthenticity: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    func append(_ number: UInt16) { bytes += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)] }
    append(id)
    append(Flags.recursionDesired | (asksForAuthenticity ? Flags.authentic : 0))
    for count: UInt16 in [1, 0, 0, hasEDNS ? 1 : 0] { append(count) }
    bytes += question.name.bytes
    append(question.type.rawValue)
    append(internet)
    if hasEDNS {
      bytes += DomainName.root.bytes
      append(RecordType.opt.rawValue)
      append(UInt16(DNSLimits.datagramBytesMax))
      append(0)
      append(asksForAuthenticity ? Flags.dnssecOK : 0)
      append(0)
    }
    return bytes
  }

  // MARK: Reading

  init(_ bytes: [UInt8]) throws(MalformedMessage) {
    var reader = MessageReader(bytes)
    id = try reader.number16()
    let flags = try reader.number16()
    isResponse = flags & Flags.response != 0
    isTruncated = flags & Flags.truncated != 0
    isAuthentic = flags & Flags.authentic != 0
    code = flags & Flags.code
    let counts = (
      try reader.number16(), try reader.number16(), try reader.number16(), try reader.number16()
    )
    guard flags & Flags.operation == 0, counts.0 <= 1,
      Int(counts.1) + Int(counts.2) + Int(counts.3) <= DNSLimits.recordsMax
    else { throw MalformedMessage() }
    if counts.0 == 1 { question = try reader.question() }
    // What follows may be cut anywhere.
    if isTruncated { return }
    for _ in 0..<counts.1 { if let record = try reader.record()?.understood { answers.append(record) } }
    for _ in 0..<counts.2 { if let record = try reader.record()?.understood { authority.append(record) } }
    var hasEDNS = false
    for _ in 0..<counts.3 {
      guard case .options(let upper) = try reader.record() else { continue }
      guard !hasEDNS else { throw MalformedMessage() }  // RFC 6891 6.1.1
      hasEDNS = true
      code |= UInt16(upper) << 4
    }
    guard reader.isAtEnd else { throw MalformedMessage() }
  }

  fileprivate static let internet: UInt16 = 1

  private enum Flags {
    static let response: UInt16 = 0x8000
    static let operation: UInt16 = 0x7800
    static let truncated: UInt16 = 0x0200
    static let recursionDesired: UInt16 = 0x0100
    static let authentic: UInt16 = 0x0020
    static let code: UInt16 = 0x000f
    /// In the options of EDNS (RFC 6891 6.1.3).
    static let dnssecOK: UInt16 = 0x8000
  }
}

/// Reads the parts of a message in their order.
private struct MessageReader {
  enum Part {
    case record(Record)
    /// The options of EDNS, with the upper bits of the code.
    case options(upperCode: UInt8)

    var understood: Record? { if case .record(let record) = self { record } else { nil } }
  }

  private let bytes: [UInt8]
  private var position = 0
  /// The end of the part that is being read.
  private var end: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    end = bytes.count
  }

  var isAtEnd: Bool { position == end }

  mutating func question() throws(MalformedMessage) -> Question? {
    let name = try name()
    let (type, category) = (try number16(), try number16())
    guard category == Message.internet else { throw MalformedMessage() }
    return RecordType(rawValue: type).map { Question(name: name, type: $0) }
  }

  /// Returns the next record; `nil` for one that is not understood.
  mutating func record() throws(MalformedMessage) -> Part? {
    let owner = try name()
    let (type, category) = (try number16(), try number16())
    var seconds = try number32()
    let size = Int(try number16())
    guard size <= end - position else { throw MalformedMessage() }
    let whole = end
    end = position + size
    defer { end = whole }
    let known = RecordType(rawValue: type)
    if known == .opt {
      guard owner.isRoot else { throw MalformedMessage() }
      position = end
      return .options(upperCode: UInt8(seconds >> 24))
    }
    guard let known, category == Message.internet, let data = try data(of: known) else {
      position = end
      return nil
    }
    guard isAtEnd else { throw MalformedMessage() }
    if seconds >> 31 == 1 { seconds = 0 }  // RFC 2181 8
    return .record(Record(owner: owner, seconds: seconds, data: data))
  }

  private mutating func data(of type: RecordType) throws(MalformedMessage) -> RecordData? {
    switch type {
    case .a, .aaaa:
      let content = rest()
      guard content.count == (type == .a ? 4 : 16), let address = IPAddress(bytes: content) else {
        throw MalformedMessage()
      }
      return .address(address)
    case .cname: return .alias(try name())
    case .srv:
      return .service(
        ServiceRecord(
          priority: try number16(), weight: try number16(), port: try number16(), target: try name()))
    case .tlsa:
      let (usage, selector, matching) = (try number8(), try number8(), try number8())
      return .tlsa(TLSARecord(usage: usage, selector: selector, matching: matching, data: rest()))
    case .soa:
      _ = (try name(), try name())
      for _ in 0..<4 { _ = try number32() }
      return .zone(minimum: try number32())
    case .opt: return nil
    }
  }

  /// Reads a name (RFC 1035 4.1.4).
  private mutating func name() throws(MalformedMessage) -> DomainName {
    var labels: [[UInt8]] = []
    var total = 0
    var (at, limit) = (position, end)
    var isElsewhere = false
    while true {
      guard at < limit else { throw MalformedMessage() }
      let count = Int(bytes[at])
      switch count >> 6 {
      case 0:
        guard at + 1 + count <= limit else { throw MalformedMessage() }
        if !isElsewhere { position = at + 1 + count }
        if count == 0 {
          guard let name = DomainName(labels: labels) else { throw MalformedMessage() }
          return name
        }
        total += count + 1
        guard total < 255 else { throw MalformedMessage() }
        labels.append(Array(bytes[(at + 1)...(at + count)]))
        at += 1 + count
      case 3:
        guard at + 2 <= limit else { throw MalformedMessage() }
        if !isElsewhere { position = at + 2 }
        isElsewhere = true
        // A name that ends in a pointer ends before where the pointer's own name began: each is earlier than the last.
        let target = (count & 0x3f) << 8 | Int(bytes[at + 1])
        guard target < at else { throw MalformedMessage() }
        (at, limit) = (target, at)
      default: throw MalformedMessage()
      }
    }
  }

  private mutating func rest() -> [UInt8] {
    defer { position = end }
    return Array(bytes[position..<end])
  }

  private mutating func number8() throws(MalformedMessage) -> UInt8 {
    guard position < end else { throw MalformedMessage() }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number16() throws(MalformedMessage) -> UInt16 { UInt16(try number8()) << 8 | UInt16(try number8()) }

  private mutating func number32() throws(MalformedMessage) -> UInt32 {
    UInt32(try number16()) << 16 | UInt32(try number16())
  }
}
