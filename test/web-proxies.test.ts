import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { createScratchFolder, type LocalServer } from '@gatehouse/local-servers'
import { eventually, startWebProxy } from '@gatehouse/test-kit'
import { projectRoot } from '../deploy/test/read-manifests.ts'
import { runArguments } from '../deploy/test/run-arguments.ts'
import sharp from 'sharp'
import { Agent, fetch, FormData } from 'undici'
import { WebSocket } from 'ws'
import { parse } from 'yaml'
import { createAuthority } from '../libs/database/test/certificates.ts'
import { startInstance } from './instance.ts'

const example = (name: string): string => readFileSync(join(projectRoot, 'deploy/proxies', name), 'utf8')
/** Fails where the example has no such text. */
const replace = (text: string, from: string, to: string): string => {
  expect(text).to.include(from)
  return text.replace(from, to)
}

type TraefikHttp = {
  routers: Record<string, { service: string }>
  services: Record<string, { loadBalancer: { serversTransport: string } }>
  serversTransports: object
}

type Addresses = { port: number; folder: string; gateway: string; certificate: string }

const configOf = {
  nginx({ port, folder, gateway, certificate }: Addresses): string {
    let text = example('nginx.conf')
    text = replace(text, 'server 127.0.0.1:8080;', `server ${gateway};`)
    text = replace(text, 'listen 80;', `listen 127.0.0.1:${port + 1};`)
    text = replace(text, 'listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
    text = text.replaceAll(
      /\/etc\/letsencrypt\/live\/chat\.example\/(fullchain|privkey)\.pem/g,
      `${certificate}/$1.pem`,
    )
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    return `daemon off; master_process off; ${user} pid ${folder}/pid; events {} http { access_log off; ${temporary.join(' ')}\n${text}}`
  },
  caddy({ port, folder, gateway, certificate }: Addresses): string {
    const global = `{\nadmin off\nauto_https disable_redirects\nstorage file_system ${folder}\n}\n`
    const tls = `tls ${certificate}/fullchain.pem ${certificate}/privkey.pem`
    const text = replace(example('Caddyfile'), '\nchat.example {', `\nhttps://127.0.0.1:${port} {\n${tls}`)
    return global + replace(text, 'reverse_proxy 127.0.0.1:8080 {', `reverse_proxy ${gateway} {`)
  },
}

describe('the examples of web servers before an instance', () => {
  const scope = new AsyncDisposableStack()
  const authority = createAuthority('authority')
  // Another address than the proxy's, which alone is trusted.
  const localAddress = '127.0.0.2'
  const { cert: ca } = authority
  const dispatcher = new Agent({ connect: { ca }, localAddress })
  let instance: Awaited<ReturnType<typeof startInstance>>
  let certificate: string
  let token: string

  before(async () => {
    certificate = await createScratchFolder('certificate')
    const { cert, key } = authority.sign({ names: ['127.0.0.1'] })
    await writeFile(join(certificate, 'fullchain.pem'), cert)
    await writeFile(join(certificate, 'privkey.pem'), key)
    instance = scope.use(await startInstance({ TRUST_PROXY: '127.0.0.1', LOG_ADDRESSES: 'true' }))
    const registered = await fetch(`${instance.url}/api/auth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'alice', password: 'a long enough password' }),
    })
    token = ((await registered.json()) as { token: string }).token
  })
  after(async () => {
    await dispatcher.close()
    await scope.disposeAsync()
  })

  const upload = async (url: string, bytes: Buffer<ArrayBuffer>) => {
    const body = new FormData()
    body.set('file', new Blob([bytes], { type: 'image/png' }), 'noise.png')
    const headers = { authorization: `Bearer ${token}` }
    return await fetch(`${url}/api/uploads`, { method: 'POST', body, headers, dispatcher })
  }

  for (const name of ['nginx', 'caddy'] as const) {
    it(`passes on the client's address, request ids, sockets, large uploads and ranges: ${name}`, async () => {
      const gateway = new URL(instance.url).host
      await using proxy: LocalServer = await startWebProxy(name, (port, folder) =>
        configOf[name]({ port, folder, gateway, certificate }),
      )
      const { url } = proxy

      const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '198.51.100.7' }
      const me = await fetch(`${url}/api/users/@me`, { headers, dispatcher })
      expect(me.status).to.equal(200)
      const requestId = me.headers.get('x-request-id')
      const line = await eventually('the request is logged', () =>
        instance.log.find((one) => one['requestId'] === requestId && 'address' in one),
      )
      expect(JSON.stringify(line)).to.include('127.0.0.2').and.not.include('198.51.100.7')

      const socket = new WebSocket(`${url.replace('https', 'wss')}/ws`, { ca, localAddress })
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'auth', token }))
      const [message] = (await once(socket, 'message')) as [Buffer]
      expect(JSON.parse(message.toString())).to.include({ type: 'ready' })
      socket.terminate()

      const side = 1_650
      const noise = sharp(randomBytes(side * side * 3), { raw: { width: side, height: side, channels: 3 } })
      const picture = Buffer.from(await noise.png({ compressionLevel: 0 }).toBuffer())
      expect(picture.length).to.be.within(7.5 * 2 ** 20, 8 * 2 ** 20)
      const sent = await upload(url, picture)
      expect(sent.status).to.equal(201)
      const { url: path } = (await sent.json()) as { url: string }
      const part = await fetch(new URL(path, url), { headers: { range: 'bytes=0-9' }, dispatcher })
      expect([part.status, (await part.arrayBuffer()).byteLength]).to.deep.equal([206, 10])
      const refused = await upload(url, Buffer.alloc(8 * 2 ** 20 + 1))
      expect([refused.status, ((await refused.json()) as { code: string }).code]).to.deep.equal([413, 'body_too_large'])
    })
  }

  it('are told apart from clients by check: whom TRUST_PROXY names writes the header as it likes', async () => {
    const environment = { IDENTITY_URL: instance.url, PUBLIC_ORIGIN: instance.url }

    const { code, output } = await runArguments(['check'], environment)

    expect(code).to.equal(7)
    expect(output)
      .to.match(/FAIL +X-Forwarded-For +of this computer is trusted/)
      .and.match(/ok +public address/)
  })

  it('has an example for Traefik, which no test runs, with nothing that keeps requests or answers', () => {
    const { http } = parse(example('traefik.yaml')) as { http: TraefikHttp }
    const [router, ...otherRouters] = Object.values(http.routers)
    const { loadBalancer } = http.services[router!.service]!

    expect(otherRouters).to.deep.equal([])
    expect(Object.keys(http)).to.have.members(['routers', 'services', 'serversTransports'])
    expect(router).to.have.all.keys('rule', 'entryPoints', 'service', 'tls')
    expect(loadBalancer).to.deep.include({ passHostHeader: true, responseForwarding: { flushInterval: '-1ns' } })
    expect(http.serversTransports).to.have.property(loadBalancer.serversTransport)
  })

  it('has the same limit for bodies in the others', () => {
    expect(example('nginx.conf')).to.include('client_max_body_size 9m;')
    expect(example('Caddyfile')).to.include('max_size 9MB')
  })
})
