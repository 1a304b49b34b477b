import Basics

/// The name of a backup: `parley-` and its time, so that names are in the order of time.
struct BackupName: Hashable, Comparable, CustomStringConvertible {
  let description: String

  /// Creates the name of a backup of now, other than those that are there.
  init(at time: Timestamp, unless isTaken: (BackupName) -> Bool) {
    var time = time
    while true {
      // 2026-01-31T12:00:00.123Z as 20260131T120000123Z
      let name = BackupName("parley-" + time.description.filter { $0 != "-" && $0 != ":" && $0 != "." })
      if !isTaken(name) {
        self = name
        return
      }
      time = Timestamp(milliseconds: time.milliseconds + 1)
    }
  }

  /// Returns the name of a file without its ending; nil for the name of something else. Names of earlier releases
  /// have no milliseconds.
  init?(file: some StringProtocol, ending: String) {
    guard file.hasPrefix("parley-"), file.hasSuffix("Z" + ending) else { return nil }
    self.init(String(file.dropLast(ending.count)))
  }

  private init(_ text: String) { description = text }

  /// The time that it names; nil if that is none.
  var time: Timestamp? {
    let digits = Array(description.dropFirst("parley-".count).dropLast())
    guard digits.count >= 15 else { return nil }
    func part(_ range: Range<Int>) -> String { String(digits[range]) }
    let millis = digits.count == 18 ? part(15..<18) : "000"
    return Timestamp(
      "\(part(0..<4))-\(part(4..<6))-\(part(6..<8))T\(part(9..<11)):\(part(11..<13)):\(part(13..<15)).\(millis)Z")
  }

  static func < (one: BackupName, other: BackupName) -> Bool { one.description < other.description }
}
