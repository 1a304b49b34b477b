import Addresses
import Dialogs
import XMLStream
import XMPP

/// XEP-0191: reads and writes the block list. The core, and checks before it, apply it to stanzas and presence.
struct Blocking: Feature {
  static let xep = XEP(191, "1.3", "Blocking Command")

  private static let blocklist = Name("blocklist", NS.blocking)
  private static let block = Name("block", NS.blocking)
  private static let unblock = Name("unblock", NS.blocking)
  private static let item = Name("item", NS.blocking)

  func register(in table: inout FeatureTable) {
    table.advertise("\(NS.blocking)")
    table.iq(.get, Self.blocklist, to: [.account]) { turn, _ in
      turn.afterPosts { () throws(StanzaError) in
        // Pushes first, then the list, so that no change is missed between them (3.2).
        turn.parley.hub.update(turn.session.handle) { $0.wantsBlocks = true }
        guard let contactSnapshot = turn.session.contactSnapshot else { throw StanzaError(.internalServerError) }
        let blocks = contactSnapshot.blocks
        turn.session.charge(items: blocks.count)
        turn.reply { Self.write(Self.blocklist, blocks, into: &$0) }
      }
    }
    table.iq(.set, Self.block, to: [.account]) { (turn, payload) throws(StanzaError) in
      let patterns = try Self.patterns(payload)
      // 3.3.
      if patterns.isEmpty { throw StanzaError(.badRequest, "name at least one address to block") }
      turn.post(.block(patterns, reports: try Self.reports(payload, patterns))) { result in
        switch result {
        case .success(let receipt):
          Reporting.log(receipt.value as? [Report] ?? [], by: turn.party.address, turn.session.door.logger)
          turn.reply()
        case .failure(let problem): turn.fail(problem)
        }
      }
    }
    // No item unblocks all addresses (3.5).
    table.iq(.set, Self.unblock, to: [.account]) { (turn, payload) throws(StanzaError) in
      turn.postAndReply(.unblock(try Self.patterns(payload)))
    }
  }

  static func patterns(_ payload: Element) throws(StanzaError) -> [BlockPattern] {
    var patterns: [BlockPattern] = []
    for child in payload.children where child.is(item) {
      patterns.append(BlockPattern(try child.requiredJID("jid")))
      if patterns.count > Limits.blocksMax {
        throw StanzaError(.policyViolation, "a block list has at most \(Limits.blocksMax) items")
      }
    }
    return patterns
  }

  /// - Parameter patterns: the addresses of the items, in their order.
  private static func reports(_ payload: Element, _ patterns: [BlockPattern]) throws(StanzaError) -> [ReportDraft] {
    var reports: [ReportDraft] = []
    for (child, pattern) in zip(payload.children.filter({ $0.is(item) }), patterns) {
      if let report = try Reporting.draft(in: child, of: pattern) { reports.append(report) }
    }
    return reports
  }

  // MARK: Push

  /// Pushes a change to the session, if it has requested the list (3.3, 3.4).
  static func push(_ change: BlockChange, to session: XMPPSession) {
    guard session.onlineSession?.wantsBlocks == true else { return }
    // Several were removed and none is left: that is "unblock all" (3.5).
    let isAll = change.act == .unblock && change.patterns.count > 1 && session.contactSnapshot?.blocks.isEmpty == true
    session.send {
      writePush(change, isAll: isAll, id: DoorContext.randomID(), to: session.jid.description, into: &$0)
    }
  }

  static func writePush(
    _ change: BlockChange, isAll: Bool, id: String, to: String, into writer: inout ElementWriter
  ) {
    writer.element(.iq) { writer in
      writer.attribute("type", IQType.set.text)
      writer.attribute("id", id)
      writer.attribute("to", to)
      switch change.act {
      case .block: write(block, change.patterns, into: &writer)
      case .unblock: write(unblock, isAll ? [] : change.patterns, into: &writer)
      }
    }
  }

  static func write(_ name: Name, _ patterns: [BlockPattern], into writer: inout ElementWriter) {
    writer.element(name) { writer in
      for pattern in patterns { writer.element(item) { $0.attribute("jid", pattern.jid.description) } }
    }
  }
}
