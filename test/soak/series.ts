import { fitTrend, judgeTrend, leastFound, type Point, type Trend, type Verdict } from './trend.ts'

/** What was measured at one moment. `accounts`: that ever registered. */
export type Sample = { hours: number; accounts: number; values: Readonly<Record<string, number>> }

/**
 * `most`: the slope that is allowed. `share`: of the mean, instead where that is more. `fills`: what bounded caches and pools may
 * still take after the warm-up, once.
 */
type Bound = {
  per: 'hour' | 'account'
  most: number
  share?: number
  fills?: number
  /** How long a row or key is kept at most, where that is long: before, there are only more of them. */
  keptHours?: number
}

export type Judged = Trend & {
  name: string
  per: Bound['per']
  most: number
  leastFound: number
  first: number
  last: number
  isConstant: boolean
  /** `too short`: it has not reached its level in this run. */
  verdict: Verdict | 'too short'
}

/** Rows that stay for each account by design: tombstones, their history, and what is kept for days. Contract: 2, tombstones. */
const rowsPerAccount: Readonly<Record<string, number>> = {
  'rows: users': 1.05,
  'rows: account_versions': 1.05,
  'rows: presence_changes': 1.05,
  'rows: audit_log': 2,
  'rows: deletion_orders': 0.3,
  'rows: application_notices': 3.5,
  'rows of the peer: users': 0.3,
  'rows of the peer: account_versions': 0.3,
  'rows of the peer: audit_log': 0.3,
}

/** What tasks remove late, some once an hour. */
const keptHours: Readonly<Record<string, number>> = {
  'keys: Redis': 1,
  'rows: mails': 2,
  'rows: provider_flows': 1.2,
  'rows: provider_tickets': 1.1,
  'rows: used_tokens': 1.2,
  'rows: openid_rows': 0.5,
  'rows: federation_nonces': 0.3,
  'rows of the peer: federation_nonces': 0.3,
}

const ofPostgres: Readonly<Record<string, Bound>> = {
  // Each of its processes keeps files open, up to a limit, and what it has read of the catalog.
  'descriptors: postgres': { per: 'hour', most: 1, fills: 2_000 },
  'memory MiB: postgres': { per: 'hour', most: 1, fills: 64 },
}

const ofKind: Readonly<Record<string, Bound>> = {
  'memory MiB': { per: 'hour', most: 1, fills: 8 },
  'heap MiB': { per: 'hour', most: 1, fills: 4 },
  descriptors: { per: 'hour', most: 1, fills: 16 },
  'size MiB': { per: 'account', most: 0.02 },
  messages: { per: 'account', most: 8 },
}

/** Of a series by its name, `kind: subject`. */
export function boundOf(name: string): Bound {
  const kind = name.split(/(?: of the peer)?: /)[0]!
  const perAccount = rowsPerAccount[name]
  if (perAccount !== undefined) return { per: 'account', most: perAccount }
  const lifetime = keptHours[name]
  return (
    ofPostgres[name] ??
    ofKind[kind] ?? { per: 'hour', most: 3, share: 0.03, ...(lifetime !== undefined && { keptHours: lifetime }) }
  )
}

/** Each series after the warm-up, by its name. */
export function judgeSeries(samples: readonly Sample[], warmUpHours: number): Judged[] {
  const names = [...new Set(samples.flatMap(({ values }) => Object.keys(values)))].sort()
  return names.map((name) => judgeOne(name, samples, warmUpHours))
}

function judgeOne(name: string, samples: readonly Sample[], warmUpHours: number): Judged {
  const { per, most: bound, share = 0, fills = 0, keptHours: lifetime = 0 } = boundOf(name)
  const laterSamples = samples.filter(({ hours, values }) => hours >= warmUpHours && name in values)
  const settled = laterSamples.filter(({ hours }) => hours >= lifetime)
  const points = settled.map(({ hours, accounts, values }): Point => [per === 'hour' ? hours : accounts, values[name]!])
  const trend = fitTrend(points)
  const span = (settled.at(-1)?.hours ?? 0) - (settled[0]?.hours ?? 0)
  const most = Math.max(bound, share * trend.mean) + (fills > 0 ? fills / Math.max(span, 1e-3) : 0)
  const [first, last] = [laterSamples[0]?.values[name] ?? 0, laterSamples.at(-1)?.values[name] ?? 0]
  const isConstant = laterSamples.every(({ values }) => values[name] === first)
  const judged = { name, isConstant, per, most, leastFound: leastFound(trend, most), first, last, ...trend }
  // A sawtooth is level over several of its teeth.
  if (span < 2 * lifetime) return { ...judged, verdict: 'too short' }
  return { ...judged, verdict: judgeTrend(trend, most) }
}
