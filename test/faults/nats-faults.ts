import { setTimeout as pause } from 'node:timers/promises'
import type { LocalServer } from '@gatehouse/local-servers'
import { eventually, type NatsCluster } from '@gatehouse/test-kit'
import { connect, type JetStreamManager } from 'nats'
import type { Random } from '../fuzz/random.ts'
import { frozen, killed, type Fault } from './faults.ts'

const streams = ['gatehouse-events', 'gatehouse-changes'] as const
const awayMs = 3_000
const cutMs = 30_000
const completeLimitMs = 120_000

/**
 * Those of a cluster of three nodes. After each one the streams are complete again: while a node is behind, another one must not
 * come back empty.
 */
export function listNatsFaults(nats: NatsCluster, random: Random): Fault[] {
  const faults: Fault[] = [
    { name: 'one node of NATS killed', inject: () => killed('', random.pick(nats.nodes)).inject() },
    { name: 'one node of NATS frozen', inject: () => frozen('', random.pick(nats.nodes)).inject() },
    ...streams.map((stream) => ({
      name: `the NATS node that leads ${stream} killed`,
      inject: async () => await stayAway([nats.nodes[await nats.leaderOf(stream)]!]),
    })),
    { name: 'two nodes of NATS killed', inject: () => stayAway(takeTwo(nats, random)) },
    { name: 'one node of NATS comes back empty', inject: () => comeBackEmpty(nats, random) },
    { name: `two nodes of NATS cut off from each other for ${cutMs / 1_000} s`, inject: () => cut(nats, random) },
  ]
  return faults.map(({ name, inject }) => ({
    name,
    async inject() {
      await inject()
      await eventually('the streams are complete', () => areComplete(nats), completeLimitMs)
    },
  }))
}

function takeTwo({ nodes }: NatsCluster, random: Random): LocalServer[] {
  const spared = random.pick(nodes)
  return nodes.filter((node) => node !== spared)
}

async function stayAway(nodes: readonly LocalServer[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.kill()))
  await pause(awayMs)
  await Promise.all(nodes.map((node) => node.start()))
}

async function comeBackEmpty({ nodes, deleteStore }: NatsCluster, random: Random): Promise<void> {
  const index = random.below(nodes.length)
  await nodes[index]!.kill()
  await deleteStore(index)
  await nodes[index]!.start()
}

async function cut({ nodes, cut }: NatsCluster, random: Random): Promise<void> {
  const one = random.below(nodes.length)
  using _link = cut(one, (one + 1) % nodes.length)
  await pause(cutMs)
}

async function areComplete(nats: NatsCluster): Promise<boolean> {
  return await manage(nats, async (manager) => {
    const infos = await Promise.all(streams.map((stream) => manager.streams.info(stream)))
    return infos.every(({ cluster: { leader, replicas = [] } = {} }) => {
      return (
        leader !== undefined && replicas.length === 2 && replicas.every(({ current, offline }) => current && !offline)
      )
    })
  })
}

async function manage<T>({ url }: NatsCluster, act: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const client = await connect({ servers: url.split(','), timeout: 2_000 })
  try {
    return await act(await client.jetstreamManager({ checkAPI: false, timeout: 2_000 }))
  } finally {
    await client.close()
  }
}
