import { eventually } from '@gatehouse/test-kit'
import pg from 'pg'
import type { Cluster } from '../../deploy/cluster/cluster.ts'
import type { History } from './history.ts'

const recoveryTimeoutMs = 120_000

/** Every process is ready again without manual recovery. */
export async function expectRecovery({ processes }: Cluster, history: History, log: (line: string) => void) {
  const startedAt = performance.now()
  for (const { service, index, opsUrl } of processes) {
    await eventually(
      `${service}-${index} is ready`,
      async () => (await fetch(`${opsUrl}/readyz`)).ok,
      recoveryTimeoutMs,
    )
      .then(() => history.count('processes ready again'))
      .catch(() => history.violation(`${service}-${index} was not ready within ${recoveryTimeoutMs} ms`))
  }
  log(`all processes were ready ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the last fault`)
}

/** What must be none at last, each a query that counts. `nodes`: the session gateways that run. */
const leftovers = (nodes: number): Record<string, string> => ({
  'events in the outbox': 'select count(*) from outbox',
  'session gateways that run no more': `select greatest(count(*) - ${nodes}, 0) as count from session_nodes`,
  'invites with another count than their redemptions': `select count(*) from invites
     where used_count <> (select count(*) from invite_redemptions where invite_id = invites.id)`,
  'profiles and account states for peers': 'select count(*) from federation_deliveries',
  'transactions left open': `select count(*) from pg_stat_activity
     where state like 'idle in transaction%' and state_change < now() - interval '5 seconds'`,
  'locks waited for': `select count(*) from pg_stat_activity
     where wait_event_type = 'Lock' and query_start < now() - interval '5 seconds'`,
})

/** Every event of the outbox has been published, and nothing of what failed is left. */
export async function expectNothingLeft(url: string, { processes }: Cluster, history: History): Promise<void> {
  const nodes = processes.filter(({ service }) => service === 'session-gateway').length
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const [what, sql] of Object.entries(leftovers(nodes))) {
      await eventually(
        `no ${what}`,
        async () => (await client.query<{ count: string }>(sql)).rows[0]?.count === '0',
        recoveryTimeoutMs,
      ).catch(() => history.violation(`${what}: not none within ${recoveryTimeoutMs} ms`))
    }
  } finally {
    await client.end()
  }
}
