import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from '../engine.ts'
import { projectRoot } from '../project.ts'
import { evaluate, expectThat, firstOf, processes, type Check, type Scene } from '../scene.ts'

const outside = '1.1.1.1:443'

/** What each process may open a connection to. */
const reaches: Record<(typeof processes)[number], string[]> = {
  gateway: ['nats:4222', 'redis:6379', 'identity-http:8081'],
  identity: ['postgres:5432', 'nats:4222', 'redis:6379', outside],
  invite: ['postgres:5432', 'nats:4222'],
  'session-gateway': ['postgres:5432', 'nats:4222'],
  'federation-fanout': ['postgres:5432', 'nats:4222', outside],
  openid: ['postgres:5432', 'nats:4222', outside],
}
const targets = [outside, 'postgres:5432', 'nats:4222', 'redis:6379', 'nats:8222']

const connectProgram = (addresses: readonly string[]): string => `
import { connect } from 'node:net'
for (const address of ${JSON.stringify(addresses)}) {
  const [host, port] = address.split(':')
  const open = await new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: 10000 })
    for (const event of ['connect', 'error', 'timeout']) socket.once(event, () => { socket.destroy(); resolve(event === 'connect') })
  })
  if (open) console.log(address)
}`

const statusProgram = `
import { readFileSync, writeFileSync } from 'node:fs'
const status = readFileSync('/proc/1/status', 'utf8')
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)[1]
const canWrite = (path) => { try { writeFileSync(path, ''); return true } catch { return false } }
console.log(JSON.stringify({ uid: field('Uid'), capabilities: field('CapEff'), noNewPrivileges: field('NoNewPrivs'),
  writable: ['/app/x', '/x', '/data/x'].filter(canWrite), tmp: canWrite('/tmp/x') }))`

async function checkMakeSecrets({ secrets }: Scene): Promise<string> {
  const content = async (): Promise<string> => {
    const files = (await readdir(secrets)).sort()
    return JSON.stringify(
      await Promise.all(files.map(async (file) => [file, await readFile(join(secrets, file), 'utf8')])),
    )
  }
  const before = await content()
  await runProgram('sh', [join(projectRoot, 'deploy/make-secrets.sh'), secrets])
  expectThat((await content()) === before, 'a second run changed a secret')
  const mode = ((await stat(secrets)).mode & 0o777).toString(8)
  expectThat(mode === '700', `the folder has mode ${mode}`)
  return `${(await readdir(secrets)).length} files in a folder of mode 700; a second run changed none`
}

async function checkPrivileges(scene: Scene): Promise<string> {
  for (const service of processes) {
    const container = await firstOf(scene, service)
    const privileges = await evaluate(scene, container, statusProgram)
    const writable = service === 'identity' ? ['/data/x'] : []
    const expected = { uid: '10001', capabilities: '0000000000000000', noNewPrivileges: '1', writable, tmp: true }
    expectThat(privileges === JSON.stringify(expected), `${service}: ${privileges}`)
  }
  return 'user 10001, CapEff 0, NoNewPrivs 1; only /tmp is writable, and /data in identity'
}

async function checkReach(scene: Scene): Promise<string> {
  for (const service of processes) {
    const all = [...new Set([...targets, ...reaches[service]])]
    const open = (await evaluate(scene, await firstOf(scene, service), connectProgram(all))).split('\n').filter(Boolean)
    // Where the machine itself has no way out, that address says nothing.
    const unexpected = open.filter((address) => !reaches[service].includes(address))
    const unreachable = reaches[service].filter((address) => address !== outside && !open.includes(address))
    expectThat(unexpected.length === 0, `${service} reaches ${unexpected.join(', ')}`)
    expectThat(unreachable.length === 0, `${service} does not reach ${unreachable.join(', ')}`)
  }
  return 'each what it uses; gateway, invite and session-gateway have no way out'
}

async function checkSecretsHidden(scene: Scene): Promise<string> {
  const files = (await readdir(scene.secrets)).filter(
    (file) => /password|secret$/.test(file) && !file.endsWith('.conf'),
  )
  const values = await Promise.all(files.map((file) => readFile(join(scene.secrets, file), 'utf8')))
  for (const service of processes) {
    const container = await firstOf(scene, service)
    const shown = (await scene.engine.run('inspect', container)) + (await scene.engine.run('logs', container))
    const leaked = files.filter((_file, index) => shown.includes(values[index]!))
    expectThat(leaked.length === 0, `${service} shows ${leaked.join(', ')}`)
  }
  return `none of ${files.length} in the inspection or the log of a container`
}

async function checkLogs({ engine, project }: Scene): Promise<string> {
  let lines = 0
  for (const service of processes) {
    for (const container of await project.containers(service)) {
      const log = (await engine.run('logs', container)).split('\n').filter(Boolean)
      const other = log.find((line) => !isJson(line))
      expectThat(other === undefined, `${service} logged: ${other}`)
      lines += log.length
    }
  }
  return `${lines} lines, each of them JSON`
}

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

async function checkVolumes(scene: Scene): Promise<string> {
  for (const service of processes) {
    const format = '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}'
    const names = (await scene.engine.run('inspect', '--format', format, await firstOf(scene, service))).split(' ')
    const anonymous = names.filter((name) => /^[0-9a-f]{64}$/.test(name))
    expectThat(anonymous.length === 0, `${service} has ${anonymous.length} anonymous volumes`)
  }
  return 'no anonymous volume'
}

export const isolationChecks: Check[] = [
  { name: 'make-secrets.sh, twice', run: checkMakeSecrets },
  { name: 'read-only root, no capabilities, no privileges', run: checkPrivileges },
  { name: 'who reaches what', run: checkReach },
  { name: 'no volume but the declared ones', run: checkVolumes },
]
/** After the others, whose log lines they read. */
export const logChecks: Check[] = [
  { name: 'no secret in inspections and logs', run: checkSecretsHidden },
  { name: 'logs are JSON', run: checkLogs },
]
