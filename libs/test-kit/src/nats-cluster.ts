import { freePort, startNats, type LocalServer } from '@gatehouse/local-servers'

export type NatsCluster = AsyncDisposable & {
  nodes: LocalServer[]
  /** Of all nodes. */
  url: string
}

/** Nodes `node-0` and so on with JetStream, which know each other. They keep their streams over `kill` and `start`, in folders that go with the cluster. */
export async function startNatsCluster(size = 3): Promise<NatsCluster> {
  await using opening = new AsyncDisposableStack()
  const routePorts = await Promise.all(Array.from({ length: size }, () => freePort()))
  const routes = routePorts.map((port) => `nats://127.0.0.1:${port}`).join(', ')
  const start = (routePort: number, index: number) => {
    const cluster = `cluster { name: gatehouse, listen: "127.0.0.1:${routePort}", routes: [${routes}] }`
    return startNats({ config: `server_name: node-${index}\n${cluster}` })
  }
  const nodes = await Promise.all(routePorts.map(async (port, index) => opening.use(await start(port, index))))
  const open = opening.move()
  return {
    nodes,
    url: nodes.map(({ url }) => url).join(','),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
