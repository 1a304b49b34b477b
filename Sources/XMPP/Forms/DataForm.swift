public import Addresses
public import XMLStream

/// A data form (XEP-0004): `<x xmlns='jabber:x:data'/>` read and written as a value.
///
///     let form = DataForm(.submit, formType: "urn:xmpp:mam:2", fields: [.init("with", .jidSingle, "romeo@a.example")])
///     form.write(into: &writer)
///     let with = try DataForm(element).jids("with").first
public struct DataForm: Payload, Equatable {
  /// The purpose of a form (XEP-0004 3.1).
  public enum Kind: UInt8, Sendable, CaseIterable {
    /// The form is to be filled in.
    case form
    /// The form is filled in.
    case submit
    /// The form is declined.
    case cancel
    /// The form contains data.
    case result

    public var text: StaticString {
      switch self {
      case .form: "form"
      case .submit: "submit"
      case .cancel: "cancel"
      case .result: "result"
      }
    }
  }

  /// The type of a field (XEP-0004 3.3).
  public enum FieldKind: UInt8, Sendable, CaseIterable {
    case boolean
    case fixed
    case hidden
    case jidMulti
    case jidSingle
    case listMulti
    case listSingle
    case textMulti
    case textPrivate
    case textSingle

    public var text: StaticString {
      switch self {
      case .boolean: "boolean"
      case .fixed: "fixed"
      case .hidden: "hidden"
      case .jidMulti: "jid-multi"
      case .jidSingle: "jid-single"
      case .listMulti: "list-multi"
      case .listSingle: "list-single"
      case .textMulti: "text-multi"
      case .textPrivate: "text-private"
      case .textSingle: "text-single"
      }
    }

    /// Whether a field of this type may have more than one value (XEP-0004 3.2).
    var mayHaveSeveral: Bool {
      switch self {
      case .hidden, .jidMulti, .listMulti, .textMulti: true
      case .boolean, .fixed, .jidSingle, .listSingle, .textPrivate, .textSingle: false
      }
    }
  }

  /// One choice of a list field.
  public struct Option: Sendable, Equatable {
    public var label: String?
    public var value: String

    public init(_ value: String, label: String? = nil) {
      self.value = value
      self.label = label
    }
  }

  /// The range of a field's whole numbers (`xs:integer` and `range` of XEP-0122, as XEP-0500 5.1 needs them). It is
  /// only written: the submitted value is checked by the requester.
  public struct WholeNumbers: Sendable, Equatable {
    public var minimum: Int
    public var maximum: Int

    public init(_ range: ClosedRange<Int>) {
      minimum = range.lowerBound
      maximum = range.upperBound
    }
  }

  public struct Field: Sendable, Equatable {
    /// The name of the field (`var`); `nil` only for fixed fields.
    public var name: String?
    /// The type of the field; `nil` where the form leaves it to the context (XEP-0004 3.2).
    public var kind: FieldKind?
    public var label: String?
    public var description: String?
    public var isRequired: Bool
    public var values: [String]
    public var options: [Option]
    /// The range of valid values, for the client to check (XEP-0122).
    public var range: WholeNumbers?

    public init(
      _ name: String?, _ kind: FieldKind? = nil, label: String? = nil, description: String? = nil,
      isRequired: Bool = false, values: [String] = [], options: [Option] = [], range: WholeNumbers? = nil
    ) {
      self.name = name
      self.kind = kind
      self.label = label
      self.description = description
      self.isRequired = isRequired
      self.values = values
      self.options = options
      self.range = range
    }

    /// Creates a field of one value.
    public init(_ name: String, _ kind: FieldKind? = nil, _ value: String, label: String? = nil) {
      self.init(name, kind, label: label, values: [value])
    }

    /// Creates a yes-or-no field.
    public init(_ name: String, _ value: Bool, label: String? = nil) {
      self.init(name, .boolean, label: label, values: [value ? "1" : "0"])
    }

    /// The first value.
    public var value: String? { values.first }
  }

  public var kind: Kind
  public var title: String?
  public var instructions: [String]
  public var fields: [Field]
  /// The columns of a table of results (XEP-0004 3.4).
  public var reported: [Field]
  /// The rows of that table.
  public var items: [[Field]]

  public static let name = Name.dataForm

  public init(
    _ kind: Kind, title: String? = nil, instructions: [String] = [], fields: [Field] = [], reported: [Field] = [],
    items: [[Field]] = []
  ) {
    self.kind = kind
    self.title = title
    self.instructions = instructions
    self.fields = fields
    self.reported = reported
    self.items = items
  }

  /// Creates a form of a registered type (XEP-0068): the hidden field `FORM_TYPE` comes first.
  public init(_ kind: Kind, formType: String, title: String? = nil, instructions: [String] = [], fields: [Field] = []) {
    self.init(
      kind, title: title, instructions: instructions,
      fields: [Field("FORM_TYPE", .hidden, formType)] + fields)
  }

  // MARK: Looking up

  /// The value of `FORM_TYPE` (XEP-0068).
  public var formType: String? { self["FORM_TYPE"]?.value }

  /// Returns the first field of a name.
  public subscript(_ name: String) -> Field? { fields.first { $0.name == name } }

  /// Returns the first value of a field; `nil` if the field or the value is missing.
  public func value(_ name: String) -> String? { self[name]?.value }

  /// Returns the value of a field that has at most one; `nil` if the field or the value is missing.
  /// - Throws: `not-acceptable` (XEP-0004 4) for several values, which only lists may have (XEP-0004 3.2).
  public func single(_ name: String) throws(StanzaError) -> String? {
    guard let field = self[name] else { return nil }
    guard field.values.count <= 1 else {
      throw StanzaError(.notAcceptable, "the field '\(name)' has more than one value")
    }
    return field.value
  }

  /// Checks a submission of this form: its fields have no more values than their types allow.
  /// - Throws: `not-acceptable` (XEP-0004 4) as `single` does.
  public func check(_ submission: DataForm) throws(StanzaError) {
    for field in fields where field.kind?.mayHaveSeveral == false {
      if let name = field.name { _ = try submission.single(name) }
    }
  }

  /// Returns all values of a field; empty if it is missing.
  public func values(_ name: String) -> [String] { self[name]?.values ?? [] }

  /// Returns a boolean (XEP-0004 3.3); `nil` if the field or the value is missing.
  /// - Throws: `not-acceptable` (XEP-0004 4) for any other value, or several.
  public func boolean(_ name: String) throws(StanzaError) -> Bool? {
    switch try single(name) {
    case nil: return nil
    case "1", "true": return true
    case "0", "false": return false
    default: throw StanzaError(.notAcceptable, "the field '\(name)' is no boolean")
    }
  }

  /// Returns a whole number; `nil` if the field or the value is missing or empty.
  /// - Throws: `not-acceptable` (XEP-0004 4) for anything else.
  public func integer(_ name: String) throws(StanzaError) -> Int? {
    guard let text = try single(name), !text.isEmpty else { return nil }
    var copy = text
    guard let value = copy.withUTF8({ Decimal.signed(UnsafeRawBufferPointer($0)) }) else {
      throw StanzaError(.notAcceptable, "the field '\(name)' is no whole number")
    }
    return value
  }

  /// Returns the addresses of a field without duplicates (XEP-0004 3.3).
  /// - Throws: `jid-malformed` for an invalid one.
  public func jids(_ name: String) throws(StanzaError) -> [JID] {
    var seen: Set<JID> = []
    var list: [JID] = []
    for text in values(name) {
      guard let jid = JID(parsing: text) else {
        throw StanzaError(.jidMalformed, "the field '\(name)' holds no address")
      }
      if seen.insert(jid).inserted { list.append(jid) }
    }
    return list
  }

  // MARK: Reading

  /// Reads a form. One without a type is a submission, which is what others send here: XEP-0004 3.1 demands the type,
  /// and clients that build forms by hand leave it out.
  /// - Throws: `bad-request` for an unknown type of form, a field without name, an option without value, two fields
  ///   of one name except in a result, or more than `XMPPLimits.formFieldsMax` fields or `XMPPLimits.formValuesMax` values.
  public init(_ element: Element) throws(StanzaError) { try self.init(element, allowsRepeats: false) }

  /// Reads a form as the other initializer does.
  ///
  /// - Parameter allowsRepeats: whether two fields may have one name whatever the type of the form.
  init(_ element: Element, allowsRepeats: Bool) throws(StanzaError) {
    let isTyped = element.withAttribute("type", { _ in true }) ?? false
    guard let kind = isTyped ? Kind.allCases.first(where: { element.has("type", equalTo: $0.text) }) : .submit else {
      throw StanzaError(.badRequest, "a form of an unknown type")
    }
    var budget = Budget()
    var names: Set<String> = []
    self.init(kind)
    for child in element.children {
      if child.is(.dataFormField) {
        let field = try Field(child, &budget)
        // XEP-0004 3.2: the name identifies the field. Whichever of two was taken, the other one would be lost.
        if !allowsRepeats, kind != .result, let name = field.name, !names.insert(name).inserted {
          throw StanzaError(.badRequest, "the field '\(name)' is there twice")
        }
        fields.append(field)
      } else if child.is(.dataFormTitle) {
        title = title ?? child.text
      } else if child.is(.dataFormInstructions) {
        try budget.spendValue()
        instructions.append(child.text)
      } else if child.is(.dataFormReported) {
        reported = try Self.row(child, &budget)
      } else if child.is(.dataFormItem) {
        items.append(try Self.row(child, &budget))
      }
    }
  }

  private static func row(_ element: Element, _ budget: inout Budget) throws(StanzaError) -> [Field] {
    try budget.spendValue()
    var fields: [Field] = []
    for child in element.children where child.is(.dataFormField) { fields.append(try Field(child, &budget)) }
    return fields
  }

  /// The fields and values that a form may still hold.
  fileprivate struct Budget {
    private var fields = XMPPLimits.formFieldsMax
    private var values = XMPPLimits.formValuesMax

    mutating func spendField() throws(StanzaError) {
      fields -= 1
      guard fields >= 0 else { throw StanzaError(.badRequest, "a form of too many fields") }
    }

    mutating func spendValue() throws(StanzaError) {
      values -= 1
      guard values >= 0 else { throw StanzaError(.badRequest, "a form of too many values") }
    }
  }

  // MARK: Writing

  public func write(into writer: inout ElementWriter) {
    writer.element(Self.name) { writer in
      writer.attribute("type", kind.text)
      if let title { writer.element("title", title) }
      for line in instructions { writer.element("instructions", line) }
      if !reported.isEmpty {
        writer.element("reported") { writer in
          for field in reported { field.write(into: &writer) }
        }
      }
      for item in items {
        writer.element("item") { writer in
          for field in item { field.write(into: &writer) }
        }
      }
      for field in fields { field.write(into: &writer) }
    }
  }
}

extension DataForm.Field {
  fileprivate init(_ element: Element, _ budget: inout DataForm.Budget) throws(StanzaError) {
    try budget.spendField()
    let name = element["var"]
    let isTyped = element.withAttribute("type", { _ in true }) ?? false
    // An unknown type is text-single (XEP-0004 3.3).
    let kind =
      DataForm.FieldKind.allCases.first { element.has("type", equalTo: $0.text) } ?? (isTyped ? .textSingle : nil)
    guard name != nil || kind == .fixed else { throw StanzaError(.badRequest, "a field without the attribute 'var'") }
    self.init(name, kind, label: element["label"])
    for child in element.children {
      if child.is(.dataFormValue) {
        try budget.spendValue()
        values.append(child.text)
      } else if child.is(.dataFormOption) {
        try budget.spendValue()
        guard let value = child.first(.dataFormValue) else {
          throw StanzaError(.badRequest, "an option without a value")
        }
        options.append(DataForm.Option(value.text, label: child["label"]))
      } else if child.is(.dataFormRequired) {
        isRequired = true
      } else if child.is(.dataFormDescription) {
        description = child.text
      }
    }
  }

  fileprivate func write(into writer: inout ElementWriter) {
    writer.element("field") { writer in
      if let kind { writer.attribute("type", kind.text) }
      writer.attribute("var", name)
      writer.attribute("label", label)
      if let description { writer.element("desc", description) }
      if isRequired { writer.element("required") }
      if let range {
        writer.element(.dataFormValidate) { writer in
          writer.attribute("datatype", "xs:integer" as StaticString)
          writer.element("range") { writer in
            writer.attribute("min", range.minimum)
            writer.attribute("max", range.maximum)
          }
        }
      }
      for value in values { writer.element("value", value) }
      for option in options {
        writer.element("option") { writer in
          writer.attribute("label", option.label)
          writer.element("value", option.value)
        }
      }
    }
  }
}

extension ElementWriter {
  /// Writes an element of the parent's namespace that holds only text.
  mutating func element(_ local: StaticString, _ text: String) {
    open(local)
    self.text(text)
    close()
  }
}

extension Name {
  static let dataFormDescription = Name("desc", NS.dataForm)
  static let dataFormInstructions = Name("instructions", NS.dataForm)
  static let dataFormItem = Name("item", NS.dataForm)
  static let dataFormOption = Name("option", NS.dataForm)
  static let dataFormReported = Name("reported", NS.dataForm)
  static let dataFormRequired = Name("required", NS.dataForm)
  static let dataFormTitle = Name("title", NS.dataForm)
  static let dataFormValidate = Name("validate", NS.dataFormValidation)
}
