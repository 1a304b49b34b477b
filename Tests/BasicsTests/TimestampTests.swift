import Basics
import Testing

@Suite struct TimestampTests {
  /// XEP-0082 3.2, and moments around the epoch, leap days and the ends of the calendar.
  @Test(arguments: [
    ("1969-07-21T02:56:15Z", -14_159_025_000), ("1969-07-20T21:56:15-05:00", -14_159_025_000),
    ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.999Z", -1), ("2002-09-10T23:08:25Z", 1_031_699_305_000),
    ("2000-02-29T12:00:00Z", 951_825_600_000), ("2024-02-29T00:00:00.5Z", 1_709_164_800_500),
    ("1900-03-01T00:00:00Z", -2_203_891_200_000), ("0001-01-01T00:00:00Z", -62_135_596_800_000),
    ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("2010-07-10T23:08:25.1234567Z", 1_278_803_305_123),
    ("2020-01-01T00:00:00+14:00", 1_577_786_400_000), ("2020-01-01T05:30:00+05:30", 1_577_836_800_000),
  ])
  func reads(text: String, milliseconds: Int64) {
    #expect(Timestamp(text)?.milliseconds == milliseconds)
  }

  @Test(arguments: [
    "", "1969-07-21", "1969-07-21T02:56:15", "1969-07-21 02:56:15Z", "19690721T02:56:15", "1969-7-21T02:56:15Z",
    "1969-13-21T02:56:15Z", "1969-00-21T02:56:15Z", "1969-02-30T02:56:15Z", "1900-02-29T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "1969-04-31T02:56:15Z", "1969-07-00T02:56:15Z", "1969-07-21T24:00:00Z", "1969-07-21T02:60:15Z",
    "1969-07-21T02:56:60Z",
    "1969-07-21T02:56:15.Z", "1969-07-21T02:56:15+0500", "1969-07-21T02:56:15+15:00", "1969-07-21T02:56:15+05:60",
    "1969-07-21T02:56:15ZZ", " 1969-07-21T02:56:15Z", "1969-07-21T02:56:15z", "-969-07-21T02:56:15Z",
    "0000-01-01T00:00:00Z",
    "1969-07-21T02:56:15.123", "1969-07-21T02:56:15+05:0", "１969-07-21T02:56:15Z",
    "1969-07-21T02:56:15.\(String(repeating: "0", count: 60))Z",
  ])
  func refuses(text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (-14_159_025_000, "1969-07-21T02:56:15.000Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (Int64.min, "0001-01-01T00:00:00.000Z"),
    (Int64.max, "9999-12-31T23:59:59.999Z"),
  ])
  func writes(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
  }

  /// Some 84,000 moments of the whole calendar, 43 days and an odd time of day apart.
  @Test func theWholeCalendarSurvives() {
    var wrong = 0
    var moments = 0
    var previous = ""
    for milliseconds in stride(
      from: Timestamp.earliest.milliseconds, through: Timestamp.latest.milliseconds, by: 3_740_561_289)
    {
      let text = Timestamp(milliseconds: milliseconds).description
      if Timestamp(text)?.milliseconds != milliseconds || text <= previous { wrong += 1 }
      previous = text
      moments += 1
    }
    #expect(wrong == 0)
    #expect(moments > 84_000)
  }

  @Test func order() {
    #expect(Timestamp.earliest < Timestamp.latest)
    #expect(Timestamp(milliseconds: .min).description == Timestamp.earliest.description)
    #expect(Timestamp(milliseconds: .max).description == Timestamp.latest.description)
    #expect(Timestamp.latest.withBytes { $0.count } == Timestamp.byteCount)
  }
}

@Suite struct CivilTimeTests {
  @Test(
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ] as [(Int64, String)])
  func datesOfHTTP(seconds: Int64, text: String) {
    #expect(CivilTime(Timestamp(milliseconds: seconds * 1_000)).httpDate == text)
  }

  @Test(arguments: [
    (1_709_164_800_000, "Thu, 29 Feb 2024 00:00:00 +0000"), (1_735_689_599_000, "Tue, 31 Dec 2024 23:59:59 +0000"),
    (0, "Thu, 1 Jan 1970 00:00:00 +0000"), (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 +0000"),
  ])
  func datesOfMail(milliseconds: Int64, text: String) {
    #expect(CivilTime(Timestamp(milliseconds: milliseconds)).mailDate == text)
  }
}

@Suite struct WrittenTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (1_784_021_400_123, "2026-07-14T09:30:00.123Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
    (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
  ])
  func known(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
    #expect(Timestamp(written: text)?.milliseconds == milliseconds)
  }

  @Test func everyDayOfFourCenturiesComesBack() {
    var day = Timestamp(written: "1890-01-01T00:00:00.000Z")?.milliseconds ?? 0
    var wrong = 0
    for _ in 0..<146_097 {
      let time = Timestamp(milliseconds: day + 43_201_007)
      if Timestamp(written: time.description) != time { wrong += 1 }
      day += 86_400_000
    }
    #expect(wrong == 0)
  }

  @Test(arguments: [
    "2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T00:00:00Z",
    "2026-01-01 00:00:00.000Z", "2026-01-01T00:00:60.000Z", "", "2026-01-01T00:00:00.000+", "+026-01-01T00:00:00.000Z",
  ])
  func textThatIsNoTimeIsRefused(text: String) { #expect(Timestamp(written: text) == nil) }

  /// The examples of RFC 9110 5.6.7, which are one time.
  @Test(arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
  func datesOfHTTPAreRead(text: String) {
    #expect(Timestamp(httpDate: text) == Timestamp("1994-11-06T08:49:37Z"))
  }

  @Test(arguments: [
    "", "3600", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
    "Sun, 06 Nuv 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "a b c d e f g h i j k",
  ])
  func otherTextsAreNoDatesOfHTTP(text: String) { #expect(Timestamp(httpDate: text) == nil) }
}
