import { expect } from 'chai'
import { commonReservations, settingsChanged } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { eventually } from '@gatehouse/test-kit'
import sharp from 'sharp'
import { buildUser, collectEvents } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

async function pictureForm(): Promise<FormData> {
  const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#aa3355' } })
    .png()
    .toBuffer()
  const form = new FormData()
  form.set('file', new File([new Uint8Array(picture)], 'logo.png', { type: 'image/png' }))
  return form
}

describe('instance settings and the audit log', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { username: 'boss', isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const settings = (body?: unknown) =>
    identity.call(body === undefined ? 'GET' : 'PATCH', '/api/settings/instance', {
      as: admin,
      ...(body === undefined ? {} : { body }),
    })
  const audit = (query = '') => identity.call('GET', `/api/admin/audit?${query}`, { as: admin })

  it('Registration 3: null hands the decision over the local gate back to the environment', async () => {
    const info = async () => (await identity.call('GET', '/api/instance/info')).body.registrationOpen

    await settings({ registrationOpen: false })
    expect(await info()).to.equal(false)

    const answer = await settings({ registrationOpen: null })
    expect(answer.body.registrationOpen).to.equal(null)
    expect(await info()).to.equal(true)
  })

  it('changes only what is named, and answers with all of it', async () => {
    const before = (await settings()).body

    const answer = await settings({ instanceName: '  The Lodge ', autoAcceptPeering: true })

    expect(answer.status).to.equal(200)
    expect(answer.body).to.deep.equal({ ...before, instanceName: 'The Lodge', autoAcceptPeering: true })
    expect((await settings()).body).to.deep.equal(answer.body)
  })

  it('tells everybody whom to ask, in one line of 200 characters, until it is cleared', async () => {
    const info = async () => (await identity.call('GET', '/api/instance/info')).body['contact']
    expect(await info()).to.equal(null)

    const { body } = await settings({ contact: ' Ask\u202e Ada,\nroom 4 ' })

    expect(body['contact']).to.match(/^Ask Ada,\s?room 4$/)
    expect(await info()).to.equal(body['contact'])
    expect((await settings({ contact: 'x'.repeat(201) })).status).to.equal(400)
    expect((await settings({ contact: '' })).body['contact']).to.equal(null)
    expect(await info()).to.equal(null)
  })

  it('has what an instance says of itself, and refuses what is too long and what is no color, by the name of the field', async () => {
    const profile = { description: 'A place for choirs', rules: 'Be kind.\nSing in tune.', accentColor: '#aa3355' }

    const { body } = await settings(profile)

    expect(body).to.include(profile)
    expect((await identity.call('GET', '/api/instance/info')).body).to.include(profile)
    for (const [field, value] of [
      ['description', 'x'.repeat(301)],
      ['rules', 'x'.repeat(2001)],
      ['accentColor', 'red'],
      ['logo', '../etc/passwd'],
      ['logo', 'of-nobody.webp'],
    ] as const) {
      const answer = await settings({ [field]: value })
      expect(answer.status, field).to.equal(400)
      expect(answer.body['details'], field).to.include({ field })
    }
    expect((await settings()).body).to.deep.equal(body)
  })

  it('keeps its logo until another replaces it, although the admin goes who uploaded it', async () => {
    const other = await buildUser(identity, { username: 'painter', isAdmin: true })
    const upload = async () => {
      const answer = await identity.call('POST', '/api/uploads', { as: other, body: await pictureForm() })
      expect(answer.status).to.equal(201)
      return answer.body['filename'] as string
    }
    const set = (logo: string | null, as = other) =>
      identity.call('PATCH', '/api/settings/instance', { as, body: { logo } })
    const fileStatus = async (name: string) => (await identity.call('GET', `/api/uploads/${name}`)).status
    const [first, second] = [await upload(), await upload()]

    expect((await set(first, admin)).body['details']).to.deep.include({ field: 'logo' })
    expect((await set(first)).body['logo']).to.equal(first)
    expect(((await audit('limit=1')).body.entries as { detail: unknown }[])[0]?.detail).to.deep.equal({ logo: first })
    expect((await set(second)).body['logo']).to.equal(second)
    await eventually('the first is gone', async () => (await fileStatus(first)) === 404)
    const gone = await identity.call('DELETE', `/api/admin/users/${other.id}`, { as: admin })
    expect(gone.status).to.equal(200)
    identity.clock.advance(3 * 86_400_000)
    await identity.deps.uploadCleanup.runNow()

    expect(await fileStatus(second)).to.equal(200)
    expect((await set(null, admin)).body['logo']).to.equal(null)
    await eventually('the second is gone', async () => (await fileStatus(second)) === 404)
  })

  /** Contract: 5, Settings. */
  it('answers existing clients the fixed fields, and ignores what is not ours', async () => {
    const fixed = {
      discoveryEnabled: false,
      gifEnabled: false,
      federationRelayEnabled: true,
      federationRelayTtlDays: 30,
      defaultAutoRotateIntervalDays: 90,
      maxUploadSizeMb: 8,
    }

    const answer = await settings({ discoveryEnabled: true, maxUploadSizeMb: 100, instanceName: 'The Lodge' })

    expect([answer.status, (await settings()).status]).to.deep.equal([200, 200])
    expect(answer.body).to.deep.include(fixed)
    expect((await identity.call('GET', '/api/admin/settings', { as: admin })).status).to.equal(404)
    const user = await buildUser(identity)
    expect((await identity.call('GET', '/api/settings/instance', { as: user })).status).to.equal(403)
  })

  it('keeps reserved names as usernames, each once, and refuses what cannot be one', async () => {
    const { body } = await settings({ reservedUsernames: [' Admin*', 'root', 'ROOT'] })
    expect(body['reservedUsernames']).to.deep.equal(['admin*', 'root'])

    await settings({ reservedUsernames: commonReservations })
    expect((await settings()).body['reservedUsernames']).to.deep.equal(commonReservations)
    expect(commonReservations).to.include('null')
    await settings({ reservedUsernames: ['admin*', 'root'] })

    const many = Array.from({ length: 501 }, (_, n) => `name_${n}`)
    for (const names of [null, 'root', [1], ['*'], ['a*b'], ['bob@home'], ['a'.repeat(33)], ['r\u00f6ot'], many])
      expect((await settings({ reservedUsernames: names })).status, JSON.stringify(names)).to.equal(400)
    expect((await settings()).body['reservedUsernames']).to.deep.equal(['admin*', 'root'])
    expect((await settings({ reservedUsernames: [] })).body['reservedUsernames']).to.deep.equal([])
  })

  it('refuses values of another type and changes nothing', async () => {
    const before = (await settings()).body
    const bad = [
      { registrationOpen: 'no' },
      { federatedRegistrationOpen: null },
      { autoAcceptPeering: 1 },
      { instanceName: ' ' },
      { instanceName: 'x'.repeat(65) },
    ]

    for (const body of bad) expect((await settings(body)).status, JSON.stringify(body)).to.equal(400)
    expect((await settings()).body).to.deep.equal(before)
  })

  /** Contract: 5, Audit. */
  it('records who changed what, and when, in the audit log', async () => {
    await settings({ federatedRegistrationOpen: false })

    const { body } = await audit('limit=1')

    expect((body.entries as unknown[])[0]).to.deep.include({
      action: 'settings.changed',
      actorId: admin.id,
      actorUsername: 'boss',
      targetType: 'settings',
      targetId: null,
      detail: { federatedRegistrationOpen: false },
      createdAt: identity.clock.now(),
    })
  })

  it('publishes the settings whose value changed, and nothing when none did', async () => {
    const before = (await settings()).body
    await using events = await collectEvents(identity, [settingsChanged])
    const headers = { 'x-request-id': 'settings-1' }
    const patch = (body: object) => identity.call('PATCH', '/api/settings/instance', { as: admin, body, headers })

    await patch({})
    await patch({ instanceName: before.instanceName, reservedUsernames: before.reservedUsernames })
    await patch({ instanceName: before.instanceName, autoAcceptPeering: !before.autoAcceptPeering })
    await patch({ registrationOpen: true, federatedRegistrationOpen: !before.federatedRegistrationOpen })

    const published = () => events.published.filter(({ requestId }) => requestId === 'settings-1')
    await eventually('two events', () => published().length >= 2)
    const facts = { at: identity.clock.now(), actor: { userId: admin.id, username: 'boss' } }
    expect(published().map(({ name, payload }) => [name, payload])).to.deep.equal([
      ['SettingsChanged', { ...facts, changed: ['autoAcceptPeering'] }],
      ['SettingsChanged', { ...facts, changed: ['registrationOpen', 'federatedRegistrationOpen'] }],
    ])
  })

  it('pages through the log, newest first, to its end', async () => {
    for (const name of ['one', 'two', 'three']) await settings({ instanceName: name })
    type Page = { entries: { id: string; detail: { instanceName?: string } }[]; nextCursor: string | null }

    const first = (await audit('limit=2')).body as Page
    const second = (await audit(`limit=2&cursor=${first.nextCursor}`)).body as Page
    const all = (await audit('limit=100')).body as Page

    const named = [...first.entries, ...second.entries].map((entry) => entry.detail.instanceName)
    expect(named.slice(0, 3)).to.deep.equal(['three', 'two', 'one'])
    expect(all.entries.slice(0, 4)).to.deep.equal([...first.entries, ...second.entries])
    expect(all.nextCursor).to.equal(null)
    expect((await audit('limit=0')).status).to.equal(400)
    expect((await audit('cursor=x')).status).to.equal(400)
  })
})
