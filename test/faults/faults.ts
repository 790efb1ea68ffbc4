import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, ClusterProcess, Role } from '../../deploy/cluster/cluster.ts'
import type { LocalServer } from '@gatehouse/local-servers'
import type { TcpProxy } from '@gatehouse/test-kit'
import type { InstanceClient } from './instance-client.ts'

/** A fault, and what a supervisor would do about it: restart what died, nothing else. */
export type Fault = { name: string; inject(): Promise<void> }

type FaultTargets = { cluster: Cluster; instance: InstanceClient; proxies: readonly TcpProxy[] }

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

function everyFault(scene: FaultTargets): Fault[] {
  const { cluster, instance, proxies } = scene
  const find = (role: Role): ClusterProcess => cluster.processes.filter(({ service }) => service === role).at(-1)!
  return [
    killed('gateway', find('gateway')),
    killed('identity', find('identity')),
    killed('session gateway', find('session-gateway')),
    killed('Redis', cluster.redis),
    killed('invite', find('invite')),
    killed('federation-fanout', find('federation-fanout')),
    killed('NATS', cluster.nats),
    { name: 'one gateway and one identity partitioned from NATS and Redis', inject: () => partition(proxies) },
    killed('PostgreSQL', cluster.postgres),
    frozen('Redis', cluster.redis),
    frozen('NATS', cluster.nats),
    frozen('PostgreSQL', cluster.postgres),
    restarted('NATS', cluster.nats),
    restarted('PostgreSQL', cluster.postgres),
    restarted('one gateway', find('gateway')),
    frozen('one identity', find('identity')),
    { name: 'a flood of logins that fills the hashing queue', inject: () => floodLogins(instance) },
  ]
}

function killed(what: string, one: Pick<LocalServer, 'kill' | 'start'>): Fault {
  return {
    name: `${what} killed`,
    async inject() {
      await one.kill()
      await pause(300)
      await one.start()
    },
  }
}

function restarted(what: string, one: Pick<LocalServer, 'stop' | 'start'>): Fault {
  return {
    name: `${what} stopped and started`,
    async inject() {
      await one.stop()
      await one.start()
    },
  }
}

function frozen(what: string, one: Pick<LocalServer, 'pause' | 'resume'>): Fault {
  return {
    name: `${what} frozen for ${frozenMs} ms`,
    async inject() {
      one.pause()
      await pause(frozenMs)
      one.resume()
    },
  }
}

async function partition(proxies: readonly TcpProxy[]): Promise<void> {
  for (const proxy of proxies) proxy.partition()
  await pause(partitionMs)
  for (const proxy of proxies) proxy.heal()
}

async function floodLogins(instance: InstanceClient): Promise<void> {
  const body = { username: 'unknown_user', password: 'an unknown password' }
  await Promise.all(Array.from({ length: floodSize }, () => instance.call('POST', '/api/auth/login', { body })))
}
