import { connectRedisCache } from '@gatehouse/authority'
import { connect as connectPlain, createServer, type AddressInfo } from 'node:net'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { once } from 'node:events'
import { expect } from 'chai'
import { connectNats } from '@gatehouse/bus'
import { systemRandom } from '@gatehouse/runtime'
import { natsAddress, redisAddress } from '@gatehouse/service-kit/start'
import { buildAccountState, capturedLog, eventually, startNats, startRedis, freePort } from '@gatehouse/test-kit'
import { createScratchFolder } from '@gatehouse/local-servers'
import { runArguments } from '../deploy/test/run-arguments.ts'
import { createAuthority, type Pem } from '../libs/database/test/certificates.ts'

const names = ['127.0.0.1', 'localhost']

export const wrongCertificates = ['wrongName', 'expired', 'strange'] as const
/** A client gives up after a second or two, so a busy machine may need many attempts. */
const busyMs = 60_000
type WrongCertificate = (typeof wrongCertificates)[number]

/** The tests, with certificates that servers show in vain. */
export function testServerTls(refused: Record<'redis' | 'nats', readonly WrongCertificate[]>): void {
  const resources = new AsyncDisposableStack()
  const authority = createAuthority('authority')
  const client = authority.sign({ names: ['gatehouse'] })
  const { log } = capturedLog()
  const certificates: Record<'right' | WrongCertificate, Pem> = {
    right: authority.sign({ names }),
    wrongName: authority.sign({ names: ['elsewhere.example'] }),
    expired: authority.sign({ names, validDays: -1 }),
    strange: createAuthority('stranger').sign({ names }),
  }
  let folder: string

  before(async () => {
    folder = await createScratchFolder('server-tls')
    await writeFile(join(folder, 'ca.crt'), authority.cert)
    for (const [name, { cert, key }] of Object.entries(certificates)) {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'crt'), cert)
      await writeFile(join(folder, name, 'key'), key)
    }
  })
  after(() => resources.disposeAsync())

  const files = (name: keyof typeof certificates) => ({
    ca: join(folder, 'ca.crt'),
    cert: join(folder, name, 'crt'),
    key: join(folder, name, 'key'),
  })

  async function listensByTls(port: number): Promise<boolean> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    // With TLS 1.3 the server refuses a missing certificate after the handshake.
    socket.on('error', () => undefined)
    const connected = await once(socket, 'secureConnect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return connected
  }

  async function startTlsRedis(name: keyof typeof certificates): Promise<number> {
    const tlsPort = await freePort()
    const { ca, cert, key } = files(name)
    const config = `tls-port ${tlsPort}\ntls-cert-file ${cert}\ntls-key-file ${key}\ntls-ca-cert-file ${ca}\ntls-auth-clients yes\n`
    resources.use(await startRedis({ config }))
    await eventually('Redis listens by TLS', () => listensByTls(tlsPort), busyMs)
    return tlsPort
  }

  async function redisWorks(url: string, tls?: object): Promise<boolean> {
    await using cache = await connectRedisCache({ url, ...(tls && { tls }), random: systemRandom, log })
    if (!cache.ready()) return false
    await cache.fill(buildAccountState(), await cache.lease('42'))
    return (await cache.find('42'))?.version === 1
  }

  async function natsWorks(url: string, tls?: object): Promise<boolean> {
    await using bus = await connectNats({ url, ...(tls && { tls }), name: 'test', log })
    return bus.ready()
  }

  const redisAnswers = (...args: Parameters<typeof redisWorks>) =>
    eventually('Redis', () => redisWorks(...args), busyMs)
  const natsAnswers = (...args: Parameters<typeof natsWorks>) => eventually('NATS', () => natsWorks(...args), busyMs)

  const full = { ca: authority.cert, cert: client.cert, key: client.key }

  it('speaks to a Redis with the right certificate and shows its own', async () => {
    const port = await startTlsRedis('right')

    await redisAnswers(`rediss://127.0.0.1:${port}`, full)
    expect(await redisWorks(`rediss://127.0.0.1:${port}`, { ca: authority.cert })).to.equal(false)
    expect(await redisWorks(`rediss://127.0.0.1:${port}`)).to.equal(false)
    expect(await redisWorks(`redis://127.0.0.1:${port}`)).to.equal(false)
  })

  for (const name of refused.redis) {
    it(`speaks to no Redis with another certificate: ${name}`, async () => {
      const port = await startTlsRedis(name)

      expect(await redisWorks(`rediss://127.0.0.1:${port}`, full)).to.equal(false)
      // The certificate alone is what it refuses.
      await redisAnswers(`rediss://127.0.0.1:${port}`, { ...full, rejectUnauthorized: false })
    })
  }

  it('lives on where the alert of a Redis comes with the certificate that is refused', async () => {
    const port = await startTlsRedis('strange')
    const cut = await startCuttingProxy(port)

    expect(await redisWorks(`rediss://127.0.0.1:${cut.port}`, full)).to.equal(false)
    await eventually('an alert came', () => cut.answers() > 1)
  })

  /** Ends what it sends after the first message of a client, and gives the whole answer of the server in one piece. */
  async function startCuttingProxy(port: number) {
    let answers = 0
    const server = createServer((client) => {
      const answer: Buffer[] = []
      const upstream = connectPlain(port, '127.0.0.1')
      for (const socket of [client, upstream]) socket.on('error', () => undefined)
      client.once('data', (hello) => upstream.end(hello))
      upstream.on('data', (chunk: Buffer) => answer.push(chunk))
      upstream.on('close', () => {
        answers += 1
        client.end(Buffer.concat(answer))
      })
    })
    resources.defer(() => void server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as AddressInfo).port, answers: () => answers }
  }

  for (const name of refused.nats) {
    it(`speaks to no NATS with another certificate: ${name}`, async () => {
      const { url } = await startTlsNats(name)

      expect(await natsWorks(url.replace('nats:', 'tls:'), full)).to.equal(false)
      await natsAnswers(url.replace('nats:', 'tls:'), { ...full, rejectUnauthorized: false })
    })
  }

  async function startTlsNats(name: keyof typeof certificates) {
    const { ca, cert, key } = files(name)
    const config = `tls { cert_file: "${cert}", key_file: "${key}", ca_file: "${ca}", verify: true }`
    return resources.use(await startNats({ config }))
  }

  it('speaks to a NATS with the right certificate and shows its own', async () => {
    const { url } = await startTlsNats('right')

    await natsAnswers(url.replace('nats:', 'tls:'), full)
    expect(await natsWorks(url.replace('nats:', 'tls:'), { ca: authority.cert })).to.equal(false)
    expect(await natsWorks(url.replace('nats:', 'tls:'))).to.equal(false)
  })

  it('is said by `check`, with the reason why a connection is refused', async () => {
    const [right, expired] = [await startTlsNats('right'), await startTlsNats('expired')]
    const redis = await startTlsRedis('expired')
    const certificateFiles = {
      NATS_CA: full.ca,
      NATS_CERT: full.cert,
      NATS_KEY: full.key,
      REDIS_CA: full.ca,
      REDIS_CERT: full.cert,
      REDIS_KEY: full.key,
    }
    const elsewhere = { IDENTITY_URL: 'http://127.0.0.1:1', PUBLIC_ORIGIN: 'http://127.0.0.1:1' }
    const look = async (servers: Record<string, string>) => {
      const { output } = await runArguments(['check', '--json'], { ...elsewhere, ...certificateFiles, ...servers })
      const { checks } = JSON.parse(output) as { checks: { check: string; ok: boolean; detail: string }[] }
      return checks.filter(({ check }) => /NATS|Redis/.test(check)).map(({ ok, detail }) => `${ok} ${detail}`)
    }
    const byTls = ({ url }: { url: string }) => ({ NATS_URL: url.replace('nats:', 'tls:') })
    const isRefused = (line: string) => /^false .*\(certificate has expired\)$/.test(line)

    // No identity has created the streams: only who is connected knows.
    const answers = /^true answers$|^false .*does not exist/
    await eventually('NATS answers', async () => (await look(byTls(right))).some((line) => answers.test(line)), busyMs)
    await eventually(
      'the reason of both',
      async () => {
        const lines = await look({ ...byTls(expired), REDIS_URL: `rediss://127.0.0.1:${redis}` })
        return lines.length === 2 && lines.every(isRefused)
      },
      busyMs,
    )
  })

  it('stops a start that names certificates and an address without TLS', () => {
    const settings = {
      NATS_URL: 'nats://host:4222',
      NATS_CA: authority.cert,
      NATS_CERT: undefined,
      NATS_KEY: undefined,
    }
    const redis = { REDIS_CA: undefined, REDIS_CERT: client.cert, REDIS_KEY: client.key }

    expect(() => natsAddress(settings)).to.throw(/^NATS_URL: must begin with tls:\/\/, because certificates are given/)
    expect(natsAddress({ ...settings, NATS_URL: 'tls://host:4222' }).tls).to.deep.equal({ ca: authority.cert })
    for (const scheme of ['redis', 'redis+sentinel', 'redis+cluster']) {
      expect(() => redisAddress({ ...redis, REDIS_URL: `${scheme}://host/main` })).to.throw(/^REDIS_URL: must begin/)
      const { tls } = redisAddress({ ...redis, REDIS_URL: `${scheme.replace('redis', 'rediss')}://host/main` })
      expect(tls).to.deep.equal({ cert: client.cert, key: client.key })
    }
  })

  it('never speaks in plain text where the address asks for TLS', async () => {
    const [redis, nats] = [resources.use(await startRedis()), resources.use(await startNats())]
    await redisAnswers(redis.url)
    await natsAnswers(nats.url)

    expect(await redisWorks(redis.url.replace('redis:', 'rediss:'), full)).to.equal(false)
    expect(await natsWorks(nats.url.replace('nats:', 'tls:'), full)).to.equal(false)
  })
}
