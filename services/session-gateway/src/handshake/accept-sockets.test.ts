import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { OpenSockets } from '../connection/close-sockets.ts'
import { acceptSockets } from './accept-sockets.ts'

const upgrade =
  'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

describe('An accepted socket', () => {
  it('keeps nothing of the request by which it was opened', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const openSockets = new OpenSockets()
    await using scope = new AsyncDisposableStack()
    const server = createServer()
    scope.defer(async () => void (await once(server.close(), 'close')))
    const requests: WeakRef<object>[] = []
    server.on('upgrade', (request) => void requests.push(new WeakRef(request)))
    const deps = {
      openSockets,
      clock: { now: () => 0 },
      verifyCaller: () => ({ address: '192.0.2.1' }),
      quota: { take: () => true, release: () => undefined },
      timeouts: { unauthenticated: { add: () => undefined, delete: () => true } },
      timings: { closeMs: 300 },
      sessionMetrics: { handshakes: { inc: () => undefined } },
      onReleased: () => undefined,
    }
    acceptSockets(deps as unknown as Parameters<typeof acceptSockets>[0], server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const connections = Array.from({ length: 5 }, () => connect((server.address() as AddressInfo).port, '127.0.0.1'))
    for (const connection of connections) {
      scope.defer(() => void connection.destroy())
      connection.write(upgrade)
    }

    const isGone = (request: WeakRef<object>) => request.deref() === undefined
    await eventually('all sockets are open, and their requests are gone', () => {
      collect()
      return openSockets.size === 5 && requests.every(isGone)
    })
    expect(requests).to.have.length(5)
  })
})
