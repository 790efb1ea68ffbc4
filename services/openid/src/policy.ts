const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute

export const policy = {
  /** How long applications keep the published keys: a new one signs after that. */
  keyCacheMs: 10 * minute,
  /** A key that no longer signs is published until its tokens are over, and then some. */
  keyRetirementMs: day,
  /** How late a change of the keys or of the setting may be seen by a replica. */
  refreshMs: second,
  /** Contract: 3, Applications: the secret before the current one. */
  previousSecretMs: day,
  noticeMs: 3 * day,
  grantsAtOneApplication: 50,
  grantsOfAccount: 1_000,
  sweepIntervalMs: 10 * minute,
  rowsRemovedAtOnce: 1_000,
} as const
