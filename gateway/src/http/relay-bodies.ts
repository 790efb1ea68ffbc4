import { endpoints, type Endpoint } from '@gatehouse/contracts'

/** Of a batch of events that a peer relays. Contract: 7, relay. */
export const relayBodyBytes = 10 * 1024 * 1024

/**
 * Whether this endpoint takes the batches of peers. They are streamed to the federation service, which knows the peers: it
 * refuses by the headers before a body is read, and reads one body at a time for each peer. Contract: 7, relay.
 */
export function isRelay({ path }: Endpoint): boolean {
  return path === endpoints.relay.path
}
