import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import type { Adapter } from './adapters.ts'
import { probe } from './probe.ts'

/** A server of two replicas, the second of which hears of a revocation `delayMs` later. */
async function startReplicas(delayMs: number) {
  const revoked = [new Set<string>(), new Set<string>()]
  const servers = revoked.map((tokens) =>
    createServer((request, response) => {
      const isRefused = tokens.has(String(request.headers['authorization']))
      response.writeHead(isRefused ? 401 : 200).end('{}')
    }).listen(0, '127.0.0.1'),
  )
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const origins = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  let logins = 0
  const adapter: Adapter = {
    prepare: async () => undefined,
    logIn: async () => ({ authorization: String((logins += 1)) }),
    acts: {
      revocation: {
        run: async () => {
          for (let token = 1; token <= logins; token += 1) {
            revoked[0]!.add(String(token))
            setTimeout(() => revoked[1]!.add(String(token)), delayMs)
          }
          await fetch(origins[0]!)
        },
      },
    },
    read: { path: '/' },
    openSocket: async (origin, { authorization }) => ({
      isAccepted: async () => !revoked[origins.indexOf(origin)]!.has(authorization!),
      onClose: () => undefined,
      close: () => undefined,
    }),
  }
  return {
    adapter,
    origins: origins as [string, string],
    [Symbol.dispose]: () => {
      for (const server of servers) server.closeAllConnections()
      for (const server of servers) server.close()
    },
  }
}

describe('The prober', () => {
  it('finds nothing where every replica refuses the old session when the answer arrives', async () => {
    using replicas = await startReplicas(0)
    const { adapter, origins } = replicas
    const [result] = await probe({ adapter, origins: [origins[0]], rounds: 2, watchMs: 200 })

    expect(result).to.include({ act: 'revocation', accepted: 0, lastAcceptedMs: 0, messagesAccepted: 0 })
    expect(result!.messages).to.be.greaterThan(0)
    expect(result!.requests).to.be.greaterThan(20)
  })

  it('finds how long a replica accepts it afterwards', async () => {
    using replicas = await startReplicas(1_500)
    const { adapter, origins } = replicas
    const [result] = await probe({ adapter, origins, rounds: 1, watchMs: 2_000 })

    expect(result!.accepted).to.be.greaterThan(0)
    expect(result!.lastAcceptedMs).to.be.greaterThan(0)
    expect(result!.messagesAccepted).to.be.greaterThan(0)
    expect(result!.lastMessageMs).to.be.greaterThan(0)
  })
})
