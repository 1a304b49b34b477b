import Basics
import NIOCore
import Peers

extension SettingsReader {
  /// Reads the options of federation, which are checked even if it is off; nil if it is off.
  mutating func federation(among domains: [Settings.Domain]) -> FederationOptions? {
    let isOn = read(keys.federationEnabled)
    var options = FederationOptions()
    options.host = read(keys.federationHost)
    options.port = read(keys.federationPort)
    options.tlsPort = read(keys.federationTLSPort)
    options.verification = read(keys.federationVerify)
    options.rules.unverified = patterns(keys.federationUnverified)
    options.rules.allowed = patterns(keys.federationAllow)
    options.rules.denied = patterns(keys.federationDeny)
    let authorities = [read(keys.federationAuthorities), keys.outgoingAuthorities.parse(outgoingAuthorities).value]
    options.authorities = authorities.first { !$0.isEmpty }
    options.dnssec = read(keys.federationDNSSEC)
    options.resolvers = resolvers()
    options.usesPOSH = read(keys.federationPOSH)
    options.routes = routes(among: domains)
    options.giveUpSeconds = read(keys.federationGiveUpSeconds)
    options.idleSeconds = read(keys.federationIdleSeconds)
    options.absentSeconds = read(keys.federationAbsentSeconds)
    options.rooms = read(keys.federationRooms)
    options.strangers = read(keys.federationStrangers)
    options.forwardsReports = read(keys.federationForwardReports)
    options.reachesComponents = read(keys.federationComponents)
    options.blocklists = blocklists()
    return isOn ? options : nil
  }

  private var outgoingAuthorities: String { raw.values[keys.outgoingAuthorities.name]?.text ?? "" }

  private mutating func patterns(_ key: Key<[String]>) -> [DomainPattern] {
    read(key).compactMap { written in
      let pattern = DomainPattern(written)
      if pattern == nil { reject(key, "\(Line.safe(written)) is not a domain such as example.org or *.example.org") }
      return pattern
    }
  }

  private mutating func blocklists() -> [BlocklistOption] {
    let written = read(keys.federationBlocklists)
    if written.count > PeerLimits.blocklistsMax {
      reject(keys.federationBlocklists, "at most \(PeerLimits.blocklistsMax) lists can be set")
    }
    return written.compactMap { text in
      let list = BlocklistOption(text)
      if list == nil {
        reject(keys.federationBlocklists, "\(Line.safe(text)) is not a service and node such as lists.example.org/bans")
      }
      return list
    }
  }

  /// Reads resolvers as `ADDRESS:PORT`; the port is 53 by default.
  private mutating func resolvers() -> [String] {
    read(keys.federationDNS).compactMap { written in
      let colon = written.lastIndex(of: ":")
      let isBare = (try? SocketAddress(ipAddress: written, port: 53)) != nil
      let host = isBare ? written[...] : written[..<(colon ?? written.endIndex)]
      let port = isBare ? 53 : colon.flatMap { Int(written[written.index(after: $0)...]) }
      let address = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host
      guard let port, (1...65_535).contains(port), (try? SocketAddress(ipAddress: String(address), port: port)) != nil
      else {
        reject(keys.federationDNS, "\(Line.safe(written)) is not the address of a resolver such as 127.0.0.1:53")
        return nil
      }
      return address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
  }

  private mutating func routes(among domains: [Settings.Domain]) -> [FederationOptions.Route] {
    let entries = raw.entries[keys.federationRoutes.name] ?? []
    note(
      keys.federationRoutes, entries.map { $0.fields["name"]?.text ?? "" }.joined(separator: ", "),
      entries.first?.origin ?? .standard)
    return entries.compactMap { entry in
      func reject(_ field: String, _ text: String) {
        errors.append(
          ConfigurationError(
            key: "\(keys.federationRoutes.name).\(field)", value: entry.fields[field]?.text,
            origin: entry.fields[field]?.origin ?? entry.origin, text))
      }
      guard let domain = entry.fields["name"].flatMap({ Host.domain($0.text) }) else {
        reject("name", "a domain name is expected")
        return nil
      }
      if domains.contains(where: { $0.name == domain || $0.rooms == domain }) {
        reject("name", "\(domain) is served here")
      }
      guard let host = entry.fields["host"]?.text, !host.isEmpty else {
        reject("host", "\(domain) needs the name or the address of its server")
        return nil
      }
      let tls = entry.fields["tls"]?.text.lowercased() ?? "false"
      if !["true", "false"].contains(tls) { reject("tls", "true or false is expected") }
      let port = Int(entry.fields["port"]?.text ?? (tls == "true" ? "5270" : "5269"))
      guard let port, (1...65_535).contains(port) else {
        reject("port", "a port is a number from 1 to 65535")
        return nil
      }
      return FederationOptions.Route(domain: domain, host: host, port: port, isDirectTLS: tls == "true")
    }
  }
}
