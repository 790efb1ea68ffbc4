export const policy = {
  /** bcrypt. Spec: Bearer tokens, password storage. */
  hashCost: 12,
  /** A thread that is done takes the next job at once. */
  hashingAhead: 1,
  /** One /48 or IPv4 /24. Contract: 3, client networks. */
  hashingShareOfNetwork: 1 / 4,
  hashingRetryAfterSeconds: 2,
  hashingRestartDelayMs: 1_000,
  /** The drain of a service takes 30 s: a hash that is under way ends before. Contract: 8, drain. */
  hashingDrainMs: 25_000,
  /** 16 characters of base64url. Spec: Admin reset 2. */
  temporaryPasswordBytes: 12,
  /** Each may ask the home. Contract: 3, Writes of one's own. */
  newIdentities: { name: 'homeUserId', requests: 5, windowMs: 60 * 60 * 1000 },
  /** Nobody can guess 256 bits, so a fast hash of them is enough. Contract: 3, recover. */
  recoverySecretBytes: 32,
  recoveryLinkMs: 24 * 60 * 60 * 1000,
  /** Older logins are deleted periodically, those above the limit at the next login. Contract: 3, Sign-ins. */
  signInMs: 90 * 24 * 60 * 60 * 1000,
  signInsPerAccount: 200,
  signInsRemovedAtOnce: 10,
  /** A younger token is not renewed. Contract: 3, renew. */
  renewalAgeMs: 24 * 60 * 60 * 1000,
  /** Each holds a connection for a second at most. Seven of ten may be in transactions. */
  revocationWaitsAtOnce: 2,
  /** The browser gives the person as long to respond. Contract: 3, Passkeys. */
  passkeyChallengeMs: 5 * 60 * 1000,
  /** Of a state, a nonce, a ticket and the secret in the browser's cookie. Contract: 3, Identity providers. */
  providerSecretBytes: 32,
  providerFlowMs: 10 * 60 * 1000,
  providerTicketMs: 2 * 60 * 1000,
  freshSignInMs: 5 * 60 * 1000,
  /** Of what its error says, in the log. */
  providerErrorMax: 200,
  /** The hardest challenge takes a slow phone at most five seconds of it. Contract: 3, Proof of work. */
  proofMs: 2 * 60 * 1000,
  proofIterations: 2_000,
  /** A solution at most: 0.9 ms each on a server, some 15 ms on a slow phone of 2018. */
  proofCounterLeast: 30,
  proofCounterMost: 300,
  proofCounterPerRegistration: 3,
  proofRateMs: 60 * 60 * 1000,
  proofLengthMax: 2_000,
  /** Since a logout token was made, by the clock of the provider. */
  logoutTokenMs: 10 * 60 * 1000,
  providerClockSkewMs: 60_000,
  /** The receipt alone shows the decision, so it must not be guessable. Contract: 3, Approval. */
  registrationReceiptBytes: 32,
  registrationMs: 30 * 24 * 60 * 60 * 1000,
  denialUndoMs: 60_000,
  registrationSweepIntervalMs: 60_000,
  /** For all requests of one login to the home together. Spec: Login 5. */
  homeCheckTimeoutMs: 10_000,
  /** Until the word of federation-fanout on a slow home arrives. */
  homeCallMarginMs: 2_000,
  /** Of one account, of other users of its home. Contract: 7, Login repair. */
  homeAnswersAudited: 10,
  /** Of one account. Contract: 7, Account states. */
  homeStatesAudited: 20,
  homeStatesAuditedWithinMs: 24 * 60 * 60 * 1000,
  /** federation-fanout has 10 s for the other instance. Contract: 3, PATCH, homeUserId; 7, reattach. */
  lookupCallTimeoutMs: 12_000,
  /** Session gateways gather for 0.5 s. Contract: 5, A user. */
  socketsCallTimeoutMs: 2_000,
  auditOfUser: 20,
  invitedOfUser: 100,
  /** Peers have 15 s. Contract: 7, fan-out. */
  fanoutCallTimeoutMs: 20_000,
  /** Longer than the call, whose attempt it keeps for one replica. */
  orderLeaseMs: 60_000,
  orderIntervalMs: 15_000,
  ordersAtOnce: 100,
  /** Each wait is twice the one before. Deletions at upstreams wait likewise. Contract: 7, Deletion orders. */
  orderBackoff: { firstMs: 60_000, mostMs: 6 * 60 * 60 * 1000 },
  orderOverdueMs: 30 * 24 * 60 * 60 * 1000,
  /** 64 hexadecimal digits. protocol.md 4.6, step 1. */
  attachProofBytes: 32,
  attachProofMs: 60_000,
  /** 43 characters of base64url: it is a password, which has at most 72 bytes. protocol.md 4.7. */
  federationCredentialBytes: 32,
  remotePictureTimeoutMs: 10_000,
  remotePictureQueue: 2_000,
  remotePicturesPerOrigin: 200,
  /** Each may hold an upload's bytes in memory. */
  remotePicturesAtOnce: 4,
  /** Of a tombstone. */
  unverifiableHashBytes: 32,
  /** Before the answer. The cleanup removes the rest. */
  filesRemovedAtOnce: 1_000,
  fileRemovalBatch: 50,
  /** What nothing has claimed by then is removed. Contract: 3, uploads. */
  unclaimedUploadMs: 24 * 60 * 60 * 1000,
  /** Then its upload was interrupted. */
  temporaryFileMs: 60 * 60 * 1000,
  uploadCleanupIntervalMs: 60_000,
  retentionIntervalMs: 60 * 60 * 1000,
  rowsRemovedAtOnce: 1_000,
  /** PostgreSQL may share the disk. */
  uploadFreeBytesMin: 512 * 1024 * 1024,
  diskRetryAfterSeconds: 60,
  exportPageRows: 500,
  exportsAtOnce: 8,
  exportRetryAfterSeconds: 60,
  /** Of one upstream: 256 MiB, and the waiting for it. */
  exportPagesOfUpstream: 512,
  exportUpstreamMs: 60_000,
  upstreamRetryAfterSeconds: 5,
  /** Contract: 5, Deletions at further services. They are tried again as deletion orders are. */
  upstreamDeletionIntervalMs: 5_000,
  upstreamDeletionsAtOnce: 32,
  upstreamDeletionOverdueMs: 24 * 60 * 60 * 1000,
  stubNameAttempts: 50,
  /** Of a link that confirms an address or sets a password. Contract: 3, Mail. */
  mailSecretBytes: 32,
  mailLinkMs: 24 * 60 * 60 * 1000,
  /** Shorter than for an admin's link, because others may read mail. Contract: 3, Mail. */
  mailedRecoveryMs: 60 * 60 * 1000,
  /** To one address in an hour. Two of links that anybody may ask for: a notice finds room. */
  mailsToAddress: 3,
  linksToAddress: 2,
  mailHourMs: 60 * 60 * 1000,
  mailDayMs: 24 * 60 * 60 * 1000,
  mailBackoff: { firstMs: 60_000, mostMs: 15 * 60 * 1000 },
  mailsAtOnce: 20,
  /** Between two mails: a hundred a second at most, of one replica. */
  mailMs: 10,
  mailLeaseMs: 3 * 60 * 1000,
  /** An address of many accounts. */
  recoveriesOfAddress: 10,
  /** Characters of a username or an address in a request for a recovery link. */
  recoveryAskedMax: 320,
  /** A login by another client is told. Contract: 3, Mail. */
  clientKnownMs: 30 * 24 * 60 * 60 * 1000,
} as const
