import Basics
import Crypto
public import XMLStream

/// The identities and features of an entity: the answer to disco#info (XEP-0030 3.1) and the input of the verification
/// string of entity capabilities (XEP-0115 5).
public struct Capabilities: Sendable, Equatable {
  public struct Identity: Sendable, Hashable {
    public var category: String
    public var type: String
    /// The language of the name (`xml:lang`).
    public var language: String?
    public var name: String?

    public init(category: String, type: String, language: String? = nil, name: String? = nil) {
      self.category = category
      self.type = type
      self.language = language
      self.name = name
    }
  }

  public var identities: [Identity]
  public var features: [String]
  /// The extended information (XEP-0128).
  public var forms: [DataForm]

  public init(identities: [Identity], features: [String], forms: [DataForm] = []) {
    self.identities = identities
    self.features = features
    self.forms = forms
  }

  /// Reads a disco#info `<query/>`.
  /// - Throws: `bad-request` for an identity without category or type, a feature without name, a malformed form, or
  ///   more than `XMPPLimits.capabilityItemsMax` of them.
  public init(_ query: Element) throws(StanzaError) {
    self.init(identities: [], features: [])
    var budget = XMPPLimits.capabilityItemsMax
    for child in query.children {
      budget -= 1
      guard budget >= 0 else { throw StanzaError(.badRequest, "too many features") }
      if child.is(.discoIdentity) {
        identities.append(
          Identity(
            category: try child.required("category"), type: try child.required("type"),
            language: child.language, name: child["name"]))
      } else if child.is(.discoFeature) {
        features.append(try child.required("var"))
      } else if child.is(.dataForm) {
        if child["type"] == nil { throw StanzaError(.badRequest, "a form without a type") }
        // XEP-0115 5.4: repeated fields do not make an answer ill-formed, whatever the type of the form; all are hashed.
        forms.append(try DataForm(child, allowsRepeats: true))
      }
    }
  }

  /// Whether the answer is well-formed by XEP-0115 5.4 rule 3: without duplicates. Another one must not be cached.
  public var isWellFormed: Bool {
    guard Set(identities).count == identities.count, Set(features).count == features.count else { return false }
    let typed = Self.hashed(forms)
    return Set(typed.map(\.type)).count == typed.count
      && typed.allSatisfy { Set(Self.types($0.form).flatMap(\.values)).count == 1 }
  }

  /// The verification string (XEP-0115 5.1) with SHA-1, the one hash every client knows: Base64 of 20 bytes.
  public var verification: String { Base64.string(Array(Insecure.SHA1.hash(data: verificationInput))) }

  /// The hashed text. All sorting is by octets (`i;octet`).
  var verificationInput: [UInt8] {
    var text: [UInt8] = []
    func append(_ part: String) {
      text += part.utf8
      text.append(UInt8(ascii: "<"))
    }
    let sorted = identities.sorted { a, b in
      if a.category != b.category { return Self.precedes(a.category, b.category) }
      if a.type != b.type { return Self.precedes(a.type, b.type) }
      return Self.precedes(a.language ?? "", b.language ?? "")
    }
    for identity in sorted {
      append("\(identity.category)/\(identity.type)/\(identity.language ?? "")/\(identity.name ?? "")")
    }
    for feature in features.sorted(by: Self.precedes) { append(feature) }
    for (type, form) in Self.hashed(forms).sorted(by: { Self.precedes($0.type, $1.type) }) {
      append(type)
      let fields = form.fields.filter { $0.name != "FORM_TYPE" }
      // Fields of one name keep their order.
      let sorted = fields.enumerated().sorted { a, b in
        if a.element.name != b.element.name { return Self.precedes(a.element.name ?? "", b.element.name ?? "") }
        return a.offset < b.offset
      }
      for (_, field) in sorted {
        append(field.name ?? "")
        for value in field.values.sorted(by: Self.precedes) { append(value) }
      }
    }
    return text
  }

  /// Returns the forms that are hashed: those with a FORM_TYPE of type hidden (XEP-0115 5.4 rule 3.6).
  private static func hashed(_ forms: [DataForm]) -> [(type: String, form: DataForm)] {
    forms.compactMap { form in
      let fields = types(form)
      guard fields.allSatisfy({ $0.kind == .hidden }), let type = fields.first(where: { $0.value != nil })?.value else {
        return nil
      }
      return (type, form)
    }
  }

  /// The fields FORM_TYPE of a form, which has one unless it is repeated.
  private static func types(_ form: DataForm) -> [DataForm.Field] { form.fields.filter { $0.name == "FORM_TYPE" } }

  private static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }

  /// Writes identities, features and forms into an open `<query/>` of disco#info.
  public func writeContent(into writer: inout ElementWriter) {
    for identity in identities {
      writer.element(.discoIdentity) { writer in
        writer.attribute("category", identity.category)
        writer.attribute("type", identity.type)
        writer.attribute("xml:lang", identity.language)
        writer.attribute("name", identity.name)
      }
    }
    for feature in features { writer.element(.discoFeature) { $0.attribute("var", feature) } }
    for form in forms { form.write(into: &writer) }
  }
}
