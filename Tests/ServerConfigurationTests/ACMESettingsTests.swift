import Testing

@testable import ServerConfiguration

/// The keys `tls.acme.*`.
@Suite struct ACMESettingsTests {
  private func load(_ values: KeyValuePairs<String, String>) throws -> Settings {
    let arguments = SettingsArguments(values: values.map { ($0.key, $0.value, "--set") })
    return try Settings.load(arguments, environment: [:], standardFiles: [])
  }

  private func errors(_ values: KeyValuePairs<String, String>) throws -> [String] {
    try #require(throws: StartupError.self) { _ = try load(values) }.lines
  }

  @Test func acmeIsOffByDefault() throws {
    #expect(try load([:]).acme == nil)
    #expect(try load(["tls.acme.terms_agreed": "true"]).acme == nil)
  }

  @Test func aDomainAndItsServicesAreCertified() throws {
    let settings = try load([
      "domain": "Bücher.example", "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true",
      "tls.acme.contact": "a@example.org, b@example.org", "tls.acme.authorities": "/etc/acme.pem",
      "http.url": "https://chat.example.org:8443/x",
    ])
    let name = "xn--bcher-kva.example"
    #expect(
      settings.acme
        == Settings.ACME(
          directory: "https://acme-v02.api.letsencrypt.org/directory", contacts: ["a@example.org", "b@example.org"],
          external: nil, authorities: "/etc/acme.pem", validation: .http,
          names: [name, "conference.\(name)", "upload.\(name)", "pubsub.\(name)", "chat.example.org"]))
  }

  /// RFC 8555 7.3.4: a key's id and the key belong together.
  @Test func anAccountOfTheOperatorHasAnIDAndAKey() throws {
    let settings = try load([
      "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true", "tls.acme.eab_key_id": "kid-1",
      "tls.acme.eab_key": "/etc/eab.key",
    ])
    #expect(settings.acme?.external == .init(keyID: "kid-1", keyFile: "/etc/eab.key"))
    #expect(try errors(["tls.acme.eab_key_id": "kid-1"])[0].contains("tls.acme.eab_key must be set as well"))
    #expect(try errors(["tls.acme.eab_key": "/etc/eab.key"])[0].contains("tls.acme.eab_key_id must be set as well"))
  }

  @Test func onlyWhatIsServedIsCertified() throws {
    let settings = try load([
      "domain": "a.example", "domains": "b.example", "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true",
      "tls.acme.directory": "staging", "uploads.bytes": "0", "pubsub.enabled": "false",
    ])
    #expect(settings.acme?.names == ["a.example", "b.example", "conference.a.example", "conference.b.example"])
    #expect(settings.acme?.directory == "https://acme-staging-v02.api.letsencrypt.org/directory")
  }

  @Test(arguments: [
    ("127.0.0.1", 8080, 8443, Settings.ACME.Validation.http), ("::", 80, 443, .http),
    ("127.0.0.1", 8080, 443, .tlsALPN),
    ("::", 0, 8443, .tlsALPN), ("127.0.0.1", 8080, 0, .http),
  ])
  func theValidationFollowsFromThePorts(
    _ host: String, _ http: Int, _ https: Int, _ expected: Settings.ACME.Validation
  ) throws {
    let settings = try load([
      "tls.acme.enabled": "true", "tls.acme.terms_agreed": "true", "http.host": host, "http.port": "\(http)",
      "https.port": "\(https)",
    ])
    #expect(settings.acme?.validation == expected)
  }

  @Test func whatCannotWorkIsRefused() throws {
    let lines = try errors(["tls.acme.enabled": "true"])
    #expect(lines.count == 1 && lines[0].contains("tls.acme.terms_agreed"), "\(lines)")
    func refusal(_ key: String, _ value: String, _ others: KeyValuePairs<String, String> = [:]) throws -> String {
      let base = [("tls.acme.enabled", "true", "--set"), ("tls.acme.terms_agreed", "true", "--set")]
      let arguments = SettingsArguments(
        values: base + others.map { ($0.key, $0.value, "--set") } + [(key, value, "--set")])
      return try #require(throws: StartupError.self) {
        _ = try Settings.load(arguments, environment: [:], standardFiles: [])
      }.lines.joined(separator: "\n")
    }
    #expect(try refusal("tls.acme.directory", "http://acme.example/dir").contains("letsencrypt, staging, or a URL"))
    #expect(try refusal("tls.acme.contact", "mailto:a@example.org").contains("not a mail address"))
    #expect(try refusal("tls.acme.contact", "a@example.org?to=b@example.org").contains("not a mail address"))
    #expect(try refusal("https.port", "0", ["http.port": "0"]).contains("turn one of them on"))
    #expect(try refusal("tls.key", "/k.pem", ["tls.certificate": "/c.pem"]).contains("tls.certificate is set"))
    let many = (0..<40).map { "d\($0).example" }.joined(separator: ",")
    #expect(try refusal("domains", many).contains("at most 100 names"))
  }
}
