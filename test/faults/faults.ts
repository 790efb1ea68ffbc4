import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, ClusterProcess, Role } from '../../deploy/cluster/cluster.ts'
import type { LocalServer } from '@gatehouse/local-servers'
import type { TcpProxy } from '@gatehouse/test-kit'
import type { InstanceClient } from './instance-client.ts'

/** A fault, and what a supervisor would do about it: restart what died, nothing else. */
export type Fault = { name: string; inject(): Promise<void> }

export type ServiceTargets = {
  cluster: Pick<Cluster, 'processes'>
  instance: InstanceClient
  /** Between the servers and the first gateway and identity. */
  proxies: readonly TcpProxy[]
}

type FaultTargets = ServiceTargets & { cluster: Cluster }

const frozenMs = 2_500
const partitionMs = 6_000
/** Of each process of identity, whatever the cores: the flood has more logins than two of them take. */
export const hashing = { HASHING_THREADS: '2', HASHING_QUEUE: '10' }
const floodSize = 30

/** Every fault once, or those of these names, in an order that lets them overlap with the recovery from the one before. */
export function listFaults(targets: FaultTargets, only?: readonly string[]): Fault[] {
  const all = everyFault(targets)
  return only ? only.map((name) => all.find((fault) => fault.name === name)!) : all
}

function everyFault({ cluster, instance, proxies }: FaultTargets): Fault[] {
  const find = (role: Role): ClusterProcess => lastOf(cluster, role)
  return [
    killed('gateway', find('gateway')),
    killed('identity', find('identity')),
    killed('session gateway', find('session-gateway')),
    killed('Redis', cluster.redis),
    killed('invite', find('invite')),
    killed('federation-fanout', find('federation-fanout')),
    killed('NATS', cluster.nats),
    partitioned(proxies),
    killed('PostgreSQL', cluster.postgres),
    frozen('Redis', cluster.redis),
    frozen('NATS', cluster.nats),
    frozen('PostgreSQL', cluster.postgres),
    restarted('NATS', cluster.nats),
    restarted('PostgreSQL', cluster.postgres),
    restarted('one gateway', find('gateway')),
    frozen('one identity', find('identity')),
    flooded(instance),
  ]
}

const replicated: readonly (readonly [what: string, role: Role])[] = [
  ['one gateway', 'gateway'],
  ['one identity', 'identity'],
  ['one session gateway', 'session-gateway'],
]

/** Those of the processes of the instance; of those with two replicas the last one, which no proxy is in front of. */
export function listServiceFaults({ cluster, instance, proxies }: ServiceTargets): Fault[] {
  return [
    ...replicated.flatMap(([what, role]) => {
      const one = lastOf(cluster, role)
      return [killed(what, one), frozen(what, one), restarted(what, one)]
    }),
    killed('invite', lastOf(cluster, 'invite')),
    killed('federation-fanout', lastOf(cluster, 'federation-fanout')),
    partitioned(proxies),
    flooded(instance),
  ]
}

function lastOf({ processes }: Pick<Cluster, 'processes'>, role: Role): ClusterProcess {
  return processes.filter(({ service }) => service === role).at(-1)!
}

export function killed(what: string, one: Pick<LocalServer, 'kill' | 'start'>): Fault {
  return {
    name: `${what} killed`,
    async inject() {
      await one.kill()
      await pause(300)
      await one.start()
    },
  }
}

export function restarted(what: string, one: Pick<LocalServer, 'stop' | 'start'>): Fault {
  return {
    name: `${what} stopped and started`,
    async inject() {
      await one.stop()
      await one.start()
    },
  }
}

export function frozen(what: string, one: Pick<LocalServer, 'pause' | 'resume'>): Fault {
  return {
    name: `${what} frozen for ${frozenMs} ms`,
    async inject() {
      one.pause()
      await pause(frozenMs)
      one.resume()
    },
  }
}

function partitioned(proxies: readonly TcpProxy[]): Fault {
  return {
    name: 'one gateway and one identity partitioned from NATS and Redis',
    async inject() {
      for (const proxy of proxies) proxy.partition()
      await pause(partitionMs)
      for (const proxy of proxies) proxy.heal()
    },
  }
}

function flooded(instance: InstanceClient): Fault {
  const body = { username: 'unknown_user', password: 'an unknown password' }
  const logIn = () => instance.call('POST', '/api/auth/login', { body })
  return {
    name: 'a flood of logins that fills the hashing queue',
    inject: async () => void (await Promise.all(Array.from({ length: floodSize }, logIn))),
  }
}
