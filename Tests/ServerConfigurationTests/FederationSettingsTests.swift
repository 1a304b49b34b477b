import Dialogs
import Peers
import Testing

@testable import ServerConfiguration

/// The keys `federation.*`.
@Suite struct FederationSettingsTests {
  private func load(_ values: KeyValuePairs<String, String>) throws -> Settings {
    let arguments = SettingsArguments(values: values.map { ($0.key, $0.value, "--set") })
    return try Settings.load(arguments, environment: [:], standardFiles: [])
  }

  private func errors(_ values: KeyValuePairs<String, String>) throws -> [String] {
    try #require(throws: StartupError.self) { _ = try load(values) }.lines
  }

  @Test func federationIsOffByDefault() throws {
    #expect(try load([:]).federation == nil)
    // Its ports are then nobody's.
    #expect(try load(["xmpp.port": "5269"]).xmpp.port == 5269)
  }

  @Test func oneKeySwitchesItOn() throws {
    #expect(try load(["federation.enabled": "true"]).federation == FederationOptions())
  }

  @Test func allOptionsAreRead() throws {
    let settings = try load([
      "federation.enabled": "true", "federation.host": "127.0.0.1", "federation.port": "15269",
      "federation.tls_port": "0", "federation.verify": "dialback", "federation.unverified": "old.example.org",
      "federation.allow": "example.org, *.example.org", "federation.deny": "*.spam.example",
      "federation.dnssec": "always", "federation.dns": "127.0.0.1:5353, ::1, [::1]:54, 9.9.9.9",
      "federation.posh": "true", "federation.routes": "partner.example=10.0.0.7", "federation.give_up_seconds": "20",
      "federation.idle_seconds": "60", "federation.absent_seconds": "30", "federation.rooms": "members",
      "federation.strangers": "refuse", "federation.components": "false", "federation.forward_reports": "true",
      "federation.blocklists": "rtbl.example/muc_bans_sha256, a.example/b",
      "outgoing.authorities": "/etc/ca.pem",
    ])
    let options = try #require(settings.federation)
    var expected = FederationOptions()
    expected.host = "127.0.0.1"
    expected.port = 15_269
    expected.tlsPort = 0
    expected.verification = .dialback
    expected.rules.unverified = [try #require(DomainPattern("old.example.org"))]
    expected.rules.allowed = ["example.org", "*.example.org"].compactMap { DomainPattern($0) }
    expected.rules.denied = [try #require(DomainPattern("*.spam.example"))]
    expected.authorities = "/etc/ca.pem"
    expected.dnssec = .always
    expected.resolvers = ["127.0.0.1:5353", "[::1]:53", "[::1]:54", "9.9.9.9:53"]
    expected.usesPOSH = true
    expected.routes = [.init(domain: "partner.example", host: "10.0.0.7", port: 5269)]
    expected.giveUpSeconds = 20
    expected.idleSeconds = 60
    expected.absentSeconds = 30
    expected.rooms = .members
    expected.strangers = .refuse
    expected.reachesComponents = false
    expected.forwardsReports = true
    expected.blocklists = ["rtbl.example/muc_bans_sha256", "a.example/b"].compactMap { BlocklistOption($0) }
    #expect(options == expected)
  }

  @Test func authoritiesOfFederationComeBeforeThoseOfOtherRequests() throws {
    let settings = try load([
      "federation.enabled": "true", "federation.authorities": "/etc/servers.pem", "outgoing.authorities": "/etc/ca.pem",
    ])
    #expect(settings.federation?.authorities == "/etc/servers.pem")
  }

  @Test(arguments: [
    ("federation.port", "5222", "same port"),
    ("federation.deny", "juliet@example.org", "juliet@example.org is not a domain"),
    ("federation.allow", "*.", "*. is not a domain"),
    ("federation.dns", "dns.example.org:53", "not the address of a resolver"),
    ("federation.dns", "127.0.0.1:0", "not the address of a resolver"),
    ("federation.routes", "partner.example", "needs the name"),
    ("federation.routes", "localhost=10.0.0.7", "localhost is served here"),
    ("federation.verify", "maybe", "certificate, dialback"),
    ("federation.give_up_seconds", "0", "from 1 to 604800"),
  ])
  func aMistakeIsTold(key: String, value: String, text: String) throws {
    let lines = try errors(["federation.enabled": "true", key: value])
    #expect(lines.count == 1 && lines[0].contains(text), "\(lines)")
  }

  /// The domains of one server reach each other without a port.
  @Test func bothPortsMayBeOff() throws {
    let settings = try load([
      "federation.enabled": "true", "federation.port": "0", "federation.tls_port": "0", "xmpp.port": "5269",
    ])
    #expect(settings.federation?.port == 0 && settings.federation?.tlsPort == 0)
  }

  @Test func listsOfDomainsAreReadAgainWithoutARestart() {
    let reloaded = Keys.all.filter { $0.name.hasPrefix("federation.") && $0.change == .reload }.map(\.name)
    #expect(Set(reloaded) == Set(["unverified", "allow", "deny", "authorities"].map { "federation." + $0 }))
  }
}
