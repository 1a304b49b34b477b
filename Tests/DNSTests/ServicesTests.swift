import Testing

@testable import DNS

/// RFC 2782 and XEP-0368 3.
@Suite struct ServicesTests {
  private static func record(_ priority: UInt16, _ weight: UInt16, _ host: String, port: UInt16 = 5269) -> ServiceRecord
  {
    ServiceRecord(priority: priority, weight: weight, port: port, target: DomainName(host) ?? .root)
  }

  private static func answer(_ records: [ServiceRecord], isSecure: Bool = false) -> Answer {
    Answer(
      records.isEmpty ? .noRecords : .found, name: name("example"), records: records.map { .service($0) },
      isSecure: isSecure, seconds: 60)
  }

  private static func hosts(_ services: Services) -> [String] {
    if case .servers(let servers) = services { servers.map(\.record.target.description) } else { [] }
  }

  @Test func bothServicesAreOneList() {
    let direct = Self.record(5, 0, "d", port: 5270)
    let (first, last) = (Self.record(1, 0, "first"), Self.record(9, 0, "last"))
    let services = Services(direct: Self.answer([direct], isSecure: true), upgraded: Self.answer([last, first])) { _ in
      0
    }
    #expect(
      services
        == .servers([
          .init(first, isDirectTLS: false, isSecure: false), .init(direct, isDirectTLS: true, isSecure: true),
          .init(last, isDirectTLS: false, isSecure: false),
        ]))
  }

  /// The example of weights: running sums 0, 1, 4, so 0 chooses the first, 1 the second, and 2 to 4 the third.
  @Test(arguments: [
    (0, ["zero", "one", "three"]), (1, ["one", "zero", "three"]), (2, ["three", "zero", "one"]),
    (4, ["three", "zero", "one"]),
  ]) func weights(_ number: Int, _ order: [String]) {
    var numbers = [number, 0, 0]
    var ranges: [ClosedRange<Int>] = []
    let services = Services(
      direct: Self.answer([]),
      upgraded: Self.answer([Self.record(1, 1, "one"), Self.record(1, 3, "three"), Self.record(1, 0, "zero")])
    ) { range in
      ranges.append(range)
      return numbers.removeFirst()
    }
    #expect(Self.hosts(services) == order)
    #expect(ranges.first == 0...4)
  }

  /// A weight of 0 has "a very small chance", the others theirs in proportion.
  @Test func weightsInTheLongRun() {
    var first: [String: Int] = [:]
    let upgraded = Self.answer([Self.record(1, 10, "ten"), Self.record(1, 30, "thirty"), Self.record(1, 0, "zero")])
    var state: UInt64 = 1
    for _ in 0..<10_000 {
      let services = Services(direct: Self.answer([]), upgraded: upgraded) { range in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return range.lowerBound + Int((state >> 33) % UInt64(range.count))
      }
      first[Self.hosts(services).first ?? "", default: 0] += 1
    }
    #expect((100...450).contains(first["zero"] ?? 0))
    #expect((2_200...2_700).contains(first["ten"] ?? 0))
    #expect((7_000...7_600).contains(first["thirty"] ?? 0))
  }

  @Test func nothingIsSaid() {
    #expect(Services(direct: Self.answer([]), upgraded: Self.answer([])) == .unspecified)
  }

  /// XEP-0368 5: ".", also of direct TLS alone, forbids the domain's own address.
  @Test(arguments: [([""], []), ([], [""]), ([""], [""])] as [([String], [String])])
  func notAvailable(_ direct: [String], _ upgraded: [String]) {
    #expect(
      Services(
        direct: Self.answer(direct.map { Self.record(0, 0, $0) }),
        upgraded: Self.answer(upgraded.map { Self.record(0, 0, $0) })) == .notAvailable)
  }

  @Test func oneServiceMayBeAbsent() {
    let services = Services(
      direct: Self.answer([Self.record(0, 0, "")]), upgraded: Self.answer([Self.record(0, 0, "host")]))
    #expect(Self.hosts(services) == ["host"])
  }

  @Test func aPortOfNoneIsNoServer() {
    #expect(
      Services(direct: Self.answer([]), upgraded: Self.answer([Self.record(0, 0, "host", port: 0)])) == .notAvailable)
  }
}
