import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connectDatabase, prepareDatabase } from '@gatehouse/database'
import { freePort, ManagedProcess, requireProgram, startNats } from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import type { Log } from '@gatehouse/service-kit'
import { parse, stringify } from 'yaml'
import { readConfig, type EmbeddedConfig } from '../embedded/config.ts'
import { startEmbedded } from '../embedded/embedded.ts'

const projectRoot = resolve(import.meta.dirname, '../..')
const examplesFolder = join(projectRoot, 'examples')

type Options = {
  environment: Readonly<Record<string, string | undefined>>
  dataFolder: string
  /** Of the owner. */
  databaseUrl: string
  log: Log
  /** After an end that was not asked for. */
  restarts: boolean
}

/** An embedded instance, examples/chat and examples/chat-python behind its gateway, and NATS between them. */
export async function startExample({ environment, dataFolder, databaseUrl, log, restarts }: Options) {
  await using opening = new AsyncDisposableStack()
  const [port, roomsPort] = [await freePort(), await freePort()]
  const roomsKey = join(dataFolder, 'rooms.pem')
  const ports = { chat: port, 'chat-python': roomsPort }
  const upstreamsFile = await writeUpstreams(dataFolder, { ports, publicKey: await makeKey(roomsKey) })
  const nats = opening.use(await startNats({ folder: join(dataFolder, 'nats') }))
  const config = readConfig({ ...environment, NATS_URL: nats.url, GATEHOUSE_UPSTREAMS: upstreamsFile })
  await prepareDatabase(databaseUrl)
  const common = { NATS_URL: nats.url, PUBLIC_ORIGIN: config.publicAddress.origin }
  const gateway = localOrigin(config)
  const open = (options: ExampleOptions) => opening.use(createProcess(options))
  const keys = { KEYS_URL: `${gateway}/api/upstream-keys` }
  const chat = open({
    name: 'examples/chat',
    command: [process.execPath, '--disable-warning=ExperimentalWarning', join(examplesFolder, 'chat/main.ts')],
    variables: { ...common, ...keys, PORT: String(port), DATABASE_URL: await createRole(databaseUrl) },
    address: `http://127.0.0.1:${port}/api/chat`,
    restarts,
  })
  const roomsUrl = `http://127.0.0.1:${roomsPort}/`
  const files = { KEY: roomsKey, DATABASE: join(dataFolder, 'rooms.db') }
  const rooms = open({
    name: 'examples/chat-python',
    command: [requireProgram('python3'), join(examplesFolder, 'chat-python/rooms.py')],
    variables: { ...common, ...files, GATEWAY_URL: gateway, PORT: String(roomsPort) },
    address: roomsUrl,
    restarts,
  })
  await Promise.all([chat.start(), rooms.start()])
  const instance = opening.use(await startEmbedded(config, databaseUrl, { log }))
  const opened = opening.move()
  const started = { config, instance, natsUrl: nats.url, chat, rooms, roomsUrl }
  return { ...started, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Gives the public half as the file of upstreams has it. */
async function makeKey(path: string): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  await writeFile(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
  return publicKey.export({ format: 'jwk' }).x ?? ''
}

type Named = { ports: Record<string, number>; publicKey: string }

async function writeUpstreams(dataFolder: string, { ports, publicKey }: Named): Promise<string> {
  const upstreams: object[] = []
  for (const [example, port] of Object.entries(ports)) {
    const text = await readFile(join(examplesFolder, example, 'upstreams.yaml'), 'utf8')
    const file = parse(text.replace('key: KEY', `key: ${publicKey}`)) as { upstreams: object[] }
    upstreams.push(...file.upstreams.map((upstream) => ({ ...upstream, origins: [`http://127.0.0.1:${port}`] })))
  }
  const path = join(dataFolder, 'example-upstreams.yaml')
  await writeFile(path, stringify({ upstreams }))
  return path
}

/** The role gets a new password at each start. */
async function createRole(databaseUrl: string): Promise<string> {
  const role = 'gatehouse_chat'
  const password = randomToken(systemRandom, 24)
  const grants = await readFile(join(examplesFolder, 'chat/grants.sql'), 'utf8')
  const orm = await connectDatabase({ url: databaseUrl, connections: 1, applicationName: 'gatehouse-example' })
  try {
    await orm.em.fork().execute(`
      do $$ begin
        if not exists (select from pg_roles where rolname = '${role}') then create role ${role} login; end if;
      end $$;
      alter role ${role} password '${password}';
      ${grants}`)
  } finally {
    await orm.close(true)
  }
  return Object.assign(new URL(databaseUrl), { username: role, password }).href
}

function localOrigin({ host, port }: EmbeddedConfig): string {
  const isEvery = host === '0.0.0.0' || host === '::'
  return `http://${isEvery ? '127.0.0.1' : host}:${port}`
}

type ExampleOptions = {
  name: string
  command: string[]
  variables: Record<string, string>
  /** Answers when it listens. */
  address: string
  restarts: boolean
}

function createProcess({ name, command: [program = '', ...args], variables, address, restarts }: ExampleOptions) {
  const recent: string[] = []
  return new ManagedProcess({
    name,
    readyLimitMs: 60_000,
    stopLimitMs: 10_000,
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGTERM',
    restarts,
    isReady: () => answers(address),
    lastLines: () => recent.join(''),
    spawn() {
      const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
      const child = spawn(program, args, {
        cwd: projectRoot,
        env: { PATH, HOME, NODE_COMPILE_CACHE, ...variables },
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
      })
      child.stderr.on('data', (chunk: Buffer) => {
        process.stderr.write(chunk)
        recent.push(chunk.toString())
        if (recent.length > 20) recent.shift()
      })
      return child
    },
  })
}

async function answers(url: string): Promise<boolean> {
  const answered = fetch(url).then((response) => response.text())
  return (await answered.catch(() => null)) !== null
}
