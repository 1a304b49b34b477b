import Dialogs
import Testing

@testable import ServerConfiguration

/// The configuration of the delivery of codes.
@Suite struct DeliverySettingsTests {
  @Test func theConfigurationIsChecked() throws {
    func settings(_ values: [String: String]) throws -> Settings {
      let variables = values.map { (Keys.named($0.key)?.environmentName ?? $0.key, $0.value) }
      return try Settings.load(
        SettingsArguments(), environment: Dictionary(uniqueKeysWithValues: variables), standardFiles: [])
    }
    let good = [
      "mail.server": "smtps://mail.example.org:465", "mail.from": "chat@example.org", "mail.user": "u",
      "mail.password": "p", "signup.email": "true", "delivery.url": "https://api.example.org/parley",
      "delivery.secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      "mail.reset_url": "https://app.example.org/reset?token={token}",
    ]
    let loaded = try settings(good)
    #expect(loaded.delivery.newcomers == [.email] && loaded.delivery.hook?.url == "https://api.example.org/parley")
    #expect(loaded.delivery.mail?.resetURL == "https://app.example.org/reset?token={token}")
    #expect(
      loaded.effective.filter { ["mail.password", "delivery.secret"].contains($0.key) }.allSatisfy {
        $0.value == "********"
      })
    for (key, value) in [
      ("mail.server", "mail.example.org"), ("mail.server", "https://mail.example.org"),
      ("mail.server", "smtp://u:p@mail.example.org"),
      ("mail.from", "x"), ("mail.from", ""), ("mail.user", ""), ("mail.password", ""),
      ("mail.reset_url", "https://app.example.org/"), ("mail.reset_url", "javascript:{token}"),
      ("delivery.url", "ftp://x"),
      ("delivery.secret", ""), ("delivery.secret", "secret"),
    ] {
      var bad = good
      bad[key] = value
      #expect(throws: StartupError.self, "\(key) \(value)") { try settings(bad) }
    }
    #expect(throws: StartupError.self) { try settings(["signup.email": "true"]) }
    #expect(throws: StartupError.self) {
      try settings(["signup.phone": "true", "mail.server": "smtp://m.example", "mail.from": "a@b.example"])
    }
    #expect(try settings([:]).delivery == Settings.Delivery())
  }
}
