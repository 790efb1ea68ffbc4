import { setTimeout as pause } from 'node:timers/promises'
import { connectDatabase } from '@gatehouse/database'
import { Agent } from 'undici'
import { startCluster, type Cluster, type Role } from '../deploy/cluster/cluster.ts'
import { cpuOfOne, formatCpu, readCpu, type CpuTimes } from './cluster-cpu.ts'
import { registerAccount } from './embedded-instance.ts'
import { measureMessages, messagesEachRound, startUpstream, writeUpstreamsFile } from './live.ts'
import { measureRate } from './measure-rate.ts'
import type { Line } from './report.ts'
import type { Run } from './rounds.ts'
import { closeSocketPool, openSocketPool, type SocketPool } from './socket-pool.ts'
import { addressOf, gatewayTarget, sessionTarget } from './socket-targets.ts'
import { befriendAll, createUsers, type BenchUser } from './socket-users.ts'
import { openMembers, fillSpace } from './space-members.ts'
import { openRaw } from './socket-raw.ts'
import { textFrame } from './text-frame.ts'

const replicaCounts = [1, 2]
const users = 3_000
const warmUpUsers = 1_000
const members = 500
const readsMs = 6_000
/** V8 compiles meanwhile. */
const warmUpMs = 12_000
const loginsMs = 5_000
const idleMs = 4_000
const offlineLimitMs = 60_000

/** What one operation costs each process, with one and two replicas of each service. It takes some four minutes. docs/explain/performance-and-scaling.md. */
export async function benchmark(run: Run): Promise<Line[]> {
  const lines: Line[] = []
  for (const replicas of replicaCounts) lines.push(...(await measureFleet(run, replicas)))
  return lines
}

type Fleet = { cluster: Cluster; people: readonly BenchUser[]; idle: CpuTimes }

async function measureFleet(run: Run, replicas: number): Promise<Line[]> {
  await using opening = new AsyncDisposableStack()
  const services: Role[] = ['gateway', 'identity', 'session-gateway', 'federation-fanout']
  const cluster = opening.use(
    await startCluster({
      replicas: Object.fromEntries(services.map((service) => [service, replicas])),
      environment: {
        TRUST_PROXY: 'loopback',
        LOG_LEVEL: 'error',
        GATEHOUSE_UPSTREAMS: await writeUpstreamsFile(opening),
      },
    }),
  )
  await startUpstream(opening, cluster)
  const people = await createUsers(cluster, users)
  await befriendAll(cluster, users)
  const idle = await measureIdle(cluster)
  const fleet = { cluster, people, idle }
  const rounds = run.rounds(1)
  const lineOf = (what: string, { cpu, perSecond }: Cost): Line => ({
    what: `${what}, ${replicas} of each service`,
    measured: `${total(cpu).toFixed(0)} µs of CPU`,
    peer: formatCpu(cpu),
    ratio: null,
    spread: `${perSecond.toFixed(0)}/s`,
    limit: 'for information',
    within: true,
    cpu,
  })
  await openSocketPool(gatewayTarget(cluster), tokensOf(people.slice(0, warmUpUsers))).then(closeSocketPool)
  const requests = await measureRequests(fleet, readsMs * rounds)
  const logins = await measureLogins(fleet, loginsMs * rounds)
  const { arrival, departure } = await measureSockets(fleet)
  const delivery = await measureDelivery(opening, fleet)
  return [
    lineOf('GET @me', requests),
    lineOf('login', logins),
    lineOf('a socket comes to `ready` through the gateway, its online friends are told', arrival),
    lineOf('a presence change: a socket has left, its online friends are told', departure),
    lineOf(`a message from a socket by an upstream, delivered to ${members} sockets`, delivery),
  ]
}

type Cost = { cpu: CpuTimes; perSecond: number }

/** Without what the processes take when nobody asks for anything. */
async function costOf({ cluster, idle }: Fleet, work: () => Promise<number>): Promise<Cost> {
  const before = readCpu(cluster)
  const startedAt = performance.now()
  const operations = await work()
  const seconds = (performance.now() - startedAt) / 1000
  const background = Object.fromEntries(
    Object.entries(before).map(([name, used]) => [name, used + (idle[name] ?? 0) * seconds]),
  )
  const cpu = cpuOfOne(background, readCpu(cluster), operations)
  return { cpu: mapValues(cpu, (micros) => Math.max(0, micros)), perSecond: operations / seconds }
}

/** CPU seconds a second. */
async function measureIdle(cluster: Cluster): Promise<CpuTimes> {
  const before = readCpu(cluster)
  await pause(idleMs)
  return mapValues(cpuOfOne(before, readCpu(cluster), idleMs / 1000), (micros) => micros / 1e6)
}

async function measureRequests(fleet: Fleet, ms: number): Promise<Cost> {
  await using agents = openAgents()
  const { cluster, people } = fleet
  let sent = 0
  const read = async () => {
    sent += 1
    const { token } = people[sent % people.length]!
    const { body, statusCode } = await agents.agent.request({
      origin: cluster.gateways[sent % cluster.gateways.length]!,
      path: '/api/users/@me',
      method: 'GET',
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': addressOf(sent % people.length) },
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`GET @me answered ${statusCode}`)
  }
  await measureRate({ lanes: 32, ms: warmUpMs, work: read })
  return await costOf(fleet, async () => {
    const before = sent
    await measureRate({ lanes: 32, ms, work: read })
    return sent - before
  })
}

async function measureLogins(fleet: Fleet, ms: number): Promise<Cost> {
  const { gateways } = fleet.cluster
  const { username, password } = await registerAccount(gateways[0]!, 'fleet_login')
  await using agents = openAgents()
  let sent = 0
  return await costOf(fleet, async () => {
    const logIn = async () => {
      sent += 1
      const { body, statusCode } = await agents.agent.request({
        origin: gateways[sent % gateways.length]!,
        path: '/api/auth/login',
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': addressOf(sent + 65_536) },
        body: JSON.stringify({ username, password }),
      })
      await body.dump()
      if (statusCode !== 200) throw new Error(`the login answered ${statusCode}`)
    }
    await measureRate({ lanes: 4, ms, work: logIn })
    return sent
  })
}

/** Each person's friend before them is online already when they arrive, and still when they leave. */
async function measureSockets(fleet: Fleet): Promise<{ arrival: Cost; departure: Cost }> {
  const { cluster, people } = fleet
  const watching = people.slice(warmUpUsers).filter((_, place) => place % 2 === 0)
  const arriving = people.slice(warmUpUsers).filter((_, place) => place % 2 === 1)
  const watchers = await openSocketPool(sessionTarget(cluster, 0), tokensOf(watching))
  const pools: SocketPool[] = []
  const arrival = await costOf(fleet, async () => {
    for (const [place, url] of cluster.gateways.entries()) {
      const some = arriving.filter((_, index) => index % cluster.gateways.length === place)
      const target = { ...gatewayTarget(cluster), url: `${url.replace('http', 'ws')}/ws` }
      pools.push(await openSocketPool(target, tokensOf(some)))
    }
    return arriving.length
  })
  const departure = await costOf(fleet, async () => {
    await Promise.all(pools.map(closeSocketPool))
    await untilOnline(cluster, watching.length)
    return arriving.length
  })
  await closeSocketPool(watchers)
  await untilOnline(cluster, 0)
  return { arrival, departure }
}

async function measureDelivery(opening: AsyncDisposableStack, fleet: Fleet): Promise<Cost> {
  const { cluster, people } = fleet
  const nodes = cluster.processes.filter(({ service }) => service === 'session-gateway')
  const targets = nodes.map((_, node) => sessionTarget(cluster, node))
  const others = await openMembers(opening, targets, people.slice(0, members))
  await fillSpace(cluster, people.slice(0, members + 1))
  const sender = await openRaw(targets[0]!.url, targets[0]!.headers(members), people[members]!.token)
  opening.defer(() => void sender.socket.destroy())
  await pause(1_000) // The news of the sender's presence is no message.
  return await costOf(fleet, async () => {
    await measureMessages(others, 'fleet', (text) => void sender.socket.write(textFrame(text)))
    return messagesEachRound
  })
}

async function untilOnline({ postgres }: Cluster, count: number): Promise<void> {
  const orm = await connectDatabase({ url: postgres.url, connections: 1 })
  const until = performance.now() + offlineLimitMs
  for (;;) {
    const [row] = await orm.em.fork().execute<{ online: string }[]>('select count(*) as online from presences')
    if (Number(row!.online) <= count) break
    if (performance.now() > until) throw new Error(`${row!.online} are online, not ${count}`)
    await pause(500)
  }
  await orm.close()
}

function openAgents() {
  const agent = new Agent({ connections: 32 })
  return { agent, [Symbol.asyncDispose]: () => agent.close() }
}

const tokensOf = (people: readonly BenchUser[]) => people.map(({ token }) => token)
const total = (cpu: CpuTimes) => Object.values(cpu).reduce((sum, micros) => sum + micros, 0)
const mapValues = (times: CpuTimes, change: (value: number) => number): CpuTimes =>
  Object.fromEntries(Object.entries(times).map(([name, value]) => [name, change(value)]))
