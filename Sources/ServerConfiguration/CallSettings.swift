import Basics
import Dialogs

/// Reads STUN and TURN servers: lists of URIs.
extension SettingsReader {
  mutating func externalServices() -> ExternalServices {
    let secret = read(keys.turnSecret)
    let lifetime = read(keys.turnSeconds)
    var services: [ExternalService] = []
    for uri in read(keys.turnServers) {
      guard let service = ExternalService(uri: uri) else {
        reject(keys.turnServers, "\(uri) is neither stun:HOST[:PORT] nor turn:HOST[:PORT][?transport=udp|tcp]")
        continue
      }
      services.append(service)
    }
    if services.count > ConfigurationLimits.turnServersMax {
      reject(keys.turnServers, "at most \(ConfigurationLimits.turnServersMax) can be set")
    }
    if secret.isEmpty, services.contains(where: \.kind.isRelay) {
      reject(keys.turnServers, "TURN servers require credentials: turn.secret must be set as well")
    }
    return ExternalServices(services, secret: secret, lifetime: lifetime)
  }
}

extension ExternalService {
  /// Parses a URI of RFC 7064 3.1 or RFC 7065 3.1; returns nil for others.
  init?(uri: String) {
    guard let colon = uri.firstIndex(of: ":"), let kind = Kind(rawValue: String(uri[..<colon])) else { return nil }
    let parts = uri[uri.index(after: colon)...].split(separator: "?", omittingEmptySubsequences: false)
    var transport: Transport = kind.isSecure ? .tcp : .udp
    if parts.count == 2, kind.isRelay, parts[1].hasPrefix("transport=") {
      guard let named = Transport(rawValue: String(parts[1].dropFirst("transport=".count))) else { return nil }
      transport = named
    } else if parts.count != 1 {
      return nil
    }
    guard let (host, port) = Self.address(parts[0]) else { return nil }
    self.init(kind: kind, host: host, port: port ?? kind.standardPort, transport: transport)
  }

  private static func address(_ text: Substring) -> (host: String, port: Int?)? {
    var host = text
    var port: Int?
    let end = text.lastIndex(of: ":")
    if let end, text.last != "]" {
      guard let number = Int(text[text.index(after: end)...]), (1...65_535).contains(number) else { return nil }
      port = number
      host = text[..<end]
    }
    if host.first == "[", host.last == "]" {
      host = host.dropFirst().dropLast()
      guard Host.isAddress(String(host)) else { return nil }
      return (String(host), port)
    }
    guard !host.isEmpty, !host.contains(":"), let name = Host.domain(String(host)) else { return nil }
    return (name, port)
  }
}
