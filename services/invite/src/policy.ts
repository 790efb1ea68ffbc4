/** The numbers and words that the specification and the contract give this service. */
export const policy = {
  /** 22 characters of base64url. Spec: Invite link, token. */
  tokenBytes: 16,
  /** How often another token is tried when one is taken. Spec: Invite link, token. */
  tokenRetries: 3,
} as const
