export const policy = {
  /** 22 characters of base64url. Spec: Invite link, token. */
  tokenBytes: 16,
  /** Further draws after a collision. Then it is no_free_token. Spec: Invite link, token. */
  tokenRetries: 3,
} as const
