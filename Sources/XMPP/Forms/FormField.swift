/// A property of `Root` as a field of a form: how the form offers it, and what a filled-in form changes of it.
///
///     let name = FormField<RoomSettings>.text("muc#roomconfig_roomname", \.name, label: "Name", bytesMax: 256)
///     let shown = name.offer(settings)
///     try name.read(submission, settings)?(&settings)
///
/// A field that is missing in a filled-in form leaves the property as it is, and so does one without a value that needs
/// one.
public struct FormField<Root: Sendable>: Sendable {
  public typealias Change = @Sendable (inout Root) -> Void

  /// Returns the fields with the present value: one, but for a property that needs several.
  public let offer: @Sendable (Root) -> [DataForm.Field]
  /// Returns the change that a filled-in form asks for; `nil` if it leaves the property as it is. Throws
  /// `not-acceptable` (XEP-0004 4) for an invalid value, and for several where the field has one.
  public let read: @Sendable (_ form: DataForm, _ present: Root) throws(StanzaError) -> Change?

  public init(
    offer: @escaping @Sendable (Root) -> [DataForm.Field],
    read: @escaping @Sendable (_ form: DataForm, _ present: Root) throws(StanzaError) -> Change?
  ) {
    self.offer = offer
    self.read = read
  }

  /// Returns a yes-or-no field.
  ///
  /// - Parameter alias: another server's name of the field, which is read where this one is missing.
  public static func flag(
    _ name: String, _ path: any WritableKeyPath<Root, Bool> & Sendable, label: String, alias: String? = nil
  ) -> Self {
    Self(
      offer: { root in [DataForm.Field(name, root[keyPath: path], label: label)] },
      read: { (form, _) throws(StanzaError) in
        var value = try form.boolean(name)
        if value == nil, let alias { value = try form.boolean(alias) }
        guard let flag = value else { return nil }
        return { root in root[keyPath: path] = flag }
      })
  }

  /// Returns a field of a text, which an empty or blank one removes.
  ///
  /// - Parameter fault: returns why a text is refused, or `nil`; by default none is.
  public static func text(
    _ name: String, _ path: any WritableKeyPath<Root, String?> & Sendable, label: String, bytesMax: Int,
    fault: @escaping @Sendable (String) -> String? = { _ in nil }
  ) -> Self {
    Self(
      offer: { root in
        let text = root[keyPath: path]
        return [DataForm.Field(name, .textSingle, label: label, values: text.map { [$0] } ?? [])]
      },
      read: { (form, _) throws(StanzaError) in
        guard form[name] != nil else { return nil }
        guard let text = try form.single(name), !text.allSatisfy(\.isWhitespace) else {
          return { root in root[keyPath: path] = nil }
        }
        guard text.utf8.count <= bytesMax else { throw StanzaError(field: name, "has more than \(bytesMax) bytes") }
        if let fault = fault(text) { throw StanzaError(field: name, fault) }
        return { root in root[keyPath: path] = text }
      })
  }

  /// Returns a field of a whole number; an empty one is the least.
  public static func number(
    _ name: String, _ path: any WritableKeyPath<Root, Int> & Sendable, in range: ClosedRange<Int>, label: String,
    description: String? = nil
  ) -> Self {
    Self(
      offer: { root in
        [
          DataForm.Field(
            name, .textSingle, label: label, description: description, values: ["\(root[keyPath: path])"],
            range: DataForm.WholeNumbers(range))
        ]
      },
      read: { (form, _) throws(StanzaError) in
        guard form[name] != nil else { return nil }
        let number = try form.integer(name) ?? range.lowerBound
        guard range.contains(number) else {
          throw StanzaError(field: name, "is no number from \(range.lowerBound) to \(range.upperBound)")
        }
        return { root in root[keyPath: path] = number }
      })
  }

  /// Returns a field of a whole number that an empty one removes.
  public static func optionalNumber(
    _ name: String, _ path: any WritableKeyPath<Root, Int?> & Sendable, in range: ClosedRange<Int>, label: String,
    description: String? = nil
  ) -> Self {
    Self(
      offer: { root in
        let number = root[keyPath: path]
        return [
          DataForm.Field(
            name, .textSingle, label: label, description: description, values: number.map { ["\($0)"] } ?? [],
            range: DataForm.WholeNumbers(range))
        ]
      },
      read: { (form, _) throws(StanzaError) in
        guard form[name] != nil else { return nil }
        guard let number = try form.integer(name) else { return { root in root[keyPath: path] = nil } }
        guard range.contains(number) else {
          let fault = "is neither empty nor a number from \(range.lowerBound) to \(range.upperBound)"
          throw StanzaError(field: name, fault)
        }
        return { root in root[keyPath: path] = number }
      })
  }

  /// Returns a field with one of a few words.
  ///
  /// - Parameters:
  ///   - options: the values, in the order in which they are offered.
  ///   - aliases: other servers' words for them.
  ///   - fault: the reason of the refusal of any other word.
  public static func choice<Value: Equatable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable,
    _ options: [(value: Value, word: String, label: String)], aliases: [String: Value] = [:], label: String,
    fault: String
  ) -> Self {
    Self(
      offer: { root in
        let present = root[keyPath: path]
        return [
          DataForm.Field(
            name, .listSingle, label: label, values: options.filter { $0.value == present }.map { $0.word },
            options: options.map { DataForm.Option($0.word, label: $0.label) })
        ]
      },
      read: { (form, _) throws(StanzaError) in
        guard let word = try form.single(name) else { return nil }
        guard let value = options.first(where: { $0.word == word })?.value ?? aliases[word] else {
          throw StanzaError(field: name, fault)
        }
        return { root in root[keyPath: path] = value }
      })
  }
}

extension StanzaError {
  /// Creates the refusal of a field's value (XEP-0004 4).
  public init(field name: String, _ fault: String) {
    self.init(.notAcceptable, "the field '\(name)' \(fault)")
  }
}
