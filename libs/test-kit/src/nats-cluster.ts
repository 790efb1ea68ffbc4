import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect } from 'nats'
import {
  createScratchFolder,
  freePort,
  removeFolder,
  requireProgram,
  startNats,
  type LocalServer,
} from '@gatehouse/local-servers'
import { eventually } from './eventually.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

export type NatsCluster = AsyncDisposable & {
  /** `node-0` and so on. */
  nodes: LocalServer[]
  /** Of all nodes. Clients learn no other address. */
  url: string
  /** Cuts two nodes off from each other, not from their clients, until disposal. */
  cut(one: number, another: number): Disposable
  /** Waits until a node leads the stream. */
  leaderOf(stream: string): Promise<number>
  /** Of a node that does not run. */
  deleteStore(node: number): Promise<void>
}

const electionMs = 60_000

/** Nodes with JetStream, which know each other. They keep their streams over `kill` and `start`, in folders that go with the cluster. */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  await using opening = new AsyncDisposableStack()
  const indices = Array.from({ length: size }, (_, index) => index)
  const routePorts = await Promise.all(indices.map(() => freePort()))
  const folders = await Promise.all(
    indices.map(async () => opening.adopt(await createScratchFolder('nats-cluster'), removeFolder)),
  )
  // Per node, what leads to each of the nodes.
  const links = await Promise.all(
    indices.map(() =>
      Promise.all(routePorts.map(async (port) => opening.use(await startTcpProxy(`nats://127.0.0.1:${port}`)))),
    ),
  )
  const pool = await disabledPool()
  const start = (routePort: number, index: number) => {
    const routes = links[index]!.filter((_, target) => target !== index).map(({ url }) => url)
    // The advertised address leads nowhere, so that nodes reach each other through the links alone.
    const addresses = `listen: "127.0.0.1:${routePort}", advertise: "127.0.0.1:1", no_advertise: true${pool}`
    const cluster = `cluster { name: gatehouse, ${addresses}, routes: [${routes.join(', ')}] }`
    return startNats({ config: `server_name: node-${index}\n${cluster}`, folder: folders[index]! })
  }
  const nodes = await Promise.all(routePorts.map(async (port, index) => opening.use(await start(port, index))))
  const open = opening.move()
  return {
    nodes,
    url: nodes.map(({ url }) => url).join(','),
    cut(one, another) {
      const cutLinks: TcpProxy[] = [links[one]![another]!, links[another]![one]!]
      for (const link of cutLinks) link.partition()
      return { [Symbol.dispose]: () => cutLinks.forEach((link) => link.heal()) }
    },
    leaderOf: (stream) => findLeader(nodes, stream),
    deleteStore: (node) => rm(join(folders[node]!, 'store'), { recursive: true }),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** Behind forwarders, the pools of routes that 2.10 has by default do not settle. 2.9 does not know the setting. */
async function disabledPool(): Promise<string> {
  const { stdout } = await promisify(execFile)(requireProgram('nats-server'), ['--version'])
  return /v2\.[0-9]\./.test(stdout) ? '' : ', pool_size: -1'
}

async function findLeader(nodes: LocalServer[], stream: string): Promise<number> {
  const connection = await connect({ servers: nodes.map(({ url }) => url) })
  try {
    const { streams } = await connection.jetstreamManager({ checkAPI: false, timeout: 1_000 })
    const find = async () => (await streams.info(stream)).cluster?.leader
    const leader = await eventually(`${stream} has a leader`, find, electionMs)
    return Number(leader.replace('node-', ''))
  } finally {
    await connection.close()
  }
}
