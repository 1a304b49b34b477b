import Dialogs
import StoreConformance
import Testing

@testable import SQLiteStore

@Suite struct RoomSettingsCodingTests {
  /// The bytes of these settings as the release before the list of settings wrote them.
  private static let bytes: [UInt8] = [
    2, 1, 2, 71, 1, 2, 65, 1, 4, 123, 125, 1, 4, 48, 102, 0, 1, 1, 0, 1, 2, 112, 1, 40, 4, 1, 1, 2, 60, 1, 4, 105, 116,
    1, 4, 1, 6, 0, 1, 14,
  ]
  private static var settings: RoomSettings {
    var settings = RoomSettings.noDefaults
    settings.name = "G"
    settings.metadata = "{}"
    settings.avatarHash = "0f"
    settings.password = "p"
    return settings
  }

  /// A property that the sample leaves at its default would not be noticed by the other tests of settings.
  @Test func theSampleHasNoDefaults() {
    #expect(RoomSettings.noDefaults.differences(from: RoomSettings()) == RoomSettings.properties)
  }

  @Test func everySettingIsStored() throws {
    let read = try FactCoding.decode(settings: FactCoding.encode(settings: .noDefaults))
    #expect(read.differences(from: .noDefaults) == [])
  }

  @Test func theBytesOfEarlierReleasesStay() throws {
    #expect(FactCoding.encode(settings: Self.settings).starts(with: Self.bytes))
    // A release that did not know the last settings ends before them.
    let later: [(end: Int, unknown: Set<String>)] = [
      (33, ["membersPin", "lifetime", "historyMax", "acceptsRemote", "retentionDays"]),
      (34, ["lifetime", "historyMax", "acceptsRemote", "retentionDays"]), (37, ["acceptsRemote", "retentionDays"]),
      (38, ["retentionDays"]), (40, []),
    ]
    let all = try FactCoding.decode(settings: Self.bytes)
    for (end, unknown) in later {
      let read = try FactCoding.decode(settings: Array(Self.bytes.prefix(end)))
      #expect(read.differences(from: all) == unknown, "\(end)")
    }
    // Settings that came later than these bytes.
    let newer = RoomSettings.properties.subtracting(all.differences(from: RoomSettings()))
    #expect(Self.settings.differences(from: all) == newer)
  }

  /// The settings of the first release have no end but theirs.
  @Test func bytesThatEndTooEarlyAreDamaged() {
    for end in 0..<33 {
      #expect(throws: StoreFailure.self) { try FactCoding.decode(settings: Array(Self.bytes.prefix(end))) }
    }
  }
}
