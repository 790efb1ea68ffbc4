import bcrypt from 'bcrypt'
import { fitsHash } from '@gatehouse/contracts'
import type { PasswordHasher } from '../src/hashing/password-hasher.ts'

/** A hash of `testPassword` at the lowest cost, for accounts whose hash is not the point. */
export const testPassword = 'correct horse battery'
export const testPasswordHash = bcrypt.hashSync(testPassword, 4)

export type QuickHasher = PasswordHasher & {
  /** The hash that each verification worked on, oldest first. */
  verified: string[]
  /** How many passwords were hashed. */
  hashed: number
  /** Called before each verification and each hashing: a place for tests to meddle. */
  beforeWork: (kind: 'hash' | 'verify') => Promise<void>
}

/** Real bcrypt at the lowest cost, in this process. */
export function quickHasher(): QuickHasher {
  const hasher: QuickHasher = {
    verified: [],
    hashed: 0,
    beforeWork: async () => undefined,
    async hash(password) {
      await hasher.beforeWork('hash')
      hasher.hashed += 1
      return await bcrypt.hash(password, 4)
    },
    async verify(password, hash) {
      await hasher.beforeWork('verify')
      hasher.verified.push(hash)
      return (await bcrypt.compare(password, hash)) && fitsHash(password)
    },
    waiting: () => 0,
    ready: () => true,
    [Symbol.asyncDispose]: async () => undefined,
  }
  return hasher
}

/** For `beforeWork`: keeps everybody until `count` have come, so that they go on at the same moment. */
export function meetingOf(count: number): QuickHasher['beforeWork'] {
  const { promise, resolve } = Promise.withResolvers<void>()
  let here = 0
  return async () => {
    here += 1
    if (here === count) resolve()
    await promise
  }
}
