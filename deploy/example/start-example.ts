import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { connectDatabase, prepareDatabase } from '@gatehouse/database'
import { freePort, startNats, ManagedProcess } from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import type { Log } from '@gatehouse/service-kit'
import { parse, stringify } from 'yaml'
import { readConfig, type EmbeddedConfig } from '../embedded/config.ts'
import { startEmbedded } from '../embedded/embedded.ts'

type Options = {
  environment: Readonly<Record<string, string | undefined>>
  dataFolder: string
  /** Of the owner. */
  databaseUrl: string
  log: Log
  /** After an end that was not asked for. */
  restarts: boolean
}

/** An embedded instance, examples/chat behind its gateway, and NATS between them. */
export async function startExample({ environment, dataFolder, databaseUrl, log, restarts }: Options) {
  await using opening = new AsyncDisposableStack()
  const port = await freePort()
  const upstreamsFile = await writeUpstreams(dataFolder, port)
  const nats = opening.use(await startNats({ folder: join(dataFolder, 'nats') }))
  const config = readConfig({ ...environment, NATS_URL: nats.url, GATEHOUSE_UPSTREAMS: upstreamsFile })
  await prepareDatabase(databaseUrl)
  const variables = {
    PORT: String(port),
    DATABASE_URL: await createRole(databaseUrl),
    NATS_URL: nats.url,
    PUBLIC_ORIGIN: config.publicAddress.origin,
    KEYS_URL: `${localOrigin(config)}/api/upstream-keys`,
  }
  const chat = opening.use(new ChatProcess({ port, variables, restarts }))
  await chat.start()
  const instance = opening.use(await startEmbedded(config, databaseUrl, { log }))
  const open = opening.move()
  return { config, instance, chat, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function writeUpstreams(dataFolder: string, port: number): Promise<string> {
  const text = await readFile(join(exampleFolder, 'upstreams.yaml'), 'utf8')
  const file = parse(text) as { upstreams: { origins: string[] }[] }
  for (const upstream of file.upstreams) upstream.origins = [`http://127.0.0.1:${port}`]
  const path = join(dataFolder, 'example-upstreams.yaml')
  await writeFile(path, stringify(file))
  return path
}

/** The role gets a new password at each start. */
async function createRole(databaseUrl: string): Promise<string> {
  const role = 'gatehouse_chat'
  const password = randomToken(systemRandom, 24)
  const grants = await readFile(join(exampleFolder, 'grants.sql'), 'utf8')
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

const projectRoot = resolve(import.meta.dirname, '../..')
const exampleFolder = join(projectRoot, 'examples/chat')

type ChatOptions = { port: number; variables: Record<string, string>; restarts: boolean }

class ChatProcess extends ManagedProcess {
  constructor({ port, variables, restarts }: ChatOptions) {
    const recent: string[] = []
    super({
      name: 'examples/chat',
      readyLimitMs: 60_000,
      stopLimitMs: 10_000,
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGTERM',
      restarts,
      isReady: () => answers(`http://127.0.0.1:${port}/api/chat`),
      lastLines: () => recent.join(''),
      spawn() {
        const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
        const args = ['--disable-warning=ExperimentalWarning', join(exampleFolder, 'main.ts')]
        const child = spawn(process.execPath, args, {
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
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.text()
    return response.ok
  } catch {
    return false
  }
}
