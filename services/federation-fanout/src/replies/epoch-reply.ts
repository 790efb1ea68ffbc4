import { loadInstanceSettings, type Peer } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { signBody } from '../peers/signature.ts'

/** Who we are, and the headers that prove it: signed in our own name, over exactly these bytes. Contract: 7, epoch. */
export async function epochReply(deps: Pick<Deps, 'orm' | 'clock' | 'random' | 'config'>, { secret }: Peer) {
  const { instanceId } = await loadInstanceSettings(deps.orm.em.fork())
  const body = Buffer.from(JSON.stringify({ instanceId }))
  const headers = signBody({
    secret,
    origin: deps.config.publicAddress.origin,
    body,
    timestamp: deps.clock.now(),
    nonce: deps.random.uuid(),
  })
  return { body, headers }
}
