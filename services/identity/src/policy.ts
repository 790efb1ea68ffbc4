/** The numbers of this service: those of the specification and the contract, and limits of its own. */
export const policy = {
  /** bcrypt. Spec: Bearer tokens, password storage. */
  hashCost: 12,
  /** Retry-After while the hashing queue is full. */
  hashingRetryAfterSeconds: 2,
  /** Delay before another hashing process is started after one that completed no job. */
  hashingRestartDelayMs: 1_000,
  /** Spec: Admin reset 2. */
  temporaryPasswordBytes: 12,
  /** Spec: Login 5. */
  homeCheckTimeoutMs: 10_000,
  /** Of the random text in place of a tombstone's password hash. */
  unverifiableHashBytes: 32,
  /** How often a deletion that PostgreSQL ended to break a deadlock is run again. */
  deadlockRetries: 2,
  /** Files of a deleted account that leave the disk before the answer; the cleanup removes the rest. */
  filesRemovedAtOnce: 1_000,
  fileRemovalBatch: 200,
  /** Contract: 3, uploads. */
  imagePixelsMax: 40_000_000,
  imageSideMax: 512,
  /** How long an upload may wait for a profile to name it. Contract: 3, uploads. */
  unclaimedUploadMs: 24 * 60 * 60 * 1000,
  /** Age at which a temporary file belongs to an interrupted upload. */
  temporaryFileMs: 60 * 60 * 1000,
  uploadCleanupIntervalMs: 60_000,
  /** Images that wait to be converted; one is converted at a time. */
  imageQueue: 16,
  imageSeconds: 20,
  imagesRetryAfterSeconds: 2,
  /** How many names are tried for a new stub. */
  stubNameAttempts: 50,
  /** How many users are told that a deleted account is offline: their ids travel in one event. */
  maxPresenceRecipients: 20_000,
} as const
