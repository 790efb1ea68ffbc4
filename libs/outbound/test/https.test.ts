import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect } from 'chai'
import { buildCertificate } from './certificate.ts'
import { buildOutbound, failureKind, startPeer } from './harness.ts'

describe('https', () => {
  const certificate = buildCertificate('peer.test')
  const trusted = getCACertificates('default')

  before(() => setDefaultCACertificates([...trusted, certificate.cert]))
  after(() => setDefaultCACertificates(trusted))

  it('asks for the host by name at the address that was checked', async () => {
    await using peer = await startPeer(
      (request, response) =>
        response.end(`${(request.socket as TLSSocket & { servername: string }).servername} ${request.headers.host}`),
      { tls: certificate },
    )
    await using outbound = buildOutbound({ resolve: { 'peer.test': { address: '127.0.0.1', port: peer.port } } })

    const answer = await outbound.request({ method: 'GET', url: 'https://peer.test/', timeoutMs: 5000 })

    expect(answer.body.toString()).to.equal('peer.test peer.test')
  })

  it('refuses a certificate of another name', async () => {
    await using peer = await startPeer((_request, response) => response.end(), { tls: certificate })
    await using outbound = buildOutbound({ resolve: { 'other.test': { address: '127.0.0.1', port: peer.port } } })

    const request = outbound.request({ method: 'GET', url: 'https://other.test/', timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('unreachable')
  })

  it('refuses a certificate that no trusted authority has signed', async () => {
    await using peer = await startPeer((_request, response) => response.end(), { tls: buildCertificate('peer.test') })
    await using outbound = buildOutbound({ resolve: { 'peer.test': { address: '127.0.0.1', port: peer.port } } })

    const request = outbound.request({ method: 'GET', url: 'https://peer.test/', timeoutMs: 5000 })

    expect(await failureKind(request)).to.equal('unreachable')
  })

  it('hangs up at the deadline on a peer that never answers the handshake', async function () {
    this.timeout(5_000) // well before the connection attempt would end by itself
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`
    await using outbound = buildOutbound()
    const accepted = once(silent, 'connection') as Promise<[Socket]>

    const kind = await failureKind(outbound.request({ method: 'GET', url, timeoutMs: 60 }))

    expect(kind).to.equal('timeout')
    const [socket] = await accepted
    socket.on('error', () => {}).resume()
    if (!socket.closed) await once(socket, 'close')
    silent.close()
  })
})
