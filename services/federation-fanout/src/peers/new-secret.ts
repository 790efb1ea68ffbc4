import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** 256 bits as 64 lower-case hexadecimal digits: a secret or an approvalToken. federation-wire.md 1. */
export function newSecret({ random }: Pick<Deps, 'random'>): string {
  return random.bytes(policy.secretBytes).toString('hex')
}
