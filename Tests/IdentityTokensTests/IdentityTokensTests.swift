import Testing

@testable import IdentityTokens
