import bcrypt from 'bcrypt'
import pg from 'pg'
import { createTokenKey, signToken } from '@gatehouse/auth'

/** An account with a token that was signed well before the test revokes it. */
export type Account = { id: string; username: string; token: string; isFederated: boolean }

/** Of every account, with a hash at the lowest cost. */
export const accountPassword = 'correct horse battery'
const passwordHash = bcrypt.hashSync(accountPassword, 4)
const firstId = 10_000_000_000n
const tokenAgeMs = 600_000

/** Puts accounts straight into the database, because registering hashes: local and federated in turn, and one admin. */
export async function insertAccounts(databaseUrl: string, jwtSecret: string, count: number) {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    await client.query(
      `insert into users (id, username, password_hash, home_instance, home_user_id, is_admin)
       select $1::bigint + n,
              'user' || n || case when n % 2 = 1 then '@away.example' else '' end,
              $2,
              case when n % 2 = 1 then 'away.example' end,
              case when n % 2 = 1 then n::text end,
              n = 0
       from generate_series(0, $3::integer) n`,
      [firstId, passwordHash, count],
    )
  } finally {
    await client.end()
  }
  const key = createTokenKey(jwtSecret)
  const accounts = Array.from({ length: count + 1 }, (_, n): Account => {
    const id = String(firstId + BigInt(n))
    const isFederated = n % 2 === 1
    const username = `user${n}${isFederated ? '@away.example' : ''}`
    const token = signToken(key, { userId: id, username }, { expiresIn: '1d', now: Date.now() - tokenAgeMs })
    return { id, username, token, isFederated }
  })
  return { admin: accounts[0]!, accounts: accounts.slice(1) }
}
