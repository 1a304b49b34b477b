import Addresses
import Basics
import Dialogs
import XMLStream
import XMPP

/// XEP-0363: slots for file uploads. The service has a domain of its own among the server's items, where all clients
/// look; files go over the HTTP port (`FileDoor`). Without HTTPS in `http.url` there is no service (5).
struct Uploads: Feature {
  static let xep = XEP(
    363, "1.2.0", "HTTP File Upload",
    note: """
      With the purposes message, profile and ephemeral. The permission to upload is in the address, so that a slot has \
      no header fields. Files of all types are accepted. A file name keeps the characters that an address may contain.
      """)

  private static let request = Name("request", NS.upload)
  private static let fileTooLarge = Name("file-too-large", NS.upload)
  private static let retry = Name("retry", NS.upload)

  func register(in table: inout FeatureTable) {
    table.identify(.init(category: "store", type: "file", name: "HTTP File Upload"), on: .uploads)
    table.advertise("\(NS.discoInfo)", "\(NS.upload)", on: [.uploads])
    // 6: each purpose.
    for purpose in Self.purposes { table.advertise("\(NS.uploadPurpose)#\(purpose.name.local)", on: [.uploads]) }
    table.iq(.get, .discoInfo, to: [.uploads]) { (turn, query) throws(StanzaError) in
      guard let blobs = turn.parley.blobs, query["node"] == nil else { throw StanzaError(.itemNotFound) }
      let door = turn.session.door
      let info = door.infoAnswers.answer(of: .uploads, version: Int(blobs.policy.bytesMax)) {
        var capabilities = door.table.capabilities(of: .uploads)
        // 4: the form's field.
        capabilities.forms = [
          DataForm(
            .result, formType: "\(NS.upload)", fields: [.init("max-file-size", nil, "\(blobs.policy.bytesMax)")])
        ]
        return capabilities
      }
      turn.reply { $0.raw(info.whole) }
    }
    table.iq(.get, .discoItems, to: [.uploads]) { turn, _ in turn.reply { $0.element(.discoItems) } }
    table.iq(.get, Self.request, to: [.uploads], Self.slot)
  }

  private static let purposes: [(name: Name, purpose: Blob.Purpose)] = [
    (Name("message", NS.uploadPurpose), .message), (Name("profile", NS.uploadPurpose), .profile),
    (Name("ephemeral", NS.uploadPurpose), .ephemeral),
  ]

  // MARK: Slots (5)

  private static func slot(_ turn: Turn, _ request: Element) throws(StanzaError) {
    let name = try request.requiredNonEmpty("filename")
    guard let size = Int64(try request.required("size")), size > 0 else {
      throw StanzaError(.badRequest, "'size' is the file's bytes (XEP-0363 5)")
    }
    if let type = request["content-type"], MediaType.essence(type) == nil {
      throw StanzaError(.badRequest, "'content-type' is no media type")
    }
    var draft = BlobDraft(name: name, mediaType: request["content-type"], size: size)
    for child in request.children where child.namespace == "\(NS.uploadPurpose)" {
      guard let found = purposes.first(where: { child.is($0.name) }) else {
        throw StanzaError(.featureNotImplemented, "files of this purpose are not taken (XEP-0363 6)")
      }
      draft.purpose = found.purpose
      guard found.purpose == .ephemeral else { continue }
      guard let before = try child.timestamp("expire-before") else {
        throw StanzaError(.badRequest, "an ephemeral file names its end (XEP-0363 6.3)")
      }
      draft.expiresBefore = before
    }
    turn.post(.blob(.request(draft))) { result in
      switch result {
      case .success(let receipt):
        guard let blob = receipt.value as? Blob, let blobs = turn.parley.blobs else {
          return turn.fail(StanzaError(.internalServerError))
        }
        turn.reply { write(blob, blobs, into: &$0) }
      case .failure(let problem): turn.fail(error(problem, size: turn.parley.blobs?.policy.bytesMax ?? 0, turn))
      }
    }
  }

  private static func write(_ blob: Blob, _ blobs: Blobs, into writer: inout ElementWriter) {
    writer.element(Name("slot", NS.upload)) { writer in
      writer.element("put") { $0.attribute("url", blobs.uploadURL(of: blob)) }
      writer.element("get") { $0.attribute("url", blobs.policy.links.url(of: blob)) }
    }
  }

  // MARK: Refusals (7)

  private static func error(_ problem: Problem, size: Int64, _ turn: Turn) -> StanzaError {
    switch problem.code {
    case "blob-too-large":
      return StanzaError(
        .notAcceptable, problem.text, type: .modify,
        application: Element(fileTooLarge, [:], [Element(Name("max-file-size", NS.upload), text: "\(size)")]))
    case "blob-day-quota", "blob-quota", "slots-too-many", "disk-full":
      let stamp = problem.retryAfter.map {
        (turn.parley.clock.now + .seconds($0)).description
      }
      return StanzaError(
        .resourceConstraint, problem.text, type: .wait,
        application: stamp.map { Element(retry, ["stamp": $0]) })
    default: return StanzaError(problem)
    }
  }
}
