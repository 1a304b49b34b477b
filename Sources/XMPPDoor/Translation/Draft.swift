import Dialogs
import XMLStream
import XMPP

/// The meaning of a message's children. It starts as "pass it on"; each feature's reader adds what its child means;
/// `Inbound` finishes it.
struct Draft {
  /// The text of `<body/>` in the stanza's own language, if there is one.
  var body: String?
  /// The parts of the body that only clients without the XEP in question should show (XEP-0428), in characters of
  /// XEP-0426: code points.
  var fallbacks: [Range<Int>] = []
  /// The message's kind in the log when no child says otherwise.
  var kind = Content.Kind.none
  /// Whether it is kept although it has no body (a child of the named list: subject, invitation, call message,
  /// correction, reaction, retraction...).
  var isKept = false
  /// Whether it is of no use later, as a call's messages are: it is kept, and a client that was away is not sent it.
  var isMomentary = false
  /// `<store/>` (XEP-0334): it is kept although it has no body. A marker stays a marker; anything else is a message.
  var isStored = false
  /// Whether it is never stored (XEP-0334 `<no-store/>`), even with a body.
  var isUnstored = false
  /// Whether it is kept out of the archive and dropped when delivered (`<no-permanent-store/>`).
  var isTransient = false
  /// Its part in a call (XEP-0353).
  var call: CallPart?
  /// Whether it gets no carbons (`<private/>`, `<no-copy/>`).
  var isUncopied = false
  /// XEP-0184 `<request/>`.
  var wantsReceipt = false
  /// XEP-0333 `<markable/>`.
  var isMarkable = false
  /// Whether the sender is composing; a chat state alone is a signal (XEP-0085).
  var typing: Bool?
  /// An app's custom event; it has no effect in a message that is kept.
  var custom: CustomEvent?
  /// A receipt (XEP-0184) or displayed marker (XEP-0333) for this stanza id.
  var marker: (kind: Marker.Kind, id: String)?
  /// Its relation to an earlier message (XEP-0308, 0424, 0444, 0461).
  var reference: ReferenceDraft?
  /// The mentioned users (XEP-0372); places are those of `body`.
  var mentions: [MentionDraft] = []
  /// An owner's answer to a subscription request for a node (XEP-0060 8.6).
  var answer: AuthorizationForm?
  /// The position up to which the sender's clients have displayed this chat (XEP-0490 5.1).
  var displayed: Displayed?
  /// The files with their metadata (XEP-0447).
  var files: [Attachment] = []
  /// An app's custom content, for which the body is the fallback.
  var ownContent: JSONContainers.OwnContent?
  /// A location (XEP-0080).
  var place: Geolocation.Place?
  /// A URL beside the message (XEP-0066).
  var address: String?
  /// XEP-0359.
  var originID: String?
  /// Whether it has an invitation to a room, or its refusal, as rooms send them (XEP-0045 7.8.2).
  var isInvitation = false
  /// Its meaning in a room elsewhere, if it has one.
  var roomElsewhere: RoomElsewhere?

  struct CallPart: Equatable {
    var name: String
    var act: CallAct
    var kind: Call.Kind
    var reason: Call.Reason?
  }
}

extension Draft {
  /// Whether it is a message with content; without any it may still be a marker.
  var isSaid: Bool { body != nil || isKept || kind == .encrypted || (isStored && marker == nil) }
  /// Whether it goes into the log; all else is passed on.
  var isPosted: Bool { (isSaid || marker != nil) && !isUnstored || call != nil }

  /// The fallbacks in the order of their places. Those that overlap or touch are one.
  var mergedFallbacks: [Range<Int>] {
    fallbacks.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { merged, range in
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
  }

  /// The text that an app shows: the body without its fallbacks. A body that is all fallback is shown whole, so that
  /// nothing is lost where it replaces nothing.
  var text: String {
    guard let body, !fallbacks.isEmpty else { return body ?? "" }
    let characters = body.unicodeScalars
    var text = ""
    // The place up to which the body has been looked at: once, however many fallbacks there are.
    var (place, index) = (0, characters.startIndex)
    for range in mergedFallbacks {
      guard
        let start = characters.index(index, offsetBy: range.lowerBound - place, limitedBy: characters.endIndex)
      else { break }
      text.append(contentsOf: body[index..<start])
      index = characters.index(start, offsetBy: range.count, limitedBy: characters.endIndex) ?? characters.endIndex
      place = range.upperBound
    }
    text.append(contentsOf: body[index...])
    if !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) { return text }
    return files.isEmpty ? body : ""
  }

  /// Returns the content with its files: those that are named as files, or the one whose URL is the whole body.
  func content(_ extras: [UInt8], _ links: BlobLinks?) -> Content {
    var content = Content(kind: kind, text: text, extras: extras, attachments: files)
    if kind == .encrypted { return content }
    if files.isEmpty {
      // Compares bytes, since every message passes here.
      let said = Substring(content.text.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) })
      let isOurs = links?.id(in: said) != nil && FileSharing.isUsable(String(said))
      if !said.isEmpty, address.map({ $0 == said }) ?? isOurs {
        content.attachments = [Attachment(blob: nil, url: String(said))]
        content.text = ""
      } else if let address, links?.id(in: address) != nil {
        // The body says more: a text that names a file.
        content.attachments = [Attachment(blob: nil, url: address)]
        content.kind = .text
      }
    }
    // Some clients name the file and do not mark the body as a fallback.
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
