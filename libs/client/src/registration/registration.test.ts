import { expect } from 'chai'
import { buildUser } from '../../test/builders.ts'
import { settle } from '../../test/fake-clock.ts'
import { buildClient, home, remote } from '../../test/harness.ts'
import { isAborted } from '../api/errors.ts'
import { createAvailabilityCheck, findRegistrationProblems } from './index.ts'

const register = `POST ${home}/api/auth/register`
const upload = `POST ${home}/api/uploads`
const update = `PATCH ${home}/api/users/@me`
const check = `GET ${home}/api/auth/check-username`
const input = { username: ' Alice ', password: 'long enough', displayName: 'Alice', avatarColor: 'sky' as const }
const avatar = new Blob(['png'], { type: 'image/png' })

describe('Client session behaviour: registration step 1', () => {
  const entry = { username: 'alice', password: 'secret', confirmation: 'secret' }
  const fieldsOf = (part: object) => Object.keys(findRegistrationProblems({ ...entry, ...part }))

  it('checks 3 to 32 characters of a to z, 0 to 9 and underscore', () => {
    expect(fieldsOf({ username: 'al' })).to.deep.equal(['username'])
    expect(fieldsOf({ username: 'a'.repeat(33) })).to.deep.equal(['username'])
    expect(fieldsOf({ username: 'al ice' })).to.deep.equal(['username'])
    expect(fieldsOf({ username: 'alice@home' })).to.deep.equal(['username'])
    expect(fieldsOf({ username: 'a_9'.padEnd(32, 'z') })).to.deep.equal([])
  })

  it('checks that the passwords match and have at least 6 characters', () => {
    expect(fieldsOf({ password: 'secret', confirmation: 'Secret' })).to.deep.equal(['confirmation'])
    expect(fieldsOf({ password: '12345', confirmation: '12345' })).to.deep.equal(['password'])
    expect(fieldsOf({ password: '123456', confirmation: '123456' })).to.deep.equal([])
  })

  it('debounces the username availability check by 500 ms', async () => {
    const { client, clock, network } = buildClient()
    network.answer(check, { body: { available: true } })
    const availability = createAvailabilityCheck(client, clock)

    availability.check('ali')
    await clock.advance(499)
    availability.check('alice')
    await clock.advance(499)
    expect(network.sent).to.have.length(0)
    expect(availability.getSnapshot()).to.deep.equal({ status: 'checking', username: 'alice' })
    await clock.advance(1)

    expect(network.sent.map(({ url }) => url)).to.deep.equal([`${home}/api/auth/check-username?username=alice`])
    expect(availability.getSnapshot()).to.deep.equal({ status: 'available', username: 'alice' })
  })

  it('aborts the username availability check on new input', async () => {
    const { client, clock, network } = buildClient()
    network.answer(check, 'hang')
    const availability = createAvailabilityCheck(client, clock)
    availability.check('alice')
    await clock.advance(500)

    network.answer(check, { body: { available: false, reason: 'Username already taken' } })
    availability.check('alicia')
    await clock.advance(500)

    expect(network.sent.map(({ aborted }) => aborted)).to.deep.equal([true, false])
    expect(availability.getSnapshot()).to.deep.equal({
      status: 'unavailable',
      username: 'alicia',
      reason: 'Username already taken',
    })
  })

  it('says that registration is closed where the answer does, and not that the name is taken', async () => {
    const { client, clock, network } = buildClient()
    const closed = { available: false, reason: 'Registration is currently closed', code: 'registration_closed' }
    network.answer(check, { status: 403, body: { error: closed.reason, statusCode: 403, ...closed } })
    const availability = createAvailabilityCheck(client, clock)

    availability.check('alice')
    await clock.advance(500)

    expect(availability.getSnapshot()).to.deep.equal({ status: 'closed', username: 'alice' })
  })

  it('requests nothing for a malformed name, and reports a failed request', async () => {
    const { client, clock, network } = buildClient()
    const availability = createAvailabilityCheck(client, clock)
    availability.check('al')
    await clock.advance(500)
    expect(network.sent).to.have.length(0)
    expect(availability.getSnapshot()).to.deep.equal({ status: 'idle' })

    network.answer(check, 'down')
    availability.check('alice')
    await clock.advance(500)

    expect(availability.getSnapshot().status).to.equal('failed')
  })
})

describe('Client session behaviour: registration step 2', () => {
  it('registers, saves the token to storage but not to memory, saves the avatar, then starts the session', async () => {
    const { client, storage, network } = buildClient()
    const notes: string[] = []
    const note = (step: string) => {
      const { token, user } = client.session.getSnapshot()
      notes.push(`${step}: stored ${storage.getItem('service_token')}, in memory ${token}, ${user?.avatar ?? null}`)
    }
    network.answer(register, () => (note('register'), { status: 201, body: { token: 't', user: buildUser() } }))
    network.answer(upload, () => (note('upload'), { status: 201, body: { filename: 'f.webp' } }))
    network.answer(update, () => (note('profile'), { body: buildUser({ avatar: 'f.webp' }) }))

    const { avatarError } = await client.register({ ...input, avatar })
    note('navigate')

    expect(avatarError).to.equal(null)
    expect(notes).to.deep.equal([
      'register: stored null, in memory null, null',
      'upload: stored t, in memory null, null',
      'profile: stored t, in memory null, null',
      'navigate: stored t, in memory t, f.webp',
    ])
    expect(network.sent[0]?.json).to.deep.equal({ ...input, username: 'alice' })
    expect(network.sent.slice(1).map(({ token }) => token)).to.deep.equal(['t', 't'])
    expect(network.sentTo(update)[0]?.json).to.deep.equal({ avatar: 'f.webp' })
  })

  for (const failing of [upload, update]) {
    it(`takes a failure of ${failing} as non-fatal`, async () => {
      const { client, network } = buildClient()
      network.answer(register, { status: 201, body: { token: 't', user: buildUser() } })
      network.answer(upload, { status: 201, body: { filename: 'f.webp' } })
      network.answer(failing, 'down')

      const { avatarError } = await client.register({ ...input, avatar })

      expect(avatarError).to.be.instanceOf(Error)
      expect(client.session.getSnapshot()).to.deep.include({ token: 't', user: buildUser() })
    })
  }

  it('uploads nothing when no avatar was chosen', async () => {
    const { client, network } = buildClient()
    network.answer(register, { status: 201, body: { token: 't', user: buildUser() } })

    await client.register({ ...input, inviteToken: 'invite' })

    expect(network.sent.map(({ method, url }) => `${method} ${url}`)).to.deep.equal([register])
    expect(network.sent[0]?.json['inviteToken']).to.equal('invite')
  })

  it('leaves storage and session unchanged when the registration is refused or aborted', async () => {
    const { client, storage, network } = buildClient()
    network.answer(register, { status: 409, body: { error: 'Username already taken', statusCode: 409 } })
    const refusal = await client.register(input).catch((error: unknown) => error)
    network.answer(register, 'hang')
    const aborting = new AbortController()
    const aborted = client.register(input, { signal: aborting.signal }).catch((error: unknown) => error)
    await settle()
    aborting.abort()

    expect(refusal).to.include({ status: 409, message: 'Username already taken' })
    expect(isAborted(await aborted)).to.equal(true)
    expect(storage.values.size).to.equal(0)
    expect(client.session.getSnapshot().token).to.equal(null)
  })

  it('begins no session for one that waits for approval, and gives its receipt', async () => {
    const { client, storage, network } = buildClient()
    const pending = { pending: true, username: 'alice', receipt: 'receipt-1' }
    network.answer(register, { status: 202, body: pending })

    const outcome = await client.register({ ...input, avatar, reason: 'I sing', proof: 'proof-1' })

    expect(outcome).to.deep.equal({ user: null, avatarError: null, pending })
    expect(network.sent).to.have.length(1)
    expect(network.sent[0]?.json).to.include({ reason: 'I sing', proof: 'proof-1' })
    expect(storage.values.size).to.equal(0)
    expect(client.session.getSnapshot().token).to.equal(null)
  })

  it('gives the password to the automatic connection', async () => {
    const { client, network } = buildClient()
    const user = buildUser({ replicatedInstances: [{ origin: remote, username: 'alice@home.example' }] })
    network.answer(register, { status: 201, body: { token: 't', user } })

    await client.register(input)
    await settle()

    expect(network.sentTo(`POST ${remote}/api/auth/register`)[0]?.json['password']).to.equal('long enough')
  })
})
