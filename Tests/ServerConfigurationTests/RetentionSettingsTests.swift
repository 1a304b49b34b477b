import Dialogs
import Testing

@testable import ServerConfiguration

/// The configuration of retention.
@Suite struct RetentionSettingsTests {
  private func load(_ text: String) throws -> Settings {
    var raw = RawSettings()
    SettingsFile.read(text: text, path: "parley.yaml", into: &raw)
    var reader = SettingsReader(raw)
    let settings = reader.settings(file: nil)
    guard reader.errors.isEmpty else { throw StartupError(reader.errors) }
    return settings
  }
  private func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

  @Test func agesAreReadWithThoseOfDomains() throws {
    let policy = try load(
      """
      domain: a.example
      domains:
        - name: b.example
        - name: c.example
      retention:
        private_days: 90
        account_days: 400
        file_bytes: 1000
        domains:
          - name: b.example
            room_days: 30
          - name: c.example
            private_days: 0
            file_bytes: 0
      """
    ).retention
    #expect(policy.bounds(of: "a.example") == .init(privately: days(90), fileBytes: 1_000))
    #expect(policy.bounds(of: "b.example") == .init(privately: days(90), rooms: days(30), fileBytes: 1_000))
    #expect(policy.bounds(of: "c.example") == .init())
    #expect(policy.accounts == days(400))
    // By default files alone have an age, `uploads.days`.
    var standard = RetentionPolicy()
    standard.files = days(365)
    #expect(try load("domain: a.example").retention == standard)
    #expect(try load("uploads:\n  days: 0").retention == RetentionPolicy())
  }

  @Test(arguments: [
    ("retention.private_days", "  private_days: -1"), ("retention.room_days", "  room_days: a week"),
    ("retention.account_days", "  account_days: 29"),
    ("retention.domains.name", "  domains:\n    - name: c.example"),
    ("retention.domains.room_days", "  domains:\n    - name: a.example\n      room_days: 36501"),
    ("retention.file_bytes", "  file_bytes: 10G"),
    ("retention.domains.file_bytes", "  domains:\n    - name: a.example\n      file_bytes: -1"),
    ("retention.domains.name", "  domains:\n    - name: a.example\n    - name: a.example"),
  ])
  func errorsNameTheKey(key: String, text: String) throws {
    let error = #expect(throws: StartupError.self) { try load("domain: a.example\nretention:\n" + text) }
    #expect(error?.lines.joined().contains(key) == true, "\(error?.lines ?? [])")
  }
}
