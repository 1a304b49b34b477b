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
  /// Kept although it has no body (`<store/>`, or a child of the named list:
  /// subject, invitation, call message, correction, reaction, retraction...).
  var isKept = false
  /// Never stored (XEP-0334 `<no-store/>`), also with a body.
  var isUnstored = false
  /// Not in the archive and gone when delivered (`<no-permanent-store/>`).
  var isTransient = false
  /// No carbons (`<private/>`, `<no-copy/>`).
  var isUncopied = false
  /// XEP-0184 `<request/>`.
  var wantsReceipt = false
  /// XEP-0333 `<markable/>`.
  var isMarkable = false
  /// A chat state alone is a signal (XEP-0085): composing or not.
  var typing: Bool?
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
  /// XEP-0359.
  var originID: String?
  /// The number of children that no reader and no rule above accounts for.
  var otherChildren = 0
}

extension Draft {
  /// What an app shows: the body without its fallbacks. One that is all fallback is
  /// shown whole, so that nothing said is lost where it stands in for nothing.
  var text: String {
    guard let body, !fallbacks.isEmpty else { return body ?? "" }
    var text = ""
    for (place, character) in body.unicodeScalars.enumerated()
    where !fallbacks.contains(where: { $0.contains(place) }) { text.unicodeScalars.append(character) }
    return text.allSatisfy(\.isWhitespace) ? body : text
  }
}
