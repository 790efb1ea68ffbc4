// Clients act on these numbers. Contract: 6, forced disconnect.

export const authenticationTimeout = 4001
export const firstMessageNotAuth = 4002
export const invalidToken = 4003
export const tokenRevoked = 4004
export const accountDeletedAtHandshake = 4005
export const tooManyConnections = 4008
export const passwordReset = 4010
export const accountDeleted = 4011
export const accountSuspended = 4012
export const messageTooBig = 1009
export const unavailable = 1013
export const goingAway = 1012
