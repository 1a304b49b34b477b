import NIOCore

/// The parts of a client's first TLS message (RFC 8446 4.1.2) that the choice of a certificate needs.
public struct ClientHello: Hashable, Sendable {
  /// The name that the client wants to reach (RFC 6066 3); nil if it sends none.
  public var serverName: String?
  /// The protocols that it offers (RFC 7301 3.1).
  public var protocols: [String] = []

  enum Reading: Hashable {
    case incomplete
    /// Not TLS, or a message in several records: it is left to TLS itself.
    case unknown
    case hello(ClientHello)
  }

  /// Reads the first record of a connection.
  static func read(_ bytes: ByteBufferView) -> Reading {
    guard let kind = bytes.first else { return .incomplete }
    // A handshake record of TLS 1.x.
    guard kind == 22 else { return .unknown }
    guard bytes.count >= 5 else { return .incomplete }
    let record = bytes.dropFirst(3)
    guard let length = record.number(2, at: 0), length <= 16_384 else { return .unknown }
    guard record.count >= 2 + length else { return .incomplete }
    return parse(record.dropFirst(2).prefix(length)).map { .hello($0) } ?? .unknown
  }

  private static func parse(_ bytes: ByteBufferView) -> ClientHello? {
    var rest = bytes
    // The type, the length, the version and 32 bytes of random.
    guard rest.first == 1, let length = rest.number(3, at: 1), length == rest.count - 4 else { return nil }
    rest = rest.dropFirst(4 + 2 + 32)
    // The session, the suites, the compression methods.
    guard rest.take(lengthOf: 1) != nil, rest.take(lengthOf: 2) != nil, rest.take(lengthOf: 1) != nil,
      var extensions = rest.take(lengthOf: 2)
    else { return nil }
    var hello = ClientHello()
    while !extensions.isEmpty {
      guard let type = extensions.number(2, at: 0) else { return nil }
      extensions = extensions.dropFirst(2)
      guard var body = extensions.take(lengthOf: 2) else { return nil }
      switch type {
      case 0:
        guard var list = body.take(lengthOf: 2), list.first == 0 else { continue }
        list = list.dropFirst()
        hello.serverName = list.take(lengthOf: 2).map { String(decoding: $0, as: UTF8.self) }
      case 16:
        guard var list = body.take(lengthOf: 2) else { return nil }
        while let name = list.take(lengthOf: 1) { hello.protocols.append(String(decoding: name, as: UTF8.self)) }
      default: continue
      }
    }
    return hello
  }
}

extension ByteBufferView {
  /// Returns a number in network order; nil behind the end.
  fileprivate func number(_ width: Int, at offset: Int) -> Int? {
    guard count >= offset + width else { return nil }
    return dropFirst(offset).prefix(width).reduce(0) { $0 << 8 | Int($1) }
  }

  /// Removes a length and as many bytes from the beginning, and returns these; nil if some are missing.
  fileprivate mutating func take(lengthOf width: Int) -> ByteBufferView? {
    guard let length = number(width, at: 0), count >= width + length else { return nil }
    let part = dropFirst(width).prefix(length)
    self = dropFirst(width + length)
    return part
  }
}
