import type pg from 'pg'
import { CommandFailure } from './failure.ts'

/**
 * Locks out services in the transaction of `client`, and refuses an instance with accounts or with running services: two
 * histories would mix, and a service would go on with what it knew. Throws CommandFailure.
 */
export async function requireEmptyInstance(client: pg.ClientBase): Promise<void> {
  await client.query('lock table users, instance_settings, session_nodes in share row exclusive mode')
  const { rows } = await client.query<{ users: boolean; nodes: boolean }>(
    `select exists (select from users) as users,
       exists (select from session_nodes where seen_at > now() - interval '1 minute') as nodes`,
  )
  if (rows[0]?.users) throw new CommandFailure('refused', 'this instance has accounts: only a new one can take others')
  if (rows[0]?.nodes) throw new CommandFailure('refused', 'services of this instance run: stop them, and wait a minute')
}
