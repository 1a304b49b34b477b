import Dialogs

/// A room's settings as bytes. These have a version of their own, as they stand both in a room's row and in the entry of
/// their change.
extension FactCoding {
  /// Passes each setting to a coder, in the order of the bytes. A new setting is a line at the end: in bytes that were
  /// written before it, it has its default.
  private static func list<Coder: SettingsCoder>(
    _ settings: inout RoomSettings, _ coder: inout Coder
  ) throws(Coder.Failure) {
    try coder.code(&settings.name)
    try coder.code(&settings.about)
    try coder.code(&settings.metadata)
    try coder.code(&settings.avatarHash)
    try coder.code(&settings.isMembersOnly)
    try coder.code(&settings.isListed)
    try coder.code(&settings.isModerated)
    try coder.code(&settings.showsAddresses)
    try coder.code(&settings.password)
    try coder.code(&settings.occupantsMax)
    try coder.code(&settings.whispers)
    try coder.code(&settings.membersInvite)
    try coder.code(&settings.participantsSetTopic)
    try coder.code(&settings.history)
    try coder.code(&settings.slowModeSeconds)
    try coder.code(&settings.language)
    coder.mayEndHere()
    try coder.code(&settings.membersPin)
    try coder.code(&settings.lifetime)
    try coder.code(&settings.historyMax)
    try coder.code(&settings.acceptsRemote)
    try coder.code(&settings.retentionDays)
    try coder.code(&settings.isReadOnly)
  }

  static func encode(settings: RoomSettings) -> [UInt8] {
    var settings = settings
    var writer = SettingsWriter()
    writer.out.write(version)
    list(&settings, &writer)
    return writer.out.bytes
  }

  static func decode(settings bytes: [UInt8]) throws(StoreFailure) -> RoomSettings {
    var from = ByteReader(bytes)
    guard try from.int() == version else { throw damaged }
    var settings = RoomSettings()
    var reader = SettingsReader(from: from)
    try list(&settings, &reader)
    return settings
  }
}

/// Writes or reads settings, so that one list of them serves both.
private protocol SettingsCoder {
  associatedtype Failure: Error
  mutating func code(_ text: inout String?) throws(Failure)
  mutating func code(_ flag: inout Bool) throws(Failure)
  mutating func code(_ number: inout Int) throws(Failure)
  mutating func code(_ number: inout Int?) throws(Failure)
  mutating func code<Word: RawRepresentable<UInt8>>(_ word: inout Word) throws(Failure)
  /// Notes that the bytes of some release end here or behind one of the settings that follow.
  mutating func mayEndHere()
}

private struct SettingsWriter: SettingsCoder {
  typealias Failure = Never
  var out = ByteWriter()

  mutating func code(_ text: inout String?) { out.write(text) { $0.write($1) } }
  mutating func code(_ flag: inout Bool) { out.write(flag) }
  mutating func code(_ number: inout Int) { out.write(Int64(number)) }
  mutating func code(_ number: inout Int?) { out.write(number) { $0.write(Int64($1)) } }
  mutating func code<Word: RawRepresentable<UInt8>>(_ word: inout Word) { out.write(Int64(word.rawValue)) }
  mutating func mayEndHere() {}
}

private struct SettingsReader: SettingsCoder {
  typealias Failure = StoreFailure
  var from: ByteReader
  var mayEnd = false
  /// Whether the bytes were written before the next setting existed.
  var isOver: Bool { mayEnd && from.isAtEnd }

  mutating func code(_ text: inout String?) throws(StoreFailure) {
    if !isOver { text = try from.optional(FactCoding.text) }
  }

  mutating func code(_ flag: inout Bool) throws(StoreFailure) {
    if !isOver { flag = try from.flag() }
  }

  mutating func code(_ number: inout Int) throws(StoreFailure) {
    if !isOver { number = Int(clamping: try from.int()) }
  }

  mutating func code(_ number: inout Int?) throws(StoreFailure) {
    guard !isOver else { return }
    number = try from.optional { from throws(StoreFailure) in Int(clamping: try from.int()) }
  }

  mutating func code<Word: RawRepresentable<UInt8>>(_ word: inout Word) throws(StoreFailure) {
    guard !isOver else { return }
    guard let known = Word(rawValue: UInt8(clamping: try from.int())) else { throw FactCoding.damaged }
    word = known
  }

  mutating func mayEndHere() { mayEnd = true }
}
