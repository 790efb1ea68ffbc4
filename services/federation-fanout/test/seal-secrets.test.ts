import { createEncryptionKey } from '@gatehouse/auth'
import { nextId, read } from '@gatehouse/database'
import { Peer } from '@gatehouse/domain'
import { migratedDatabase, openTestResources } from '@gatehouse/test-kit'
import { openDatabase } from '@gatehouse/database'
import { expect } from 'chai'
import { sealPlainSecrets, startSealing } from '../src/peers/seal-secrets.ts'

const secret = 'ab'.repeat(32)
const key = createEncryptionKey('a secret that encrypts in the tests of federation')

/** Contract: 8, ENCRYPTION_SECRET. */
describe('The secrets of peers in the database', () => {
  /** A database, and as many replicas as a test opens on it. */
  async function openInstance(opening: AsyncDisposableStack) {
    const { url } = opening.use(await migratedDatabase())
    const owner = opening.adopt(await openDatabase({ url, connections: 2 }), (orm) => orm.close())
    const openReplica = async (encryptionKey = key) => {
      const orm = opening.adopt(await openDatabase({ url, connections: 2 }), (open) => open.close())
      const { resources } = opening.use(
        await openTestResources({ database: { url, orm }, service: 'federation-fanout' }),
      )
      await startSealing({ orm: resources.orm, encryptionKey })
      return { orm: resources.orm }
    }
    const addPeer = async (orm = owner, origin = 'https://b.example') => {
      const em = orm.em.fork()
      const id = await nextId(owner.em.fork())
      const host = new URL(origin).hostname
      await em.insert(Peer, { id, origin, host, secret, nextSecret: secret, status: 'active', createdAt: new Date() })
      return id
    }
    const stored = async () =>
      (
        await read<{ secret: string; next_secret: string }>(owner.em.fork(), 'select secret, next_secret from peers')
      ).flatMap((row) => [row.secret, row.next_secret])
    return { owner, openReplica, addPeer, stored }
  }

  it('are encrypted from the first one on', async () => {
    await using opening = new AsyncDisposableStack()
    const { openReplica, addPeer, stored } = await openInstance(opening)
    const { orm } = await openReplica()
    const id = await addPeer(orm)

    expect((await stored()).join())
      .to.match(/^enc1\..+,enc1\./)
      .and.not.include(secret)
    const peer = await orm.em.fork().findOneOrFail(Peer, { id })
    expect(peer.secretsAt(0)).to.deep.equal([secret, secret])
  })

  it('are not written again by a change of another column', async () => {
    await using opening = new AsyncDisposableStack()
    const { openReplica, addPeer, stored } = await openInstance(opening)
    const { orm } = await openReplica()
    const id = await addPeer(orm)
    const before = await stored()
    const em = orm.em.fork()
    const peer = await em.findOneOrFail(Peer, { id })
    peer.attempts = 7
    await em.flush()
    expect(await stored()).to.deep.equal(before)

    peer.secret = 'cd'.repeat(32)
    await em.flush()
    const [changed, kept] = await stored()
    expect(changed).to.not.equal(before[0])
    expect(kept).to.equal(before[1])
  })

  it('are read in plain, as a process of 0.3.0 may store them, and are encrypted at a start of any number of processes', async () => {
    await using opening = new AsyncDisposableStack()
    const { owner, openReplica, addPeer, stored } = await openInstance(opening)
    const { orm } = await openReplica()
    const id = await addPeer()
    expect(await stored()).to.deep.equal([secret, secret])
    expect((await orm.em.fork().findOneOrFail(Peer, { id })).secret).to.equal(secret)

    const changed = await Promise.all(Array.from({ length: 4 }, () => sealPlainSecrets(owner, key)))
    expect(changed.reduce((sum, rows) => sum + rows)).to.equal(1)
    for (const text of await stored()) expect(text).to.match(/^enc1\./)
    expect((await orm.em.fork().findOneOrFail(Peer, { id })).secret).to.equal(secret)
  })

  it('are encrypted at a start, and read after a rotation of the key', async () => {
    await using opening = new AsyncDisposableStack()
    const { openReplica, addPeer, stored } = await openInstance(opening)
    const id = await addPeer()
    await openReplica()
    for (const text of await stored()) expect(text).to.match(/^enc1\./)

    const rotated = createEncryptionKey('another secret, which took its place', [
      'a secret that encrypts in the tests of federation',
    ])
    const { orm } = await openReplica(rotated)
    expect((await orm.em.fork().findOneOrFail(Peer, { id })).secret).to.equal(secret)
    const stranger = await openReplica(createEncryptionKey('a secret that never encrypted anything'))
    const unread = await stranger.orm.em
      .fork()
      .findOneOrFail(Peer, { id })
      .catch((error: unknown) => error)
    expect(unread).to.match(/ENCRYPTION_SECRET/)
  })
})
