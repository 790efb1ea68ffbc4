import { changeRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

type Nonce = { origin: string; nonce: string }

/** False: used before, on any replica. Contract: 7. */
export async function claimNonce({ orm, clock }: Pick<Deps, 'orm' | 'clock'>, { origin, nonce }: Nonce) {
  const taken = await changeRows(
    orm.em.fork(),
    'insert into federation_nonces (origin, nonce, expires_at) values (?, ?, ?) on conflict do nothing',
    [origin, nonce, new Date(clock.now() + policy.nonceLifetimeMs)],
  )
  return taken === 1
}

/** The same request may come again. */
export async function releaseNonce({ orm }: Pick<Deps, 'orm'>, { origin, nonce }: Nonce): Promise<void> {
  await changeRows(orm.em.fork(), 'delete from federation_nonces where origin = ? and nonce = ?', [origin, nonce])
}

export async function deleteExpiredNonces({ orm, clock }: Pick<Deps, 'orm' | 'clock'>): Promise<number> {
  return await changeRows(
    orm.em.fork(),
    `delete from federation_nonces where (origin, nonce) in (
       select origin, nonce from federation_nonces where expires_at < ? limit ? for update skip locked)`,
    [new Date(clock.now()), policy.nonceSweepRows],
  )
}

export function startNonceCleanUp(deps: Pick<Deps, 'orm' | 'clock' | 'background'>): Disposable {
  const sweep = async () => {
    while ((await deleteExpiredNonces(deps)) === policy.nonceSweepRows);
  }
  const timer = setInterval(() => deps.background.start('nonce sweep', sweep), policy.nonceSweepMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
