import Foundation
import Testing

/// The packages that the build has resolved, against `docs/advisories.json`.
@Suite struct DependencyTests {
  private struct Advisory: Decodable {
    let id: String
    /// The identity of the package in `Package.resolved`.
    let package: String
    /// The first version without the fault; earlier ones may have it in some releases only.
    let mended: String
    let about: String
  }

  private struct Resolved: Decodable {
    struct Pin: Decodable {
      struct State: Decodable { let version: String? }
      let identity: String
      let state: State
    }
    let pins: [Pin]
  }

  private static func read<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try JSONDecoder().decode(type, from: Data(contentsOf: root.appending(path: name)))
  }

  /// The numbers of a version; nil for another text, such as that of a branch.
  private static func numbers(_ version: String) -> [Int]? {
    let numbers = version.split(separator: ".").compactMap { Int($0) }
    return numbers.count == 3 && numbers.map { "\($0)" }.joined(separator: ".") == version ? numbers : nil
  }

  private static func isOlder(_ version: String, than other: String) throws -> Bool {
    let (mine, theirs) = (try #require(numbers(version), "\(version)"), try #require(numbers(other), "\(other)"))
    return mine.lexicographicallyPrecedes(theirs)
  }

  @Test func noPackageHasAKnownFault() throws {
    let pins = try Self.read(Resolved.self, "Package.resolved").pins
    let advisories = try Self.read([Advisory].self, "docs/advisories.json")
    #expect(!advisories.isEmpty && Set(advisories.map(\.id)).count == advisories.count)
    for advisory in advisories {
      // Who removes a package removes its advisories: one that matches nothing would look like a check.
      let pin = try #require(pins.first { $0.identity == advisory.package }, "\(advisory.package) is not resolved")
      let version = try #require(pin.state.version, "\(pin.identity) has no version")
      #expect(
        try !Self.isOlder(version, than: advisory.mended),
        "\(pin.identity) \(version) has \(advisory.id) (\(advisory.about)): take \(advisory.mended)")
    }
  }

  @Test func versionsAreComparedByTheirNumbers() throws {
    #expect(try Self.isOlder("2.99.0", than: "2.100.0"))
    #expect(try Self.isOlder("1.44.0", than: "1.44.1"))
    #expect(try !Self.isOlder("2.100.0", than: "2.100.0"))
    #expect(try !Self.isOlder("10.0.0", than: "9.9.9"))
    #expect(Self.numbers("main") == nil && Self.numbers("1.2.x") == nil && Self.numbers("1.2") == nil)
  }
}
