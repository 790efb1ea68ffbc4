import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { killTree, watchProcess } from '@gatehouse/local-servers'
import { documentedCommand, eventually, freePort } from '@gatehouse/test-kit'
import { postJson, readCommand, startInstance } from '../deploy/test/program.ts'

const root = resolve(import.meta.dirname, '..')
const account = { username: 'ada', password: 'a long enough password' }

/** In a new folder, by the commands of docs/tutorials/chat-in-an-hour.md: an instance and NATS with the file of its room, which does not run. */
export async function openStand(folder: string) {
  await using opening = new AsyncDisposableStack()
  mkdirSync(folder)
  symlinkSync(join(root, 'examples'), join(folder, 'examples'))
  const pids: number[] = []
  opening.defer(async () => {
    for (const pid of pids) await killTree(pid)
  })
  const ports = { gateway: String(await freePort()), nats: String(await freePort()), room: String(await freePort()) }

  /** What a command prints. */
  const run = (...commands: string[]): string => {
    const script = ['-eo', 'pipefail', '-c', commands.join('\n')]
    return execFileSync('bash', script, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  }

  /** A command that runs until the stand ends. */
  function start(command: string, environment: Record<string, string> = {}): void {
    const env = { PATH: process.env.PATH ?? '', ...environment }
    const child = spawn('bash', ['-c', command], { cwd: folder, env, stdio: 'ignore' })
    watchProcess(child.pid!, 'SIGKILL')
    pids.push(child.pid!)
  }

  makeFile(folder, run, ports.room)
  start(`${documentedCommand('nats-server -js -p 4222 &', { '4222': ports.nats, ' &': '' })} -a 127.0.0.1 -sd nats`)
  const command = documentedCommand('GATEHOUSE_UPSTREAMS=upstreams.yaml NATS_URL=nats://127.0.0.1:4222 npm start', {
    'upstreams.yaml': join(folder, 'upstreams.yaml'),
    '4222': ports.nats,
  })
  const { variables } = readCommand(command)
  await eventually('NATS listens', () => run(`echo > /dev/tcp/127.0.0.1/${ports.nats} && echo open`) !== '')
  const environment = { ...variables, PORT: ports.gateway, HOST: '127.0.0.1' }
  const { url } = opening.use(await startInstance(join(folder, 'data'), environment))
  const { body } = await postJson(`${url}/api/auth/register`, account)
  const open = opening.move()
  return {
    ports,
    run,
    start,
    token: String(body.token),
    userId: (body.user as { id: string }).id,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** `upstreams.yaml` with the key of the room, and its address on a port of this test. */
function makeFile(folder: string, run: (...commands: string[]) => string, port: string): void {
  run(
    documentedCommand('openssl genpkey -algorithm ed25519 -out rooms.pem'),
    documentedCommand(
      "key=$(openssl pkey -in rooms.pem -pubout -outform DER | tail -c 32 | openssl base64 -A | tr '+/' '-_' | tr -d '=')",
    ),
    documentedCommand('sed "s/KEY/$key/" examples/chat-python/upstreams.yaml > upstreams.yaml'),
  )
  const file = join(folder, 'upstreams.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(':9100', `:${port}`))
}
