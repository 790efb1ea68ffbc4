import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import { decrypt, encrypt, openidKeyContext, type EncryptionKey } from '@gatehouse/auth'
import { isNativeUri } from '@gatehouse/contracts'
import { changeRows } from '@gatehouse/database'
import { OpenidKey, type Application } from '@gatehouse/domain'
import { randomToken, type Clock, type Random } from '@gatehouse/runtime'
import type { MikroORM } from '@mikro-orm/postgresql'

/** By whom an application knows the people. `sector` null: by the account's id. OpenID Connect Core, 8. */
export type Subjects = {
  of(sector: string | null, accountId: string): Promise<string>
  /** Null: it is of no account. */
  accountOf(sector: string | null, subject: string): Promise<string | null>
}

type SubjectDeps = { orm: MikroORM; clock: Clock; random: Random; encryptionKey: EncryptionKey }

/** Its secret is made at the first use, and never rotates: every application would get other people. */
export function createSubjects(deps: SubjectDeps): Subjects {
  let salt: Promise<string> | undefined
  const keyOf = async (sector: string): Promise<Buffer> => {
    salt ??= loadSalt(deps)
    salt.catch(() => (salt = undefined))
    return Buffer.from(hkdfSync('sha256', await salt, '', `gatehouse subjects of ${sector}`, 32))
  }
  return {
    of: async (sector, accountId) => (sector === null ? accountId : toSubject(await keyOf(sector), accountId)),
    accountOf: async (sector, subject) => (sector === null ? subject : toAccount(await keyOf(sector), subject)),
  }
}

// One block each, so that the same account has the same subject, which can be read back: Core, 8.1, second method.
const cipher = 'aes-256-ecb'
const blockBytes = 16
const idAt = 8

function toSubject(key: Buffer, accountId: string): string {
  const block = Buffer.alloc(blockBytes)
  block.writeBigUInt64BE(BigInt(accountId), idAt)
  return createCipheriv(cipher, key, null).setAutoPadding(false).update(block).toString('base64url')
}

function toAccount(key: Buffer, subject: string): string | null {
  const block = Buffer.from(subject, 'base64url')
  if (block.length !== blockBytes) return null
  const read = createDecipheriv(cipher, key, null).setAutoPadding(false).update(block)
  return read.readBigUInt64BE(0) === 0n ? read.readBigUInt64BE(idAt).toString() : null
}

const kid = 'subjects'

/** Of any number of replicas, what one has stored counts. */
const insertSql = `insert into openid_keys (kid, algorithm, private_key, created_at, signs_from) values (?, 'subjects', ?, ?, ?)
  on conflict do nothing`

async function loadSalt({ orm, clock, random, encryptionKey }: SubjectDeps): Promise<string> {
  const find = async () => await orm.em.fork().findOne(OpenidKey, { kid })
  let row = await find()
  if (!row) {
    const sealed = encrypt(encryptionKey, randomToken(random, 32), openidKeyContext(kid))
    const at = new Date(clock.now())
    await changeRows(orm.em.fork(), insertSql, [kid, sealed, at, at])
    row = await find()
  }
  if (!row) throw new Error('the secret of subjects is not stored')
  return decrypt(encryptionKey, row.privateKey, openidKeyContext(kid))
}

type Addressed = Pick<Application, 'id' | 'redirectUris'>

/** The hosts of its redirect URIs: '' of a private-use scheme. */
export const hostsOf = (redirectUris: readonly string[]): string[] => [
  ...new Set(redirectUris.map((uri) => new URL(uri).host)),
]

/** Applications of one host know the same people. One on a device has no host of its own. OpenID Connect Core, 8.1. */
export function sectorOf({ id, redirectUris }: Addressed): string {
  const [uri] = redirectUris
  return uri === undefined || isNativeUri(uri) ? id : new URL(uri).host
}
