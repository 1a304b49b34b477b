import Basics

/// Reads a portable export (XEP-0227) from its beginning to its end, an element at a time.
final class PortableReader: RecordReader {
  enum NS {
    static let pie = "urn:xmpp:pie:0"
    /// Parley's own, of `PortableExport`.
    static let parley = "urn:parley:pie:0"
    static let scram = "urn:xmpp:pie:0#scram"
    static let archive = "urn:xmpp:pie:0#mam"
    static let roster = "jabber:iq:roster"
    static let privateXML = "jabber:iq:private"
    static let privacy = "jabber:iq:privacy"
    static let blocking = "urn:xmpp:blocking"
    static let vCard = "vcard-temp"
    static let client = "jabber:client"
    static let pubsub = "http://jabber.org/protocol/pubsub"
    static let pubsubOwner = "http://jabber.org/protocol/pubsub#owner"
    static let mam = "urn:xmpp:mam:2"
    static let forward = "urn:xmpp:forward:0"
    static let include = "http://www.w3.org/2001/XInclude"
    static let tigase = "tigase:xep-0227:user:0"
    static let tigasePlain = "tigase:xep-0227:sasl:0#plain"
  }

  /// The place of the reader between elements that it reads whole.
  enum Level: Equatable {
    case server
    case host
    case user
    /// A list in a user's element, whose children are read one at a time.
    case list(name: String, namespace: String, node: String?)
    /// An element that is left out.
    case skipped
    /// An include, whose file is read at the end of the element.
    case include(String)
  }

  let kinds: RecordKinds
  private var files: [PortableFile]
  /// The sizes of the files that were read to their end.
  private var bytesDone: Int64 = 0
  private var levels: [Level] = []
  private var builder: (builder: XMLBuilder, line: Int)?
  private var host = ""
  private var user: PortableUser?
  private var found: [Reading] = []
  private var foundTaken = 0

  init(_ path: String, _ kinds: RecordKinds) throws(SourceFailure) {
    self.kinds = kinds
    files = [try PortableFile(path)]
  }

  var fraction: Double {
    guard let main = files.first, main.size > 0 else { return 0 }
    return Double(main.bytesRead) / Double(main.size)
  }

  func next() throws(SourceFailure) -> Reading? {
    while true {
      if foundTaken < found.count {
        defer { foundTaken += 1 }
        return found[foundTaken]
      }
      found.removeAll(keepingCapacity: true)
      foundTaken = 0
      guard let file = files.last else { return nil }
      guard let event = try file.next() else {
        files.removeLast()
        continue
      }
      try take(event, file)
    }
  }

  private func take(_ event: XMLEvents.Event, _ file: PortableFile) throws(SourceFailure) {
    if builder != nil {
      let line = builder?.line ?? 0
      guard let node = builder?.builder.take(event) else { return }
      let excess = builder?.builder.excess
      builder = nil
      if let excess {
        flaw(place(line, "<\(node.name)/>"), excess)
      } else {
        took(node, line)
      }
      return
    }
    switch event {
    case .start(let name, let namespace, let attributes, let line):
      try open(XMLNode(name, namespace, attributes), line, file)
    case .end: close()
    case .text: break
    }
  }

  // MARK: Levels

  private func open(_ node: XMLNode, _ line: Int, _ file: PortableFile) throws(SourceFailure) {
    switch levels.last {
    case nil where node.is("server-data", NS.pie): levels.append(.server)
    case nil:
      throw SourceFailure(Place(file: file.name, line: line), "it is no <server-data/> of \(NS.pie)")
    case .skipped, .include: levels.append(.skipped)
    case .server where node.is("host", NS.pie):
      host = node["jid"] ?? ""
      if host.isEmpty { flaw(place(line), "a <host/> without 'jid'") }
      levels.append(host.isEmpty ? .skipped : .host)
    case .host where node.is("user", NS.pie):
      guard let name = node["name"], !name.isEmpty else {
        flaw(place(line), "a <user/> without 'name'")
        return levels.append(.skipped)
      }
      user = PortableUser(
        jid: "\(name)@\(host)", password: node["password"], status: node["status", NS.tigase],
        place: place(line, "\(name)@\(host)"))
      levels.append(.user)
    case .server, .host, .user:
      if node.is("include", NS.include) { return levels.append(include(node, line, file)) }
      guard levels.last == .user else {
        if node.namespace == NS.pie { flaw(place(line, "<\(node.name)/>"), "it is not expected here") }
        return levels.append(.skipped)
      }
      openOfUser(node, line)
    case .list: builder = (XMLBuilder(node), line)
    }
  }

  private func openOfUser(_ node: XMLNode, _ line: Int) {
    switch (node.name, node.namespace) {
    case ("query", NS.roster), ("query", NS.privateXML), ("pubsub", NS.pubsub), ("pubsub", NS.pubsubOwner),
      ("archive", NS.archive), ("offline-messages", NS.pie):
      levels.append(.list(name: node.name, namespace: node.namespace, node: nil))
    default: builder = (XMLBuilder(node), line)
    }
  }

  private func close() {
    switch levels.popLast() {
    case .user:
      found += user?.end(kinds) ?? []
      user = nil
    case .include(let path):
      do throws(SourceFailure) { files.append(try PortableFile(path)) } catch {
        flaw(error.place, error.text)
      }
    case .server, .host, .list, .skipped, nil: break
    }
  }

  private func include(_ node: XMLNode, _ line: Int, _ file: PortableFile) -> Level {
    guard let href = node["href"], node["parse"] ?? "xml" == "xml", node["xpointer"] == nil,
      let path = PercentEncoding.decode(href), !path.hasPrefix("/"), !path.contains(":"),
      !path.split(separator: "/").contains("..")
    else {
      flaw(place(line, "<include/>"), "only relative paths below the file's folder are included")
      return .skipped
    }
    guard files.count < ImportLimits.includeDepthMax else {
      flaw(place(line, href), "files include each other too deeply")
      return .skipped
    }
    let (near, far) = ("\(file.folder)/\(path)", "\(files.first?.folder ?? file.folder)/\(path)")
    // COMPAT(Tigase 8.4): its paths are relative to the folder of the first file, also in the files that are included.
    return .include(!Files.exists(near) && Files.exists(far) ? far : near)
  }

  // MARK: Elements

  private func took(_ node: XMLNode, _ line: Int) {
    let list: (name: String, namespace: String)? =
      if case .list(let name, let namespace, _) = levels.last { (name, namespace) } else { nil }
    guard let user else { return }
    let place = place(line, user.jid)
    found += user.take(node, in: list?.namespace, at: place, kinds)
  }

  private func place(_ line: Int, _ key: String? = nil) -> Place {
    Place(file: files.last?.name ?? "", line: line, key: key)
  }

  /// Notes a flaw, in one pass only.
  private func flaw(_ place: Place, _ text: String) {
    if kinds.contains(.accounts) { found.append(.flaw(place, text)) }
  }
}
