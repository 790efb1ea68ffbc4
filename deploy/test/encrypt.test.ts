import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createEncryptionKey,
  credentialContext,
  decrypt,
  encrypt,
  mailContext,
  openidKeyContext,
  prefixOf,
  sealPeerSecret,
  secondFactorContext,
} from '@gatehouse/auth'
import { documentedCommand, migratedDatabase } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { query } from './query.ts'
import { runCommand } from './run-arguments.ts'

const [former, next, lost] = ['f'.repeat(40), 'n'.repeat(40), 'l'.repeat(40)]
const formerKey = createEncryptionKey(former)
const nextKey = createEncryptionKey(next)
const lostKey = createEncryptionKey(lost)
type Key = typeof nextKey

const origin = 'https://b.example'
const tables = ['second_factors', 'federation_credentials', 'mails', 'openid_keys', 'peers', 'approval_requests']

/** Contract: 8, ENCRYPTION_SECRET. */
describe('`encrypt` after a rotation of ENCRYPTION_SECRET', () => {
  it('leaves nothing for the previous secret, changes nothing twice, and tells of what no secret reads', async () => {
    await using database = await migratedDatabase()
    const insert = async (table: string, ...rows: Record<string, string>[]) => {
      const values = rows.map(
        (row) =>
          `(${Object.values(row)
            .map((value) => `'${value}'`)
            .join(', ')})`,
      )
      await query(
        database.url,
        `insert into ${table} (${Object.keys(rows[0]!).join(', ')}) values ${values.join(', ')}`,
      )
    }
    const factorOf = (key: Key, id: string) => encrypt(key, `factor of ${id}`, secondFactorContext(id))
    const credentialOf = (key: Key, userId: string) =>
      encrypt(key, `credential of ${userId}`, credentialContext({ userId, origin }))
    const created_at = '2026-01-01'
    const addUsers = async (ids: string[], keyOf: (id: string) => Key) => {
      await insert('users', ...ids.map((id) => ({ id, username: `user${id}`, password_hash: 'x' })))
      const factors = ids.map((id) => ({ user_id: id, secret: factorOf(keyOf(id), id), created_at }))
      await insert('second_factors', ...factors)
      const credentials = ids.map((id) => ({ user_id: id, origin, secret: credentialOf(keyOf(id), id), created_at }))
      await insert('federation_credentials', ...credentials)
    }
    const first = Array.from({ length: 600 }, (_, index) => String(index + 1))
    await addUsers(first, (id) => (id === '2' ? nextKey : formerKey))
    const mail = {
      message_id: 'm1',
      kind: 'recovery',
      address: 'a@b.example',
      key: 'a@b.example',
      language: 'en',
      data: '{}',
    }
    const secret = encrypt(formerKey, 'secret of the link', mailContext('m1'))
    await insert('mails', { ...mail, secret, created_at, expires_at: created_at })
    const private_key = encrypt(formerKey, 'key of applications', openidKeyContext('k1'))
    await insert('openid_keys', { kid: 'k1', algorithm: 'EdDSA', private_key, created_at, signs_from: created_at })
    await insert('peers', {
      id: '1',
      origin,
      host: 'b.example',
      status: 'active',
      secret: sealPeerSecret(formerKey, 'secret of the peer'),
      next_secret: 'a secret in plain',
    })
    await insert('approval_requests', {
      id: '1',
      source_origin: origin,
      secret: sealPeerSecret(formerKey, 'secret of the request'),
      expires_at: '2030-01-01',
    })
    await using folder = await mkdtempDisposable(join(tmpdir(), 'gatehouse-encrypt-'))
    const inFile = async (name: string, text: string) => {
      await writeFile(join(folder.path, name), text)
      return `${name}=${join(folder.path, name)}`
    }
    const command = documentedCommand(
      'ENCRYPTION_SECRET_FILE=… ENCRYPTION_SECRET_PREVIOUS_FILE=… DATABASE_URL=… npm run gatehouse -- encrypt',
      {
        'ENCRYPTION_SECRET_FILE=…': await inFile('ENCRYPTION_SECRET_FILE', next),
        'ENCRYPTION_SECRET_PREVIOUS_FILE=…': await inFile('ENCRYPTION_SECRET_PREVIOUS_FILE', former),
        'DATABASE_URL=…': `DATABASE_URL=${database.url}`,
      },
    )
    const run = () => runCommand(`${command} --json`)
    const counts = async () => (JSON.parse((await run()).output) as { encrypted: unknown }).encrypted
    const everything = async () => {
      const contents = await Promise.all(tables.map((table) => query(database.url, `select * from ${table}`)))
      return JSON.stringify(contents)
    }
    expect(await everything()).to.include(prefixOf(formerKey))

    expect(await counts()).to.deep.equal({
      second_factors: 599,
      federation_credentials: 599,
      mails: 1,
      openid_keys: 1,
      peers: 1,
      approval_requests: 1,
    })

    expect(await everything())
      .to.not.include(prefixOf(formerKey))
      .and.not.include('in plain')
    const column = async (table: string, name: string, where: string) => {
      const [row] = (await query(database.url, `select ${name} as text from ${table} where ${where}`)) as {
        text: string
      }[]
      return row!.text
    }
    expect(
      decrypt(nextKey, await column('second_factors', 'secret', 'user_id = 600'), secondFactorContext('600')),
    ).to.equal('factor of 600')
    const context = credentialContext({ userId: '1', origin })
    expect(decrypt(nextKey, await column('federation_credentials', 'secret', 'user_id = 1'), context)).to.equal(
      'credential of 1',
    )
    expect(decrypt(nextKey, await column('peers', 'next_secret', 'id = 1'), 'secrets of peers')).to.equal(
      'a secret in plain',
    )
    expect(await counts()).to.deep.equal(Object.fromEntries(tables.map((table) => [table, 0])))

    await addUsers(['601'], () => lostKey)
    const partial = await run()
    expect(partial.code).to.equal(3)
    expect(partial.errors).to.match(/2 rows cannot be read.*ENCRYPTION_SECRET_PREVIOUS/)
    expect(await everything()).to.include(prefixOf(lostKey))
  })
})
