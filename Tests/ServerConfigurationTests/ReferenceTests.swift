import Foundation
import Testing

@testable import ServerConfiguration

/// `conf/parley.yaml` against the table of keys, both ways.
@Suite struct ReferenceTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func read(_ text: String) -> RawSettings {
    var raw = RawSettings()
    SettingsFile.read(text: text, path: "parley.yaml", into: &raw)
    return raw
  }

  private func reference() throws -> String {
    String(decoding: try Data(contentsOf: Self.root.appendingPathComponent("conf/parley.yaml")), as: UTF8.self)
  }

  /// Settings that stand behind a `#` without a space, or with the two spaces of a group, become real; prose has
  /// one space.
  private func uncommented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in
        // The lines after an empty list are the example of its elements.
        if !line.hasPrefix("#"), line.hasSuffix(": []") { return line.dropLast(3) }
        guard line.hasPrefix("#"), let next = line.dropFirst().first else { return line }
        return next.isLetter || line.hasPrefix("#  ") ? line.dropFirst() : line
      }
      .joined(separator: "\n")
  }

  @Test func theReferenceShowsTheDefaults() throws {
    let raw = read(try reference())
    #expect(raw.errors == [])
    for (name, value) in raw.values { #expect(value.text == Keys.named(name)?.fallback, "\(name)") }
    let withFallback = Keys.all.filter { $0.fallback != nil }.map(\.name)
    #expect(Set(withFallback) == Set(raw.values.keys))
  }

  @Test func everyKeyIsThereAndNoOther() throws {
    let raw = read(uncommented(try reference()))
    #expect(raw.errors == [])
    #expect(Set(raw.values.keys).union(raw.entries.keys) == Set(Keys.all.map(\.name)))
    for key in Keys.all {
      #expect(raw.entries[key.name]?.map { Set($0.fields.keys) } == key.form.fields.map { [Set($0)] }, "\(key.name)")
    }
  }

  @Test func theExampleOfAPublicServerLoads() throws {
    let path = Self.root.appendingPathComponent("conf/parley.minimal.yaml").path
    let settings = try Settings.load(SettingsArguments(file: path), environment: [:], standardFiles: [])
    #expect(settings.certificate == nil)
    #expect(settings.domains.map(\.name) == ["example.org"])
    // Its lines about a certificate of one's own, without their `#`.
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n").map { line in
      line.hasPrefix("# tls:") || line.hasPrefix("#   ") ? line.dropFirst(2) : line
    }
    let raw = read(lines.joined(separator: "\n"))
    #expect(raw.errors == [])
    #expect(raw.values["tls.key"]?.text == "/etc/parley/privkey.pem")
  }

  @Test func everyKeyHasItsVariable() {
    let variables = Keys.all.map(\.environmentName)
    #expect(Set(variables).count == variables.count)
    #expect(Keys.shared.xmppTLSPort.environmentName == "PARLEY_XMPP_TLS_PORT")
  }

  @Test func secretsAreNeverShown() {
    let key = Key.text("some.secret", secret: true)
    #expect(key.shown("value") == "********")
    #expect(key.shown("") == "")
    #expect(Keys.shared.domain.shown("value") == "value")
  }
}
