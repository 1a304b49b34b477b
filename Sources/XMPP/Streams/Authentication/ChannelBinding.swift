/// The binding of a login to its TLS connection (RFC 5056): both ends of one connection know the same bytes, and an
/// attacker in between has two connections with different ones.
///
/// It is a secret of the connection while a login is under way, and is not kept longer.
public struct ChannelBinding: Sendable, Equatable, CustomStringConvertible {
  /// The registered name, as in `p=` of a GS2 header (RFC 5802 7) and in XEP-0440.
  public let type: String
  public let data: [UInt8]

  public init(type: String, data: [UInt8]) {
    self.type = type
    self.data = data
  }

  /// Returns the binding of RFC 9266: 32 bytes, of TLS 1.3.
  public static func tlsExporter(_ data: [UInt8]) -> ChannelBinding { ChannelBinding(type: exporterType, data: data) }
  public static let exporterType = "tls-exporter"

  /// Returns the binding of RFC 5929 4: the hash of the server's certificate, the same for all its connections. It
  /// shows a client that no party with another certificate is in between; it does not protect against a stolen key.
  public static func tlsServerEndPoint(_ data: [UInt8]) -> ChannelBinding {
    ChannelBinding(type: endPointType, data: data)
  }
  public static let endPointType = "tls-server-end-point"

  /// The type, without the bytes.
  public var description: String { type }
}

extension StreamConditions {
  /// Creates the conditions of a stream with TLS and these bindings.
  init(bindings: [ChannelBinding]) {
    self = bindings.isEmpty ? .secured : [.secured, .bindable]
    if bindings.contains(where: { $0.type == ChannelBinding.exporterType }) { insert(.exporting) }
    if bindings.contains(where: { $0.type == ChannelBinding.endPointType }) { insert(.certified) }
  }
}
