import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** 256 bits, lower-case hex. federation-wire.md 1. */
export function newSecret({ random }: Pick<Deps, 'random'>): string {
  return random.bytes(policy.secretBytes).toString('hex')
}
