/// Privacy lists (XEP-0016), of which the default one applies to all of a user's clients. What it blocks outright is a
/// block list (XEP-0191 5); its other rules have no counterpart.
struct PrivacyLists {
  struct Rule {
    var type: String?
    var value: String?
    var isDenied: Bool
    /// Whether the rule is for some kinds of stanzas only.
    var isPartial: Bool
    var order: Int
  }

  private var rules: [Rule] = []
  private var others: [String] = []

  /// Reads `<query xmlns='jabber:iq:privacy'/>`.
  init(_ query: XMLNode) {
    let standard = query.nodes.first { $0.name == "default" }?["name"]
    for list in query.nodes where list.name == "list" {
      guard let name = list["name"] else { continue }
      guard name == standard else {
        others.append(name)
        continue
      }
      rules = list.nodes.filter { $0.name == "item" }.map { item in
        Rule(
          type: item["type"], value: item["value"], isDenied: item["action"] == "deny",
          isPartial: !item.nodes.isEmpty, order: item["order"].flatMap { Int($0) } ?? 0)
      }
    }
  }

  init(rules: [Rule]) { self.rules = rules }

  func blocks() -> (jids: [String], flaws: [String]) {
    var jids: [String] = []
    var flaws = others.map { "the list \($0) is not the default and is not taken" }
    for rule in rules.sorted(by: { $0.order < $1.order }) {
      // The last rule of a block list lets everything else pass.
      if !rule.isDenied, rule.type == nil { continue }
      if rule.isDenied, rule.type == "jid", !rule.isPartial, let value = rule.value {
        jids.append(value)
      } else {
        flaws.append(
          "the rule \(rule.order) (\(rule.isDenied ? "deny" : "allow") \(rule.type ?? "everybody") \(rule.value ?? "")) "
            + "has no counterpart")
      }
    }
    return (jids, flaws)
  }
}
