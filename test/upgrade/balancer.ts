import { pick } from '../faults/instance-client.ts'

/** What stands before the gateways: new requests and sockets go to those in service. */
export type Balancer = {
  inService(): readonly string[]
  pick(): string
  /** As an orchestrator does before it stops one: requests under way go on, no new one goes there. */
  remove(gateway: string): void
  add(gateway: string): void
}

export function createBalancer(gateways: readonly string[]): Balancer {
  const current = new Set(gateways)
  return {
    inService: () => [...current],
    pick: () => pick([...current]),
    remove: (gateway) => void current.delete(gateway),
    add: (gateway) => void current.add(gateway),
  }
}
