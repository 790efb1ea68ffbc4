/** The numbers of this service: those of the specification and the contract, and limits of its own. */
export const policy = {
  /** bcrypt. Spec: Bearer tokens, password storage. */
  hashCost: 12,
  /** Jobs that the hashing process has beyond those that run: a thread that is done takes the next at once. */
  hashingAhead: 1,
  /** The part of the hashing queue that one /48 or IPv4 /24 may hold. Contract: 3. */
  hashingShareOfNetwork: 1 / 4,
  /** Retry-After while the hashing queue is full. */
  hashingRetryAfterSeconds: 2,
  /** Delay before another hashing process is started after one that completed no job. */
  hashingRestartDelayMs: 1_000,
  /** How long the queue may go on when the process stops. What waits then is refused, with time to tell it. Contract: 8. */
  hashingDrainMs: 25_000,
  /** Spec: Admin reset 2. */
  temporaryPasswordBytes: 12,
  /** Spec: Login 5. */
  homeCheckTimeoutMs: 10_000,
  /** federation-fanout has 10 s for the other instance. Contract: 3, PATCH, homeUserId; 7, reattach. */
  lookupCallTimeoutMs: 12_000,
  /** Peers have 15 s. Contract: 7, fan-out. */
  fanoutCallTimeoutMs: 20_000,
  /** federation-wire.md 4, attach 1. */
  attachProofBytes: 32,
  attachProofMs: 60_000,
  /** Pictures of replicas: how long one may take at its home, and how many wait to be fetched, in all and of one home. */
  remotePictureTimeoutMs: 10_000,
  remotePictureQueue: 2_000,
  remotePicturesPerOrigin: 200,
  /** Homes that one is fetched from at a time: each may hold an upload's bytes in memory. */
  remotePicturesAtOnce: 4,
  /** Of the random text in place of a tombstone's password hash. */
  unverifiableHashBytes: 32,
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
  /** Images that wait to be converted, in all and of one account; one is converted at a time. */
  imageQueue: 32,
  imagesPerAccount: 2,
  /** How long one conversion may take: at the lowest priority, and within the time that the gateway waits. */
  imageSeconds: 40,
  /** Resident memory at which the conversion process is killed. */
  imageMemoryBytes: 384 * 1024 * 1024,
  /** What of it the process takes before it decodes; measured 60 to 70 MiB, and what the allocator kept. */
  imageProcessBytes: 80 * 1024 * 1024,
  /** How often the memory of the conversion process is read. */
  imageWatchMs: 10,
  /** Delay before another conversion process is started after one that completed no image. */
  imageRestartDelayMs: 1_000,
  imagesRetryAfterSeconds: 2,
  /** Free space on the disk of the uploads below which none is taken: PostgreSQL may share it. */
  uploadFreeBytesMin: 512 * 1024 * 1024,
  diskRetryAfterSeconds: 60,
  /** Rows that an export reads at a time. */
  exportPageRows: 500,
  /** Exports under way in one process: each may hold a connection of the gateway for as long as its client reads. */
  exportsAtOnce: 8,
  exportRetryAfterSeconds: 60,
  /** How many names are tried for a new stub. */
  stubNameAttempts: 50,
} as const
