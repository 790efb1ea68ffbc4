export const jsonBodyBytes = 64 * 1024
export const jsonDepth = 32
export const passwordMinCodePoints = 8
export const passwordMaxBytes = 72
export const localUsernameMin = 3
export const localUsernameMax = 32
export const federatedUsernameMax = 100
export const hostMax = 253
export const displayNameMax = 32
export const bioMax = 190
export const customStatusMax = 128
export const replicatedInstancesMax = 20
export const replicatedUsernameMax = 255
export const homeUserIdMax = 64
export const registryEntriesMax = 100
export const federationCredentialsMax = 1_000
export const uploadBytes = 8 * 1024 * 1024
/** For each account. A day later they are removed. Contract: 3, uploads. */
export const unclaimedUploadsMax = 10
export const unclaimedUploadBytesMax = 5 * 1024 * 1024
/** For each account. Contract: 3, Passkeys. */
export const passkeysMax = 10
export const passkeyNameMax = 64
/** For each account. Contract: 3, Identity providers. */
export const linkedIdentitiesMax = 10
export const redirectMax = 1_000
/** A path has at most 256 bytes, two of which are its angle brackets. RFC 5321, 4.5.3.1.3. Contract: 3, Mail. */
export const emailMaxBytes = 254
/** In characters. Contract: 5, suspend. */
export const suspensionReasonMax = 500
/** In characters. Contract: 5, Settings. */
export const contactMax = 200
export const descriptionMax = 300
export const rulesMax = 2_000
export const reservedUsernamesMax = 500
/** In characters. Contract: 3, Approval. */
export const registrationReasonMax = 500
export const decisionsAtOnce = 200
/** More that wait are not counted. */
export const waitingCountMax = 1_000
export const denialBlockHoursMax = 720
export const inviteNameMax = 64
/** On an instance. Contract: 3, Applications. */
export const applicationsMax = 200
export const applicationNameMax = 64
export const applicationUriMax = 2_000
export const applicationUrisMax = 20
/** The highest number that an admin may set. Contract: 4, Invites of members. */
export const memberInvitesMax = 1_000
/** The window in which that number counts: it bounds whom one account can bring in. Contract: 4, Invites of members. */
export const memberInvitesWindowMs = 30 * 24 * 60 * 60 * 1000
export const memberInviteUsesMax = 10
/** How long a member's invite may live. Contract: 4, Invites of members. */
export const memberInviteLifeMs = 30 * 24 * 60 * 60 * 1000
/** The end of the year 9999: PostgreSQL reads no year of five digits. */
export const inviteExpiresAtMaxMs = 253_402_300_799_999
export const fanoutOriginsMax = 100
/** For the list of users. Contract: 5, users. */
export const pageSizeDefault = 50
export const pageSizeMax = 100
export const socketAuthTimeoutMs = 10_000
export const socketFirstMessageBytes = 4 * 1024
export const socketMessageBytes = 16 * 1024
/** A frame of 16 KiB has room for their ids. */
export const watchedUsers = 500
export const socketRefMax = 64
export const socketBurst = 30
export const socketRefillPerSecond = 2
export const unauthenticatedSocketsPerAddress = 100
/** On one session gateway. */
export const socketsPerAccount = 50
/** The rest is cut off. Contract: 3, sockets. */
export const userAgentMax = 256
export const socketHeartbeatMs = 30_000
export const presenceGraceMs = 5_000
/** `bodyBytes`, `requests` and `seconds` are defaults, which a route may replace. docs/integrate/ */
export const upstreamLimits = {
  bodyBytes: 64 * 1024,
  bodyBytesMax: 10 * 1024 * 1024,
  requests: 300,
  seconds: 60,
  timeoutMaxMs: 120_000,
  statementSeconds: 30,
  waitingMessages: 32,
  messagesInFlight: 1_024,
  readyInFlight: 256,
  messageTimeoutMs: 5_000,
  errorTextMax: 200,
  audienceIds: 1_000,
  /** What upstreams ask: the life of their statement, ids in a request or an announcement, accounts of a page. */
  askSeconds: 60,
  accountIds: 100,
  changesPage: 1_000,
  deliveryBytes: 64 * 1024,
  readyBytes: 512 * 1024,
  /** Parsers take 64 or more. The request adds levels. */
  nesting: 60,
  readyDeadlineMs: 500,
  lateReadyMs: 30_000,
} as const
/** The first millisecond of ids. Contract: 1, ids and times. */
export const idEpochMs = 1_704_067_200_000
/** Contract: 5, Overview. Counts of an overview end there, but those of accounts. */
export const overviewMax = 1_000
export const onlineMax = 10_000
export const overviewDays = 30
/** What an instance is called that nobody has named. */
export const instanceNameDefault = 'Gatehouse'
