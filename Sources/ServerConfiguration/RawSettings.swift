import Basics

/// Values as written, each with its origin; later layers replace earlier ones.
struct RawSettings {
  struct Value: Hashable {
    var text: String
    var origin: Origin
    /// The elements of a value that was written as a list; otherwise `text` has them, separated by commas.
    var items: [String]?
  }

  /// An element of a list of maps: its fields by name.
  struct DomainEntry: Hashable {
    var fields: [String: Value]
    var origin: Origin
  }

  private(set) var values: [String: Value] = [:]
  /// The values of the file that variables have replaced by others.
  private(set) var replaced: [String: Value] = [:]
  /// The elements of the keys that are lists of maps.
  var entries: [String: [DomainEntry]] = [:]
  var domains: [DomainEntry] { entries[Keys.shared.domains.name] ?? [] }
  var components: [DomainEntry] { entries[Keys.shared.components.name] ?? [] }
  var errors: [ConfigurationError] = []
  /// The last line of each key and each group in the file.
  var lines: [String: Int] = [:]

  /// Sets a value, unless it is a secret on a command line. An empty text unsets it: `PARLEY_TLS_KEY=` is how container
  /// settings express "none".
  mutating func set(_ name: String, _ text: String, _ origin: Origin) {
    guard let key = Keys.named(name) else {
      errors.append(Self.unknown(name, origin))
      return
    }
    if case .commandLine = origin, key.holdsSecret, !text.isEmpty {
      errors.append(
        ConfigurationError(
          key: name, origin: origin,
          "a secret must not be on a command line, which every user of the machine can read (ps): "
            + "put it into the configuration file or into \(key.environmentName)"))
      return
    }
    if let fields = key.form.fields {
      // A text can give the first two fields only: `name=secret`.
      entries[name] = text.split(separator: ",").map { part in
        let halves = part.split(separator: "=", maxSplits: 1).map { Value(text: $0.trimmed, origin: origin) }
        return DomainEntry(fields: Dictionary(uniqueKeysWithValues: zip(fields, halves)), origin: origin)
      }
    } else if text.isEmpty {
      values[name] = nil
    } else {
      if case .environment = origin, let written = values[name], written.text != text { replaced[name] = written }
      values[name] = Value(text: text, origin: origin)
    }
  }

  /// Reads every `PARLEY_` variable; one that names no key is an error.
  mutating func read(environment: [String: String]) {
    for (variable, text) in environment.sorted(by: { $0.key < $1.key }) where variable.hasPrefix("PARLEY_") {
      if variable == Self.fileVariable || Self.isServiceLink(variable) { continue }
      let origin = Origin.environment(variable)
      if let key = Keys.all.first(where: { $0.environmentName == variable }) {
        set(key.name, text, origin)
      } else {
        let near = Nearest.name(to: variable, among: Keys.all.map(\.environmentName) + [Self.fileVariable])
        errors.append(
          ConfigurationError(
            key: nil, origin: origin, "no key of the configuration has this name\(Self.suggestion(near))"))
      }
    }
  }

  /// The variable that names the configuration file if `--config` does not.
  static let fileVariable = "PARLEY_CONFIG"

  /// Whether Kubernetes set the variable: every pod gets variables named after the services beside it
  /// (`PARLEY_PORT_5222_TCP=tcp://...` for a service called parley).
  private static func isServiceLink(_ variable: String) -> Bool {
    variable.hasPrefix("PARLEY_SERVICE_") || variable == "PARLEY_PORT" || variable.hasPrefix("PARLEY_PORT_")
  }

  static func unknown(_ name: String, _ origin: Origin) -> ConfigurationError {
    let group = Keys.all.map(\.name).filter { $0.hasPrefix(name + ".") }
    if !group.isEmpty {
      return ConfigurationError(key: name, origin: origin, "it is a group of keys: \(group.joined(separator: ", "))")
    }
    let near = Nearest.name(to: name, among: Keys.all.map(\.name))
    return ConfigurationError(key: name, origin: origin, "there is no such key\(suggestion(near))")
  }

  static func suggestion(_ name: String?) -> String { name.map { "; did you mean \($0)?" } ?? "" }
}
