export const policy = {
  /** 22 characters of base64url. Spec: Invite link, token. */
  tokenBytes: 16,
  /** Spec: Invite link, token. */
  tokenRetries: 3,
} as const
