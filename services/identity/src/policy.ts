/** The numbers that the specification and the contract give this service. */
export const policy = {
  /** bcrypt. Spec: Bearer tokens, password storage. */
  hashCost: 12,
  /** What a client waits before it tries again when too many passwords wait. */
  hashingRetryAfterSeconds: 2,
  /** How long to wait before another hashing process is started when one has been of no use. */
  hashingRestartPauseMs: 1_000,
  /** Spec: Admin reset 2. */
  temporaryPasswordBytes: 12,
  /** Spec: Login 5, in milliseconds. */
  homeCheckTimeoutMs: 10_000,
  /** Makes the hash of a tombstone, which no password fits. */
  unverifiableHashBytes: 32,
  /** How many files of a deleted account leave the disk before the answer; the sweep takes the rest. */
  filesRemovedAtOnce: 1_000,
  /** Contract: 3, uploads. */
  imagePixelsMax: 40_000_000,
  imageSideMax: 512,
  /** How long an upload may wait for a profile to name it. Contract: 3, uploads. */
  unclaimedUploadMs: 24 * 60 * 60 * 1000,
  /** How old a half-written file must be to be nobody's any more. */
  abandonedPartMs: 60 * 60 * 1000,
  sweepIntervalMs: 60_000,
  /** Images that wait to be converted; one is converted at a time. */
  imageQueue: 16,
  imageSeconds: 20,
  /** How often a new stub tries the next free name. */
  stubNameAttempts: 50,
  /** How many may be told that a deleted account is offline; their ids travel in one message of the bus. */
  farewellAudience: 20_000,
} as const
