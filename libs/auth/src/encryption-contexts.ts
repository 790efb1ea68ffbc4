import { decrypt, encrypt, isEncrypted, type EncryptionKey } from './encryption.ts'

// What ENCRYPTION_SECRET encrypts, each text bound to its row: it is of no use in another one. Contract: 8, ENCRYPTION_SECRET.

export const secondFactorContext = (userId: string): string => `second-factor:${userId}`

export const credentialContext = ({ userId, origin }: { userId: string; origin: string }): string =>
  `federation-credential:${userId}:${origin}`

/** Of the secret of a link. */
export const mailContext = (messageId: string): string => `mail:${messageId}`

export const openidKeyContext = (kid: string): string => `openid-key:${kid}`

const peerContext = 'secrets of peers'

/** The columns that have them, for `rewriteTexts`. */
export const peerSecrets = [
  { table: 'peers', key: ['id'], columns: ['secret', 'next_secret', 'previous_secret'], contextOf: () => peerContext },
  { table: 'approval_requests', key: ['id'], columns: ['secret'], contextOf: () => peerContext },
]

export const sealPeerSecret = (key: EncryptionKey, plain: string): string => encrypt(key, plain, peerContext)

export const openPeerSecret = (key: EncryptionKey, stored: string): string =>
  isEncrypted(stored) ? decrypt(key, stored, peerContext) : stored
