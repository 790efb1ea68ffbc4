export type OutboundFailureKind =
  'forbidden_address' | 'invalid_url' | 'unresolved' | 'timeout' | 'unreachable' | 'too_large' | 'redirect'

/** The cause is for the log; callers match the kind. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure'
  readonly kind: OutboundFailureKind

  constructor(kind: OutboundFailureKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}
