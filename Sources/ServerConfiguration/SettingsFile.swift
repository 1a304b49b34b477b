import Basics
import Glibc
import Yams

/// Reads the YAML file. Groups nest (`xmpp:` over `port:`) or are written with a dot (`xmpp.port:`).
enum SettingsFile {
  /// The paths that are tried in this order if no file is named.
  static let standardPaths = ["parley.yaml", "/etc/parley/parley.yaml"]

  /// Reads the file at a path.
  ///
  /// - Parameter isOfServer: Whether this process is the server.
  static func read(_ path: String, isOfServer: Bool, into settings: inout RawSettings) {
    do {
      let bytes = try Files.read(path, bytesMax: ConfigurationLimits.fileBytesMax)
      guard let text = String(validating: bytes, as: UTF8.self) else {
        settings.errors.append(ConfigurationError(key: nil, origin: .file(path, line: nil), "it is not UTF-8 text"))
        return
      }
      read(text: text, path: path, into: &settings)
    } catch {
      let reason = reason(error, isOfServer: isOfServer)
      settings.errors.append(
        ConfigurationError(key: nil, origin: .file(path, line: nil), "the configuration cannot be read: \(reason)"))
    }
  }

  /// Returns why the file cannot be read, with the remedy: the server needs access to it, while a command of a user without
  /// access is for another user.
  static func reason(_ failure: Files.Failure, isOfServer: Bool) -> String {
    if isOfServer || failure.code != EACCES { return failure.reasonWithRemedy }
    return failure.reason
      + "; run this as root or as the server's user, in a folder that it may enter, or name another file with --config"
  }

  static func read(text: String, path: String, into settings: inout RawSettings) {
    let root: Node?
    do {
      root = try Self.root(of: text)
    } catch {
      settings.errors.append(syntaxError(error, path))
      return
    }
    // A file of comments only has no root.
    guard let root, !isNull(root) else { return }
    guard let mapping = root.mapping else {
      settings.errors.append(
        ConfigurationError(key: nil, origin: .file(path, line: root.mark?.line), "keys and values are expected here"))
      return
    }
    walk(mapping, prefix: "", path: path, into: &settings)
  }

  /// The numbers of the private characters that mark keys: more than any file has keys that are written again.
  private static let marks: Range<UInt32> = 0xE000..<0xE400

  /// Returns the root of a document; nil if there is none.
  ///
  /// The library refuses a document at the first mapping that has a key twice, and names one of the lines. So that all errors
  /// of the file are reported at once, that key gets a mark here, and `walk` finds both.
  private static func root(of text: String) throws -> Node? {
    var text = text
    for mark in marks.compactMap({ Unicode.Scalar($0) }) {
      do {
        return try Parser(yaml: text).singleRoot()
      } catch YamlError.duplicatedKeysInMapping(_, let context) {
        text = marked(text, line: context.mark.line, column: context.mark.column, mark)
      }
    }
    return try Parser(yaml: text).singleRoot()
  }

  /// Returns the text with a mark at the beginning of the key at a place. The library counts characters as `unicodeScalars`
  /// does, and knows the line breaks of YAML 1.1.
  private static func marked(_ text: String, line: Int, column: Int, _ mark: Unicode.Scalar) -> String {
    var scalars = Array(text.unicodeScalars)
    let breaks: Set<Unicode.Scalar> = ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
    var (current, index) = (1, 0)
    while current < line, index < scalars.count {
      let isFirstOfTwo = scalars[index] == "\r" && index + 1 < scalars.count && scalars[index + 1] == "\n"
      if breaks.contains(scalars[index]), !isFirstOfTwo { current += 1 }
      index += 1
    }
    index = min(index + column - 1, scalars.count)
    // The mark of a key in quotes is between them.
    if index < scalars.count, scalars[index] == "\"" || scalars[index] == "'" { index += 1 }
    scalars.insert(mark, at: index)
    var marked = String.UnicodeScalarView()
    marked.append(contentsOf: scalars)
    return String(marked)
  }

  /// Returns a key as it is written, without a mark; nil if it is no text.
  private static func name(of key: Node) -> String? {
    guard let text = key.scalar?.string else { return nil }
    guard let first = text.unicodeScalars.first, marks.contains(first.value) else { return text }
    return String(text.unicodeScalars.dropFirst())
  }

  /// Returns the error of a key that an earlier line has, too, in a group or with a dot.
  private static func repeated(_ name: String, _ origin: Origin, after line: Int) -> ConfigurationError {
    ConfigurationError(key: name, origin: origin, "line \(line) sets it already")
  }

  private static func walk(
    _ mapping: Node.Mapping, prefix: String, path: String, into settings: inout RawSettings
  ) {
    for (keyNode, value) in mapping {
      let origin = Origin.file(path, line: keyNode.mark?.line)
      guard let part = Self.name(of: keyNode) else {
        settings.errors.append(ConfigurationError(key: nil, origin: origin, "a key must be plain text"))
        continue
      }
      let name = prefix + part
      if let line = keyNode.mark?.line, let earlier = settings.lines.updateValue(line, forKey: name) {
        settings.errors.append(repeated(name, origin, after: earlier))
      }
      let key = Keys.named(name)
      if case .entries(let fields, let lists, _) = key?.form, let list = value.sequence {
        settings.entries[name] = readEntries(list, name, fields, lists, path: path, into: &settings)
      } else if case .list = key?.form, let list = value.sequence {
        let texts = list.compactMap(\.scalar?.string)
        if texts.count == list.count {
          settings.set(name, texts.joined(separator: ", "), origin)
        } else {
          settings.errors.append(
            ConfigurationError(key: name, origin: origin, "a list of plain texts is expected here"))
        }
      } else if let inner = value.mapping {
        if key != nil {
          settings.errors.append(
            ConfigurationError(key: name, origin: origin, "one value is expected here, not a map"))
        } else {
          walk(inner, prefix: name + ".", path: path, into: &settings)
        }
      } else if let scalar = value.scalar {
        if !isNull(value) || key == nil { settings.set(name, scalar.string, origin) }
      } else if key == nil {
        settings.errors.append(RawSettings.unknown(name, origin))
      } else {
        settings.errors.append(
          ConfigurationError(key: name, origin: origin, "one value is expected here, not a list"))
      }
    }
  }

  private static func readEntries(
    _ list: Node.Sequence, _ key: String, _ fields: [String], _ lists: Set<String>, path: String,
    into settings: inout RawSettings
  ) -> [RawSettings.DomainEntry] {
    var entries: [RawSettings.DomainEntry] = []
    for node in list {
      let origin = Origin.file(path, line: node.mark?.line)
      var entry = RawSettings.DomainEntry(fields: [:], origin: origin)
      if let scalar = node.scalar {
        entry.fields["name"] = RawSettings.Value(text: scalar.string, origin: origin)
      } else if let mapping = node.mapping {
        var lines: [String: Int] = [:]
        for (keyNode, value) in mapping {
          let name = Self.name(of: keyNode) ?? ""
          let origin = Origin.file(path, line: keyNode.mark?.line)
          if let line = keyNode.mark?.line, let earlier = lines.updateValue(line, forKey: name) {
            settings.errors.append(repeated("\(key).\(name)", origin, after: earlier))
          }
          if !fields.contains(name) {
            let near = Nearest.name(to: name, among: fields)
            settings.errors.append(
              ConfigurationError(
                key: "\(key).\(name)", origin: origin, "there is no such key\(RawSettings.suggestion(near))"))
          } else if let scalar = value.scalar {
            if !isNull(value), !scalar.string.isEmpty {
              entry.fields[name] = RawSettings.Value(text: scalar.string, origin: origin)
            }
          } else if lists.contains(name), let texts = value.sequence?.map(\.scalar?.string),
            !texts.contains(nil)
          {
            let items = texts.compactMap(\.self)
            entry.fields[name] = RawSettings.Value(
              text: items.joined(separator: ","), origin: origin, items: items)
          } else {
            let expected = lists.contains(name) ? "a list of plain texts is" : "one value is"
            settings.errors.append(
              ConfigurationError(key: "\(key).\(name)", origin: origin, "\(expected) expected here"))
          }
        }
      } else {
        settings.errors.append(
          ConfigurationError(key: key, origin: origin, "a name or a map of \(fields.joined(separator: ", "))"))
        continue
      }
      entries.append(entry)
    }
    return entries
  }

  private static func isNull(_ node: Node) -> Bool {
    guard let scalar = node.scalar, scalar.style == .plain || scalar.style == .any else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
  }

  /// Returns the library's error on one line.
  private static func syntaxError(_ error: any Error, _ path: String) -> ConfigurationError {
    guard let error = error as? YamlError else {
      return ConfigurationError(key: nil, origin: .file(path, line: nil), "not valid YAML: \(error)")
    }
    let place: Int?
    let text: String
    switch error {
    case .scanner(_, let problem, let mark, let yaml), .parser(_, let problem, let mark, let yaml),
      .composer(_, let problem, let mark, let yaml):
      place = mark.line
      // The library does not always say that what it found is a tab.
      let lines = yaml.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      let line = lines.dropFirst(max(0, mark.line - 1)).first
      let isTab = line?.drop(while: { $0 == " " || $0 == "-" }).first == "\t"
      text = "not valid YAML: \(problem)" + (isTab ? " (use spaces, not tabs)" : "")
    case .duplicatedKeysInMapping(let duplicates, let context):
      place = context.mark.line
      text = "set twice: \(duplicates.sorted().joined(separator: ", "))"
    case .no, .memory, .reader, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
      place = nil
      text = "not valid YAML: \(error)"
    }
    return ConfigurationError(key: nil, origin: .file(path, line: place), text)
  }
}
