// Every number that the specification and the contract fix for clients, with its unit in the name.

export const jsonBodyBytes = 64 * 1024
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
export const uploadBytes = 8 * 1024 * 1024
/** Uploads of one account that no profile names. Contract: 3, uploads. */
export const unclaimedUploadsMax = 10
export const unclaimedUploadBytesMax = 5 * 1024 * 1024
export const inviteNameMax = 64
/** The end of the year 9999: PostgreSQL reads no year of five digits. */
export const inviteExpiresAtMaxMs = 253_402_300_799_999
export const fanoutOriginsMax = 100
/** Of the admins' list of users; other lists give as many as they may. Contract: 4, 5. */
export const pageSizeDefault = 50
export const pageSizeMax = 100
export const socketAuthTimeoutMs = 10_000
export const socketFirstMessageBytes = 4 * 1024
export const socketMessageBytes = 16 * 1024
export const socketBurst = 30
export const socketRefillPerSecond = 2
export const unauthenticatedSocketsPerAddress = 100
/** On one session gateway. */
export const socketsPerAccount = 50
/** Of the user agent that the list of the own sockets shows. Contract: 3, sockets. */
export const userAgentMax = 256
export const socketHeartbeatMs = 30_000
export const presenceGraceMs = 5_000
/** Of further services behind the gateway. docs/integrating.md */
export const upstreamLimits = {
  /** Of a route that says nothing else: the same as a JSON body of Gatehouse's own. */
  bodyBytes: 64 * 1024,
  bodyBytesMax: 10 * 1024 * 1024,
  requests: 300,
  seconds: 60,
  timeoutMaxMs: 120_000,
  /** How long the statement of a caller is valid. */
  statementSeconds: 30,
  /** Messages of one socket that wait for one upstream. */
  waitingMessages: 32,
  /** Requests to one upstream under way on one session gateway. */
  messagesInFlight: 1_024,
  readyInFlight: 256,
  messageTimeoutMs: 5_000,
  errorTextMax: 200,
  /** Of the ids that one delivery names, and of its bytes. */
  audienceIds: 1_000,
  deliveryBytes: 64 * 1024,
  readyBytes: 512 * 1024,
  /** Of arrays and objects in one another: parsers take 64 and more, and the message stands in a request. */
  nesting: 60,
  readyDeadlineMs: 500,
  lateReadyMs: 30_000,
} as const
