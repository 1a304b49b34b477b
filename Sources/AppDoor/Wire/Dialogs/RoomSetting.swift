import Dialogs
import JSON

/// A setting of a group or public dialog that its owners change: a member of `Dialog`, and of the input of
/// `dialog.update`. What else `RoomSettings` has is in members of other kinds (`name`, `type`, …), or is for XMPP clients
/// alone.
struct RoomSetting: Sendable {
  typealias Change = @Sendable (inout RoomSettings) -> Void

  let name: String
  /// Whether the member is absent where the server communicates with no others.
  var isOfFederation = false
  /// Writes the member of `Dialog`.
  let write: @Sendable (RoomSettings, inout JSONWriter) -> Void
  /// Reads the member of an input; `nil` if it leaves the setting as it is. Throws `InputError` for another type.
  let read: @Sendable (KeyedDecodingContainer<AnyKey>) throws -> Wish?

  /// The settings, in the order of their members: a new one is a line here.
  static let all: [RoomSetting] = [
    .word(
      "historyVisibility", \.history,
      DialogBody.HistoryVisibility.allCases.map { (word: $0.rawValue, value: RoomSettings.HistoryVisibility($0)) },
      unknown: "history-visibility-unknown"),
    .number("slowModeSeconds", \.slowModeSeconds),
    .word("whoPins", \.membersPin, [("admins", false), ("members", true)], unknown: "who-pins-unknown"),
    .flag("acceptsRemote", \.acceptsRemote, isOfFederation: true),
    .optionalNumber("retentionDays", \.retentionDays),
    .word("whoWrites", \.isReadOnly, [("admins", true), ("members", false)], unknown: "who-writes-unknown"),
  ]

  /// A value that an input gives to a setting.
  struct Wish: Hashable, Sendable {
    let name: String
    let value: JSONValue
    /// The change, or the refusal of the value. Bounds are the core's to check.
    let change: Result<Change, Problem>

    static func == (a: Wish, b: Wish) -> Bool { a.name == b.name && a.value == b.value }

    func hash(into hasher: inout Hasher) {
      hasher.combine(name)
      hasher.combine(value)
    }
  }

  /// Returns the members of `Dialog`.
  ///
  /// - Parameter isFederated: whether the server communicates with others.
  static func members(of settings: RoomSettings, isFederated: Bool) -> RawObject {
    var writer = JSONWriter()
    writer.beginObject()
    for setting in all where isFederated || !setting.isOfFederation { setting.write(settings, &writer) }
    writer.endObject()
    return RawObject(trusted: writer.text)
  }

  // MARK: Kinds

  private static func flag(
    _ name: StaticString, _ path: any WritableKeyPath<RoomSettings, Bool> & Sendable, isOfFederation: Bool = false
  ) -> RoomSetting {
    let key = "\(name)"
    return RoomSetting(
      name: key, isOfFederation: isOfFederation,
      write: { settings, writer in writer.member(name, settings[keyPath: path]) },
      read: { members in
        guard let flag = try members.decodeIfPresent(Bool.self, forKey: AnyKey(key)) else { return nil }
        return Wish(name: key, value: .bool(flag), change: .success({ settings in settings[keyPath: path] = flag }))
      })
  }

  private static func number(
    _ name: StaticString, _ path: any WritableKeyPath<RoomSettings, Int> & Sendable
  ) -> RoomSetting {
    let key = "\(name)"
    return RoomSetting(
      name: key, write: { settings, writer in writer.member(name, settings[keyPath: path]) },
      read: { members in
        guard let number = try members.decodeIfPresent(Int.self, forKey: AnyKey(key)) else { return nil }
        return Wish(
          name: key, value: .number("\(number)"), change: .success({ settings in settings[keyPath: path] = number }))
      })
  }

  /// Returns a setting that null removes.
  private static func optionalNumber(
    _ name: StaticString, _ path: any WritableKeyPath<RoomSettings, Int?> & Sendable
  ) -> RoomSetting {
    let key = "\(name)"
    return RoomSetting(
      name: key, write: { settings, writer in writer.member(name, settings[keyPath: path]) },
      read: { members in
        guard members.contains(AnyKey(key)) else { return nil }
        let number = try members.decodeIfPresent(Int.self, forKey: AnyKey(key))
        return Wish(
          name: key, value: number.map { .number("\($0)") } ?? .null,
          change: .success({ settings in settings[keyPath: path] = number }))
      })
  }

  /// Returns a setting with one of a few words.
  ///
  /// - Parameter code: the code of the refusal of any other word.
  private static func word<Value: Equatable & Sendable>(
    _ name: StaticString, _ path: any WritableKeyPath<RoomSettings, Value> & Sendable,
    _ words: [(word: String, value: Value)], unknown code: String
  ) -> RoomSetting {
    let key = "\(name)"
    let known = words.map { "\"\($0.word)\"" }.joined(separator: " or ")
    return RoomSetting(
      name: key,
      write: { settings, writer in
        let value = settings[keyPath: path]
        writer.member(name, words.first(where: { $0.value == value })?.word)
      },
      read: { members in
        guard let word = try members.decodeIfPresent(String.self, forKey: AnyKey(key)) else { return nil }
        guard let value = words.first(where: { $0.word == word })?.value else {
          let refusal = Problem(.malformed, code, "\(key) is \(known).", field: key)
          return Wish(name: key, value: .string(word), change: .failure(refusal))
        }
        return Wish(name: key, value: .string(word), change: .success({ settings in settings[keyPath: path] = value }))
      })
  }
}

/// The members of the input of `dialog.update` that are settings.
struct RoomSettingsInput: Decodable, Hashable, Sendable {
  var wishes: [RoomSetting.Wish] = []

  init() {}

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: AnyKey.self)
    wishes = try RoomSetting.all.compactMap { try $0.read(members) }
  }
}

extension KeyedDecodingContainer {
  /// Decodes settings, which are members of this object itself; the compiler's `init(from:)` prefers it.
  func decode(_ type: RoomSettingsInput.Type, forKey key: Key) throws -> RoomSettingsInput {
    try RoomSettingsInput(from: superDecoder())
  }
}
