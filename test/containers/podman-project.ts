import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { type ComposeFile, type ComposeService } from '../../deploy/test/read-manifests.ts'
import { runProgram, succeeds, type Engine } from './engine.ts'
import { createArguments, type Placement } from './podman-arguments.ts'
import { projectName, projectRoot, type Project, type ProjectOptions } from './project.ts'

const healthyLimitMs = 180_000
const stopSeconds = '40'
/** The order of deploy/roll.sh. */
const rolled = ['identity', 'invite', 'federation-fanout', 'openid', 'session-gateway']

/** Runs the compose file by podman's own commands, for podman-compose does not know all of it. */
export async function openPodmanProject(text: string, { engine, variables }: ProjectOptions): Promise<Project> {
  const substituted = text.replaceAll(/(?<!\$)\$\{(\w+)(?::-([^}]*))?\}/g, (_all, name: string, fallback = '') => {
    return variables[name] || String(fallback)
  })
  const compose = parse(substituted.replaceAll('$$', '$'), { merge: true }) as ComposeFile
  const state: State = { engine, compose, serial: new Map(), edgeRule: null }
  // What a run that was ended left.
  await removeAll(state)
  await createNetworks(state)
  return {
    async up(only) {
      for (const service of only === undefined ? startOrder(compose) : [only]) {
        const replicas = Number(compose.services[service]!.scale ?? 1)
        const running = await containersOf(state, service)
        for (let index = running.length; index < replicas; index += 1) await startOne(state, service)
        await waitUntilHealthy(state, service)
      }
    },
    containers: (service) => containersOf(state, service),
    async run(service, ...args) {
      const placement: Placement = { service, name: `${projectName}-${service}-run`, port: null, projectRoot }
      return await engine.run(
        'run',
        '--rm',
        ...createArguments(placement, compose.services[service]!, compose),
        ...args,
      )
    },
    async scale(service, count) {
      const running = await containersOf(state, service)
      for (const container of running.slice(count)) await stopOne(state, container)
      for (let index = running.length; index < count; index += 1) await startOne(state, service)
      await waitUntilHealthy(state, service)
    },
    roll: () => roll(state),
    async reset() {
      await removeAll(state)
      await createNetworks(state)
    },
    down: () => removeAll(state),
  }
}

type State = {
  engine: Engine
  compose: ComposeFile
  serial: Map<string, number>
  /** The rule that stands in for a network option that podman does not know. */
  edgeRule: string[] | null
}

async function createNetworks(state: State): Promise<void> {
  for (const [name, network] of Object.entries(state.compose.networks)) {
    const subnet = network.ipam?.config[0]?.subnet
    const flags = [...(network.internal ? ['--internal'] : []), ...(subnet ? ['--subnet', subnet] : [])]
    await state.engine.run('network', 'create', ...flags, `${projectName}_${name}`)
    if (subnet && network.driver_opts?.['com.docker.network.bridge.enable_ip_masquerade'] === 'false') {
      state.edgeRule = ['POSTROUTING', '--source', subnet, '!', '--destination', subnet, '--jump', 'ACCEPT']
      // That of a run that was ended may be left.
      await succeeds(runProgram('iptables', ['--table', 'nat', '--delete', ...state.edgeRule]))
      await runProgram('iptables', ['--table', 'nat', '--insert', ...state.edgeRule])
    }
  }
}

/** Services after those that they depend on. */
function startOrder({ services }: ComposeFile): string[] {
  const ordered: string[] = []
  const visit = (name: string): void => {
    if (ordered.includes(name)) return
    for (const needed of Object.keys(services[name]?.depends_on ?? {})) visit(needed)
    ordered.push(name)
  }
  for (const [name, { profiles }] of Object.entries(services)) if (!profiles) visit(name)
  return ordered
}

async function containersOf({ engine }: State, service: string): Promise<string[]> {
  const filters = [`label=com.docker.compose.project=${projectName}`, `label=com.docker.compose.service=${service}`]
  const listed = await engine.run(
    'ps',
    '--quiet',
    '--no-trunc',
    ...filters.flatMap((filter) => ['--filter', filter]),
    '--sort',
    'created',
  )
  return listed.split('\n').filter(Boolean)
}

async function startOne(state: State, service: string): Promise<void> {
  const definition = state.compose.services[service]!
  const serial = (state.serial.get(service) ?? 0) + 1
  state.serial.set(service, serial)
  const port = await freePortOf(state, service, definition)
  const placement: Placement = { service, name: `${projectName}-${service}-${serial}`, port, projectRoot }
  const id = await state.engine.run('create', ...createArguments(placement, definition, state.compose))
  await state.engine.run('start', id)
  if (definition.restart !== 'no') return
  const code = await state.engine.run('wait', id)
  if (code !== '0') throw new Error(`${service} ended with ${code}: ${await state.engine.run('logs', id)}`)
}

/** The first port of the published range that no container of the service holds. */
async function freePortOf(state: State, service: string, { ports = [] }: ComposeService): Promise<string | null> {
  const [published] = ports
  if (!published) return null
  const [, address, first, last, target] = /^([\d.]+:)?(\d+)(?:-(\d+))?:(\d+)$/.exec(published)!
  const running = await containersOf(state, service)
  const portMappings = await Promise.all(running.map((container) => state.engine.run('port', container)))
  for (let port = Number(first); port <= Number(last ?? first); port += 1) {
    if (!portMappings.some((text) => text.includes(`:${port}`))) return `${address ?? ''}${port}:${target}`
  }
  throw new Error(`no port of ${published} is free`)
}

/** The health checks are run from here: podman leaves their intervals to systemd. */
async function waitUntilHealthy(state: State, service: string): Promise<void> {
  const { healthcheck } = state.compose.services[service]!
  if (!healthcheck) return
  const [kind, ...command] = healthcheck.test
  const check = kind === 'CMD-SHELL' ? ['sh', '-c', ...command] : command
  const deadline = performance.now() + healthyLimitMs
  for (const container of await containersOf(state, service)) {
    while (!(await succeeds(state.engine.run('exec', container, ...check)))) {
      if (performance.now() > deadline)
        throw new Error(`${service} is not healthy: ${await state.engine.run('logs', container)}`)
      await pause(500)
    }
  }
}

async function stopOne({ engine }: State, container: string): Promise<void> {
  await engine.run('stop', '--time', stopSeconds, container)
  await engine.run('rm', container)
}

async function roll(state: State): Promise<void> {
  const [, settleSeconds] = /^settle=(\d+)$/m.exec(await readFile(join(projectRoot, 'deploy/roll.sh'), 'utf8'))!
  const settle = () => pause(Number(settleSeconds) * 1_000)
  await startOne(state, 'migrate')
  for (const service of rolled) {
    const old = await containersOf(state, service)
    for (let index = 0; index < old.length; index += 1) await startOne(state, service)
    await waitUntilHealthy(state, service)
    await settle()
    for (const container of old) await stopOne(state, container)
  }
  for (const container of await containersOf(state, 'gateway')) {
    await stopOne(state, container)
    await startOne(state, 'gateway')
    await waitUntilHealthy(state, 'gateway')
    await settle()
  }
}

async function removeAll({ engine, compose, edgeRule }: State): Promise<void> {
  const all = await engine.run('ps', '--all', '--quiet', '--filter', `label=com.docker.compose.project=${projectName}`)
  const ids = all.split('\n').filter(Boolean)
  const removeContainers = () => engine.run('rm', '--force', '--ignore', '--volumes', '--time', '5', ...ids)
  // Podman 4.3 fails where a container ends while it is being killed.
  if (ids.length > 0) await removeContainers().catch(removeContainers)
  const remove = (kind: string, name: string) =>
    engine.run(kind, 'rm', '--force', `${projectName}_${name}`).catch(() => '')
  for (const name of Object.keys(compose.networks)) await remove('network', name)
  for (const name of Object.keys(compose.volumes)) await remove('volume', name)
  if (edgeRule) await runProgram('iptables', ['--table', 'nat', '--delete', ...edgeRule])
}
