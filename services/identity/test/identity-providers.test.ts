import { identityChanged } from '@gatehouse/contracts'
import { AuditEntry, InstanceSettings, LinkedIdentity, ProviderTicket, SignIn, User } from '@gatehouse/domain'
import { answered, type TestIdentityProvider, type TestResponse } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { turnOn } from './authenticator.ts'
import { buildInvite, buildUser, collectEvents, readInvite, setGates } from './builders.ts'
import type { TestIdentity } from './harness.ts'
import { finish, openBrowser, startTestProvider, startWithProviders } from './provider-sign-ins.ts'
import { testPassword } from './quick-hasher.ts'

const mine = '/api/users/@me/identities'

/** Contract: 3, Identity providers. */
describe('Sign-in with an identity provider', () => {
  let own: TestIdentityProvider
  let trusted: TestIdentityProvider
  let closed: TestIdentityProvider
  let identity: TestIdentity
  before(async () => {
    own = await startTestProvider('ada', 'eve')
    trusted = await startTestProvider('ada')
    closed = await startTestProvider()
    identity = await startWithProviders([
      { id: 'own', name: 'Our own', of: own, icon: 'data:image/png;base64,AAAA' },
      { id: 'trusted', of: trusted, secondFactor: 'trust', registration: 'open' },
      { id: 'closed', of: closed, registration: 'never' },
    ])
    await identity.deps.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { firstAdminId: '1' })
  })
  after(async () => {
    await identity[Symbol.asyncDispose]()
    await own.close()
    await trusted.close()
    await closed.close()
  })
  afterEach(async () => await setGates(identity, { registrationOpen: null }))

  let count = 0
  const freshSub = () => `sub ${(count += 1)}`
  const freshName = () => `person_${(count += 1)}`
  const refused = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
  const ticketOf = (sub: string, of = own, id = 'own') => openBrowser(identity, id).signIn(of, sub)
  const registered = async (sub: string, username = freshName()) => {
    const { body } = await answered(finish(identity, { ticket: await ticketOf(sub), username }), 201)
    return body['user'] as User
  }
  const link = async (user: User, sub: string, confirmation: object = { password: testPassword }) => {
    const ticket = await openBrowser(identity, 'own').signIn(own, sub, { purpose: 'link', as: user })
    return await finish(identity, { ticket, ...confirmation }, user)
  }
  const identitiesOf = async (user: User) =>
    (await identity.call('GET', mine, { as: user })).body['identities'] as never[]

  it('is offered with names and icons, and never with a secret', async () => {
    const { body, text } = await answered(identity.call('GET', '/api/auth/providers'))

    expect(body['providers']).to.deep.equal([
      { id: 'own', name: 'Our own', icon: 'data:image/png;base64,AAAA' },
      { id: 'trusted', name: 'trusted' },
      { id: 'closed', name: 'closed' },
    ])
    expect(body['passwords']).to.equal(true)
    expect(text).not.to.include(own.clientSecret)
  })

  it('sends the browser to the provider with PKCE, state and nonce, bound by a cookie', async () => {
    const browser = openBrowser(identity, 'own')
    const { headers, body } = await answered(browser.start())
    const { origin, searchParams } = new URL(String(body['url']))

    expect(origin).to.equal(own.issuer)
    expect(Object.fromEntries(searchParams)).to.include({
      client_id: own.clientId,
      response_type: 'code',
      scope: 'openid profile',
      redirect_uri: 'https://here.example/api/auth/providers/own/callback',
      code_challenge_method: 'S256',
    })
    for (const name of ['state', 'nonce', 'code_challenge']) expect(searchParams.get(name)).to.match(/^[\w-]{43}$/)
    expect(searchParams.has('max_age')).to.equal(false)
    expect(headers.get('set-cookie')).to.match(
      /^__Host-gatehouse-flow=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    const user = await buildUser(identity)
    const confirming = new URL(await browser.startedAt({ purpose: 'confirm', as: user }))
    expect(confirming.searchParams.get('max_age')).to.equal('0')
  })

  it('registers an account without a password at the first sign-in, and logs it in at the next', async () => {
    const sub = freshSub()
    const username = freshName()
    const ticket = await ticketOf(sub)
    const asked = await finish(identity, { ticket })
    expect([asked.status, asked.body]).to.deep.equal([
      409,
      {
        code: 'username_required',
        error: 'Choose a username to create your account',
        statusCode: 409,
        proposal: { username: null, displayName: null },
        gates: { registrationOpen: true },
      },
    ])
    const bad: [code: string, fields: object][] = [
      ['username_characters_invalid', { username: 'Not a name' }],
      ['username_length_invalid', { username: 'a' }],
      ['display_name_too_long', { username, displayName: 'a'.repeat(33) }],
    ]
    for (const [code, fields] of bad) {
      expect((await finish(identity, { ticket, ...fields })).body['code']).to.equal(code)
    }

    const { status, body } = await finish(identity, { ticket, username, displayName: 'Ada' })

    expect(status).to.equal(201)
    expect(body['user']).to.include({ username, displayName: 'Ada', hasPassword: false, isAdmin: false })
    const user = body['user'] as User
    const stored = await identity.deps.orm.em.fork().findOneOrFail(User, { id: user.id })
    expect([stored.passwordHash, stored.hasPassword]).to.deep.equal(['!', false])
    expect(await identitiesOf(user)).to.have.length(1)
    const again = await finish(identity, { ticket: await ticketOf(sub) })
    expect([again.status, (again.body['user'] as User).id]).to.deep.equal([200, user.id])
    const methods = (await identity.deps.orm.em.fork().find(SignIn, { userId: user.id })).map(({ method }) => method)
    expect(methods).to.deep.equal(['registration', 'provider'])
    const withPassword = { username, password: testPassword }
    expect(refused(await identity.call('POST', '/api/auth/login', { body: withPassword }))).to.deep.equal([
      401,
      'invalid_credentials',
    ])
  })

  it('proposes the name at the provider, unless it is taken', async () => {
    const ticket = await ticketOf('ada')
    const proposalOf = async () => (await finish(identity, { ticket })).body['proposal']
    expect(await proposalOf()).to.deep.equal({ username: 'ada', displayName: 'ada of elsewhere' })

    await buildUser(identity, { username: 'ada' })

    expect(await proposalOf()).to.deep.equal({ username: null, displayName: 'ada of elsewhere' })
  })

  it('never joins an account by its name', async () => {
    const ticket = await ticketOf('eve')
    await buildUser(identity, { username: 'eve' })

    expect(refused(await finish(identity, { ticket, username: 'eve' }))).to.deep.equal([409, 'username_taken'])
    expect((await finish(identity, { ticket, username: freshName() })).status).to.equal(201)
  })

  it('passes the gates that everybody passes, as the provider narrows or opens them', async () => {
    await setGates(identity, { registrationOpen: false })
    const invite = await buildInvite(identity)
    const ticket = await ticketOf(freshSub())
    expect((await finish(identity, { ticket })).body['gates']).to.deep.equal({ registrationOpen: false })
    expect(refused(await finish(identity, { ticket, username: freshName() }))).to.deep.equal([403, 'invite_required'])
    const invalid = await finish(identity, { ticket, username: freshName(), inviteToken: 'no invite' })
    expect(invalid.body['code']).to.equal('invite_invalid')
    const invited = await finish(identity, { ticket, username: freshName(), inviteToken: invite.token })
    expect([invited.status, (await readInvite(identity, invite.id)).usedCount]).to.deep.equal([201, 1])

    const opened = await ticketOf(freshSub(), trusted, 'trusted')
    expect((await finish(identity, { ticket: opened })).body['gates']).to.deep.equal({ registrationOpen: true })
    expect((await finish(identity, { ticket: opened, username: freshName() })).status).to.equal(201)
  })

  it('registers without a proof of work, which is asked of who registers with a password', async () => {
    const { orm } = identity.deps
    const set = (proofOfWork: 'off' | 'registration') =>
      orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { proofOfWork })
    await set('registration')
    const ticket = await ticketOf(freshSub())
    const withPassword = { username: freshName(), password: testPassword }
    const asked = await identity.call('POST', '/api/auth/register', { body: withPassword })
    const registered = await finish(identity, { ticket, username: freshName() })
    await set('off')

    expect([asked.body['code'], registered.status]).to.deep.equal(['proof_required', 201])
  })

  it('asks for the second factor, but of a provider that is trusted', async () => {
    const user = await buildUser(identity)
    await answered(link(user, 'ada'))
    const app = await turnOn(identity, user)
    const ticket = await ticketOf('ada')
    const logIn = async (fields: object = {}) => refused(await finish(identity, { ticket, ...fields }))
    expect(await logIn()).to.deep.equal([401, 'second_factor_required'])
    expect(await logIn({ code: '000000' })).to.deep.equal([401, 'second_factor_wrong'])

    expect((await finish(identity, { ticket, code: app.code() })).status).to.equal(200)

    const linking = { purpose: 'link', as: user } as const
    const other = await openBrowser(identity, 'trusted').signIn(trusted, 'ada', linking)
    await answered(finish(identity, { ticket: other, password: testPassword }, user))
    const again = await ticketOf('ada')
    const codes: unknown[] = []
    while (!codes.includes('second_factor_blocked') && codes.length < 12) {
      codes.push((await finish(identity, { ticket: again, code: '000000' })).body['code'])
    }
    expect(codes).to.deep.equal([...Array<string>(9).fill('second_factor_wrong'), 'second_factor_blocked'])

    expect((await finish(identity, { ticket: await ticketOf('ada', trusted, 'trusted') })).status).to.equal(200)
    await identity.deps.orm.em.fork().nativeDelete(LinkedIdentity, { userId: user.id })
  })

  it('registers nobody where the provider is not for that, and is of no use where the provider is gone', async () => {
    const sub = freshSub()
    const ticket = await ticketOf(sub, closed, 'closed')
    expect(refused(await finish(identity, { ticket, username: freshName() }))).to.deep.equal([
      403,
      'registration_by_provider_closed',
    ])
    const user = await buildUser(identity)
    const linking = await openBrowser(identity, 'closed').signIn(closed, sub, { purpose: 'link', as: user })
    await answered(finish(identity, { ticket: linking, password: testPassword }, user))
    expect((await finish(identity, { ticket: await ticketOf(sub, closed, 'closed') })).status).to.equal(200)

    const gone = await ticketOf(sub, closed, 'closed')
    await identity.deps.orm.em.fork().nativeUpdate(ProviderTicket, { subject: sub }, { provider: 'gone' })
    expect(refused(await finish(identity, { ticket: gone }))).to.deep.equal([404, 'provider_unknown'])
  })

  it('ends with the account, and with its suspension', async () => {
    const user = await registered(freshSub())
    const { subject } = await identity.deps.orm.em.fork().findOneOrFail(LinkedIdentity, { userId: user.id })
    const ticket = await ticketOf(subject)
    await identity.deps.orm.em.fork().nativeUpdate(User, { id: user.id }, { suspendedAt: 1, suspendedReason: 'spam' })

    const suspended = await finish(identity, { ticket })

    expect([...refused(suspended), suspended.body['reason']]).to.deep.equal([403, 'account_suspended', 'spam'])
    await identity.deps.orm.em.fork().nativeUpdate(User, { id: user.id }, { suspendedAt: null, suspendedReason: null })
    const confirm = await openBrowser(identity, 'own').signIn(own, subject, { purpose: 'confirm', as: user })
    const body = { username: user.username, ticket: confirm }
    await answered(identity.call('DELETE', '/api/users/@me', { as: user, body }))
    expect(refused(await finish(identity, { ticket: await ticketOf(subject) }))).to.deep.equal([
      409,
      'username_required',
    ])
  })

  describe('linking', () => {
    it('takes the password, once for each identity and account', async () => {
      const [user, other] = [await buildUser(identity), await buildUser(identity)]
      const sub = freshSub()
      const ticket = await openBrowser(identity, 'own').signIn(own, sub, { purpose: 'link', as: user })
      expect(refused(await finish(identity, { ticket }, user))).to.deep.equal([400, 'password_required'])
      expect(refused(await finish(identity, { ticket, password: 'wrong' }, user))).to.deep.equal([
        403,
        'password_incorrect',
      ])
      expect(refused(await finish(identity, { ticket, password: testPassword }, other))).to.deep.equal([
        403,
        'ticket_refused',
      ])
      expect(refused(await finish(identity, { ticket, password: testPassword }))).to.deep.equal([401, 'ticket_invalid'])

      await using events = await collectEvents(identity, [identityChanged])
      const { body } = await answered(finish(identity, { ticket, password: testPassword }, user), 200)

      const at = identity.clock.now()
      const told = { userId: user.id, at, provider: 'own', change: 'linked' }
      expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([told])
      expect(body['identity']).to.include({ provider: 'own', lastUsedAt: null, linkedAt: identity.clock.now() })
      expect(await identitiesOf(user)).to.deep.equal([body['identity']])
      expect(refused(await finish(identity, { ticket, password: testPassword }, user))).to.deep.equal([
        403,
        'ticket_refused',
      ])
      expect(refused(await link(other, sub))).to.deep.equal([409, 'identity_held'])
      expect((await finish(identity, { ticket: await ticketOf(sub) })).body['user']).to.include({ id: user.id })
      const entries = await identity.deps.orm.em.fork().find(AuditEntry, { actorId: user.id })
      expect(entries.map(({ action }) => action)).to.deep.equal(['user.identity-linked'])
    })

    it('is for ten identities', async () => {
      const user = await buildUser(identity)
      const em = identity.deps.orm.em.fork()
      const sql = `insert into linked_identities (id, user_id, provider, issuer, subject, linked_at)
        select next_snowflake(), ?, 'gone', 'https://gone.example', ? || n, now() from generate_series(1, ?) n`
      await em.execute(sql, [user.id, user.id, 10])
      expect(refused(await link(user, freshSub()))).to.deep.equal([409, 'identity_limit'])

      await em.nativeDelete(LinkedIdentity, { userId: user.id, subject: `${user.id}1` })
      expect((await link(user, freshSub())).status).to.equal(200)
    })

    it('is confirmed by another identity in place of the password, freshly signed in with', async () => {
      const sub = freshSub()
      const user = await registered(sub)
      const confirmation = async (as: User) =>
        await openBrowser(identity, 'own').signIn(own, as === user ? sub : freshSub(), { purpose: 'confirm', as })
      const stale = await confirmation(user)
      const authTime = new Date(identity.clock.now() - 5 * 60_000 - 1)
      await identity.deps.orm.em.fork().nativeUpdate(ProviderTicket, { userId: user.id }, { authTime })
      expect(refused(await link(user, freshSub(), { confirm: stale }))).to.deep.equal([403, 'fresh_sign_in_required'])

      const confirm = await confirmation(user)
      expect((await link(user, freshSub(), { confirm })).status).to.equal(200)
      expect(refused(await link(user, freshSub(), { confirm }))).to.deep.equal([403, 'ticket_refused'])
    })

    it('is of local accounts alone', async () => {
      const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
      const browser = openBrowser(identity, 'own')

      expect(refused(await browser.start({ purpose: 'link', as: federated }))).to.deep.equal([
        403,
        'providers_local_only',
      ])
      expect(refused(await browser.start({ purpose: 'link' }))).to.deep.equal([401, 'unauthorized'])
      const local = await buildUser(identity)
      const ticket = await browser.signIn(own, freshSub(), { purpose: 'link', as: local })
      const moved = { userId: federated.id }
      await identity.deps.orm.em.fork().nativeUpdate(ProviderTicket, { userId: local.id }, moved)
      expect(refused(await finish(identity, { ticket }, federated))).to.deep.equal([403, 'providers_local_only'])
    })

    it('is of accounts that are there, under a token that counts', async () => {
      const ended = [
        { expected: [401, 'token_revoked'], sql: 'password_changed_at = extract(epoch from now()) * 1000 + 60000' },
        { expected: [401, 'account_deleted'], sql: 'is_deleted = true' },
      ]
      for (const { expected, sql } of ended) {
        const user = await buildUser(identity)
        const browser = openBrowser(identity, 'own')
        const ticket = await browser.signIn(own, freshSub(), { purpose: 'link', as: user })
        await identity.deps.orm.em.fork().execute(`update users set ${sql} where id = ?`, [user.id])

        expect(refused(await finish(identity, { ticket, password: testPassword }, user))).to.deep.equal(expected)
        expect(refused(await browser.start({ purpose: 'link', as: user }))).to.deep.equal(expected)
      }
    })
  })

  describe('unlinking', () => {
    const unlink = (as: User, id: string, body: object) => identity.call('DELETE', `${mine}/${id}`, { as, body })

    it('takes the password, and leaves a way in', async () => {
      const user = await buildUser(identity)
      const { body } = await answered(link(user, freshSub()))
      const { id } = body['identity'] as { id: string }
      expect(refused(await unlink(user, id, { password: 'wrong' }))).to.deep.equal([403, 'password_incorrect'])
      const other = await buildUser(identity)
      expect(refused(await unlink(other, id, { password: testPassword }))).to.deep.equal([
        404,
        'linked_identity_unknown',
      ])

      await using events = await collectEvents(identity, [identityChanged])
      await answered(unlink(user, id, { password: testPassword }))

      const [event] = await events.ofUser(user.id, 1)
      expect(event?.payload).to.include({ userId: user.id, provider: 'own', change: 'unlinked' })
      expect(await identitiesOf(user)).to.deep.equal([])
      const sub = freshSub()
      const passwordless = await registered(sub)
      const [only] = (await identitiesOf(passwordless)) as { id: string }[]
      const browser = openBrowser(identity, 'own')
      const ticket = await browser.signIn(own, sub, { purpose: 'confirm', as: passwordless })
      expect(refused(await unlink(passwordless, only!.id, { ticket }))).to.deep.equal([409, 'last_sign_in_method'])
      await answered(link(passwordless, freshSub(), { confirm: ticket }))
      const another = await browser.signIn(own, sub, { purpose: 'confirm', as: passwordless })
      await answered(unlink(passwordless, only!.id, { ticket: another }))
    })
  })
})
