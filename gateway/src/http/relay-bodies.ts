import { endpoints, type Endpoint } from '@gatehouse/contracts'

/** Contract: 7, relay. */
export const relayBodyBytes = 10 * 1024 * 1024

/** The federation service can refuse a streamed batch by its headers. Contract: 7, relay. */
export function isRelay({ path }: Endpoint): boolean {
  return path === endpoints.relay.path
}
