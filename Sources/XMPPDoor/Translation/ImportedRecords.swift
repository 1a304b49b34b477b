public import Addresses
public import Basics
public import Dialogs
import NIOCore
import XMLStream
import XMPP

/// The intents that bring into the core what another server has kept as XML: the counterpart of a client's requests, with
/// the same rules (docs/decisions/0036).
public struct ImportedRecords: Sendable {
  private let table = Features.table()

  public init() {}

  /// Returns the intent for a vCard (XEP-0054).
  public func vCard(_ xml: String) throws(Problem) -> Intent {
    let element = try Self.element(xml)
    guard element.is(VCard.vCard) else { throw Self.refusal("it is no vCard", field: "vCard") }
    var draft = try Self.refused("vCard") { () throws(StanzaError) in try VCard.read(element) }
    // A picture that the vCard does not have may stand in a node (XEP-0084).
    if draft.avatar == .some(nil) { draft.avatar = nil }
    return .profile(draft)
  }

  /// Returns the intent for one element of private XML (XEP-0049).
  public func privateXML(_ xml: String) throws(Problem) -> Intent {
    let element = try Self.element(xml)
    return try Self.refused("privateXML") { () throws(StanzaError) in
      if element.is(BookmarkElement.storage) { return .node(.bookmarks(try BookmarkElement.list(element))) }
      return .setPrivateXML([
        PrivateXMLDraft(
          name: try PrivateStorage.name(of: element), bytes: element.serialised(defaultNamespace: ""))
      ])
    }
  }

  /// Returns the options of a node's configuration form (XEP-0060 16.4.4); none for `nil`. Unknown fields, and those that
  /// have one possible value here, are ignored (XEP-0227 4.10.1), but not who may read and publish.
  public func options(_ form: String?) throws(Problem) -> [NodeOption] {
    guard let form else { return [] }
    let element = try Self.element(form)
    return try Self.refused("form") { () throws(StanzaError) in
      try NodeForm.known(try DataForm(element))
    }
  }

  /// Returns the affiliation of this name (XEP-0060 4.1); `nil` if there is none.
  public func affiliation(_ name: String) -> NodeAffiliation? {
    NodeAffiliation.allCases.first { "\(PEP.text($0))" == name }
  }

  /// Returns the publication of an item, for a node that has been configured.
  public func item(
    id: String?, payload: String?, node: String, form: String?
  ) throws(Problem) -> NodePublication {
    // Whoever could not read it elsewhere must not read it here, even if the node could not be configured.
    let conditions = try options(form).filter {
      if case .access = $0 { return true }
      if case .groups = $0 { return true }
      return false
    }
    if node == Displayed.node {
      throw Self.refusal("it names ids of the former server's archive", field: "node")
    }
    let element: Element? = if let payload { try Self.element(payload) } else { nil }
    var item = try Self.refused("item") { () throws(StanzaError) in
      try PEP.item(PublishRequest.Item(id: id, payload: element), in: node)
    }
    if id == nil, case .opaque(let bytes) = item.content {
      // It has the same id each time, so that a repeat finds it.
      var digest = Digest64()
      bytes.withUnsafeBytes { digest.combine($0) }
      item.id = String(digest.finish(), radix: 16)
    }
    return NodePublication(node: node, item: item, conditions: conditions)
  }

  /// Returns the children of a subscription request (RFC 6121 3.1.3).
  public func children(_ xml: String) throws(Problem) -> [UInt8] {
    let element = try Self.element("<presence xmlns='jabber:client'>\(xml)</presence>")
    var writer = ElementWriter()
    writer.children(of: element)
    return Array(writer.buffer.readableBytesView)
  }

  /// Returns a message of the past.
  ///
  /// - Parameters:
  ///   - owner: the local user, who is its author or its addressee.
  ///   - peer: the other user.
  public func message(
    _ xml: String, of owner: BareJID, with peer: BareJID, isInbound: Bool, at time: Timestamp,
    isInArchive: (author: Bool, addressee: Bool), isOffline: Bool
  ) throws(Problem) -> ImportedMessage {
    guard let stanza = Stanza(try Self.element(xml)), stanza.kind == .message else {
      throw Self.refusal("it is no message", field: "message")
    }
    let (author, addressee) = isInbound ? (peer, owner) : (owner, peer)
    let (draft, from, to) = try Self.refused("message") { () throws(StanzaError) in
      (try Inbound.draft(of: stanza, table), try stanza.from(), try stanza.to())
    }
    guard draft.isPosted || draft.isStored || draft.marker != nil else {
      throw Self.refusal("it has nothing that is kept", field: "message")
    }
    var writer = ElementWriter()
    writer.children(of: stanza.element) {
      // The times of offline storage are those of the former server.
      StanzaIDs.isStripped($0, domain: author.domain) || $0.is(.stanzaID) || isOffline && $0.is(.delay)
    }
    let extras = Array(writer.buffer.readableBytesView)
    let intent = Inbound.post(
      stanza, draft, from: from?.resource,
      to: to?.resource.flatMap { try? JID(local: addressee.local, domain: addressee.domain, resource: $0) }
        ?? JID(addressee), extras: extras, links: nil)
    var message: MessageDraft
    switch intent {
    case .message(let draft): message = draft
    // A past marker or ringing has no effect any more; the stanza stays in the archive.
    case .marker(let marker):
      guard let stanza = marker.stanza else { throw Self.refusal("it has nothing that is kept", field: "message") }
      message = MessageDraft(
        to: addressee, content: stanza.content, envelope: stanza.envelope, traits: stanza.traits, key: nil)
    case .call(.said(let call)):
      message = call.message
      message.traits.remove(.rings)
    case .contact, .removeContact, .subscription, .befriend, .link, .contactGroup, .redeem, .block, .report, .unblock,
      .profile, .remoteProfile, .openDialog, .settings, .perUser, .draft, .scheduledMessage, .call, .room, .node,
      .visit, .archivePreferences, .setPrivateXML, .blob, .push, .goOnline, .handOver, .outbox, .signal, .confirm,
      .leave, .endTyping, .imported, .refused, .erase, .work:
      throw Self.refusal("it has nothing that is kept", field: "message")
    }
    message.traits.insert(.archived)
    message.traits.remove(.transient)
    Self.findFiles(of: &message.content)
    return ImportedMessage(
      time: time, peer: peer, isInbound: isInbound, draft: message, isInArchive: isInArchive, isOffline: isOffline)
  }

  // MARK: Rooms

  /// Returns a room with the configuration that another server has kept.
  ///
  /// - Parameter fields: those of the form (XEP-0045 10.1.3) without `muc#roomconfig_`.
  public func room(
    at address: BareJID, fields: [String: String], owners: [BareJID], topic: String, topicNick: String?,
    time: Timestamp?
  ) throws(Problem) -> ImportedRoom {
    var fields = fields
    // More than fit here is no limit.
    if let most = fields["maxusers"].flatMap({ Int($0) }), most > Limits.occupantsMax { fields["maxusers"] = "none" }
    let form = DataForm(
      .submit, formType: "\(NS.mucRoomConfig)",
      fields: fields.sorted { $0.key < $1.key }.map { key, value in
        DataForm.Field("muc#roomconfig_\(key)", .textSingle, value)
      })
    let settings = try Self.refused("configuration") { () throws(StanzaError) in
      try ConfigurationForm.read(form, of: .instant, owners: [], admins: [])
    }
    return ImportedRoom(
      address: address, settings: settings, owners: owners, topic: topic, topicNick: topicNick, time: time)
  }

  /// Returns a message of the past in a room.
  public func roomMessage(
    _ xml: String, in room: BareJID, nick: String, author: BareJID?, at time: Timestamp
  ) throws(Problem) -> ImportedRoomMessage {
    guard let stanza = Stanza(try Self.element(xml)), stanza.kind == .message else {
      throw Self.refusal("it is no message", field: "message")
    }
    let draft = try Self.refused("message") { () throws(StanzaError) in try Inbound.draft(of: stanza, table) }
    var writer = ElementWriter()
    writer.children(of: stanza.element) { StanzaIDs.isStripped($0, domain: room.domain) || $0.is(.stanzaID) }
    let extras = Array(writer.buffer.readableBytesView)
    let topic = RoomInbound.topic(of: stanza, draft)
    guard draft.isSaid || draft.isStored || draft.marker != nil || topic != nil else {
      throw Self.refusal("it has nothing that is kept", field: "message")
    }
    var content = topic == nil ? draft.content(extras, nil) : Content(kind: .none, extras: extras)
    Self.findFiles(of: &content)
    var traits: Message.Traits = [.archived]
    if draft.isMarkable { traits.insert(.markable) }
    return ImportedRoomMessage(
      room: room, time: time, nick: nick, author: author, topic: topic,
      draft: RoomMessageDraft(
        content: content,
        envelope: Envelope(type: .groupchat, id: stanza.id, language: stanza.language), traits: traits, key: nil,
        reference: draft.reference))
  }

  /// Returns the affiliation of this name (XEP-0045 5.2); `nil` for none.
  public func roomAffiliation(_ name: String) -> Affiliation? {
    ["owner": .owner, "admin": .admin, "member": .member, "outcast": .outcast][name]
  }

  // MARK: Own exports

  /// Returns whether an export has this vCard of a user, as they are now. It is written from the profile, and need not be stored
  /// anywhere as it is written.
  public func isExported(_ draft: ProfileDraft, of user: User, _ reader: any StoreReader) throws -> Bool {
    let stored = try VCard.stored(of: user, reader)
    guard stored.exists else { return false }
    let xml = Self.written { writer in VCard.write(stored, into: &writer) }
    guard case .profile(let here)? = try? vCard(xml) else { return false }
    return draft.displayName == here.displayName && draft.fullName == here.fullName && draft.avatar == here.avatar
      && draft.vCard == here.vCard
  }

  /// Returns whether an export has this content of an item, as the item is now. What the server has made of the profile
  /// itself is stored in another form than the XML that a client, or an export, brings.
  public func isExported(
    _ content: NodeContent, of item: NodeItem, in node: String, of owner: Party, _ reader: any StoreReader
  ) throws -> Bool {
    guard let whole = try VCard4.completed([item], of: owner.id, for: owner, reader).first else { return false }
    let xml = Self.written { writer in NodeWriter.write(whole.content, into: &writer) }
    guard let here = try? self.item(id: item.id, payload: xml.isEmpty ? nil : xml, node: node, form: nil) else {
      return false
    }
    return here.item?.content == content
  }

  private static func written(_ body: (inout ElementWriter) -> Void) -> String {
    var writer = ElementWriter(defaultNamespace: "")
    body(&writer)
    return String(decoding: writer.buffer.readableBytesView, as: UTF8.self)
  }

  // MARK: Pieces

  /// Names the files of this server that may have come with the message: those that did not are ordinary links to the core.
  private static func findFiles(of content: inout Content) {
    for index in content.attachments.indices {
      content.attachments[index].blob = BlobID(formerURL: content.attachments[index].url)
    }
  }

  private static func element(_ xml: String) throws(Problem) -> Element {
    do throws(XMLViolation) {
      var limits = ReaderLimits.authenticated
      limits.stanzaBytes = DoorLimits.importedElementBytesMax
      limits.records = .max
      return try Element(parsing: Array(xml.utf8), defaultNamespace: "", limits: limits)
    } catch {
      throw refusal("its XML is not allowed here (\(error))", field: "xml")
    }
  }

  private static func refused<Value>(
    _ field: String, _ body: () throws(StanzaError) -> Value
  ) throws(Problem) -> Value {
    do throws(StanzaError) { return try body() } catch {
      throw refusal(error.text ?? "\(error.condition)", field: field)
    }
  }

  private static func refusal(_ text: String, field: String) -> Problem {
    Problem(.malformed, "record-invalid", text, field: field)
  }
}
