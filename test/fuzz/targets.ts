import type { Account } from '../revocation/accounts.ts'
import type { ValidValues } from './values.ts'

/** What the requests and frames of a run name: accounts that exist, and values that are valid. */
export type Targets = {
  admin: Account
  accounts: readonly Account[]
  validValues: ValidValues
  /** When the run began: a time that signed requests may bear. */
  startedAt: number
}

/** A host whose name leads to a port on loopback on which nobody listens. */
export const absentPeer = 'away.example'

const origins = [
  `https://${absentPeer}`,
  'https://127.0.0.1:1',
  'http://[::1]:1',
  'https://localhost',
  'https://x.invalid',
]

export function targetsOf(admin: Account, accounts: readonly Account[], startedAt: number): Targets {
  const usernames = accounts.slice(0, 40).map(({ username }) => username)
  const ids = accounts.slice(0, 60).map(({ id }) => id)
  const passwords = ['correct horse', 'short', 'x'.repeat(73), '密码密码密码密码']
  const validValues = {
    username: [...usernames, 'fresh', 'fresh@away.example', 'Deleted User'],
    password: passwords,
    currentPassword: passwords,
    newPassword: passwords,
    displayName: ['Ada', '🙂'.repeat(32), 'x'.repeat(33)],
    homeInstance: [absentPeer, 'localhost', 'AWAY.example', null],
    homeUserId: ['1', '7', 'x'.repeat(65), null],
    id: ids,
    userId: ids,
    cursor: ids,
    origin: origins,
    origins,
    remoteOrigin: origins,
    sourceOrigin: origins,
    hmacSecret: ['0'.repeat(64), 'f'.repeat(64), '0'.repeat(63)],
    instanceId: ['6f3e9a3e-6d51-4a58-9d0c-1f7f4a1f6a3b', 'x'],
    filename: ['a.webp', '6f3e9a3e-6d51-4a58-9d0c-1f7f4a1f6a3b.webp', '..%2f..%2fsecrets.json'],
    accentColor: ['#aabbcc', '#xyz', null],
    expiresAt: [null, 253_402_300_799_999, 4_102_444_800_000, 1],
    maxUses: [null, 1, 2_147_483_647, 2_147_483_648, 0],
    page: [1, 0, 1e9, 2 ** 31],
    pageSize: [1, 100, 1e9],
    limit: [1, 100, 1e9],
    joinedAfter: ['2026-01-01', '2026-02-30', '+275760-09-13', '0000-00-00'],
    joinedBefore: ['2026-01-01', '9999-12-31'],
  }
  return { admin, accounts, validValues, startedAt }
}
