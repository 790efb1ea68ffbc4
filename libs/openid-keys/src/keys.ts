import { decrypt, encrypt, openidKeyContext, type EncryptionKey } from '@gatehouse/auth'
import { recordAudit, transaction } from '@gatehouse/database'
import { OpenidKey, operator, type Actor } from '@gatehouse/domain'
import type { Clock } from '@gatehouse/runtime'
import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import type { JWK, JWTPayload } from 'jose'
import { keyCacheMs, keyRetirementMs } from './policy.ts'

const keyAlgorithms = ['RS256', 'EdDSA'] as const
type KeyAlgorithm = (typeof keyAlgorithms)[number]

/** Those in force first, in the order in which the library and applications choose. Private. */
export type KeySet = { keys: (JWK & { kid: string; alg: KeyAlgorithm })[] }

/** The keys with which the instance signs for applications. */
export type SigningKeyring = {
  current(): Promise<KeySet>
  /** With the key in force, as the issuer. `typ` as in `logout+jwt`, `secevent+jwt`. */
  sign(payload: JWTPayload, options: { typ: string; algorithm?: KeyAlgorithm }): Promise<string>
}

type KeyDeps = {
  orm: MikroORM
  clock: Clock
  encryptionKey: EncryptionKey
  config: { publicAddress: { origin: string } }
}

/** Read again after `refreshMs`; the first use makes them. */
export function createKeyring(deps: KeyDeps, refreshMs: number): SigningKeyring {
  let loaded: { set: Promise<KeySet>; until: number } | undefined
  const current = async (): Promise<KeySet> => {
    const now = deps.clock.now()
    if (!loaded || now >= loaded.until) loaded = { set: loadKeys(deps), until: now + refreshMs }
    const { set } = loaded
    set.catch(() => (loaded = undefined))
    return await set
  }
  return {
    current,
    sign: async (payload, { typ, algorithm = 'RS256' }) => {
      const { SignJWT, importJWK } = await import('jose')
      const key = (await current()).keys.find(({ alg }) => alg === algorithm)
      if (!key) throw new Error(`no key for ${algorithm}`)
      const jwt = new SignJWT(payload).setProtectedHeader({ alg: algorithm, kid: key.kid, typ })
      return await jwt.setIssuer(deps.config.publicAddress.origin).sign(await importJWK(key, algorithm))
    },
  }
}

/** Published, and in their place: what signs first, then what will sign or has signed. */
async function loadKeys(deps: KeyDeps): Promise<KeySet> {
  const now = deps.clock.now()
  const rows = await deps.orm.em.fork().find(OpenidKey, published(now), { orderBy: { signsFrom: 'desc', kid: 'asc' } })
  if (rows.length === 0) return await makeFirst(deps)
  const signing = keyAlgorithms.flatMap((algorithm) => {
    const key = rows.find((row) => row.algorithm === algorithm && row.signsFrom.getTime() <= now)
    return key ? [key] : []
  })
  const others = rows.filter((row) => !signing.includes(row))
  return { keys: [...signing, ...others].map((row) => open(deps.encryptionKey, row)) }
}

const signs = { algorithm: { $in: [...keyAlgorithms] } }
const published = (now: number) => ({ ...signs, $or: [{ retiredAt: null }, { retiredAt: { $gt: new Date(now) } }] })

const open = (key: EncryptionKey, { kid, privateKey }: OpenidKey) =>
  JSON.parse(decrypt(key, privateKey, openidKeyContext(kid))) as KeySet['keys'][number]

/** One replica makes them; the others wait and read. */
async function makeFirst(deps: KeyDeps): Promise<KeySet> {
  await transaction(deps.orm, async (em) => {
    await em.execute('lock table openid_keys in share row exclusive mode')
    const count = await em.count(OpenidKey, { ...signs, retiredAt: null })
    if (count === 0) await insertKeys(em, deps, deps.clock.now())
  })
  return await loadKeys(deps)
}

type RotationDeps = Pick<KeyDeps, 'orm' | 'clock' | 'encryptionKey'> & { actor?: Actor }

/** New keys are published at once and sign when applications have them; the old ones stay for what they signed. Contract: 3, Applications. */
export async function rotateKeys(deps: RotationDeps): Promise<{ signsFrom: Date; retiredAt: Date }> {
  const now = deps.clock.now()
  const signsFrom = new Date(now + keyCacheMs)
  const retiredAt = new Date(signsFrom.getTime() + keyRetirementMs)
  await transaction(deps.orm, async (em) => {
    await em.execute('lock table openid_keys in share row exclusive mode')
    await em.nativeUpdate(OpenidKey, { ...signs, retiredAt: null }, { retiredAt })
    await insertKeys(em, deps, signsFrom.getTime())
    const target = { type: 'settings', id: null } as const
    recordAudit(em, { action: 'openid.keys-rotated', actor: deps.actor ?? operator, target, at: new Date(now) })
  })
  return { signsFrom, retiredAt }
}

async function insertKeys(em: EntityManager, deps: Pick<KeyDeps, 'clock' | 'encryptionKey'>, signsFrom: number) {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose')
  for (const algorithm of keyAlgorithms) {
    const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
    const jwk = await exportJWK(privateKey)
    const kid = await calculateJwkThumbprint(jwk)
    const text = JSON.stringify({ ...jwk, kid, alg: algorithm, use: 'sig' })
    const sealed = encrypt(deps.encryptionKey, text, openidKeyContext(kid))
    const times = { createdAt: new Date(deps.clock.now()), signsFrom: new Date(signsFrom) }
    await em.insert(OpenidKey, { kid, algorithm, privateKey: sealed, ...times, retiredAt: null })
  }
}
