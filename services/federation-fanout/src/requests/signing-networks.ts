import { changeRows } from '@gatehouse/database'
import { SigningNetwork, type Peer } from '@gatehouse/domain'
import { peerNetwork, type Resources } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'

export type SigningNetworks = ReturnType<typeof createSigningNetworks>

/** Networks from which a peer signed within a day. Known ones are not written again. Contract: 7, relay. */
export function createSigningNetworks({ orm, clock }: Pick<Resources, 'orm' | 'clock'>) {
  const written = new Map<string, number>()
  return {
    note: async ({ id }: Pick<Peer, 'id'>, address: string): Promise<void> => {
      const network = peerNetwork(address)
      const key = `${id} ${network}`
      const now = clock.now()
      if ((written.get(key) ?? 0) > now) return
      const sql = `insert into signing_networks (peer_id, network, ends_at) select ?, ?, ?
         where (select count(*) from signing_networks where peer_id = ? and network <> ? and ends_at > ?) < ?
         on conflict (peer_id, network) do update set ends_at = excluded.ends_at`
      const row = [id, network, new Date(now + policy.signingNetworkMs)]
      await changeRows(orm.em.fork(), sql, [...row, id, network, new Date(now), policy.signingNetworksPerPeer])
      if (written.size >= policy.signingNetworksKnown) written.clear()
      written.set(key, now + policy.signingNetworkMs / 2)
    },
    includes: async ({ id }: Pick<Peer, 'id'>, address: string): Promise<boolean> => {
      const where = { peerId: id, network: peerNetwork(address), endsAt: { $gt: new Date(clock.now()) } }
      return (await orm.em.fork().count(SigningNetwork, where)) === 1
    },
  }
}
