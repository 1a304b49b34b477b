import Accounts
import Dialogs
import HTTPPort
import JSON

/// The complete list of operations. A line here makes an operation reachable; `docs/openapi.yaml` must contain it,
/// which a test checks.
enum Operations {
  static let all: [OperationEntry] = [
    .init(GetHealth.self), .init(GetReadiness.self),
    .init(GetInfo.self),
    .init(Register.self),
    .init(CreateInvitation.self),
    .init(GetInvitation.self),
    .init(LogIn.self),
    .init(ListSessions.self),
    .init(LogOut.self),
    .init(CreateAppPassword.self),
    .init(ListAppPasswords.self),
    .init(DeleteAppPassword.self),
    .init(GetMe.self),
    .init(UpdateMe.self),
    .init(uploading: PutMyAvatar.self),
    .init(downloading: GetMyAvatar.self),
    .init(DeleteMyAvatar.self),
    .init(ListUsers.self),
    .init(GetUser.self),
    .init(downloading: GetUserAvatar.self),
    .init(GetPresence.self),
    .init(ListContacts.self),
    .init(PutContact.self),
    .init(RemoveContact.self),
    .init(ListBlocks.self),
    .init(PutBlock.self),
    .init(RemoveBlock.self),
    .init(OpenDialog.self),
    .init(ListDialogs.self),
    .init(GetDialog.self),
    .init(UpdateDialog.self),
    .init(UpdateSettings.self),
    .init(DeleteDialog.self),
    .init(uploading: PutDialogAvatar.self),
    .init(downloading: GetDialogAvatar.self),
    .init(DeleteDialogAvatar.self),
    .init(ListMembers.self),
    .init(PutMember.self),
    .init(RemoveMember.self),
    .init(SendMessage.self),
    .init(ListMessages.self),
    .init(GetMessage.self),
    .init(EditMessage.self),
    .init(DeleteMessage.self),
    .init(SetReactions.self),
    .init(SetMarker.self),
    .init(SetTyping.self),
    .init(CreateAttachment.self),
    .init(GetAttachment.self),
    .init(GetStorage.self),
    .init(Sync.self),
    .init(streaming: StreamEvents.self),
    .init(SendCustomEvent.self),
    .init(SearchMessages.self),
    .init(GetDraft.self),
    .init(PutDraft.self),
    .init(DeleteDraft.self),
    .init(ScheduleMessage.self),
    .init(ListScheduledMessages.self),
    .init(UpdateScheduledMessage.self),
    .init(CancelScheduledMessage.self),
    .init(ListIceServers.self),
    .init(StartCall.self),
    .init(ListCalls.self),
    .init(GetCall.self),
    .init(EndCall.self),
    .init(SignalCall.self),
    .init(ClearDialog.self),
    .init(PinMessage.self),
    .init(UnpinMessage.self),
    .init(ListPins.self),
    .init(StarMessage.self),
    .init(UnstarMessage.self),
    .init(ListStars.self),
    .init(FlagMessage.self),
    .init(ListEdits.self),
    .init(ListReceipts.self),
    .init(SendCode.self),
    .init(SendPasswordReset.self),
    .init(ResetPassword.self),
    .init(ChangePassword.self),
    .init(SendMyCode.self),
    .init(SetMyEmail.self),
    .init(RemoveMyEmail.self),
    .init(SetMyPhone.self),
    .init(RemoveMyPhone.self),
    .init(EnrolSecondFactor.self),
    .init(ConfirmSecondFactor.self),
    .init(RemoveSecondFactor.self),
    .init(LogOutOthers.self),
    .init(CreateNonce.self),
    .init(ListIdentities.self),
    .init(CreateIdentity.self),
    .init(DeleteIdentity.self),
    .init(PutDevice.self),
    .init(ListDevices.self),
    .init(DeleteDevice.self),
    .init(DeleteMe.self),
    .init(AcceptTerms.self),
    .init(ShareLocation.self),
    .init(StopSharingLocation.self),
    .init(GetContactMatchSalt.self),
    .init(MatchContacts.self),
    .init(CreateExport.self),
    .init(ListExports.self),
    .init(GetExport.self),
  ]
}

/// An operation without its types: bytes in, an answer out.
struct OperationEntry: Sendable {
  let name: String
  let method: Method
  let path: String
  let pathParameters: [String]
  let successes: [Int]
  let needsCaller: Bool
  let rate: OperationRate
  /// The most bytes of a request's body.
  let bytesMax: Int
  /// Whether the body is bytes instead of JSON.
  let takesBytes: Bool
  /// Whether it answers as long as the client listens.
  let streams: Bool
  let perform: @Sendable (OperationInput, RequestContext) async throws -> Answer

  enum Answer: Sendable {
    case done
    case json(status: Int, [UInt8], tag: String? = nil)
    /// The client has the output with this tag.
    case held(tag: String)
    case bytes(Download)
    case stream(StreamChannel.Body)
  }

  init<Op: ServedOperation>(_ operation: Op.Type) {
    self.init(operation) { input, _, call in
      // It is read first: of an output that changes meanwhile the client gets an older tag, and the whole at its next request.
      let tag = try await Op.version(call).map { version -> String in
        // Another release of the server may write the same output with other members. Two users may have the same version, as those
        // of one contact group do, and a browser keeps what both get under one address.
        let user = call.caller?.user.id.number ?? 0
        return Array("\(call.door.settings.version) \(user) \(version)".utf8).withUnsafeBytes { Self.tag($0) }
      }
      if let tag, call.isHeld(tag) { return .held(tag: tag) }
      let outcome = try await Op.perform(input, call)
      let answer = Self.answer(outcome)
      guard Op.isConditional, case .json(let status, let bytes, _) = answer else { return answer }
      return .json(status: status, bytes, tag: tag ?? Self.tag(Op.tagged(outcome.output)))
    }
  }

  init<Op: UploadOperation>(uploading operation: Op.Type) {
    self.init(operation, takesBytes: true, bytesMax: Op.bytesMax) {
      Self.answer(try await Op.perform($0, $1, $2))
    }
  }

  init<Op: DownloadOperation>(downloading operation: Op.Type) {
    self.init(operation) { .bytes(try await Op.perform($0, $2)) }
  }

  init<Op: StreamOperation>(streaming operation: Op.Type) {
    self.init(operation, streams: true) { .stream(try await Op.perform($0, $2)) }
  }

  private init<Op: Operation>(
    _ operation: Op.Type, takesBytes: Bool = false, streams: Bool = false, bytesMax: Int? = nil,
    _ perform: @escaping @Sendable (Op.Input, [UInt8], RequestContext) async throws -> Answer
  ) {
    name = Op.name
    method = Op.method
    path = Op.path
    pathParameters = Op.pathParameters
    successes = Op.successes
    needsCaller = Op.needsCaller
    rate = Op.rate
    self.takesBytes = takesBytes
    self.streams = streams
    self.bytesMax = bytesMax ?? (Op.needsCaller ? AppLimits.bodyBytesMax : AppLimits.strangerBodyBytesMax)
    self.perform = { (input, call) in try await perform(input.decode(Op.Input.self), input.bytes, call) }
  }

  /// Returns equal tags for equal outputs: twice 64 bits, as forging a collision has no benefit.
  private static func tag(_ output: some JSONWritable) -> String {
    var writer = JSONWriter(capacity: 512)
    output.write(to: &writer)
    return writer.bytes.withUnsafeBytes { tag($0) }
  }

  private static func tag(_ bytes: UnsafeRawBufferPointer) -> String {
    var (digest, other) = (Digest64(), Digest64())
    other.combine("tag")
    digest.combine(bytes)
    other.combine(bytes)
    return String(digest.finish(), radix: 36) + String(other.finish(), radix: 36)
  }

  private static func answer<Output: JSONWritable>(_ outcome: Outcome<Output>) -> Answer {
    if outcome.status == 204 { return .done }
    var writer = JSONWriter(capacity: 512)
    outcome.output.write(to: &writer)
    return .json(status: outcome.status, writer.bytes)
  }
}
