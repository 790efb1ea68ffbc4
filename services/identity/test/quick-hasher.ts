import bcrypt from 'bcrypt'
import { fitsInAForm, hashedForm } from '../src/hashing/password-forms.ts'
import type { PasswordHasher } from '../src/hashing/password-hasher.ts'

/** With a hash at the lowest cost, for accounts whose hash is not tested. */
export const testPassword = 'correct horse battery'
export const testPasswordHash = bcrypt.hashSync(testPassword, 4)

export type QuickHasher = PasswordHasher & {
  /** The hash that each comparison worked on, oldest first. */
  verified: string[]
  /** The addresses of the clients, oldest first. */
  addresses: string[]
  /** How many passwords were hashed. */
  hashed: number
  /** Called before each verification and each hashing: tests change things here meanwhile. */
  beforeWork: (kind: 'hash' | 'verify') => Promise<void>
}

/** Real bcrypt at the lowest cost, in this process. */
export function quickHasher(): QuickHasher {
  const hasher: QuickHasher = {
    verified: [],
    addresses: [],
    hashed: 0,
    beforeWork: async () => undefined,
    async hash(password, address) {
      hasher.addresses.push(address)
      await hasher.beforeWork('hash')
      hasher.hashed += 1
      return await bcrypt.hash(hashedForm(password), 4)
    },
    async verify(password, hash, address) {
      hasher.addresses.push(address)
      await hasher.beforeWork('verify')
      return await fitsInAForm(password, async (form) => {
        hasher.verified.push(hash)
        return await bcrypt.compare(form, hash)
      })
    },
    waiting: () => 0,
    ready: () => true,
    drain: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
  return hasher
}

/** For `beforeWork`: holds all calls until `count` have arrived, so that they continue at the same moment. */
export function barrier(count: number): QuickHasher['beforeWork'] {
  const { promise, resolve } = Promise.withResolvers<void>()
  let arrived = 0
  return async () => {
    arrived += 1
    if (arrived === count) resolve()
    await promise
  }
}
