/** What was acknowledged, and what of it has been told elsewhere. */
export type Ledger = ReturnType<typeof createLedger>

/** A person with an account: what the last acknowledged answers say of it. */
export type Member = {
  id: string
  username: string
  network: string
  token: string
  /** Undefined: logs in by the provider alone. */
  password: string | undefined
  displayName: string
}

type Revoked = { token: string; why: string }
type Departed = { username: string; password: string | undefined; network: string }

const revokedMax = 20_000
const toldEarlyMax = 5_000
const violationsMax = 200

/** Bounded, however long the run is. */
export function createLedger(now: () => string = () => '') {
  const counts = new Map<string, number>()
  const members = new Map<string, Member>()
  const revoked: Revoked[] = []
  const departed: Departed[] = []
  const awaited = new Map<string, string>()
  const early = new Set<string>()
  const violations: string[] = []
  const count = (what: string, by = 1): void => void counts.set(what, (counts.get(what) ?? 0) + by)
  const keep = <T>(list: T[], one: T): void => {
    list.push(one)
    if (list.length > revokedMax) list.shift()
  }
  return {
    members,
    revoked,
    departed,
    violations,
    count,
    counts: () => [...counts].sort(([a], [b]) => a.localeCompare(b)),
    violation(what: string): void {
      count('violations')
      if (violations.length < violationsMax) violations.push(`${now()} ${what}`)
    },
    revoke(token: string, why: string): void {
      count(`tokens revoked by ${why}`)
      keep(revoked, { token, why })
    },
    leave(member: Member): void {
      count('people who left')
      members.delete(member.id)
      keep(departed, { username: member.username, password: member.password, network: member.network })
    },
    /** What is to be told once at least: a mail, an event, a logout. It may have been told before the answer. */
    await(kind: string, subject: string): void {
      const key = `${kind} ${subject}`
      count(`expected: ${kind}`)
      if (!early.delete(key)) awaited.set(key, now())
    },
    arrive(kind: string, subject: string): void {
      const key = `${kind} ${subject}`
      count(`told: ${kind}`)
      if (awaited.delete(key)) return
      early.add(key)
      const [oldest] = early
      if (early.size > toldEarlyMax && oldest !== undefined) early.delete(oldest)
    },
    /** Not told so far, with the time of the answer. */
    expectations: (): string[] => [...awaited].map(([key, since]) => `${key}, since ${since}`),
  }
}
