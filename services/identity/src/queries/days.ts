import { limits } from '@gatehouse/contracts'

export const dayMs = 24 * 60 * 60 * 1000

/** In UTC. Contract: 5. */
export const startOfDay = (day: string): Date => new Date(`${day}T00:00:00Z`)

/** Below the milliseconds of an id. Contract: 1. */
const bitsBelowTime = 22n

/** The smallest id of that moment (ms since 1970). */
export const firstIdOf = (ms: number): string => String(BigInt(Math.max(0, ms - limits.idEpochMs)) << bitsBelowTime)
