public import JSON
public import XMLStream

/// Whether something that arrived is what a line expects: by subset. What the pattern names must be there and be as it
/// says; what it does not name may be anything.
///
/// XML: the element's name, the attributes named, the text if there is any but white space, and for each child of the
/// pattern a child of its own, in any order. An attribute with the value `{absent}` must not be there; nor must a child
/// that has `play:absent='yes'`. With `play:exact='yes'` an element has no other children than those named.
///
/// JSON: the members named; `"{absent}"` for a member that must not be there. An array has as many elements as the
/// pattern, each matching in its place; a pattern that ends with `"..."` lets more follow.
public enum Matcher {
  /// Names in a pattern that speak about the pattern.
  public static let namespace = "urn:parley:play"

  /// The captures after a match; nil: it does not match.
  public static func match(_ pattern: Pattern, _ arrival: Arrival, _ captures: Captures) -> Captures? {
    switch (pattern, arrival) {
    case (.xml(let pattern), .xml(let element)): match(pattern, element, captures)
    case (.json(let pattern), .json(let value)): match(pattern, value, captures)
    case (.end(let wanted), .end(let code)): wanted == nil || wanted == code ? captures : nil
    case (.xml, _), (.json, _), (.end, _): nil
    }
  }

  // MARK: XML

  public static func match(_ pattern: Element, _ element: Element, _ captures: Captures) -> Captures? {
    guard pattern.local == element.local, pattern.namespace == element.namespace else { return nil }
    var captures = captures
    let attributes = element.attributes
    for wanted in pattern.attributes where wanted.namespace != namespace {
      let value = attributes.first { $0.local == wanted.local && $0.namespace == wanted.namespace }?.value
      if wanted.value == Captures.absent {
        guard value == nil else { return nil }
      } else {
        guard let value, captures.match(wanted.value, value) else { return nil }
      }
    }
    let text = trim(pattern.text)
    if !text.isEmpty, !captures.match(text, element.text), !captures.match(text, trim(element.text)) { return nil }

    let wanted = Array(pattern.children)
    let present = wanted.filter { !isSet("absent", $0) }
    let children = Array(element.children)
    if isSet("exact", pattern), children.count != present.count { return nil }
    guard let found = place(present[...], among: children, captures) else { return nil }
    for unwanted in wanted where isSet("absent", unwanted) {
      if children.contains(where: { match(unwanted, $0, found) != nil }) { return nil }
    }
    return found
  }

  /// Finds a different child for each of the wanted.
  private static func place(_ wanted: ArraySlice<Element>, among children: [Element], _ captures: Captures) -> Captures?
  {
    guard let first = wanted.first else { return captures }
    for index in children.indices {
      guard let found = match(first, children[index], captures) else { continue }
      var others = children
      others.remove(at: index)
      if let all = place(wanted.dropFirst(), among: others, found) { return all }
    }
    return nil
  }

  private static func isSet(_ name: String, _ element: Element) -> Bool {
    element.attributes.contains { $0.namespace == namespace && $0.local == name && $0.value == "yes" }
  }

  private static func trim(_ text: String) -> String {
    guard let first = text.firstIndex(where: { !$0.isWhitespace }),
      let last = text.lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(text[first...last])
  }

  // MARK: JSON

  public static func match(_ pattern: JSONPattern, _ value: JSONValue, _ captures: Captures) -> Captures? {
    var captures = captures
    switch (pattern, value) {
    case (.object(let wanted), .object):
      for member in wanted {
        let found = value[member.name]
        if member.value.string == Captures.absent {
          guard found == nil else { return nil }
        } else {
          guard let found, let matched = match(member.value, found, captures) else { return nil }
          captures = matched
        }
      }
      return captures
    case (.array(var wanted), .array(let values)):
      let isOpen = wanted.last?.string == "..."
      if isOpen { wanted.removeLast() }
      guard isOpen ? values.count >= wanted.count : values.count == wanted.count else { return nil }
      for (wanted, value) in zip(wanted, values) {
        guard let matched = match(wanted, value, captures) else { return nil }
        captures = matched
      }
      return captures
    case (.string(let text), .string(let value)):
      return captures.match(text, value) ? captures : nil
    case (.string("{any}"), _):
      return captures
    case (.string(let text), .number(let value)) where text.hasPrefix("{"):
      return captures.match(text, value) ? captures : nil
    case (.null, .null), (.bool, .bool), (.number, .number):
      return pattern == value ? captures : nil
    case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _):
      return nil
    }
  }
}
