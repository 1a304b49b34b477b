import Synchronization

/// A place for one encoded form of a shared value: written once by whoever
/// needs it first, read by all others. Two writers at once both encode; one
/// result is kept. Bounded: at most one value per door.
public final class FormSlot: Sendable {
  public enum Door: Sendable { case xmpp, app }

  private let forms = Mutex<(xmpp: (any Sendable)?, app: (any Sendable)?)>((nil, nil))

  public init() {}

  public func form<Form: Sendable>(for door: Door, _ encode: () -> Form) -> Form {
    let kept = forms.withLock { door == .xmpp ? $0.xmpp : $0.app }
    if let form = kept as? Form { return form }
    let form = encode()
    forms.withLock {
      switch door {
      case .xmpp: $0.xmpp = form
      case .app: $0.app = form
      }
    }
    return form
  }
}
