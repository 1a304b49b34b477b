import Dialogs
import XMLStream
import XMPP

/// What a message's children make of it. Starts as "pass it on"; each feature's
/// reader adds what its child means; `Inbound` finishes it.
struct Draft {
  /// The text of `<body/>` in the stanza's own language, if there is one.
  var body: String?
  /// What of the body is there only for clients that do not know the XEP it stands in
  /// for (XEP-0428), in characters of XEP-0426: code points.
  var fallbacks: [Range<Int>] = []
  /// What it is to the log when no child says otherwise.
  var kind = Content.Kind.none
  /// Kept although it has no body (a child of the named list: subject,
  /// invitation, call message, correction, reaction, retraction...).
  var isKept = false
  /// `<store/>` (XEP-0334): kept although it has no body, as what it is. A marker
  /// stays a marker; anything else is a message.
  var isStored = false
  /// Never stored (XEP-0334 `<no-store/>`), also with a body.
  var isUnstored = false
  /// Not in the archive and gone when delivered (`<no-permanent-store/>`).
  var isTransient = false
  /// What it says of a call (XEP-0353).
  var call: CallPart?
  /// No carbons (`<private/>`, `<no-copy/>`).
  var isUncopied = false
  /// XEP-0184 `<request/>`.
  var wantsReceipt = false
  /// XEP-0333 `<markable/>`.
  var isMarkable = false
  /// A chat state alone is a signal (XEP-0085): composing or not.
  var typing: Bool?
  /// An event of an app's own; in what is said it has no effect.
  var custom: CustomEvent?
  /// A receipt (XEP-0184) or displayed marker (XEP-0333) for this stanza id.
  var marker: (kind: Marker.Kind, id: String)?
  /// What it says about an earlier message (XEP-0308, 0424, 0444, 0461).
  var reference: ReferenceDraft?
  /// Whom it mentions (XEP-0372); places are those of `body`.
  var mentions: [MentionDraft] = []
  /// What an owner answers to who asks to be told of a node (XEP-0060 8.6).
  var answer: AuthorizationForm?
  /// What the sender's clients have displayed of this chat (XEP-0490 5.1).
  var displayed: Displayed?
  /// Files with what is known of them (XEP-0447).
  var files: [Attachment] = []
  /// Content of an app's own, which the body stands in for.
  var ownContent: JSONContainers.OwnContent?
  /// Where something is (XEP-0080).
  var place: Geolocation.Place?
  /// An address beside the message (XEP-0066).
  var address: String?
  /// XEP-0359.
  var originID: String?
  /// The number of children that no reader and no rule above accounts for.
  var otherChildren = 0

  struct CallPart: Equatable {
    var name: String
    var act: CallAct
    var kind: Call.Kind
    var reason: Call.Reason?
  }
}

extension Draft {
  /// It says something; what does not may still be a marker.
  var isSaid: Bool { body != nil || isKept || kind == .encrypted || (isStored && marker == nil) }
  /// Where somebody is asked before a message is committed, nothing that is said goes past them: what would only be passed on is
  /// kept until it is delivered (XEP-0334 5 lets a server know better), and headlines with a body are not passed on.
  mutating func keepForGate(_ type: MessageType, isInRoom: Bool = false) throws(StanzaError) {
    guard body != nil, type != .error else { return }
    if type == .headline { throw StanzaError(.policyViolation, "headlines with a body are not passed on here") }
    // In rooms there is nothing between passed on and kept.
    if isUnstored || isTransient && isInRoom { (isUnstored, isTransient) = (false, !isInRoom) }
  }

  /// It goes into the log; all else is passed on.
  var isPosted: Bool { (isSaid || marker != nil) && !isUnstored || call != nil }

  /// What an app shows: the body without its fallbacks. One that is all fallback is
  /// shown whole, so that nothing said is lost where it stands in for nothing.
  var text: String {
    guard let body, !fallbacks.isEmpty else { return body ?? "" }
    var text = ""
    for (place, character) in body.unicodeScalars.enumerated()
    where !fallbacks.contains(where: { $0.contains(place) }) { text.unicodeScalars.append(character) }
    if !text.allSatisfy(\.isWhitespace) { return text }
    return files.isEmpty ? body : ""
  }

  /// What is said, with the files that it brings: those that it names as files, or the one that its whole body is the
  /// address of.
  func content(_ extras: [UInt8], _ links: BlobLinks?) -> Content {
    var content = Content(kind: kind, text: text, extras: extras, attachments: files)
    if kind == .encrypted { return content }
    if files.isEmpty {
      // In bytes: every message comes by here.
      let said = Substring(content.text.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) })
      let isOurs = links?.id(in: said) != nil && FileSharing.isUsable(String(said))
      if !said.isEmpty, address.map({ $0 == said }) ?? isOurs {
        content.attachments = [Attachment(blob: nil, url: String(said))]
        content.text = ""
      } else if let address, links?.id(in: address) != nil {
        // It says more: a text that names a file.
        content.attachments = [Attachment(blob: nil, url: address)]
        content.kind = .text
      }
    }
    // Some name the file and do not say that the body is there for others.
    if files.contains(where: { $0.url == content.text }) { content.text = "" }
    for index in content.attachments.indices {
      content.attachments[index].blob = links?.id(in: content.attachments[index].url)
    }
    if content.kind == .none, content.attachments.isEmpty, !content.text.isEmpty, let ownContent {
      content.kind = .custom
      content.fields = ownContent.fields
    }
    if content.kind == .none, content.attachments.isEmpty, let place = place ?? Geolocation.Place(uri: content.text) {
      content.kind = .location
      content.fields = place.fields
      if content.text.isEmpty { content.text = place.uri }
    }
    if content.kind == .none {
      content.kind = !content.attachments.isEmpty ? .file : content.text.isEmpty ? .none : .text
    }
    return content
  }
}
