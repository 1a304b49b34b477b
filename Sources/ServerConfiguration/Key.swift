import Basics

/// A key of the configuration whose text is read as a `Value`. `conf/parley.yaml` documents all keys.
package struct Key<Value: Sendable>: AnyKey {
  package let name: String
  package let fallback: String?
  package let change: KeyChange
  package let isSecret: Bool
  package let form: KeyForm
  /// Parses a text. If the text is wrong, the value is one with which the check of other keys can go on.
  let parse: @Sendable (String) -> (value: Value, error: String?)

  init(
    _ name: String, _ fallback: String? = nil, change: KeyChange = .restart, secret: Bool = false,
    form: KeyForm = .text, _ parse: @escaping @Sendable (String) -> (value: Value, error: String?)
  ) {
    self.name = name
    self.fallback = fallback
    self.change = change
    self.isSecret = secret
    self.form = form
    self.parse = parse
  }
}

/// A key without the type of its value.
package protocol AnyKey: Sendable {
  var name: String { get }
  /// The default as written in a file; nil if there is none or it is derived from other values.
  var fallback: String? { get }
  var change: KeyChange { get }
  /// Whether the value is never shown.
  var isSecret: Bool { get }
  var form: KeyForm { get }
}

extension AnyKey {
  /// The environment variable: `PARLEY_` and the name in upper case, with underscores for dots.
  package var environmentName: String {
    "PARLEY_" + name.map { $0 == "." ? "_" : $0.uppercased() }.joined()
  }

  /// Whether the value or a part of it is secret.
  var holdsSecret: Bool { isSecret || !form.secrets.isEmpty }

  /// Returns the text that may be shown for a value.
  func shown(_ text: String) -> String { isSecret && !text.isEmpty ? "********" : text }
}

/// The time at which a changed value takes effect.
package enum KeyChange: Sendable {
  case restart
  /// On SIGHUP; for certificates also without it.
  case reload
}

/// The form of a value in the file.
package enum KeyForm: Sendable {
  case text
  /// Texts, which are separated by commas if they are written as one text.
  case list
  /// A list of maps with these fields, of which the first is the name; `lists` are the fields that may be lists,
  /// `secrets` those whose values are never shown.
  case entries(fields: [String], lists: Set<String> = [], secrets: Set<String> = [])

  /// The fields of the maps; nil if the value is no list of maps.
  var fields: [String]? { if case .entries(let fields, _, _) = self { fields } else { nil } }
  /// The fields of the maps whose values are never shown.
  var secrets: Set<String> { if case .entries(_, _, let secrets) = self { secrets } else { [] } }
}

// MARK: Kinds of values

extension Key where Value == String {
  static func text(_ name: String, _ fallback: String? = nil, secret: Bool = false) -> Key {
    Key(name, fallback, secret: secret) { ($0, nil) }
  }

  /// Declares a path, whose value is absolute, or empty if there is none.
  static func path(_ name: String, _ fallback: String? = nil, change: KeyChange = .restart) -> Key {
    Key(name, fallback, change: change) { ($0.isEmpty ? "" : Files.absolute($0), nil) }
  }

  static func host(_ name: String, _ fallback: String) -> Key {
    Key(name, fallback) {
      ($0, Host.isAddress($0) ? nil : "an IPv4 or IPv6 address of this machine is expected, or localhost")
    }
  }

  /// Declares the URL of a push service, whose value has no slash at its end and is empty if there is none.
  static func pushURL(_ name: String, _ fallback: String? = nil) -> Key {
    Key(name, fallback) { text in
      var url = text
      while url.hasSuffix("/") { url.removeLast() }
      return (url, url.isEmpty || Host.isWebURL(url) ? nil : "a URL such as https://push.example.org is expected")
    }
  }
}

extension Key where Value == [String] {
  static func list(_ name: String, _ fallback: String? = nil, change: KeyChange = .restart) -> Key {
    Key(name, fallback, change: change, form: .list) {
      ($0.split(separator: ",").map(\.trimmed).filter { !$0.isEmpty }, nil)
    }
  }
}

extension Key where Value == Bool {
  static func flag(_ name: String, _ fallback: Bool) -> Key {
    Key(name, String(fallback)) {
      switch $0.lowercased() {
      case "true", "yes", "on": (true, nil)
      case "false", "no", "off": (false, nil)
      default: (false, "true or false is expected")
      }
    }
  }
}

extension Key where Value == Int {
  static func number(
    _ name: String, _ fallback: Int?, _ range: ClosedRange<Int>, _ unit: String, change: KeyChange = .restart
  ) -> Key {
    Key(name, fallback.map { String($0) }, change: change) { text in
      if let number = Int(text), range.contains(number) { return (number, nil) }
      return (
        range.lowerBound, "\(unit): a whole number from \(range.lowerBound) to \(range.upperBound) is expected"
      )
    }
  }

  static func port(_ name: String, _ fallback: Int) -> Key {
    Key(name, String(fallback)) { text in
      if let number = Int(text), (0...65_535).contains(number) { return (number, nil) }
      return (0, "a port is a number from 1 to 65535; 0 turns it off")
    }
  }
}

extension Key where Value == Duration {
  static func seconds(_ name: String, _ fallback: Int, _ range: ClosedRange<Int>) -> Key {
    let number = Key<Int>.number(name, fallback, range, "seconds")
    return Key(name, number.fallback) { text in
      let (seconds, error) = number.parse(text)
      return (.seconds(seconds), error)
    }
  }
}

extension Key where Value: RawRepresentable<String> & CaseIterable {
  /// Declares a key with one of several words.
  static func choice(_ name: String, _ fallback: Value, change: KeyChange = .restart) -> Key {
    Key(name, fallback.rawValue, change: change) { text in
      if let value = Value(rawValue: text.lowercased()) { return (value, nil) }
      return (fallback, "one of \(Value.allCases.map(\.rawValue).joined(separator: ", ")) is expected")
    }
  }
}

extension Key where Value == Void {
  /// Declares a list of maps, which `RawSettings.entries` contains.
  static func entries(
    _ name: String, _ fields: [String], lists: Set<String> = [], secrets: Set<String> = [],
    change: KeyChange = .restart
  ) -> Key {
    Key(name, change: change, form: .entries(fields: fields, lists: lists, secrets: secrets)) { _ in ((), nil) }
  }
}
