public import XMPP

/// The fields that a specification registers for its form, with their types (XEP-0068), against which the forms of the
/// server are held.
public struct FormRegistry: Sendable {
  /// The `FORM_TYPE`; `nil` for a form that has none.
  public let type: String?
  public let fields: [String: DataForm.FieldKind]
  /// The list fields that take values without offering any (XEP-0122 3.2.1).
  public let open: Set<String>

  public init(_ type: String?, _ fields: [String: DataForm.FieldKind], open: Set<String> = []) {
    self.type = type
    self.fields = fields
    self.open = open
  }

  /// Returns the faults of a form: fields that are unknown, of another type, or against the rules of their type (XEP-0004
  /// 3.3). The type may be left out of a result (3.2).
  public func faults(of form: DataForm) -> [String] {
    var faults: [String] = []
    if form.formType != type { faults.append("FORM_TYPE is \(form.formType ?? "missing")") }
    for field in form.fields + form.reported {
      let name = field.name ?? ""
      let kind = name == "FORM_TYPE" ? .hidden : fields[name]
      if kind == nil { faults.append("\(name) is not registered") }
      if field.kind != kind, field.kind != nil || form.kind == .form {
        faults.append("\(name) is \(field.kind.map { "\($0.text)" } ?? "untyped")")
      }
      switch field.kind {
      case .boolean, .hidden, .jidSingle, .listSingle, .textPrivate, .textSingle:
        if field.values.count > 1 { faults.append("\(name) has several values") }
      case .fixed, .jidMulti, .listMulti, .textMulti, nil: break
      }
      guard form.kind == .form, [.listSingle, .listMulti].contains(field.kind), !open.contains(name) else { continue }
      let options = Set(field.options.map(\.value))
      if options.isEmpty || !options.isSuperset(of: field.values) { faults.append("\(name) lacks options") }
    }
    return faults
  }
}
