import { setTimeout as pause } from 'node:timers/promises'
import type { Cluster, ClusterProcess, Role } from '../../deploy/cluster/cluster.ts'
import type { PrivateServer } from '@gatehouse/local-servers'
import type { CuttableRoad } from './cuttable-road.ts'
import type { Instance } from './instance.ts'

/** One thing that goes wrong, and what a supervisor would do about it: start again what died, nothing else. */
export type Fault = { name: string; strike(): Promise<void> }

type Scene = { cluster: Cluster; instance: Instance; roads: readonly CuttableRoad[] }

const FROZEN_MS = 2_500
const CUT_MS = 6_000
const FLOOD = 60

/** Every fault once, in an order that lets them overlap with the recovery from the one before. */
export function listFaults(scene: Scene): Fault[] {
  const { cluster, instance, roads } = scene
  const find = (role: Role): ClusterProcess => cluster.processes.filter(({ service }) => service === role).at(-1)!
  return [
    killed('gateway', find('gateway')),
    killed('identity', find('identity')),
    killed('session gateway', find('session-gateway')),
    killed('Redis', cluster.redis),
    killed('invite', find('invite')),
    killed('federation-fanout', find('federation-fanout')),
    killed('NATS', cluster.nats),
    { name: 'one gateway and one identity cut off from NATS and Redis', strike: () => cutOff(roads) },
    killed('PostgreSQL', cluster.postgres),
    frozen('Redis', cluster.redis),
    frozen('NATS', cluster.nats),
    frozen('PostgreSQL', cluster.postgres),
    restarted('NATS', cluster.nats),
    restarted('PostgreSQL', cluster.postgres),
    restarted('one gateway', find('gateway')),
    frozen('one identity', find('identity')),
    { name: 'a flood of logins that fills the hashing queue', strike: () => flood(instance) },
  ]
}

function killed(what: string, one: Pick<PrivateServer, 'kill' | 'start'>): Fault {
  return {
    name: `${what} killed`,
    async strike() {
      await one.kill()
      await pause(300)
      await one.start()
    },
  }
}

function restarted(what: string, one: Pick<PrivateServer, 'stop' | 'start'>): Fault {
  return {
    name: `${what} stopped and started`,
    async strike() {
      await one.stop()
      await one.start()
    },
  }
}

function frozen(what: string, one: Pick<PrivateServer, 'pause' | 'resume'>): Fault {
  return {
    name: `${what} frozen for ${FROZEN_MS} ms`,
    async strike() {
      one.pause()
      await pause(FROZEN_MS)
      one.resume()
    },
  }
}

async function cutOff(roads: readonly CuttableRoad[]): Promise<void> {
  for (const road of roads) road.cut()
  await pause(CUT_MS)
  for (const road of roads) road.mend()
}

async function flood(instance: Instance): Promise<void> {
  const body = { username: 'nobody_at_all', password: 'no password of anybody' }
  await Promise.all(Array.from({ length: FLOOD }, () => instance.call('POST', '/api/auth/login', { body })))
}
