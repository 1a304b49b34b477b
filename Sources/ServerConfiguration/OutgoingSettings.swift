public import Basics

extension Settings {
  /// The settings of the server's HTTP clients.
  public struct Outgoing: Hashable, Sendable {
    /// Non-public networks that may be contacted for users nonetheless.
    public let networks: [Network]
    /// A PEM file of certificate authorities; nil for the system's.
    public let authorities: String?
  }
}

extension SettingsReader {
  mutating func outgoing() -> Settings.Outgoing {
    let networks = self.networks(keys.outgoingNetworks)
    let authorities = read(keys.outgoingAuthorities)
    return Settings.Outgoing(networks: networks, authorities: authorities.isEmpty ? nil : authorities)
  }

  mutating func networks(_ key: Key<[String]>) -> [Network] {
    read(key).compactMap { written -> Network? in
      let network = Network(written)
      if network == nil { reject(key, "\(Line.safe(written)) is not a network such as 10.0.0.0/8") }
      return network
    }
  }
}
