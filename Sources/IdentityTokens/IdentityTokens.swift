import JWTKit
