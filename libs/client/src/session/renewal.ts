import type { ClientClock, RunAlone } from '../platform.ts'
import { readClaims } from './claims.ts'

/** One session: the own one, or one at another instance. */
export type RenewableSession = {
  /** Its instance: one that does not answer holds up no renewal elsewhere. */
  origin: string
  /** As it is stored now: another tab may have renewed it. */
  readToken(): string | null
  /** Resolves when the fresh token is in place. Rejects as the API does. */
  renew(): Promise<void>
}

export type Renewals = ReturnType<typeof createRenewals>

const secondsPerDay = 86_400
const retryMs = 3_600_000
/** For so long after an act a person is active. */
const activeMs = 300_000

/**
 * Renews each session of which half of the lifetime has passed, while its person is active. The time of its server counts: the
 * computer's may be wrong, and the client's clock may stand still in sleep. Contract: 3, renew.
 */
export function createRenewals({ clock, runAlone }: { clock: ClientClock; runAlone: RunAlone }) {
  /** `ahead`: the server's time, less the clock's. Both in milliseconds. */
  const times = new Map<RenewableSession, { ahead: number; notBefore: number }>()
  let activeAt = clock.now()

  const isDue = (session: RenewableSession, ahead: number) => {
    const { iat, exp } = readClaims(session.readToken()) ?? {}
    if (iat === undefined || exp === undefined) return false
    const age = (clock.now() + ahead) / 1000 - iat
    return age > secondsPerDay && age >= (exp - iat) / 2
  }
  const check = async (session: RenewableSession) => {
    const timing = times.get(session)
    if (!timing || clock.now() < timing.notBefore || !isDue(session, timing.ahead)) return
    timing.notBefore = clock.now() + retryMs
    const renew = async () => (isDue(session, timing.ahead) ? await session.renew() : undefined)
    // The session goes on with the token that it has.
    await runAlone(renew, session.origin).catch(() => undefined)
  }

  return {
    /** At each `ready`. */
    connected: (session: RenewableSession, serverTime: number): void => {
      const notBefore = times.get(session)?.notBefore ?? clock.now()
      times.set(session, { ahead: serverTime - clock.now(), notBefore })
      if (clock.now() - activeAt <= activeMs) void check(session)
    },
    forget: (session: RenewableSession): void => void times.delete(session),
    /** The person did something. */
    active: (): void => {
      activeAt = clock.now()
      for (const session of times.keys()) void check(session)
    },
  }
}
