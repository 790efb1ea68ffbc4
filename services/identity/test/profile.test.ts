import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { User } from '@gatehouse/domain'
import { profileChanged } from '@gatehouse/contracts'
import { accountStateOf } from '@gatehouse/domain'
import { buildUser, collectEvents, readUser } from './builders.ts'
import { column, insertRow } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

describe('profiles', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const patch = (user: User, body: unknown) =>
    identity.call('PATCH', '/api/users/@me', { as: user, body, headers: { 'x-request-id': 'patch-1' } })
  let made = 0
  async function buildUpload(owner: User): Promise<string> {
    made += 1
    const filename = `upload-${made}.webp`
    await writeFile(join(identity.config.uploadDir, filename), 'x')
    const created_at = new Date(identity.clock.now())
    await insertRow(identity, 'uploads', { filename, user_id: owner.id, size: 1, mimetype: 'image/webp', created_at })
    return filename
  }
  const onDisk = (filename: string) =>
    access(join(identity.config.uploadDir, filename)).then(
      () => true,
      () => false,
    )

  /** Contract: 2, Fields. */
  it('GET of another user leaves out the fields for the own eyes', async () => {
    const [user, other] = [await buildUser(identity), await buildUser(identity)]

    const own = await identity.call('GET', `/api/users/${user.id}`, { as: user })
    const seen = await identity.call('GET', `/api/users/${user.id}`, { as: other })

    expect(own.body).to.have.property('showActivity', true)
    expect(seen.body).to.not.have.property('showActivity')
    expect(seen.text).to.not.include(user.passwordHash)
    expect((await identity.call('GET', '/api/users/1', { as: other })).status).to.equal(404)
    expect((await identity.call('GET', '/api/users/9223372036854775808', { as: other })).status).to.equal(400)
    expect((await identity.call('GET', '/api/users/@ME', { as: other })).status, 'no id, and not @me').to.equal(400)
    expect((await identity.call('GET', `/api/users/${user.id}`)).status).to.equal(401)
  })

  it('GET of the own account is 404 where its row is gone, as in a database that was restored', async () => {
    const { status, body } = await identity.call('GET', '/api/users/@me', { as: { id: '1', username: 'gone' } })

    expect([status, body['code']]).to.deep.equal([404, 'user_unknown'])
  })

  it('PATCH changes the named fields, trims them and sets profileUpdatedAt', async () => {
    const user = await buildUser(identity, { bio: 'stays' })

    const answer = await patch(user, {
      displayName: '  Ada  ',
      customStatus: '',
      accentColor: '#AAbb00',
      avatarColor: 'teal',
      discoverable: false,
      showActivity: false,
      isAdmin: true,
    })

    expect(answer.status).to.equal(200)
    expect(answer.body).to.include({
      displayName: 'Ada',
      customStatus: null,
      accentColor: '#AAbb00',
      avatarColor: 'teal',
      bio: 'stays',
      discoverable: false,
      showActivity: false,
      isAdmin: false,
      profileUpdatedAt: identity.clock.now(),
    })
    expect((await readUser(identity, user.id)).displayName).to.equal('Ada')
  })

  /** Contract: 3, PATCH. */
  it('PATCH counts code points and refuses what is too long or of another kind', async () => {
    const user = await buildUser(identity)
    const bad: [code: string, body: object][] = [
      ['display_name_too_long', { displayName: '🦊'.repeat(33) }],
      ['bio_too_long', { bio: 'x'.repeat(191) }],
      ['custom_status_too_long', { customStatus: 'x'.repeat(129) }],
      ['accent_color_invalid', { accentColor: 'red' }],
      ['avatar_color_invalid', { avatarColor: 'black' }],
      ['avatar_url_invalid', { avatar: '../secret' }],
      ['banner_url_invalid', { banner: '../secret' }],
      ...[{ discoverable: 'yes' }, { displayName: 7 }, { displayName: 'a\u0000b' }, { replicatedInstances: {} }].map(
        (body): [string, object] => ['validation_failed', body],
      ),
    ]

    for (const [code, sent] of bad) {
      const { status, body } = await patch(user, sent)
      expect([status, body['code']], JSON.stringify(sent)).to.deep.equal([400, code])
    }
    const longest = { displayName: '🦊'.repeat(32), bio: '🦊'.repeat(190), customStatus: '🦊'.repeat(128) }
    for (const [field, value] of Object.entries(longest)) {
      const answer = await patch(user, { [field]: value })
      expect([answer.status, answer.body[field]], field).to.deep.equal([200, value])
    }
  })

  it('PATCH removes what would turn or break the line of a name, and leaves the lines of a bio', async () => {
    const user = await buildUser(identity, { customStatus: 'away' })

    const { body } = await patch(user, { displayName: 'A\u202eda\n', customStatus: '\u2066\u2069', bio: 'one\ntwo' })
    expect(body).to.include({ displayName: 'Ada', customStatus: null, bio: 'one\ntwo' })
  })

  it('PATCH publishes the fields whose value changed, and nothing when none did', async () => {
    const instances = [{ origin: 'https://a.example', username: 'ada' }]
    const user = await buildUser(identity, { bio: 'stays', replicatedInstances: instances })
    await using events = await collectEvents(identity, [profileChanged])

    await patch(user, { bio: 'stays', replicatedInstances: instances, displayName: '' })
    await patch(user, { bio: 'stays', displayName: 'Ada', replicatedInstances: [], showActivity: false })
    await patch(user, { nickname: 'x' })
    await patch(user, { displayName: 'Ada L.' })

    const state = accountStateOf(await readUser(identity, user.id))
    const at = identity.clock.now()
    const payload = { userId: user.id, at, state, profileUpdatedAt: at }
    const [first, second, ...others] = await events.ofUser(user.id, 2)
    const changed = ['displayName', 'replicatedInstances', 'showActivity']
    expect((first!.payload['changed'] as string[]).toSorted()).to.deep.equal(changed)
    const profile = { username: user.username, displayName: 'Ada', avatar: null, banner: null, bio: 'stays' }
    const rest = { accentColor: null, avatarColor: user.avatarColor ?? null, customStatus: null, discoverable: true }
    expect({ ...first!.payload, changed: [] }).to.deep.equal({
      ...payload,
      changed: [],
      profile: { ...profile, ...rest },
    })
    expect(second).to.deep.equal({
      name: 'ProfileChanged',
      // Peers take what is newer only, so the time rises although the clock stands still.
      payload: {
        ...payload,
        profileUpdatedAt: at + 1,
        changed: ['displayName'],
        profile: { ...profile, ...rest, displayName: 'Ada L.' },
      },
      requestId: 'patch-1',
    })
    expect(others).to.deep.equal([])
    expect(state.version).to.equal(user.stateVersion)
  })

  /** Contract: 3, Missing bodies. */
  it('PATCH refuses a body without any field', async () => {
    const user = await buildUser(identity)

    expect((await patch(user, {})).status).to.equal(400)
    expect((await identity.call('PATCH', '/api/users/@me', { as: user })).status).to.equal(400)
  })

  it('PATCH clears every nullable field by an empty text as by null', async () => {
    const fields = ['displayName', 'bio', 'customStatus', 'accentColor', 'avatarColor', 'avatar', 'banner']
    const texts = {
      displayName: 'Ada',
      bio: 'b',
      customStatus: 'c',
      accentColor: '#aabbcc',
      avatarColor: 'mint',
    } as const
    for (const empty of ['', null]) {
      const user = await buildUser(identity, texts)
      const file = await buildUpload(user)
      await patch(user, { avatar: file, banner: file })

      const answer = await patch(user, Object.fromEntries(fields.map((field) => [field, empty])))

      expect(answer.status, String(empty)).to.equal(200)
      for (const field of fields) expect(answer.body[field], field).to.equal(null)
      expect(await onDisk(file)).to.equal(false)
    }
  })

  it('PATCH without a known field changes nothing', async () => {
    const user = await buildUser(identity)

    const answer = await patch(user, { nickname: 'x' })

    expect([answer.status, answer.body.profileUpdatedAt]).to.deep.equal([200, 0])
  })

  /** Contract: 3, Profiles of federated accounts. */
  it('PATCH leaves federated profiles to their home instance, and the rest to the user', async () => {
    const user = await buildUser(identity, { username: 'fed@home.example', homeInstance: 'home.example' })
    const managed = { displayName: 'x', avatar: null, banner: null, accentColor: null, avatarColor: 'mint', bio: null }

    for (const [field, value] of Object.entries(managed)) {
      const answer = await patch(user, { [field]: value, customStatus: 'x' })
      expect([answer.status, answer.body.error], field).to.deep.equal([
        403,
        'Profile fields are managed by your home instance',
      ])
    }
    expect((await readUser(identity, user.id)).customStatus).to.equal(null)
    const { status, body } = await patch(user, { customStatus: 'away', discoverable: false })
    // The time is that of the home's last change: a later one there still counts.
    expect([status, body.profileUpdatedAt]).to.deep.equal([200, 0])
  })

  it('PATCH takes an own upload as avatar and removes the one it replaces from the disk', async () => {
    const user = await buildUser(identity)
    const [first, second] = [await buildUpload(user), await buildUpload(user)]

    await patch(user, { avatar: first })
    const answer = await patch(user, { avatar: second })

    expect(answer.body.avatar).to.equal(second)
    expect([await onDisk(first), await onDisk(second)]).to.deep.equal([false, true])
    expect(await column(identity, 'select filename from uploads where user_id = ?', [user.id])).to.deep.equal([second])
    await patch(user, { avatar: null })
    expect(await onDisk(second)).to.equal(false)
  })

  it('PATCH keeps a file that avatar and banner share until neither names it', async () => {
    const user = await buildUser(identity)
    const file = await buildUpload(user)
    await patch(user, { avatar: file, banner: file })

    await patch(user, { avatar: null })
    expect(await onDisk(file)).to.equal(true)

    await patch(user, { avatar: file, banner: null })
    expect(await onDisk(file)).to.equal(true)

    await patch(user, { avatar: null })
    expect(await onDisk(file)).to.equal(false)
  })

  it('PATCH refuses uploads of others, unknown ones and replaced ones', async () => {
    const [user, other] = [await buildUser(identity), await buildUser(identity)]
    const [own, replaced, foreign] = [await buildUpload(user), await buildUpload(user), await buildUpload(other)]
    await patch(user, { avatar: replaced })
    await patch(user, { avatar: own })

    for (const avatar of [foreign, 'nothing.webp', replaced]) {
      expect((await patch(user, { avatar })).status, avatar).to.equal(400)
    }
    expect((await readUser(identity, user.id)).avatar).to.equal(own)
    expect([await onDisk(own), await onDisk(foreign)]).to.deep.equal([true, true])
  })

  it('PATCH stores replicated instances as origins, the first of each', async () => {
    const user = await buildUser(identity)

    const answer = await patch(user, {
      replicatedInstances: [
        { origin: 'https://Chat.Example:443/', username: ' ada@here ' },
        { origin: 'http://127.0.0.1:4000', username: 'ada' },
        { origin: 'https://CHAT.example/', username: 'second' },
      ],
    })

    expect(answer.body.replicatedInstances).to.deep.equal([
      { origin: 'https://chat.example', username: 'ada@here' },
      { origin: 'http://127.0.0.1:4000', username: 'ada' },
    ])
  })

  it('PATCH refuses replicated instances that are no origins or are too many', async () => {
    const user = await buildUser(identity)
    const instance = (origin: string, username = 'ada') => ({ origin, username })
    const bad = [
      [instance('chat.example')],
      [instance('https://chat.example/path')],
      [instance('https://user:pass@chat.example')],
      [instance('ftp://chat.example')],
      [instance('https://chat.example', ' ')],
      [instance('https://chat.example', 'x'.repeat(256))],
      [instance('https://chat.example'), { origin: 'https://other.example' }],
      Array.from({ length: 21 }, (_, index) => instance(`https://${index}.example`)),
    ]

    for (const replicatedInstances of bad) {
      expect((await patch(user, { replicatedInstances })).status, JSON.stringify(replicatedInstances[0])).to.equal(400)
    }
    const most = Array.from({ length: 20 }, (_, index) => instance(`https://${index}.example`, 'x'.repeat(255)))
    const answer = await patch(user, { replicatedInstances: most })
    expect([answer.status, answer.body.replicatedInstances]).to.deep.equal([200, most])
  })

  /** Contract: 3, Replicated instances. */
  it('PATCH takes plain http only where the operator allows private peers', async () => {
    const { config } = identity
    await using closed = await startTestIdentity({ config: { reach: { ...config.reach, allowPrivate: [] } } })
    const user = await buildUser(closed)
    const body = { replicatedInstances: [{ origin: 'http://127.0.0.1:4000', username: 'ada' }] }

    expect((await closed.call('PATCH', '/api/users/@me', { as: user, body })).status).to.equal(400)
  })
})
