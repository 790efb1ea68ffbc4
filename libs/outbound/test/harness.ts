import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { OutboundFailure, createOutbound, parseCidrs } from '../src/index.ts'
import type { OutboundConfig } from '../src/index.ts'
import type { Lookup } from '../src/target.ts'

export type Peer = AsyncDisposable & { port: number; connections: number }

type PeerOptions = { host?: string; port?: number; tls?: { key: string; cert: string } }

/** A peer on loopback that counts the connections it was given. */
export async function startPeer(listener: RequestListener, options: PeerOptions = {}): Promise<Peer> {
  const server: Server = options.tls ? createHttpsServer(options.tls, listener) : createHttpServer(listener)
  server.listen(options.port ?? 0, options.host ?? '127.0.0.1')
  await once(server, 'listening')
  const peer = {
    port: (server.address() as AddressInfo).port,
    connections: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  server.on('connection', () => (peer.connections += 1))
  return peer
}

/** An outbound that may reach loopback unless told otherwise. */
export function buildOutbound(config: Partial<OutboundConfig> = {}, addressesOf?: Lookup['addressesOf']) {
  const lookup = addressesOf && { lookup: { addressesOf, close: () => {} } }
  return createOutbound({ allowPrivate: parseCidrs('loopback'), resolve: {}, ...config }, lookup)
}

/** The kind of failure that a request ends with; an answer or any other error fails the test. */
export async function failureKind(request: Promise<unknown>): Promise<string> {
  const outcome = await request.then(
    () => 'an answer',
    (error: unknown) => error,
  )
  expect(outcome).to.be.instanceOf(OutboundFailure)
  return (outcome as OutboundFailure).kind
}
