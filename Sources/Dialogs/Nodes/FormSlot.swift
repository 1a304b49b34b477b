import Synchronization

/// A cache of the encoded forms of a shared value: each is written by its first reader. Two concurrent readers both
/// encode, and one result is kept. It contains at most one value per form.
public final class FormSlot: Sendable {
  public enum Kind: Sendable {
    case xmpp, app
    /// The app protocol's form for users who may not know the occupants' identities.
    case anonymized
  }

  private let forms = Mutex<(xmpp: (any Sendable)?, app: (any Sendable)?, anonymized: (any Sendable)?)>((nil, nil, nil))

  public init() {}

  public func form<Form: Sendable>(for kind: Kind, _ encode: () -> Form) -> Form {
    let kept = forms.withLock {
      switch kind {
      case .xmpp: $0.xmpp
      case .app: $0.app
      case .anonymized: $0.anonymized
      }
    }
    if let form = kept as? Form { return form }
    let form = encode()
    forms.withLock {
      switch kind {
      case .xmpp: $0.xmpp = form
      case .app: $0.app = form
      case .anonymized: $0.anonymized = form
      }
    }
    return form
  }
}
